from __future__ import annotations

import numpy as np
import pytest

from mvgrl.graphs import Graph
from mvgrl.views import PPR, base, diffusion
from mvgrl.views.ppr import _mirror


def test_a_path_of_two_nodes_in_closed_form() -> None:
    # All entries of M are 1/2. Its eigenvalues are 1 and 0, so those of the view are 1 and α.
    alpha = 0.2
    near, far = (1 + alpha) / 2, (1 - alpha) / 2
    np.testing.assert_allclose(PPR(alpha)(Graph.from_edges([0], [1])), [[near, far], [far, near]], rtol=1e-14)


def test_a_complete_graph_in_closed_form(random_graph) -> None:
    n, alpha = 6, 0.3
    expected = alpha * np.eye(n) + (1 - alpha) / n
    np.testing.assert_allclose(PPR(alpha)(random_graph(0, nodes=n, density=1.1)), expected, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_stopping_probabilities_of_a_walk_sum_to_one(weighted, random_graph, dense_m) -> None:
    graph = random_graph(1, nodes=80, density=0.05, weighted=weighted)
    matrix, root = PPR()(graph), np.sqrt(dense_m(graph)[1])
    np.testing.assert_allclose(matrix @ root, root, rtol=1e-12)
    np.testing.assert_allclose((matrix * root / root[:, None]).sum(axis=1), 1.0, rtol=1e-12)  # D̂^-1/2 S D̂^1/2


@pytest.mark.parametrize("nodes", [5, 64, 65, 200])
def test_the_exact_view_is_symmetric_to_the_last_bit(nodes, random_graph) -> None:
    matrix = PPR()(random_graph(2, nodes=nodes, density=0.1, weighted=True))
    assert PPR().symmetric
    assert (matrix == matrix.T).all()
    assert (matrix >= 0).all()


def test_the_symmetric_property_describes_the_matrix(random_graph) -> None:
    graph = random_graph(3, nodes=60, density=0.1)
    for view in (PPR(), PPR(method="exact"), PPR(method="exact", threshold=0.01)):
        matrix = view(graph)
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        assert view.symmetric
        assert (dense == dense.T).all()
    for view in (PPR(top_k=5), PPR(method="exact", top_k=5), PPR(threshold=0.01), PPR(method="push", threshold=0.01)):
        assert not view.symmetric
    top = PPR(top_k=5)(graph).toarray()
    assert (top != top.T).any()


@pytest.mark.parametrize("alpha", [1e-3, 1 - 1e-12])
def test_extreme_values_of_alpha(alpha, random_graph) -> None:
    graph = random_graph(4, nodes=30)
    sparse = PPR(alpha, method="series", top_k=30)(graph).toarray()
    np.testing.assert_allclose(sparse, PPR(alpha)(graph), atol=1e-5)
    if alpha > 0.5:
        np.testing.assert_allclose(sparse, np.eye(30), atol=1e-5)


def test_larger_weights_give_larger_entries() -> None:
    heavy = PPR()(Graph.from_edges([0, 0], [1, 2], [10.0, 0.1]))
    assert heavy[0, 1] > 5 * heavy[0, 2] > 0


@pytest.mark.parametrize("solver", ["cholesky", "series"])
def test_the_view_of_a_large_graph_is_in_single_precision(solver, monkeypatch) -> None:
    assert base.SINGLE_PRECISION_FROM == 8_192  # lowered here, so that the graph can be small
    nodes = 600
    monkeypatch.setattr(diffusion, "SINGLE_PRECISION_FROM", nodes - 1)
    monkeypatch.setattr(diffusion, "_DENSE_PER_SERIES_ENTRY", 0 if solver == "series" else nodes)
    ring = Graph.from_edges(np.arange(nodes), (np.arange(nodes) + 1) % nodes)
    matrix = PPR()(ring)
    assert matrix.dtype == np.float32
    assert (matrix[:, :50] == matrix[:50].T).all()
    # The rows of a ring are shifts of row 0, which solves s_k = α[k=0] + (1−α)/3·(s_(k−1) + s_k + s_(k+1)).
    beta = 0.8 / 3
    middle = 1 - beta
    ratio = (middle - np.sqrt(middle**2 - 4 * beta**2)) / (2 * beta)
    expected = 0.2 / (middle - 2 * beta * ratio) * ratio ** np.arange(40)
    np.testing.assert_allclose(matrix[0, :40], expected, atol=2e-7)
    np.testing.assert_allclose(matrix[300, 300:340], expected, atol=2e-7)


def test_mirror_copies_the_upper_triangle() -> None:
    matrix = np.random.default_rng(0).random((150, 150))
    expected = np.triu(matrix) + np.triu(matrix, 1).T
    _mirror(matrix)
    np.testing.assert_array_equal(matrix, expected)
