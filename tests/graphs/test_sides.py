"""Bipartite graphs: the same id on the two sides is two nodes, and every result says which."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mvgrl.graphs.tables import from_tables
from mvgrl.tables.embeddings import Embeddings, read_embeddings, write_embeddings
from mvgrl.tables.labels import labels_for, read_labels

EDGES = pa.table({"user": [1, 1, 2], "item": [1, 2, 1], "rating": [5.0, 1.0, 2.0]})


def test_ids_of_the_two_sides_are_kept_apart():
    named = from_tables(EDGES, weight_column="rating", bipartite=True)
    assert named.node_ids.tolist() == [1, 1, 2, 2]
    assert named.sides.tolist() == ["user", "item", "item", "user"]
    assert named.graph.adjacency.toarray()[0].tolist() == [0, 5, 1, 0]
    assert not any("bipartite" in note for note in named.graph.notes)


def test_coinciding_ids_are_noted_where_the_columns_are_different_things():
    (note,) = [note for note in from_tables(EDGES).graph.notes if "bipartite" in note]
    assert note.startswith("2 ids are in both 'user' and 'item'")
    apart = pa.table({"user": ["u1", "u2"], "item": ["i1", "i1"]})
    same = EDGES.rename_columns(["source", "target", "rating"])
    assert not any("bipartite" in note for table in (apart, same) for note in from_tables(table).graph.notes)


def test_nodes_have_a_side():
    nodes = pa.table({"id": [2, 1, 1, 2, 3], "side": ["item", "User", "item", "user", "user"], "x": [1, 2, 3, 4, 5]})
    named = from_tables(EDGES, nodes, bipartite=True)
    assert named.sides.tolist() == ["item", "user", "item", "user", "user"]
    assert named.graph.features.ravel().tolist() == [1, 2, 3, 4, 5]
    assert named.graph.feature_names == ("x",)
    assert sorted(zip(*named.graph.adjacency.nonzero(), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
        (2, 3),
        (3, 2),
    ]
    apart = pa.table({"user": ["u1", "u2"], "item": ["i1", "i1"]})
    named = from_tables(apart, pa.table({"id": ["i1", "u2", "u1"], "x": [1, 2, 3]}), bipartite=True)
    assert named.sides.tolist() == ["item", "user", "user"]  # the edges say so


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        ({}, {"id": [1, 2]}, ["nodes, row 0", "1 is on both sides", "column 'side'", "'user' or 'item'"]),
        ({}, {"id": [1, 1, 2], "side": ["user", "item", "film"]}, ["nodes, row 2", "'film'", "'user' or 'item'"]),
        ({}, {"id": [1, 1, 2], "side": ["user", "item", "item"]}, ["edges, row 2", "user is node 2", "side user"]),
        ({}, {"id": [1, 1, 1], "side": ["user", "item", "item"]}, ["nodes, row 2", "of side 'item'", "unique"]),
        ({"user": ["a", "b", "c"]}, {"id": ["a", "b", "c", "1", "2", "lone"]}, ["row 5", "in no edge", "'side'"]),
        ({"graph": [1, 1, 1]}, None, ["edges has a column 'graph'", "drop the column"]),
        ({}, {"id": [1], "side": ["user"], "graph": [1]}, ["nodes has a column 'graph'", "drop the column"]),
    ],
)
def test_bad_sides_are_rejected(input_error, edges, nodes, words):
    table = pa.table({name: EDGES[name] for name in EDGES.column_names} | edges)
    input_error(lambda: from_tables(table, None if nodes is None else pa.table(nodes), bipartite=True), *words)


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet", "npy"])
def test_vectors_say_which_side_a_row_is(tmp_path, extension):
    sides, vectors = np.array(["user", "item", "item"]), np.eye(3, dtype=np.float32)
    path = tmp_path / f"v.{extension}"
    for _ in range(2):  # the second one replaces the ids of the first
        write_embeddings(path, Embeddings(np.array([1, 1, 2]), vectors, sides=sides))
    found = read_embeddings(path)
    assert (found.ids.tolist(), found.sides.tolist()) == ([1, 1, 2], sides.tolist())
    assert np.array_equal(found.vectors, vectors)


def test_labels_are_matched_by_side_and_id(tmp_path, input_error):
    embeddings = Embeddings(np.array([1, 1, 2]), np.eye(3), sides=np.array(["user", "item", "item"]))
    path = tmp_path / "labels.csv"
    path.write_text("id,side,label\n1,item,film\n1,user,child\n2,item,book\n")
    assert labels_for(embeddings, read_labels(path)).tolist() == ["child", "film", "book"]
    path.write_text("id,side,label\n1,user,child\n")  # of one side only
    assert labels_for(embeddings, read_labels(path)).tolist() == ["child", "", ""]
    path.write_text("id,label\n1,film\n")
    input_error(lambda: labels_for(embeddings, read_labels(path)), "the id 1", "several sides", "'side'", str(path))
    path.write_text("id,side,label\n1,item,film\n1,item,child\n")
    input_error(lambda: read_labels(path), "line 3", "the id 1 of side 'item'", "unique")


def test_column_called_side_may_hold_something_else(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,side\n1,left\n2,right\n")
    labels = read_labels(path, label_column="side")
    assert (labels.labels.tolist(), labels.sides) == (["left", "right"], None)
    path.write_text("id,side,e1\n1,0.5,2\n2,0.25,3\n")
    assert read_embeddings(path).vectors.tolist() == [[0.5, 2], [0.25, 3]]
