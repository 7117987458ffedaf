"""The registry: entries agree with the files, the order of search, errors for what is missing, a new dataset."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl.datasets import DATASETS, Found, find, load, sources
from mvgrl.datasets.registry import collect
from mvgrl.errors import InputError, MachineError

NAMES = (
    "cora-linqs",
    "cora",
    "citeseer",
    "pubmed",
    "amazon-photo",
    "dblp",
    "mutag",
    "ptc-mr",
    "imdb-binary",
    "imdb-multi",
    "reddit-binary",
    "wordnet",
    "wordnet-text",
)


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes", "split"),
    [
        ("cora", 2708, 5278, 1433, 7, (140, 500, 1000)),
        ("cora-linqs", 2708, 5278, 1433, 7, (140, 300, 1000)),
        ("citeseer", 3327, 4552, 3703, 6, (120, 500, 1000)),
        ("pubmed", 19717, 44324, 500, 3, (60, 500, 1000)),
    ],
)
def test_citation_graphs_have_the_published_counts(original, name, nodes, edges, features, classes, split):
    data = original(name)
    graph = data.graph
    assert (graph.nodes, graph.edges, graph.count, graph.features.shape[1]) == (nodes, edges, 1, features)
    assert sp.issparse(graph.features)
    assert data.task == "node"
    assert sorted(set(data.target)) == list(range(classes)) == list(range(len(data.classes)))
    assert tuple(len(data.splits[part]) for part in ("train", "val", "test")) == split
    assert len(np.unique(np.concatenate(list(data.splits.values())))) == sum(split)


needs_packages = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("graphdatascience", "grakel"))), reason="needs the extra mvgrl[datasets]"
)


@needs_packages
def test_datasets_inside_packages_load_without_importing_the_packages(monkeypatch):
    for package in ("graphdatascience", "grakel"):
        monkeypatch.delitem(sys.modules, package, raising=False)
    assert (load("cora-linqs").graph.edges, load("mutag").graph.count) == (5278, 188)
    assert not {"graphdatascience", "grakel"} & set(sys.modules)


def test_unexpected_counts_are_warned_about(tmp_path, data_root, caplog, write_tu):
    write_tu(tmp_path)
    with caplog.at_level(logging.WARNING, logger="mvgrl"):
        load("mutag", data_root)
        assert not caplog.records
        load("mutag", tmp_path)
    assert "3 graphs, 5 nodes and 2 edges, but the published dataset has 188, 3371 and 3721" in caplog.text


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_agrees_with_the_files(original, name):
    info, data = DATASETS[name], original(name)
    assert (info.graphs, info.nodes, info.edges) == (data.graph.count, data.graph.nodes, data.graph.edges)
    assert (info.task, info.classes, info.folder) == (data.task, len(data.classes), data.source)
    assert len(np.unique(data.target)) == info.classes
    assert info.title
    assert "https://" in info.citation


def test_the_registry_has_all_datasets_in_order():
    assert tuple(DATASETS) == NAMES
    assert all(info.name == name for name, info in DATASETS.items())
    assert {name for name, info in DATASETS.items() if info.package} == {"cora-linqs", "mutag"}
    assert DATASETS["reddit-binary"].size == "2,000 graphs of 429.6 nodes"


NEW_SOURCE = """
import numpy as np

from mvgrl.datasets.base import Contents, DatasetInfo
from mvgrl.graphs import Graph


def read(folder):
    edges = np.loadtxt(folder / "ring.txt", dtype=int)
    return Contents(Graph.from_edges(*edges.T), np.arange(4) % 2, ("even", "odd"), {"train": np.arange(2)})


ENTRIES = (
    DatasetInfo(
        name="ring", title="a ring", task="node", graphs=1, nodes=4, edges=4, classes=2, citation="nobody",
        licence="none", folder="ring", files={"ring.txt": DIGEST}, url="URL/data", reader=read,
    ),
)
"""


def test_a_new_dataset_is_one_file(tmp_path, monkeypatch, server):
    ring = b"0 1\n1 2\n2 3\n3 0\n"
    source = NEW_SOURCE.replace("DIGEST", repr(hashlib.sha256(ring).hexdigest())).replace("URL", server.address)
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "ring_of_four.py").write_text(source)
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path / "sources")])
    found = collect()
    assert set(found) == {*NAMES, "ring"}
    monkeypatch.setitem(DATASETS, "ring", found["ring"])
    with pytest.raises(MachineError, match=r"'ring' could not be downloaded .*put ring.txt into"):
        load("ring", tmp_path)
    server.answers["/data/ring.txt"] = b"0 1\n"
    with pytest.raises(MachineError, match=r"ring.txt is not the published file"):
        load("ring", tmp_path)
    server.answers["/data/ring.txt"] = ring
    data = load("Ring", tmp_path)
    assert (data.name, data.task, data.source, data.graph.edges) == ("ring", "node", "ring", 4)
    assert (data.target.tolist(), data.classes, data.splits["train"].tolist()) == (
        [0, 1, 0, 1],
        ("even", "odd"),
        [0, 1],
    )
    assert find("ring", tmp_path) == Found(tmp_path / "ring", "ring", "data folder")
    (tmp_path / "ring" / "ring.txt").write_text("0 x\n")
    with pytest.raises(InputError, match=r"ring is damaged \(ValueError: .*\); download it again$"):
        load("ring", tmp_path)


def test_a_dataset_as_a_named_graph(original):
    mutag, cora = original("mutag"), original("cora")
    named = mutag.named()
    assert (named.labels_of, named.labels.tolist()) == ("graphs", mutag.target.tolist())
    assert (named.node_ids.tolist(), named.graph_ids.tolist()) == (list(range(3371)), list(range(188)))
    named = cora.named()
    assert (named.labels_of, named.graph_ids) == ("nodes", None)
    assert np.array_equal(named.labels, cora.target)
    assert named.graph is cora.graph


@needs_packages
def test_the_data_folder_comes_before_the_package_and_the_package_before_the_cache(tmp_path, monkeypatch, write_tu):
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


def test_an_empty_folder_is_not_found(tmp_path):
    (tmp_path / "planetoid" / "Cora" / "raw").mkdir(parents=True)
    assert find("cora", tmp_path) is None
    with pytest.raises(InputError, match="did you mean 'cora'"):
        find("kora")


def test_a_damaged_cache_says_what_to_remove(tmp_path, monkeypatch, refused, write_tu):
    cache = tmp_path / "cache" / "mvgrl" / "datasets"
    write_tu(cache, A="1, 2\n1\n")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused("mutag", None, f"MUTAG_A.txt, line 2.*remove {cache}.*downloaded again")


@pytest.mark.parametrize(("name", "near"), [("Kora", "cora"), ("redit-binary", "reddit-binary"), ("pubmet", "pubmed")])
def test_an_unknown_name_gets_the_nearest_suggestion(name, near):
    with pytest.raises(InputError, match=f"did you mean '{near}'"):
        load(name)


def test_a_name_unlike_any_other_gets_the_list():
    with pytest.raises(InputError, match=", ".join(map(repr, NAMES))):
        load("xyzzy")


def test_a_missing_dataset_says_where_to_put_it(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"put its files into .*planetoid.PubMed.raw$"):
        load("pubmed", tmp_path, download=False)
    with pytest.raises(InputError, match=r"MVGRL_DATA$"):
        load("imdb-binary", download=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'mvgrl\[datasets\]'"):
        load("mutag", tmp_path, download=False)


def test_a_dataset_that_cannot_be_downloaded_says_where_to_put_its_files_and_where_they_come_from(tmp_path):
    with pytest.raises(InputError, match=r"put citation_dblp.npz into .*gnn-benchmark; its files come from https:"):
        load("dblp", tmp_path)
    with pytest.raises(
        InputError, match=r"be downloaded: put synsets.parquet and rel.* into wordnet of .*MVGRL_DATA; its"
    ):
        load("wordnet")
    assert not (tmp_path / "gnn-benchmark").exists()


def test_datasets_that_share_a_folder_are_found_one_by_one(tmp_path):
    (tmp_path / "gnn-benchmark").mkdir()
    (tmp_path / "gnn-benchmark" / "citation_dblp.npz").touch()
    assert find("dblp", tmp_path).source == "gnn-benchmark"
    assert find("amazon-photo", tmp_path) is None


def test_the_environment_names_the_data_folder(tmp_path, monkeypatch, write_tu):
    write_tu(tmp_path)
    monkeypatch.setenv("MVGRL_DATA", str(tmp_path))
    assert load("mutag").graph.count == 3
