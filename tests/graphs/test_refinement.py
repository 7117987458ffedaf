"""Weisfeiler–Lehman counts: against a naive oracle, and fixed for all time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest

from mvgrl.graphs import Graph
from mvgrl.graphs.refinement import wl_counts


def random_graph(rng: np.random.Generator, labels: bool = False) -> Graph:
    nodes = int(rng.integers(1, 12))
    ends = rng.integers(0, nodes, (2, int(rng.integers(0, 2 * nodes))))
    node_labels = rng.integers(0, 3, nodes) if labels else None
    return Graph.from_edges(*ends, nodes=nodes, node_labels=node_labels)


def naive(graphs: list[Graph], rounds: int) -> np.ndarray:
    """Counts with nested tuples as colours, graphs × colours."""
    counters = []
    for graph in graphs:
        colours: list[Any] = (graph.degrees if graph.node_labels is None else graph.node_labels).tolist()
        counter = Counter((0, colour) for colour in colours)
        for number in range(1, rounds + 1):
            neighbours = [graph.adjacency[[node]].indices for node in range(graph.nodes)]
            colours = [
                (colours[v], tuple(sorted((colours[u] for u in some), key=repr))) for v, some in enumerate(neighbours)
            ]
            counter.update((number, colour) for colour in colours)
        counters.append(counter)
    known = sorted(set().union(*counters), key=repr)
    return np.array([[counter[colour] for colour in known] for counter in counters])


def sorted_columns(counts: np.ndarray) -> np.ndarray:
    used = counts[:, counts.any(axis=0)]
    return used[:, np.lexsort(used)]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_counts_equal_those_of_naive_refinement(labels: bool, rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    graphs = [random_graph(rng, labels) for _ in range(60)]
    found = wl_counts(Graph.join(graphs), rounds=rounds, columns=2**40)  # wide enough that nothing collides
    used, column = np.unique(found.indices, return_inverse=True)
    dense = np.zeros((len(graphs), len(used)))
    dense[np.repeat(np.arange(len(graphs)), np.diff(found.indptr)), column] = found.data
    np.testing.assert_array_equal(sorted_columns(dense), sorted_columns(naive(graphs, rounds)))


@pytest.mark.parametrize("labels", [False, True])
def test_counts_do_not_depend_on_the_order_of_the_nodes(labels: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        graph = random_graph(rng, labels)
        order = rng.permutation(graph.nodes)
        other = Graph(graph.adjacency[order][:, order], node_labels=None if not labels else graph.node_labels[order])
        assert (wl_counts(graph) != wl_counts(other)).nnz == 0


def test_a_graph_has_the_same_row_alone_and_in_a_set() -> None:
    rng = np.random.default_rng(1)
    graphs = [random_graph(rng, labels=True) for _ in range(20)]
    together = wl_counts(Graph.join(graphs))
    for row, graph in enumerate(graphs):
        assert (wl_counts(graph) != together[[row]]).nnz == 0


def test_graphs_that_refinement_tells_apart_differ() -> None:
    path, star = Graph.from_edges([0, 1, 2], [1, 2, 3]), Graph.from_edges([0, 0, 0], [1, 2, 3])
    assert (wl_counts(path, rounds=0) != wl_counts(star, rounds=0)).nnz
    # The same degrees, told apart only by the neighbours: a 4-cycle with two tails, at adjacent or opposite nodes.
    cycle = ([0, 1, 2, 3], [1, 2, 3, 0])
    adjacent = Graph.from_edges([*cycle[0], 0, 1], [*cycle[1], 4, 5])
    opposite = Graph.from_edges([*cycle[0], 0, 2], [*cycle[1], 4, 5])
    assert (wl_counts(adjacent, rounds=0) != wl_counts(opposite, rounds=0)).nnz == 0
    assert (wl_counts(adjacent, rounds=1) != wl_counts(opposite, rounds=1)).nnz


def test_graphs_that_refinement_cannot_tell_apart_are_equal() -> None:
    two_triangles = Graph.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3])
    hexagon = Graph.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0])
    assert (wl_counts(two_triangles) != wl_counts(hexagon)).nnz == 0


def test_a_row_sums_to_the_nodes_times_the_rounds_even_if_columns_collide() -> None:
    graphs = Graph.join([Graph.from_edges([], [], nodes=1), Graph.from_edges([0, 1], [1, 2], nodes=5)])
    for columns in (1, 7, 2**18):
        counts = wl_counts(graphs, rounds=2, columns=columns)
        assert counts.shape == (2, columns)
        np.testing.assert_array_equal(counts.sum(axis=1), [3, 15])


def test_isolated_nodes_share_their_colours() -> None:
    counts = wl_counts(Graph.from_edges([], [], nodes=4), rounds=2)
    assert counts.data.tolist() == [4, 4, 4]  # a different colour in each round


def test_the_round_enters_the_colour() -> None:
    # On a regular graph every node has the same colour in every round; equal columns would mix the rounds.
    assert wl_counts(Graph.from_edges([0, 1, 2], [1, 2, 0]), rounds=3).data.tolist() == [3, 3, 3, 3]


def test_labels_are_hashed_by_value() -> None:
    def counts(labels: Any) -> set[int]:
        return set(wl_counts(Graph.from_edges([0], [1], node_labels=labels)).indices.tolist())

    assert counts([1, 1]) == counts([1.0, 1.0]) == counts(np.array([True, True]))
    assert counts([1, 1]) != counts([2, 2])  # both the smallest label of their set
    assert counts([0.5, 0.5]) != counts([0, 0])
    assert counts(["C", "C"]) != counts(["N", "N"])
    assert counts(["1", "1"]) != counts([1, 1])
    assert counts(["é", "日本"]) == counts(np.array(["日本", "é"]))


def test_the_columns_never_change() -> None:
    """Saved models rely on these numbers."""
    path = [[0, 1], [1, 2]]
    plain = wl_counts(Graph.from_edges(*path))
    assert dict(zip(plain.indices.tolist(), plain.data.tolist(), strict=True)) == {
        117502: 1,
        148298: 2,
        154817: 2,
        164229: 1,
        218830: 1,
        232198: 2,
        238849: 1,
        255445: 2,
    }
    labels = wl_counts(Graph.from_edges(*path, node_labels=[3, 5, 3]), rounds=1)
    assert dict(zip(labels.indices.tolist(), labels.data.tolist(), strict=True)) == {
        87738: 2,
        116365: 1,
        127526: 1,
        138387: 2,
    }
    text = wl_counts(Graph.from_edges(*path, node_labels=["C", "Ö", "C"]), rounds=1)
    assert dict(zip(text.indices.tolist(), text.data.tolist(), strict=True)) == {
        51354: 2,
        59066: 2,
        79552: 1,
        230597: 1,
    }


def test_the_degree_zero_has_the_first_number_of_splitmix64() -> None:
    counts = wl_counts(Graph.from_edges([], [], nodes=1), rounds=0, columns=2**62)
    assert counts.indices.tolist() == [0xE220A8397B1DCDAF % 2**62]  # from the generator's reference implementation


def test_every_isomorphic_pair_of_small_graphs_is_equal() -> None:
    for one in nx.graph_atlas_g()[1:60]:
        nodes = one.number_of_nodes()
        order = np.random.default_rng(nodes).permutation(nodes)
        first = Graph.from_scipy(nx.to_scipy_sparse_array(one))
        other = Graph.from_scipy(nx.to_scipy_sparse_array(one, nodelist=order.tolist()))
        assert (wl_counts(first) != wl_counts(other)).nnz == 0
