"""Graph kernels equal those of grakel, or what one counts by hand."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
import pytest

from mvgrl.datasets import Dataset
from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.refinement import wl_counts
from mvgrl.methods import METHODS
from mvgrl.methods.kernel_graphlets import graphlet_kernel
from mvgrl.methods.kernel_multiscale import multiscale_kernels
from mvgrl.methods.kernel_random_walk import largest_eigenvalue, random_walk_kernels
from mvgrl.methods.kernels import normalised, shortest_path_kernel
from mvgrl.settings import Output, literal

SETTINGS = literal(dict(task="graph"))


def random_graphs(count: int = 8, *, labels: int = 3, seed: int = 0) -> Graph:
    """Graphs of 3 to 9 nodes, some of them in several pieces."""
    rng = np.random.default_rng(seed)
    every = []
    for _ in range(count):
        n = int(rng.integers(3, 10))
        ends = np.nonzero(np.triu(rng.random((n, n)) < 0.35, 1))
        every.append(Graph.from_edges(*ends, nodes=n, node_labels=rng.integers(0, labels, n) if labels else None))
    return Graph.join(every)


def dense(graph: Graph) -> list[tuple[np.ndarray, dict[int, int]]]:
    """The graphs as grakel wants them: an adjacency matrix and a label per node."""
    labels = graph.degrees if graph.node_labels is None else graph.node_labels
    found = []
    for first, last in zip(graph.offsets[:-1], graph.offsets[1:], strict=True):
        adjacency = graph.adjacency[first:last, first:last].toarray()
        found.append((adjacency, {i: int(label) for i, label in enumerate(labels[first:last])}))
    return found


def outcome(name: str, graph: Graph, context: Any, seed: int = 0) -> Any:
    data = Dataset("any", graph, np.arange(graph.count) % 2, "graph", None, ("a", "b"), "")
    return METHODS[name].outcomes(data, SETTINGS, Output(), [seed], context)[0]


@pytest.mark.parametrize("labels", [0, 3])
def test_the_shortest_path_kernel_equals_that_of_grakel(labels: int, context: Any) -> None:
    grakel = pytest.importorskip("grakel")
    graph = random_graphs(labels=labels)
    expected = grakel.ShortestPath(normalize=False).fit_transform(dense(graph))
    np.testing.assert_allclose(shortest_path_kernel(graph), expected)
    expected = normalised(expected)  # theirs divides by 0 for a graph without edges
    np.testing.assert_allclose(outcome("kernel-sp", graph, context).kernel, expected, atol=1e-12)


def test_the_shortest_path_kernel_of_paths_counts_equal_distances() -> None:
    def path(n: int) -> Graph:
        return Graph.from_edges(range(n - 1), range(1, n), node_labels=["x"] * n)

    sizes = (2, 3, 6)
    pairs = [[2 * (n - d) if d < n else 0 for d in range(1, 6)] for n in sizes]  # ordered pairs at distance d
    np.testing.assert_allclose(
        shortest_path_kernel(Graph.join([path(n) for n in sizes])), np.dot(pairs, np.transpose(pairs))
    )


@pytest.mark.parametrize("labels", [0, 3])
def test_the_weisfeiler_lehman_kernels_equal_those_of_grakel_and_our_counts(labels: int, context: Any) -> None:
    grakel = pytest.importorskip("grakel")
    graph = random_graphs(labels=labels)
    found = outcome("kernel-wl", graph, context)
    assert len(found.choices) == 6
    for rounds, choice in enumerate(found.choices):
        counts = wl_counts(graph, rounds=rounds).astype(np.float64)
        np.testing.assert_allclose(choice.kernel, normalised((counts @ counts.T).toarray()), atol=1e-12)
        base = (grakel.VertexHistogram, {})
        if rounds:  # grakel has no kernel of 0 rounds
            theirs = grakel.WeisfeilerLehman(n_iter=rounds, base_graph_kernel=base, normalize=True)
            np.testing.assert_allclose(choice.kernel, theirs.fit_transform(dense(graph)), atol=1e-12)
    np.testing.assert_array_equal(found.kernel, found.choices[3].kernel)


@pytest.mark.parametrize("labels", [0, 2])
def test_the_random_walk_kernel_equals_that_of_grakel(labels: int) -> None:
    grakel = pytest.importorskip("grakel")
    graph = random_graphs(6, labels=labels)
    radius = largest_eigenvalue(graph)
    lam = 0.5 / radius**2
    kind = grakel.RandomWalkLabeled if labels else grakel.RandomWalk
    theirs = kind(lamda=lam, method_type="baseline").fit_transform(dense(graph))
    if labels:  # grakel's product graph has pairs of nodes with different labels too, without edges
        histograms = np.array([[list(one.values()).count(k) for k in range(labels)] for _, one in dense(graph)])
        theirs = theirs - (np.outer(graph.sizes, graph.sizes) - histograms @ histograms.T)
    np.testing.assert_allclose(random_walk_kernels(graph, [lam], radius)[0], theirs, rtol=1e-8)


def test_the_random_walk_kernel_sums_walks_in_the_product_graph() -> None:
    graph = random_graphs(3, labels=2, seed=4)
    lam, radius = 0.01, largest_eigenvalue(graph)
    (found,) = random_walk_kernels(graph, [lam], radius)
    for (i, (a, x)), (j, (b, y)) in product(enumerate(dense(graph)), repeat=2):
        same = np.array([x[u] == y[v] for u in x for v in y], dtype=float)
        joint = np.kron(a, b) * np.outer(same, same)
        expected = same @ np.linalg.solve(np.eye(len(same)) - lam * joint, same)
        assert found[i, j] == pytest.approx(expected)


def test_random_walk_kernels_are_offered_only_where_the_sum_converges(context: Any) -> None:
    small = outcome("kernel-rw", Graph.join([Graph.from_edges([0, 1], [1, 2])] * 2), context)  # ρ² = 2
    star = Graph.from_edges(np.zeros(500, int), np.arange(1, 501))  # ρ² = 500
    large = outcome("kernel-rw", Graph.join([star, star]), context)
    assert [len(small.choices), len(large.choices)] == [6, 4]
    for one in small.choices + large.choices:
        assert np.linalg.eigvalsh(one.kernel).min() > -1e-9


@pytest.mark.parametrize("name", ["kernel-sp", "kernel-wl", "kernel-rw"])
def test_kernels_do_not_depend_on_the_order_of_nodes_or_on_weights(name: str, context: Any) -> None:
    graph = random_graphs()
    rng = np.random.default_rng(1)
    order = np.concatenate([first + rng.permutation(n) for first, n in zip(graph.offsets, graph.sizes, strict=False)])
    other = Graph(3.0 * graph.adjacency[order][:, order], node_labels=graph.node_labels[order], offsets=graph.offsets)
    np.testing.assert_allclose(outcome(name, graph, context).kernel, outcome(name, other, context).kernel, atol=1e-12)


def test_the_multiscale_kernels_equal_those_of_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    graph = random_graphs(6)
    one_hot = [(adjacency, {i: np.eye(3)[k] for i, k in labels.items()}) for adjacency, labels in dense(graph)]
    found = multiscale_kernels(graph, 2, 0.1, 0.02, 3, 12, 5)
    for levels in (1, 2):
        theirs = grakel.MultiscaleLaplacian(L=levels, heta=0.1, gamma=0.02, P=3, n_samples=12, random_state=5)
        np.testing.assert_allclose(found[levels - 1], theirs.fit_transform(one_hot), rtol=1e-6)


def test_graphlets_tell_triangles_from_paths() -> None:
    pytest.importorskip("grakel")
    triangle, path = Graph.from_edges([0, 1, 2], [1, 2, 0]), Graph.from_edges([0, 1], [1, 2])
    found = normalised(graphlet_kernel(Graph.join([triangle, path, triangle]), 3, 7, 0))
    np.testing.assert_allclose(found, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    again = graphlet_kernel(random_graphs(4), 5, 50, 3)
    np.testing.assert_array_equal(again, graphlet_kernel(random_graphs(4), 5, 50, 3))
    assert (again != graphlet_kernel(random_graphs(4), 5, 50, 4)).any()


def test_the_graphlet_kernel_without_grakel_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grakel", None)
    with pytest.raises(InputError, match=r"needs grakel; pip install 'mvgrl\[arena\]'"):
        graphlet_kernel(random_graphs(2), 3, 5, 0)
