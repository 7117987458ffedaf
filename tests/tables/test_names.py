"""Ids and labels that would be merged or could not be written are rejected through every door, before any work."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl import Graph
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.read import read
from mvgrl.tables.embeddings import Embeddings, read_embeddings
from mvgrl.tables.labels import read_labels
from mvgrl.tables.names import check_distinct, check_text

NUL = "NUL character"


def objects(values):
    return pd.Series(values, dtype=object)


# NUL characters


def test_nul_characters_in_the_ids_of_text_files_are_rejected(tmp_path, input_error):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.tsv"
    edges.write_text("source,target\na,b\na\0,b\n")
    input_error(lambda: read(edges), "edges.csv, line 3", "'source'", "'a\\x00'", NUL)
    edges.write_text("source,target,graph\na,b,g\na,b,g\0\n")
    input_error(lambda: read(edges), "edges.csv, line 3", "'graph'", NUL)
    edges.write_text("source,target\na,b\n")
    nodes.write_text("id\tlabel\na\tx\nb\tx\0\n")
    input_error(lambda: read(edges, nodes=nodes), "nodes.tsv, line 3", "'label'", NUL)
    nodes.write_text("id\te0\na\t1\na\0\t2\n")
    input_error(lambda: read_embeddings(nodes), "nodes.tsv, line 3", NUL)
    nodes.write_text("id\tlabel\na\tx\nb\tx\0\n")
    input_error(lambda: read_labels(nodes), "nodes.tsv, line 3", NUL)


def test_nul_characters_in_the_ids_of_tables_are_rejected(tmp_path, input_error):
    ends = {"source": ["a", "a\0"], "target": ["b", "b"]}
    pq.write_table(pa.table(ends), tmp_path / "edges.parquet")
    input_error(lambda: read(tmp_path / "edges.parquet"), "edges.parquet, row 1", NUL)
    input_error(lambda: to_named(pa.table(ends)), "edges, row 1", NUL)
    input_error(lambda: to_named(pd.DataFrame(ends)), "edges, row 1", NUL)


def test_nul_characters_in_networkx_graphs_are_rejected(input_error):
    input_error(lambda: to_named(nx.Graph([("a", "a\0")])), "'a\\x00'", NUL)
    graph = nx.Graph([("a", "b")])
    nx.set_node_attributes(graph, {"a": "x", "b": "x\0"}, "label")
    input_error(lambda: to_named(graph), "label", NUL)
    named = [nx.Graph([(0, 1)], name="g"), nx.Graph([(0, 1)], name="g\0")]
    input_error(lambda: to_named(named), "graph", NUL)
    input_error(lambda: Graph.from_edges([0], [1], node_labels=["C", "C\0"]), "node label", NUL)


# Mixed types


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (1, 1.0), (True, "True"), (1.5, "1.5"), (b"a", "a"), (2**70, str(2**70))]
)
def test_ids_of_different_types_that_would_become_one_are_rejected(one, other, input_error):
    edges = pd.DataFrame({"source": objects([one, other]), "target": ["x", "y"]})
    input_error(lambda: to_named(edges), "'source'", repr(one), repr(other), "one type")
    edges = pd.DataFrame({"source": ["x"], "target": ["x"]})
    nodes = pd.DataFrame({"id": objects([one, other])})
    input_error(lambda: to_named((edges, nodes)), "nodes", "'id'", repr(one), repr(other))
    nodes = pd.DataFrame({"id": ["x", "y"], "label": objects(["1", 1])})
    input_error(lambda: to_named((edges, nodes)), "'label'", "'1' and 1")


def test_mixed_ids_that_stay_distinct_are_accepted():
    edges = pd.DataFrame({"source": objects([1, "a", 2.5]), "target": objects([np.int64(1), 2, 1])})
    assert to_named(edges).node_ids.tolist() == ["1", "a", "2", "2.5"]
    edges = pd.DataFrame({"source": objects([1, 2.0]), "target": objects([3, np.int64(1)])})
    assert to_named(edges).node_ids.tolist() == [1, 3, 2]
    nodes = pd.DataFrame({"id": [1, 2, 3], "x": objects([1, 1.0, True])})
    assert to_named((edges, nodes)).graph.features.tolist() == [[1], [1], [1]]


def test_nodes_of_a_networkx_graph_that_are_the_same_as_text_are_rejected(input_error):
    input_error(lambda: to_named(nx.Graph([(1, "1")])), "1 and '1'")
    input_error(lambda: to_named(nx.Graph([("a", float("nan"))])), "NaN")


def test_node_labels_that_numpy_would_merge_are_rejected(input_error):
    for labels in ([1, "1"], np.array([1, "1"], dtype=object)):
        input_error(lambda labels=labels: Graph.from_edges([0], [1], node_labels=labels), "1 and '1'")
    input_error(lambda: Graph.from_edges([0], [1], node_labels=np.array([[1], [1, 2]], object)), "lists")
    input_error(lambda: Graph.from_edges([0], [1], node_labels=[b"\xff", b"a"]), "UTF-8")
    assert Graph.from_edges([0], [1], node_labels=[1, "a"]).node_labels.tolist() == ["1", "a"]


def test_integers_beyond_64_bits_are_kept_as_text():
    edges = pd.DataFrame({"source": objects([2**70, 2**63]), "target": objects([1, 2])})
    assert to_named(edges).node_ids.tolist() == [str(2**70), "1", str(2**63), "2"]


@pytest.mark.parametrize("value", ["\ud800", 10**5000], ids=["surrogate", "digits"])
def test_ids_that_are_no_text_are_rejected(value, input_error):
    edges = pd.DataFrame({"source": objects([1, value]), "target": [1, 2]})
    input_error(lambda: to_named(edges), "edges, column 'source', row 1", "cannot be converted to text")


def test_column_name_that_is_no_text_is_rejected(input_error):
    edges = pd.DataFrame([[1, 2, 3]], columns=pd.Index(["source", "target", "\ud800"], dtype=object))
    input_error(lambda: to_named(edges), "column name", "\\ud800")


# Before any work


def test_ids_are_checked_when_the_graph_is_made(input_error):
    graph = Graph.from_edges([0], [1])
    for ids, words in ((["a", ""], "ids[1] is empty"), (["a\0b", "c"], NUL), (["a", "\ud800"], "lone surrogate")):
        input_error(lambda ids=ids: NamedGraph(graph, np.array(ids)), "node_ids", words)
        input_error(lambda ids=ids: Embeddings(np.array(ids), np.ones((2, 1))), "ids", words)
        two = Graph.from_edges([0], [1], offsets=[0, 2, 4], nodes=4)
        input_error(lambda ids=ids, two=two: NamedGraph(two, np.arange(4), np.array(ids)), "graph_ids", words)
    input_error(lambda: NamedGraph(graph, np.arange(2), labels=np.array(["a\0b", "c"])), "labels", NUL)
    assert NamedGraph(graph, np.arange(2), labels=np.array(["", "c"])).labels_of == "nodes"


@pytest.mark.parametrize("extension", ["graphml", "gml"])
def test_empty_node_id_in_a_file_is_rejected_when_it_is_read(tmp_path, input_error, extension):
    path = tmp_path / f"graph.{extension}"
    (nx.write_graphml if extension == "graphml" else nx.write_gml)(nx.Graph([("a", "")]), path)
    input_error(lambda: read(path), path, "empty")


def test_texts_in_any_memory_layout_are_checked(input_error):
    values = np.array(["a", "\ud800", "b", "c"])
    check_text(values[::2], "ids")
    check_text(values[2:].astype(">U3"), "ids")
    input_error(lambda: check_text(values.astype(">U1"), "ids"), "lone surrogate")
    input_error(lambda: check_text(np.array(["", ""]), "ids"), "ids[0] is empty")
    check_text(np.array([], dtype="U3"), "ids")
    check_distinct([1, np.int64(1), 1], ["1", "1", "1"], "ids")
