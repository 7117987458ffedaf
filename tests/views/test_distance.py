from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mvgrl.graphs import Graph
from mvgrl.views import Distance, distance


def softmax(rows: list[list[float]]) -> np.ndarray:
    powers = np.exp(np.array(rows, dtype=float))
    return powers / powers.sum(axis=1, keepdims=True)


def test_two_components_in_closed_form() -> None:
    # A path 0–1–2 and an edge 3–4: the inverse is 1 for the node itself and neighbours, 1/2 for two steps, 0 without
    # a path.
    expected = softmax([[1, 1, 0.5, 0, 0], [1, 1, 1, 0, 0], [0.5, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
    matrix = Distance()(Graph.from_edges([0, 1, 3], [1, 2, 4]))
    assert isinstance(matrix, np.ndarray)
    np.testing.assert_allclose(matrix, expected, rtol=1e-14)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("lengths", "inverses"),
    [
        # Weights 4 and 2 as strengths: the lengths are 1/4 and 1/2, and 3/4 for the path.
        ("inverse", [[1, 4, 4 / 3], [4, 1, 2], [4 / 3, 2, 1]]),
        ("hops", [[1, 1, 1 / 2], [1, 1, 1], [1 / 2, 1, 1]]),
        ("weights", [[1, 1 / 4, 1 / 6], [1 / 4, 1, 1 / 2], [1 / 6, 1 / 2, 1]]),
    ],
)
def test_weights_are_converted_to_lengths(lengths, inverses) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [4.0, 2.0])
    np.testing.assert_allclose(Distance(lengths)(graph), softmax(inverses), rtol=1e-14)
    np.testing.assert_array_equal(graph.adjacency.data, [4, 4, 2, 2])


def test_a_large_weight_does_not_overflow() -> None:
    matrix = Distance()(Graph.from_edges([0, 1], [1, 2], [1e6, 1.0]))
    np.testing.assert_allclose(matrix[0], [0, 1, 0], atol=1e-12)


@given(seed=st.integers(0, 10**6), nodes=st.integers(1, 25), weighted=st.booleans())
@settings(max_examples=30, deadline=None)
def test_lengths_agree_with_networkx(seed, nodes, weighted, random_graph) -> None:
    graph = random_graph(seed, nodes=nodes, density=0.12, weighted=weighted)
    other = networkx.Graph()
    other.add_nodes_from(range(nodes))
    entries = graph.adjacency.tocoo()
    other.add_edges_from(
        (int(i), int(j), {"length": 1 / w}) for i, j, w in zip(*entries.coords, entries.data, strict=True)
    )
    inverses = np.zeros((nodes, nodes))
    for i, found in networkx.all_pairs_dijkstra_path_length(other, weight="length"):
        for j, length in found.items():
            inverses[i, j] = 1.0 if i == j else 1 / length
    np.testing.assert_allclose(Distance()(graph), softmax(inverses.tolist()), rtol=1e-9)


def test_each_graph_has_its_own_softmax(random_graph) -> None:
    many = [random_graph(i, nodes=n, weighted=True) for i, n in enumerate([7, 1, 12])]
    joined = Distance()(Graph.join(many))
    assert isinstance(joined, sp.csr_array)
    np.testing.assert_allclose(
        joined.toarray(), scipy.linalg.block_diag(*[Distance()(one) for one in many]), rtol=1e-12
    )
    top = Distance(top_k=2)(Graph.join(many)).toarray()
    np.testing.assert_allclose(top, scipy.linalg.block_diag(*[Distance(top_k=2)(one).toarray() for one in many]))


def test_chunks_of_rows_give_the_same_view(random_graph, monkeypatch) -> None:
    graph = random_graph(3, nodes=50, density=0.05)
    views = [Distance(), Distance(top_k=5), Distance(threshold=0.025)]
    unchunked = [view(graph) for view in views]
    chunks = []

    def spy(*arguments, **named):
        chunks.append(len(named["indices"]))
        return dijkstra(*arguments, **named)

    dijkstra = distance.dijkstra
    monkeypatch.setattr(distance, "dijkstra", spy)
    monkeypatch.setattr(distance, "_CHUNK", 50 * 7)
    for view, expected in zip(views, unchunked, strict=True):
        matrix = view(graph)
        np.testing.assert_array_equal(sp.csr_array(matrix).toarray(), sp.csr_array(expected).toarray())
    assert max(chunks) == 7
    assert sum(chunks) == 3 * 50


def test_sparsified_rows_keep_the_values_of_the_full_ones(random_graph) -> None:
    graph = random_graph(4, nodes=40, density=0.08, weighted=True)
    full = Distance()(graph)
    top = Distance(top_k=6)(graph)
    np.testing.assert_array_equal(np.diff(top.indptr), 6)
    np.testing.assert_array_equal(np.sort(top.data.reshape(40, 6)), np.sort(full)[:, -6:])
    np.testing.assert_array_equal(Distance(threshold=0.03)(graph).toarray(), np.where(full >= 0.03, full, 0))
    assert not Distance().symmetric


def test_permuting_the_nodes_permutes_the_view(random_graph) -> None:
    graph = random_graph(5, nodes=30, weighted=True)
    order = np.random.default_rng(0).permutation(30)
    permuted = Graph.from_scipy(graph.adjacency[order][:, order])
    np.testing.assert_allclose(Distance()(permuted), Distance()(graph)[np.ix_(order, order)], rtol=1e-10)
