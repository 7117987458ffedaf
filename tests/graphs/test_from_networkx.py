"""NetworkX graphs: ids, features, weights and labels."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from mvgrl.graphs.convert import to_named


@pytest.fixture
def rejects(input_error):
    """Check that an object is rejected, with all the words in the message."""
    return lambda thing, *words, **more: input_error(lambda: to_named(thing, **more), *words)


def test_node_names_become_integers_or_text(rejects):
    assert to_named(nx.Graph([(10, 20)])).node_ids.tolist() == [10, 20]
    assert to_named(nx.Graph([(1, "a")])).node_ids.tolist() == ["1", "a"]
    assert to_named(nx.Graph([((0, 1), (1, 1))])).node_ids.tolist() == ["(0, 1)", "(1, 1)"]
    assert to_named(nx.Graph([(2**80, 1)])).node_ids.tolist() == [str(2**80), "1"]
    rejects(nx.Graph([(1, "1")]), "1", "'1'", "same as text")


def test_attributes_become_features_sorted_by_name():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 5, 1: 6, 2: 7}, "b")
    nx.set_node_attributes(graph, {i: [i, 1.0] for i in range(3)}, "features")
    nx.set_node_attributes(graph, {0: True, 1: False, 2: True}, "a")
    nx.set_node_attributes(graph, {0: 1.0}, "partial")
    nx.set_node_attributes(graph, "text", "text")
    named = to_named(graph)
    assert named.graph.features.tolist() == [[1, 5, 0, 1], [0, 6, 1, 1], [1, 7, 2, 1]]
    assert any("partial, text" in note for note in named.graph.notes)


def test_weights_and_parallel_edges_are_respected(rejects):
    graph = nx.MultiGraph()
    graph.add_edge(0, 1, weight=2.0)
    graph.add_edge(0, 1, weight=3.0)
    graph.add_edge(1, 2)  # no weight, while other edges have one
    assert to_named(graph).graph.adjacency.toarray().tolist() == [[0, 5, 0], [5, 0, 1], [0, 1, 0]]
    for weight in (-1.0, float("nan"), float("inf"), "heavy"):
        rejects(nx.Graph([("a", "b", {"weight": weight})]), "'a'", "'b'", repr(weight))


def test_bad_attributes_are_rejected(rejects):
    graph = nx.path_graph(2)
    graph.nodes[0]["f"], graph.nodes[1]["f"] = 1.0, float("nan")
    rejects(graph, "'f'", "node 1", "nan")
    graph = nx.path_graph(2)
    graph.nodes[0]["x"], graph.nodes[1]["x"] = [1, 2], [1]
    rejects(graph, "'x'", "node 1", "1 values")
    graph.nodes[1]["x"] = ["one", "two"]
    rejects(graph, "'x'", "not numeric")
    rejects(nx.Graph(), "no nodes")


def test_many_graphs_keep_their_names_and_labels():
    one, two = nx.Graph([("a", "b")], name="first", label=1), nx.Graph([("a", "c")], name="second", label=0)
    named = to_named([one, two])
    assert named.node_ids.tolist() == ["a", "b", "a", "c"]
    assert named.graph_ids.tolist() == ["first", "second"]
    assert named.labels.tolist() == [1, 0]
    assert named.graph.edges == 2
    assert to_named([nx.path_graph(2), nx.path_graph(3)]).graph_ids.tolist() == [0, 1]
    nx.set_node_attributes(one, {"a": "x", "b": "y"}, "label")
    assert to_named(one).labels.tolist() == ["x", "y"]
    assert to_named([one, two]).labels.tolist() == [1, 0]
    nx.set_node_attributes(one, 1.0, "f")  # on one graph only: not a feature
    assert to_named([one, two]).graph.features is None


def test_labels_may_be_missing_on_some_nodes():
    graph = nx.path_graph(3)
    graph.nodes[0]["label"] = "x"
    assert to_named(graph).labels.tolist() == ["x", "", ""]
    graph.nodes[0]["label"] = 4
    assert np.array_equal(to_named(graph).labels, [4, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize("missing", [float("nan"), pd.NA])
def test_node_whose_name_is_missing_is_rejected(missing, input_error):
    input_error(lambda: to_named(nx.Graph([(missing, "a")])), "a node's name is", "rename it")
