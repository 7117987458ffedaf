from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import poisson

from mvgrl.graphs import Graph
from mvgrl.views import Heat


def test_a_path_of_two_nodes_in_closed_form() -> None:
    # All entries of T are 1/2. Its eigenvalues are 1 and 0, so those of the view are 1 and e^-t.
    for t in (0.5, 5.0):
        near, far = (1 + math.exp(-t)) / 2, (1 - math.exp(-t)) / 2
        np.testing.assert_allclose(Heat(t)(Graph.from_edges([0], [1])), [[near, far], [far, near]], rtol=1e-13)


def test_a_complete_graph_in_closed_form(random_graph) -> None:
    n, t = 6, 2.0
    expected = math.exp(-t) * np.eye(n) + (1 - math.exp(-t)) / n
    np.testing.assert_allclose(Heat(t)(random_graph(0, nodes=n, density=1.1)), expected, rtol=1e-12)


def test_the_view_is_the_matrix_exponential_not_the_elementwise_one() -> None:
    path = Graph.from_edges([0, 1, 2], [1, 2, 3])
    looped = path.adjacency.toarray() + np.eye(4)
    transition = looped / looped.sum(axis=0)
    t, series, term = 3.0, np.zeros((4, 4)), np.eye(4)
    for k in range(80):
        series += math.exp(-t) * term
        term = term @ transition * t / (k + 1)
    np.testing.assert_allclose(Heat(t)(path), series, rtol=1e-12)
    assert np.abs(np.exp(t * transition - t) - series).max() > 0.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [0.1, 5.0, 40.0])
def test_heat_is_conserved(t, weighted, random_graph, dense_m) -> None:
    graph = random_graph(1, nodes=80, density=0.03, weighted=weighted)
    matrix, degrees = Heat(t)(graph), dense_m(graph)[1]
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0, rtol=1e-11)
    np.testing.assert_allclose(matrix @ degrees, degrees, rtol=1e-11)  # the equilibrium is preserved
    assert np.abs(matrix - matrix.T).max() > 1e-3
    assert not Heat().symmetric


def test_heat_does_not_cross_components(random_graph) -> None:
    two = Graph.from_edges([0, 1, 2, 4, 5], [1, 2, 0, 5, 6], nodes=8)
    matrix = Heat()(two)
    together = np.zeros((8, 8), dtype=bool)
    for component in ([0, 1, 2], [4, 5, 6], [3], [7]):
        together[np.ix_(component, component)] = True
    assert (matrix[~together] == 0).all()
    assert (matrix[together] > 0).all()


@pytest.mark.parametrize(("t", "epsilon"), [(0.3, 1e-2), (5.0, 1e-5), (60.0, 1e-8)])
def test_the_error_budget_of_push_sums_to_epsilon(t, epsilon) -> None:
    weights, cuts = Heat(t, top_k=1, epsilon=epsilon).levels()
    tail = 1 - weights.sum()
    dropped = (cuts[:-1] * poisson.sf(np.arange(len(cuts) - 1), t)).sum()
    assert tail <= epsilon / 2 + 1e-12
    assert dropped == pytest.approx(epsilon / 2)
    assert math.isinf(cuts[-1])


def test_push_stays_within_its_lists_where_weights_underflow(random_graph) -> None:
    # e^-t is 0 in double precision from t = 746 on, and so is the step along an edge of a tiny weight.
    graph = random_graph(0, nodes=60)
    long = Heat(t=3000, top_k=60, method="push", epsilon=1e-9)(graph).toarray()
    np.testing.assert_allclose(long, Heat(t=3000)(graph), atol=2e-9)
    hub = Graph.from_edges(np.repeat(np.arange(20), 20), np.tile(np.arange(20, 40), 20), np.full(400, 5e-324))
    np.testing.assert_allclose(Heat(top_k=9, method="push")(hub).toarray(), np.eye(40), atol=1e-4)
