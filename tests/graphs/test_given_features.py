"""Features given beside a graph: each row goes to its own node, by id, number or order, and never by guess."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named

EDGES = {"source": ["b", "a"], "target": ["a", "c"]}
X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
BY_ID = {"id": ["a", "b", "c"], "f": X[:, 0], "g": X[:, 1]}


@pytest.fixture
def rejects(input_error):
    """Check that an object is rejected, with all the words in the message."""
    return lambda thing, *words, **more: input_error(lambda: to_named(thing, **more), *words)


def features_of(named):
    return dict(zip(named.node_ids.tolist(), np.asarray(named.graph.features).tolist(), strict=True))


@pytest.mark.parametrize(
    "graph",
    [
        sp.csr_array(nx.to_scipy_sparse_array(nx.path_graph(3))),
        nx.to_numpy_array(nx.path_graph(3)),
        torch.tensor(nx.to_numpy_array(nx.path_graph(3))),
        Graph.from_edges([0, 1], [1, 2]),
        nx.path_graph(3),
        np.array([[0, 1, 1], [1, 2, 0]]),
        [(0, 1), (1, 2), (2, 1)],
        ([0, 1, 2], [1, 2, 1]),
        pd.DataFrame({"source": [2, 1], "target": [1, 0]}),
    ],
    ids=["sparse", "dense", "tensor", "Graph", "networkx", "edge_index", "pairs", "ends", "table"],
)
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, torch.tensor], ids=["array", "sparse", "tensor"])
def test_a_tuple_with_features_is_the_same_as_the_argument(graph, convert):
    features = convert(X)
    for named in (to_named((graph, features)), to_named(graph, features)):
        dense = named.graph.features.toarray() if sp.issparse(named.graph.features) else named.graph.features
        assert named.node_ids.tolist() == [0, 1, 2]
        assert np.array_equal(dense, X)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(BY_ID),
        pd.DataFrame(BY_ID).set_index("id"),
        pd.DataFrame(BY_ID).set_index("id").rename_axis(None),
        pd.DataFrame(BY_ID).set_index("id").rename_axis("member"),
        pl.DataFrame(BY_ID),
        pa.table(BY_ID),
    ],
    ids=["column", "index", "unnamed index", "other index", "polars", "arrow"],
)
@pytest.mark.parametrize(
    "graph", [pd.DataFrame(EDGES), [("b", "a"), ("a", "c"), ("c", "a")], nx.Graph([("b", "a"), ("a", "c")])], ids=str
)
def test_rows_of_a_table_are_matched_by_id(graph, table):
    expected = {"a": [1, 10], "b": [2, 20], "c": [3, 30]}
    assert features_of(to_named(graph, table)) == expected
    assert features_of(to_named((graph, table))) == expected
    assert to_named(graph, table).graph.feature_names == ("f", "g")


@pytest.mark.parametrize("graph", [nx.path_graph(3), np.array([[0, 1, 1], [1, 2, 0]]), sp.eye_array(3, k=1)], ids=str)
def test_a_table_without_ids_is_in_the_order_of_the_nodes(graph, rejects):
    for table in (pd.DataFrame(X, columns=["f", "g"]), pl.DataFrame(X, schema=["f", "g"])):
        named = to_named(graph, table)
        assert np.array_equal(named.graph.features, X)
        assert named.graph.feature_names == ("f", "g")
        rejects([(0, 1), (1, 2), (2, 0)], "table without ids", "column 'id'", "matrix", features=table)
        rejects((pd.DataFrame({"source": [0], "target": [1]}), table), "no column 'id'")


def test_rows_of_a_matrix_belong_to_the_numbers_of_an_edge_list():
    edges = pd.DataFrame({"source": [2, 1], "target": [1, 0]})  # in order of appearance: 2, 1, 0
    named = to_named(edges, np.vstack([X, [[4.0, 40.0]]]))
    assert features_of(named) == {0: [1, 10], 1: [2, 20], 2: [3, 30], 3: [4, 40]}
    assert named.graph.degrees.tolist() == [1, 2, 1, 0]


def test_rows_without_an_order_or_ids_are_rejected(rejects):
    rejects(pd.DataFrame(EDGES), "'b'", "table with a column 'id'", features=X)
    rejects([(0, 1), (1, 7), (7, 2)], "node 7", "3 rows", features=X)
    rejects(nx.Graph([(2, 0), (0, 1)]), "node 2", "position 0", "column 'id'", features=X)
    several = pd.DataFrame({"source": [0, 1], "target": [1, 2], "graph": [0, 1]})
    rejects(several, "several graphs", "'graph'", features=np.ones((4, 1)))


def test_rows_that_do_not_match_are_rejected_by_id(rejects):
    graph, table = nx.Graph([("b", "a"), ("a", "c")]), pd.DataFrame(BY_ID)
    rejects(graph, "no row for node 'c'", "matrix", features=table[:2])
    rejects(graph.subgraph("ab"), "row 2", "'c'", "not a node", features=table)
    rejects(graph, "row 1", "also on row 0", features=table.assign(id=["a", "a", "c"]))
    rejects(graph, "features", "'f'", "not numeric", features=table.assign(f="text"))
    rejects((graph, X), "twice", features=X)
    rejects(graph, "shape (3,)", features=X[:, 0])
    rejects(nx.path_graph(3), "no columns", "omit features", features=pd.DataFrame(index=range(3)))


def test_a_matrix_in_the_order_of_the_nodes_works_as_advised():
    graph = nx.Graph([("b", "a"), ("a", "c")])
    assert features_of(to_named(graph, pd.DataFrame(BY_ID)[["f"]].to_numpy())) == {"b": [1], "a": [2], "c": [3]}


def test_several_graphs_take_features_as_advised(rejects):
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2], "graph": [0, 1]})
    nodes = pd.DataFrame({"id": [0, 1, 1, 2], "graph": [0, 0, 1, 1], "f": [1.0, 2.0, 3.0, 4.0]})
    assert to_named(edges, nodes).graph.features.tolist() == [[1], [2], [3], [4]]
    graphs = [nx.Graph([("a", "b")]), nx.Graph([("a", "c")])]
    rejects(graphs, "several graphs", "as a matrix", features=pd.DataFrame(BY_ID))
    assert to_named(graphs, [[1.0], [2.0], [3.0], [4.0]]).graph.features.tolist() == [[1], [2], [3], [4]]


def test_labels_in_a_table_of_features_are_not_features():
    table = pd.DataFrame(BY_ID).assign(label=[7, 8, 9])
    for graph in (nx.Graph([("b", "a"), ("a", "c")]), pd.DataFrame(EDGES)):
        assert to_named(graph, table).graph.feature_names == ("f", "g")
    named = to_named(nx.path_graph(3), table.drop(columns="id"))
    assert named.graph.feature_names == ("f", "g")
    assert any("'label'" in note for note in named.notes)
    several = table.set_index(["id", "f"])
    with pytest.raises(InputError, match="several levels"):
        to_named(nx.path_graph(3), several.rename_axis([None, None]))
