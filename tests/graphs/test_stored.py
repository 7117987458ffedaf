"""Graphs on disk: what is written is read back, by ranges or as a whole, and damage is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.stored import StoredGraph
from mvgrl.graphs.tables import from_tables


def equal(one: NamedGraph, other: NamedGraph) -> bool:
    """Whether two graphs are the same, features in single precision."""

    def same(a, b):
        if a is None or b is None:
            return a is b
        if sp.issparse(a):
            return sp.issparse(b) and all(
                np.array_equal(np.asarray(getattr(a, part), t), np.asarray(getattr(b, part), t))
                for part, t in (("indptr", "i8"), ("indices", "i8"), ("data", "f4"))
            )
        if a.dtype.kind == "f" and a.ndim == 2:
            return np.array_equal(a.astype(np.float32), b.astype(np.float32))
        return a.dtype.kind == b.dtype.kind and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")

    return (
        one.graph.fingerprint == other.graph.fingerprint
        and same(one.graph.features, other.graph.features)
        and same(one.graph.node_labels, other.graph.node_labels)
        and one.graph.feature_names == other.graph.feature_names
        and one.notes == other.notes
        and all(same(getattr(one, name), getattr(other, name)) for name in ("node_ids", "graph_ids", "labels", "sides"))
    )


EDGES = pa.table({"source": ["ann", "bob", "cy"], "target": ["bob", "cy", "ann"], "weight": [1.5, 0.1, 2.0]})
NODES = pa.table(
    {
        "id": ["bob", "ann", "cy", "dan"],
        "age": [1.0, 2.0, 3.5, 7.1],
        "city": ["Oslo", "Rome", "Oslo", "Rome"],
        "label": ["x", None, "y", "x"],
    }
)
SENTENCES = pa.table(
    {"id": ["ann", "bob", "cy"], "about": ["a long story of a graph", "a short one of two words", "and nothing else"]}
)
GRAPHS = {
    "weighted, with ids, features and labels": from_tables(EDGES, NODES),
    "words": from_tables(EDGES, SENTENCES, text=["about"]),
    "numbered": NamedGraph(Graph.from_edges([0, 1, 1], [1, 2, 1], nodes=5), np.arange(5)),
    "sparse": NamedGraph(Graph.from_edges([0], [1], features=sp.eye_array(4, format="csr")), np.arange(10, 14)),
    "node labels": NamedGraph(Graph.from_edges([0], [1], node_labels=["C", "N", "O"]), np.arange(3)),
    "several": NamedGraph(
        Graph.from_edges([0], [1], offsets=[0, 2, 5]), np.arange(5), np.array(["a", "b"]), np.arange(2)
    ),
    "bipartite": from_tables(pa.table({"user": [1, 2], "item": [1, 1]}), bipartite=True),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_is_read_back_as_it_was_written(name, tmp_path):
    named = GRAPHS[name]
    stored = StoredGraph.write(tmp_path / "graph", named)
    assert (stored.nodes, stored.edges) == (named.graph.nodes, named.graph.edges)
    assert equal(stored.load(), named)
    assert StoredGraph.open(tmp_path / "graph", check=True).fingerprint == stored.fingerprint
    if named.columns is not None:
        assert stored.load().columns.to_state()[0] == named.columns.to_state()[0]


def test_rows_are_read_by_range_and_by_number(tmp_path):
    rng = np.random.default_rng(0)
    dense = rng.random((50, 4)).astype(np.float32)
    sparse = sp.random_array((50, 9), density=0.3, rng=rng, format="csr", dtype=np.float32)
    for features in (dense, sparse):
        graph = Graph.from_edges([0, 3], [1, 2], features=features)
        stored = StoredGraph.write(tmp_path / "graph", NamedGraph(graph, np.arange(50) * 2))
        for rows in (np.arange(7, 20), np.array([40, 3, 3, 0]), np.array([], np.int64)):
            assert (stored.feature_rows(rows) != features[rows]).sum() == 0
        assert (stored.feature_rows(7, 20) != features[7:20]).sum() == 0
        assert stored.ids(3, 6).tolist() == [6, 8, 10]
        assert stored.ids(48, 99).tolist() == [96, 98]


def test_ids_are_read_across_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("mvgrl.graphs.stored.PART", 3)
    ids = np.array([f"node {i}" for i in range(10)])
    stored = StoredGraph.write(tmp_path / "graph", NamedGraph(Graph.from_edges([0], [9]), ids))
    for start, stop in ((0, 10), (2, 4), (3, 6), (8, 9), (5, 5)):
        assert stored.ids(start, stop).tolist() == ids[start:stop].tolist()


def test_weights_take_four_bytes_where_that_loses_nothing(tmp_path):
    for weight, size in ((0.5, 4), (0.1, 8)):
        graph = Graph.from_edges([0], [1], [weight])
        stored = StoredGraph.write(tmp_path / "graph", NamedGraph(graph, np.arange(2)))
        assert stored.weights.dtype.itemsize == size
        assert stored.adjacency.data.tolist() == [weight, weight]


def test_fingerprints_depend_on_the_content(tmp_path):
    plain = Graph.from_edges([0], [1], nodes=3)
    one = StoredGraph.write(tmp_path / "one", NamedGraph(plain, np.arange(3)))
    renamed = StoredGraph.write(tmp_path / "two", NamedGraph(plain, np.array([7, 8, 9])))
    other = StoredGraph.write(tmp_path / "three", NamedGraph(Graph.from_edges([0], [2], nodes=3), np.arange(3)))
    assert one.fingerprint != renamed.fingerprint
    assert one.structure_fingerprint == renamed.structure_fingerprint != other.structure_fingerprint


def damage(folder: Path, what: str) -> None:
    file = folder / "features.npy"
    data = file.read_bytes()
    manifest = json.loads((folder / "graph.json").read_text())
    if what == "truncated":
        file.write_bytes(data[:-1])
    elif what == "missing":
        file.unlink()
    elif what == "flipped":
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif what == "manifest":
        (folder / "graph.json").write_text("{")
    elif what == "format":
        (folder / "graph.json").write_text(json.dumps(manifest | {"format": "mvgrl-graph-9"}))
    elif what == "path":
        files = manifest["files"] | {"../../etc/passwd": {"bytes": 1, "blake2b": ""}}
        (folder / "graph.json").write_text(json.dumps(manifest | {"files": files}))
    elif what == "nodes":
        (folder / "graph.json").write_text(json.dumps(manifest | {"nodes": 7}))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("truncated", "features.npy has .* bytes, but was written with .*import the tables again"),
        ("missing", "features.npy is missing.*import the tables again"),
        ("flipped", r"features.npy was changed after it was written \(wrong checksum\).*import the tables again"),
        ("manifest", "graph.json is damaged.*import the tables again"),
        ("format", "'mvgrl-graph-9'.*import the tables again"),
        ("path", "list of files"),
        ("nodes", "needs shape"),
    ],
)
def test_a_damaged_folder_is_refused_with_a_remedy(what, message, tmp_path):
    StoredGraph.write(tmp_path / "graph", GRAPHS["weighted, with ids, features and labels"])
    damage(tmp_path / "graph", what)
    with pytest.raises(InputError, match=message):
        StoredGraph.open(tmp_path / "graph").load()


def test_a_folder_with_other_files_is_not_overwritten(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not a stored graph"):
        StoredGraph.write(tmp_path, GRAPHS["numbered"])
    assert (tmp_path / "notes.txt").read_text() == "mine"
