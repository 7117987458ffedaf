"""The named datasets: the published counts, the splits, and what is said when one is missing or damaged."""

from __future__ import annotations

import importlib.util
import io
import logging
import pickle
import re
import shutil
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.datasets import load
from mvgrl.datasets.download import BASES
from mvgrl.datasets.registry import KNOWN, NAMES, Found, find
from mvgrl.errors import InputError
from mvgrl.graphs import Graph, planetoid


@pytest.fixture(autouse=True)
def nothing_but_the_test_s_own_folders(monkeypatch, tmp_path):
    """No network, an empty cache, no data folder in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MVGRL_DATA", raising=False)
    for name in BASES:
        monkeypatch.setitem(BASES, name, "http://127.0.0.1:9")


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
    files, package = load("cora-linqs", data_root), load("cora-linqs")
    assert files.source == "linqs-cora"
    assert package.source.startswith("graphdatascience ")
    assert files.graph.fingerprint == package.graph.fingerprint
    assert (files.graph.features != package.graph.features).nnz == 0
    assert np.array_equal(files.target, package.target)


@needs_packages
def test_both_sources_of_mutag_agree(data_root, monkeypatch):
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


def refused(name, root, message):
    """One error, without another behind it, that names the file and says to get it anew."""
    with pytest.raises(InputError, match=message) as caught:
        load(name, root)
    assert re.search("get .*anew", str(caught.value))
    assert caught.value.__context__ is None or caught.value.__suppress_context__


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
        ({"A": "1, 2\n2, x\n"}, "MUTAG_A.txt, line 2: .*whole number.*2, x"),
        ({"A": "1, 2\n\n2, 1, 3\n"}, "MUTAG_A.txt, line 3: .*2, 1, 3"),
        ({"A": "1, 2\n1,\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": "1, 2\n2, 1.5\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": f"1, 2\n2, {2**64}\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": "1, 2\n\x00\x01\n"}, "MUTAG_A.txt, line 2: "),
        ({"A": ""}, "MUTAG_A.txt is empty"),
        ({"A": "1, 2\n\n1, 9\n"}, "MUTAG_A.txt, line 3: it names node 9, but nodes are numbered 1 to 5"),
        ({"A": "1, 2\n0, 1\n"}, "MUTAG_A.txt, line 2: it names node 0"),
        ({"A": "1, 2\n2, 3\n"}, "MUTAG_A.txt, line 2: it joins node 2 of graph 1 with node 3 of graph 2"),
        ({"graph_indicator": "1\n2\n1\n3\n3\n"}, "graph_indicator.txt, line 3: graph 1 after graph 2"),
        ({"graph_indicator": "1\n\n2\n1\n3\n3\n"}, "graph_indicator.txt, line 4: graph 1 after graph 2"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n"}, "graph_indicator.txt: graph 2 has no nodes"),
        ({"graph_indicator": "1\n1\nNA\n3\n3\n"}, "graph_indicator.txt, line 3: .*a whole number.*NA"),
        ({"graph_labels": "1\n1\n"}, "belong to graphs 1 to 3, but 2 graphs have a label"),
        ({"graph_labels": '1\n"1"\n1\n'}, "graph_labels.txt, line 2: "),
        ({"node_labels": "1\n1\n"}, "MUTAG_node_labels.txt has labels of 2 nodes.*has 5 nodes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_text_files_are_refused_by_name_and_line(tmp_path, files, message):
    write_tu(tmp_path, **files)
    refused("mutag", tmp_path, message)


@pytest.mark.parametrize("part", ["A", "graph_indicator", "graph_labels"])
def test_a_missing_text_file_is_named(tmp_path, part):
    write_tu(tmp_path)
    path = tmp_path / "tu" / "MUTAG" / "raw" / f"MUTAG_{part}.txt"
    path.unlink()
    refused("mutag", tmp_path, f"MUTAG_{part}.txt is missing")
    path.mkdir()
    refused("mutag", tmp_path, f"MUTAG_{part}.txt cannot be read")


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


@pytest.fixture
def cora_copy(tmp_path, data_root):
    folder = tmp_path / "planetoid" / "Cora" / "raw"
    folder.mkdir(parents=True)
    for path in (data_root / "planetoid" / "Cora" / "raw").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("part", ["x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"])
def test_a_planetoid_file_that_is_none_of_it_is_named(tmp_path, cora_copy, part):
    path = cora_copy / f"ind.cora.{part}"
    whole = path.read_bytes()
    if part == "x":  # its rows are the first of allx
        path.unlink()
        assert load("cora", tmp_path).graph.edges == 5278
        return
    for damaged in (
        whole[: len(whole) // 2],
        b"",
        b"garbage",
        b"\x00" * 50,
        pickle.dumps([1, 2]),
        pickle.dumps(None, 2),
    ):
        path.write_bytes(damaged)
        refused("cora", tmp_path, f"ind.cora.{part}")
    path.unlink()
    refused("cora", tmp_path, f"ind.cora.{part} is missing")
    path.mkdir()
    with pytest.raises(InputError, match=f"ind.cora.{part} cannot be read"):
        load("cora", tmp_path)


@pytest.mark.parametrize(
    ("part", "other", "message"),
    [
        ("tx", "x", "test.index: its 1000 nodes .* not the 140 of tx|ind.cora.ty has 1000 rows.* 140"),
        ("ally", "y", "ind.cora.ally has 140 rows, but .* 1708"),
        ("ty", "y", "ind.cora.ty has 140 rows, but .* 1000"),
        ("graph", "allx", "ind.cora.graph is not a Planetoid file: it must list the neighbours"),
        ("allx", "graph", "ind.cora.allx is not a Planetoid file: it holds a defaultdict"),
        ("y", "graph", "ind.cora.y is not a Planetoid file: it holds no table of classes"),
    ],
)
def test_planetoid_files_that_do_not_belong_together_are_refused(tmp_path, cora_copy, part, other, message):
    shutil.copy(cora_copy / f"ind.cora.{other}", cora_copy / f"ind.cora.{part}")
    refused("cora", tmp_path, message)


def test_planetoid_files_of_another_set_are_refused(tmp_path, cora_copy, data_root):
    for part, message in (("tx", "ind.cora.tx has 3703 columns, but allx has 1433"), ("ty", "ind.cora.ty has")):
        whole = (cora_copy / f"ind.cora.{part}").read_bytes()
        other = data_root / "planetoid" / "CiteSeer" / "raw" / f"ind.citeseer.{part}"
        (cora_copy / f"ind.cora.{part}").write_bytes(other.read_bytes())
        refused("cora", tmp_path, message)
        (cora_copy / f"ind.cora.{part}").write_bytes(whole)
    graph = pickle.dumps({0: [1], 1: [0, 99_999]}, protocol=2)
    (cora_copy / "ind.cora.graph").write_bytes(graph)
    refused("cora", tmp_path, "ind.cora.graph: .*names node 99999")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x", "line 3: 'x'"),
        ("99999999999", "line 3: '99999999999'"),
        ("9" * 5000, "line 3: '999"),
        ("17", "line 3: '17' .* start at 1708"),
        ("-1", "line 3"),
        (None, "its 999 nodes"),
        ("first", "line 3: node 2692 is on line 1 too"),
    ],
)
def test_a_wrong_line_of_the_test_index_is_named(tmp_path, cora_copy, line, message):
    path = cora_copy / "ind.cora.test.index"
    lines = path.read_text().split()
    assert lines[0] == "2692"
    lines[2:3] = [] if line is None else [lines[0] if line == "first" else line]
    path.write_text("\n".join(lines))
    refused("cora", tmp_path, f"ind.cora.test.index(, |: ){message}")


def test_an_index_out_of_range_in_a_stored_table_is_refused(tmp_path, cora_copy):
    path = cora_copy / "ind.cora.allx"
    reader = planetoid._Reader(io.BytesIO(path.read_bytes()), encoding="latin1", fix_imports=False)
    stored = reader.load()
    place = path.read_bytes().find(stored.indices.tobytes()[:400])
    assert place > 0
    with path.open("r+b") as file:
        file.seek(place)
        file.write(np.int32(10**9).tobytes())
    refused("cora", tmp_path, "ind.cora.allx is not a Planetoid file")


def write_linqs(folder, content=None, cites=None, papers=1500):
    folder = folder / "linqs-cora"
    folder.mkdir(exist_ok=True)
    lines = [f"{i + 7}\t{i % 2}\t1\tTheory" for i in range(papers)] if content is None else content
    (folder / "cora.content").write_text("\n".join(lines) + "\n")
    (folder / "cora.cites").write_text("7\t8\n8\t9\n" if cites is None else cites)
    return folder


def test_broken_files_of_the_linqs_cora_are_refused_by_name_and_line(tmp_path):
    folder = write_linqs(tmp_path)
    data = load("cora-linqs", tmp_path)
    assert (data.graph.nodes, data.graph.edges, data.graph.features.toarray()[1].tolist()) == (1500, 2, [1, 1])
    for content, message in (
        (["7 0 1 Theory", "8 0 Theory"], "cora.content, line 2: 1 words, not 2"),
        (["7 0 1 Theory", "8 0"], "cora.content, line 2: it is cut off"),
        (["7 0 1 Theory", "8 0 1 Theo"], "cora.content, line 2: .*subjects"),
        (["7 0 1 Theory", "8 0 2 Theory"], "cora.content, line 2: .*0 or 1"),
        (["7 0 1 Theory", "b 0 1 Theory"], "cora.content, line 2: .*number"),
        (["7 0 1 Theory", "7 0 1 Theory"], "cora.content, line 2: paper 7 is on line 1 too"),
        ([], "cora.content is empty"),
        (["7 0 1 Theory", "8 0 1 Theory", "9 0 1 Theory"], "3 papers, but the split is of 1,500"),
    ):
        write_linqs(tmp_path, content)
        refused("cora-linqs", tmp_path, message)
    for cites, message in (
        ("7 8\n8 x\n", "cora.cites, line 2"),
        ("7 8\n8 9 10\n", "cora.cites, line 2"),
        ("7\n", "cora.cites, line 1"),
        ("", "cora.cites is empty"),
        ("7 8\n8 6\n", "names paper 6"),
    ):
        write_linqs(tmp_path, cites=cites)
        refused("cora-linqs", tmp_path, message)
    (folder / "cora.cites").unlink()
    refused("cora-linqs", tmp_path, "cora.cites is missing")
    (folder / "cora.content").unlink()
    (folder / "README").touch()
    refused("cora-linqs", tmp_path, "cora.content is missing")


def test_a_set_with_other_counts_than_the_published_one_is_said(tmp_path, data_root, caplog):
    write_tu(tmp_path)
    with caplog.at_level(logging.WARNING, logger="mvgrl"):
        load("mutag", data_root)
        assert not caplog.records
        load("mutag", tmp_path)
    assert "3 graphs, 5 nodes and 2 edges, but the published set has 188, 3371 and 3721" in caplog.text


@pytest.mark.parametrize("name", [name for name in NAMES if name != "reddit-binary"])
def test_what_is_known_of_a_set_is_what_is_read(data_root, name):
    known, data = KNOWN[name], load(name, data_root)
    assert (known.graphs, known.nodes, known.edges) == (data.graph.count, data.graph.nodes, data.graph.edges)
    assert (known.task, known.classes, known.folder) == (data.task, len(data.classes), data.source)
    assert known.title
    assert "https://" in known.origin


def test_all_names_are_known_and_none_else():
    assert tuple(KNOWN) == NAMES
    assert {name for name, known in KNOWN.items() if known.carried} == {"cora-linqs", "mutag"}
    assert KNOWN["reddit-binary"].size == "2,000 graphs of 429.6 nodes"


def test_a_dataset_as_a_named_graph(data_root):
    mutag, cora = (load(name, data_root) for name in ("mutag", "cora"))
    named = mutag.named()
    assert (named.labels_of, named.labels.tolist()) == ("graphs", mutag.target.tolist())
    assert (named.node_ids.tolist(), named.graph_ids.tolist()) == (list(range(3371)), list(range(188)))
    named = cora.named()
    assert (named.labels_of, named.graph_ids) == ("nodes", None)
    assert np.array_equal(named.labels, cora.target)
    assert named.graph is cora.graph


@needs_packages
def test_the_data_folder_comes_before_the_package_and_the_package_before_the_cache(tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "mvgrl" / "datasets"
    for root in (tmp_path / "named", tmp_path / "set", cache):
        write_tu(root)
    assert find("mutag", tmp_path / "named") == Found(
        tmp_path / "named" / "tu" / "MUTAG" / "raw", "tu/MUTAG/raw", "data folder"
    )
    assert (find("mutag").kind, find("mutag", tmp_path / "empty").kind) == ("package", "package")
    monkeypatch.setenv("MVGRL_DATA", str(tmp_path / "set"))
    assert find("mutag").folder == tmp_path / "set" / "tu" / "MUTAG" / "raw"
    assert find("mutag", tmp_path / "named").folder == tmp_path / "named" / "tu" / "MUTAG" / "raw"
    monkeypatch.delenv("MVGRL_DATA")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert find("MUTAG", tmp_path / "empty") == Found(cache / "tu" / "MUTAG" / "raw", "cache: tu/MUTAG/raw", "cache")
    assert load("mutag").source == "cache: tu/MUTAG/raw"


def test_an_empty_folder_is_no_find(tmp_path):
    (tmp_path / "planetoid" / "Cora" / "raw").mkdir(parents=True)
    assert find("cora", tmp_path) is None
    with pytest.raises(InputError, match="did you mean 'cora'"):
        find("kora")


def test_a_damaged_cache_says_what_to_remove(tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "mvgrl" / "datasets"
    write_tu(cache, A="1, 2\n1\n")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused("mutag", None, f"MUTAG_A.txt, line 2.*remove {cache}.*downloaded again")


@pytest.mark.parametrize(("name", "near"), [("Kora", "cora"), ("redit-binary", "reddit-binary"), ("pubmet", "pubmed")])
def test_an_unknown_name_gets_the_nearest(name, near):
    with pytest.raises(InputError, match=f"did you mean '{near}'"):
        load(name)


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(InputError, match=", ".join(map(repr, NAMES))):
        load("xyzzy")


def test_a_dataset_that_is_not_here_says_where_to_put_it(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"put its files into .*planetoid.PubMed.raw$"):
        load("pubmed", tmp_path, download=False)
    with pytest.raises(InputError, match=r"MVGRL_DATA$"):
        load("imdb-binary", download=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'mvgrl\[datasets\]'"):
        load("mutag", tmp_path, download=False)


def test_the_environment_names_the_data_folder(tmp_path, monkeypatch):
    write_tu(tmp_path)
    monkeypatch.setenv("MVGRL_DATA", str(tmp_path))
    assert load("mutag").graph.count == 3
