"""The named datasets: the published counts, the splits, and what is said when one is missing or damaged."""

from __future__ import annotations

import importlib.util
import pickle
import shutil
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs import Graph, load
from mvgrl.graphs.datasets import NAMES


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes", "split"),
    [
        ("cora", 2708, 5278, 1433, 7, (140, 500, 1000)),
        ("cora-linqs", 2708, 5278, 1433, 7, (140, 300, 1000)),
        ("citeseer", 3327, 4552, 3703, 6, (120, 500, 1000)),
        ("pubmed", 19717, 44324, 500, 3, (60, 500, 1000)),
    ],
)
def test_citation_graphs_have_the_published_counts(data_root, name, nodes, edges, features, classes, split):
    data = load(name, data_root)
    graph = data.graph
    assert (graph.nodes, graph.edges, graph.count, graph.features.shape[1]) == (nodes, edges, 1, features)
    assert sp.issparse(graph.features)
    assert data.task == "node"
    assert sorted(set(data.target)) == list(range(classes)) == list(range(len(data.classes)))
    assert tuple(len(data.splits[part]) for part in ("train", "val", "test")) == split
    assert len(np.unique(np.concatenate(list(data.splits.values())))) == sum(split)


@pytest.mark.parametrize(
    ("name", "graphs", "nodes", "edges", "labels", "sizes"),
    [
        ("mutag", 188, 17.93, 19.79, 7, [63, 125]),
        ("ptc-mr", 344, 14.29, 14.69, 18, [192, 152]),
        ("imdb-binary", 1000, 19.77, 96.53, None, [500, 500]),
        ("imdb-multi", 1500, 13.00, 65.94, None, [500, 500, 500]),
        ("reddit-binary", 2000, 429.63, 497.75, None, [1000, 1000]),
    ],
)
def test_graph_sets_have_the_published_counts(data_root, name, graphs, nodes, edges, labels, sizes):
    data = load(name, data_root)
    graph = data.graph
    assert graph.count == graphs
    assert (round(graph.nodes / graphs, 2), round(graph.edges / graphs, 2)) == (nodes, edges)
    assert (None if graph.node_labels is None else len(np.unique(graph.node_labels))) == labels
    assert np.bincount(data.target).tolist() == sizes
    assert (data.task, data.splits, len(data.classes)) == ("graph", None, len(sizes))


needs_packages = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("graphdatascience", "grakel"))), reason="needs the extra mvgrl[datasets]"
)


@needs_packages
def test_both_sources_of_the_linqs_cora_agree(data_root, monkeypatch):
    monkeypatch.delenv("MVGRL_DATA", raising=False)
    files, package = load("cora-linqs", data_root), load("cora-linqs")
    assert files.source == "linqs-cora"
    assert package.source.startswith("graphdatascience ")
    assert files.graph.fingerprint == package.graph.fingerprint
    assert (files.graph.features != package.graph.features).nnz == 0
    assert np.array_equal(files.target, package.target)


@needs_packages
def test_both_sources_of_mutag_agree(data_root, monkeypatch):
    monkeypatch.delenv("MVGRL_DATA", raising=False)
    files, package = load("mutag", data_root), load("mutag")
    assert files.source == "tu/MUTAG/raw"
    assert package.source.startswith("grakel ")
    assert files.graph.fingerprint == package.graph.fingerprint
    assert np.array_equal(files.graph.node_labels, package.graph.node_labels)
    assert np.array_equal(files.target, package.target)


@needs_packages
def test_datasets_inside_packages_load_without_importing_the_packages(monkeypatch):
    monkeypatch.delenv("MVGRL_DATA", raising=False)
    for package in ("graphdatascience", "grakel"):
        monkeypatch.delitem(sys.modules, package, raising=False)
    assert (load("cora-linqs").graph.edges, load("mutag").graph.count) == (5278, 188)
    assert not {"graphdatascience", "grakel"} & set(sys.modules)


def test_the_two_coras_are_one_graph_in_two_orders(data_root):
    linqs, planetoid = load("cora-linqs", data_root), load("cora", data_root)
    order = np.loadtxt(data_root / "linqs-cora" / "content_row_to_planetoid_index.txt", dtype=np.int64)
    assert np.array_equal(linqs.target, planetoid.target[order])
    assert (linqs.graph.features != planetoid.graph.features[order]).nnz == 0
    moved = planetoid.graph.adjacency[order][:, order]
    assert Graph.from_scipy(moved).fingerprint == linqs.graph.fingerprint
    assert linqs.classes == planetoid.classes


def test_planetoid_agrees_with_pytorch_geometrics_reader(data_root, tmp_path):
    from torch_geometric.datasets import Planetoid

    shutil.copytree(data_root / "planetoid" / "CiteSeer" / "raw", tmp_path / "CiteSeer" / "raw")
    theirs, ours = Planetoid(str(tmp_path), "CiteSeer")[0], load("citeseer", data_root)
    assert Graph.from_pyg(theirs).fingerprint == ours.graph.fingerprint
    assert np.array_equal(ours.graph.features.toarray(), theirs.x.numpy())
    assert np.array_equal(ours.target, theirs.y.numpy())
    for part in ("train", "val", "test"):
        assert np.array_equal(ours.splits[part], theirs[f"{part}_mask"].nonzero().flatten().numpy())


def test_citeseers_nodes_without_features_are_in_no_part_of_the_split(data_root):
    data = load("citeseer", data_root)
    left_out = np.setdiff1d(np.arange(2312, 3327), data.splits["test"])
    assert len(left_out) == 15
    assert data.graph.features[left_out].nnz == 0


def write_tu(folder, **files):
    folder = folder / "tu" / "MUTAG" / "raw"
    folder.mkdir(parents=True)
    whole = {"A": "1, 2\n2, 1\n4, 5\n", "graph_indicator": "1\n1\n2\n3\n3\n", "graph_labels": "5\n-1\n5\n"} | files
    for name, text in whole.items():
        (folder / f"MUTAG_{name}.txt").write_text(text)


def test_the_text_format_is_read_with_isolated_nodes_and_any_class_numbers(tmp_path):
    write_tu(tmp_path, node_labels="3\n3\n9\n3\n3\n")
    data = load("MUTAG", tmp_path)
    assert data.graph.sizes.tolist() == [2, 1, 2]
    assert data.graph.edges == 2
    assert data.graph.node_labels.tolist() == [3, 3, 9, 3, 3]
    assert (data.target.tolist(), data.classes) == ([1, 0, 1], ("-1", "5"))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"A": "1, 2\n2, x\n"}, "MUTAG_A.txt.*whole number.*x"),
        ({"A": "1, 2, 3\n"}, "MUTAG_A.txt"),
        ({"A": "1,\n"}, "MUTAG_A.txt.*missing"),
        ({"A": "1, 9\n"}, "names node 8"),
        ({"A": "2, 3\n"}, "joins node 1 of graph 0 with node 2 of graph 1"),
        ({"graph_indicator": "1\n2\n1\n3\n3\n"}, "graph_indicator.txt, line 3: graph 1 after graph 2"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n"}, "graph 1 has no nodes"),
        ({"graph_labels": "1\n1\n"}, "belong to graphs 1 to 3, but 2 graphs have a label"),
        ({"node_labels": "1\n1\n"}, r"node_labels has shape \(2,\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_text_files_are_refused_by_name(tmp_path, files, message):
    write_tu(tmp_path, **files)
    with pytest.raises(InputError, match=message):
        load("mutag", tmp_path)


class Intruder:
    def __reduce__(self):
        return print, ("a pickle must not run this",)


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_that_asks_for_a_function_is_refused_before_it_runs(tmp_path, capsys, protocol):
    folder = tmp_path / "planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    (folder / "ind.cora.allx").write_bytes(pickle.dumps([Intruder()], protocol=protocol))
    with pytest.raises(InputError, match=r"ind.cora.allx is not a Planetoid file.*print"):
        load("cora", tmp_path)
    assert capsys.readouterr().out == ""


def test_a_cut_off_or_missing_planetoid_file_is_named(tmp_path, data_root):
    folder = tmp_path / "planetoid" / "Cora" / "raw"
    shutil.copytree(data_root / "planetoid" / "Cora" / "raw", folder)
    whole = (folder / "ind.cora.tx").read_bytes()
    (folder / "ind.cora.tx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"ind.cora.tx is not a Planetoid file"):
        load("cora", tmp_path)
    (folder / "ind.cora.tx").unlink()
    with pytest.raises(InputError, match=r"ind.cora.tx is missing"):
        load("cora", tmp_path)


@pytest.mark.parametrize(("name", "near"), [("Kora", "cora"), ("redit-binary", "reddit-binary"), ("pubmet", "pubmed")])
def test_an_unknown_name_gets_the_nearest(name, near):
    with pytest.raises(InputError, match=f"did you mean '{near}'"):
        load(name)


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(InputError, match=", ".join(map(repr, NAMES))):
        load("xyzzy")


def test_a_dataset_that_is_not_here_says_where_to_put_it(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"put its files into .*planetoid.PubMed.raw$"):
        load("pubmed", tmp_path)
    monkeypatch.delenv("MVGRL_DATA", raising=False)
    with pytest.raises(InputError, match=r"MVGRL_DATA$"):
        load("imdb-binary")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'mvgrl\[datasets\]'"):
        load("mutag", tmp_path)


def test_the_environment_names_the_data_folder(tmp_path, monkeypatch):
    write_tu(tmp_path)
    monkeypatch.setenv("MVGRL_DATA", str(tmp_path))
    assert load("mutag").graph.count == 3
