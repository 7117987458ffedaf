"""igraph graphs: names, weights, attributes and direction, as for NetworkX graphs."""

from __future__ import annotations

import igraph
import numpy as np
import pytest

from mvgrl.graphs.convert import to_named


def people() -> igraph.Graph:
    graph = igraph.Graph([(0, 1), (2, 1)])
    graph.vs["name"] = ["ann", "bob", "cy"]
    graph.vs["age"] = [30, 40, 50]
    graph.vs["town"] = ["Bern", "Rome", "Oslo"]
    graph.es["weight"] = [2.0, 0.5]
    return graph


def test_names_weights_and_numeric_attributes_are_used():
    named = to_named(people())
    assert named.node_ids.tolist() == ["ann", "bob", "cy"]
    assert named.graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]
    assert named.graph.features.tolist() == [[30], [40], [50]]
    assert named.graph.feature_names == ("age",)
    assert named.notes == ("ignored node attributes (not a number on every node): town",)


def test_vertices_without_names_are_numbered():
    named = to_named(igraph.Graph.Famous("Zachary"))
    assert named.node_ids.tolist() == list(range(34))
    assert (named.graph.edges, named.notes) == (78, ())


def test_direction_and_parallel_edges_are_noted():
    directed = igraph.Graph([(0, 1), (1, 2)], directed=True)
    assert to_named(directed).notes == ("directed edges made undirected",)
    parallel = to_named(igraph.Graph([(0, 1), (1, 0)]))
    assert parallel.notes == ("duplicate edges merged",)


def test_many_graphs_and_features():
    named = to_named([people(), people()])
    assert named.graph.count == 2
    assert named.node_ids.tolist() == ["ann", "bob", "cy"] * 2
    given = to_named((people(), np.eye(3)))
    assert np.array_equal(given.graph.features, np.eye(3))


@pytest.mark.parametrize("weight", [-1.0, float("nan"), "heavy"])
def test_bad_graphs_are_rejected(weight, input_error):
    graph = people()
    graph.es["weight"] = [weight, 1.0]
    input_error(lambda: to_named(graph), "'ann'", "'bob'", repr(weight))
    graph = people()
    graph.vs["name"] = ["ann", "ann", "cy"]
    input_error(lambda: to_named(graph), "'ann'", "rename")
    input_error(lambda: to_named(igraph.Graph()), "no nodes")
