"""Properties shared by ppr and heat: error bounds, many graphs, permutations, edge cases, threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.views import PPR, Heat
from mvgrl.views.series import LANES

KINDS = [PPR, Heat]
APPROXIMATE = ["push", "series"]
ROUNDING = 1e-6  # approximations are stored in float32


def oracle(kind, graph, dense_m, parameter):
    m, degrees = dense_m(graph)
    if kind is PPR:
        return parameter * np.linalg.inv(np.eye(graph.nodes) - (1 - parameter) * m)
    looped = graph.adjacency.toarray() + np.eye(graph.nodes)
    return scipy.linalg.expm(parameter * looped / degrees - parameter * np.eye(graph.nodes))


graphs = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "nodes": st.integers(1, 90),
        "density": st.sampled_from([0.0, 0.02, 0.1, 0.5]),
        "weighted": st.booleans(),
    }
)


@pytest.mark.parametrize("kind", KINDS)
@given(made=graphs, strength=st.sampled_from([0.05, 0.2, 0.7]))
@settings(max_examples=40, deadline=None)
def test_exact_equals_the_closed_form(kind, made, strength, random_graph, dense_m) -> None:
    graph = random_graph(**made)
    parameter = strength if kind is PPR else 10 * strength
    matrix = kind(parameter)(graph)
    assert isinstance(matrix, np.ndarray)
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(matrix, oracle(kind, graph, dense_m, parameter), atol=1e-12)


@pytest.mark.parametrize("method", APPROXIMATE)
@pytest.mark.parametrize("kind", KINDS)
@given(made=graphs, epsilon=st.sampled_from([1e-2, 1e-3, 1e-5, 1e-9]), strength=st.sampled_from([0.05, 0.2, 0.7]))
@settings(max_examples=40, deadline=None)
def test_approximate_is_within_its_bound(kind, method, made, epsilon, strength, random_graph, dense_m) -> None:
    graph = random_graph(**made)
    parameter = strength if kind is PPR else 10 * strength
    view = kind(parameter, method=method, top_k=graph.nodes, epsilon=epsilon)
    matrix = view(graph).toarray()
    exact = oracle(kind, graph, dense_m, parameter)
    bound = view.error_bound(graph)
    rounding = ROUNDING if matrix.dtype == np.float32 else 1e-13
    # All entries may be kept, so a missing entry is one approximated by zero: the bound applies to those too.
    assert np.abs(matrix - exact).max() <= bound + rounding
    if kind is PPR and method == "push":
        allowed = epsilon * np.sqrt(dense_m(graph)[1])
        assert (exact - matrix <= allowed[None, :] + rounding).all()
        assert (matrix <= exact + rounding).all()
        assert bound == pytest.approx(allowed.max())
    else:
        assert bound == epsilon


@pytest.mark.parametrize("method", APPROXIMATE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_smaller_epsilon_is_more_accurate(kind, method, random_graph) -> None:
    graph = random_graph(5, nodes=150, density=0.03)
    exact = kind()(graph)
    errors = [
        np.abs(kind(method=method, top_k=150, epsilon=epsilon)(graph).toarray() - exact).max()
        for epsilon in (1e-2, 1e-4, 1e-7)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


@pytest.mark.parametrize("method", ["exact", *APPROXIMATE])
@pytest.mark.parametrize("kind", KINDS)
def test_top_k_keeps_the_largest_entries_per_row(kind, method, random_graph) -> None:
    graph = random_graph(6, nodes=130, density=0.04, weighted=True)
    view = kind(method=method, top_k=9, epsilon=1e-6)
    matrix, exact = view(graph), kind()(graph)
    assert isinstance(matrix, sp.csr_array)
    reachable = (exact > 0).sum(axis=1)
    np.testing.assert_array_equal(np.diff(matrix.indptr), np.minimum(9, reachable))
    bound = view.error_bound(graph) + ROUNDING
    largest = -np.sort(-exact, axis=1)[:, :9]
    np.testing.assert_allclose(-np.sort(-matrix.toarray(), axis=1)[:, :9], largest, atol=bound)
    rows, columns = matrix.nonzero()
    assert (exact[rows, columns] >= largest[rows, -1] - 2 * bound).all()
    assert all((np.diff(matrix.indices[a:b]) > 0).all() for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False))
    assert not view.symmetric


@pytest.mark.parametrize("method", ["auto", "exact", *APPROXIMATE])
@pytest.mark.parametrize("kind", KINDS)
def test_threshold_keeps_the_entries_that_reach_it(kind, method, random_graph) -> None:
    graph = random_graph(7, nodes=130, density=0.04, weighted=True)
    view = kind(method=method, threshold=0.02, epsilon=1e-6)
    matrix, exact = view(graph).toarray(), kind()(graph)
    bound = view.error_bound(graph) + ROUNDING
    assert (matrix[matrix > 0] >= 0.02).all()
    assert (matrix[exact >= 0.02 + bound] > 0).all()
    assert (matrix[exact < 0.02 - bound] == 0).all()
    np.testing.assert_allclose(matrix[matrix > 0], exact[matrix > 0], atol=bound)


@pytest.mark.parametrize("method", ["exact", *APPROXIMATE])
def test_top_k_and_threshold_can_be_combined(method, random_graph) -> None:
    graph = random_graph(8, nodes=80, density=0.05)
    both = PPR(method=method, top_k=4, threshold=0.05)(graph).toarray()
    top = PPR(method=method, top_k=4)(graph).toarray()
    np.testing.assert_array_equal(both, np.where(top >= 0.05, top, 0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"top_k": 4}, {"method": "exact", "top_k": 4}, {"threshold": 0.05}], ids=str)
def test_the_view_of_many_graphs_has_the_views_of_each_as_blocks(kind, options, random_graph) -> None:
    sizes = [5, 70, 5, 1, 9, 5, 2 * LANES + 3]
    many = [random_graph(i, nodes=n, density=0.2, weighted=i % 2 == 0) for i, n in enumerate(sizes)]
    joined = kind(**options)(Graph.join(many))
    assert isinstance(joined, sp.csr_array)
    alone = sp.block_diag([sp.csr_array(kind(**options)(graph)) for graph in many]).toarray()
    # Entries that differ only by rounding may be selected differently, so compare the sorted values.
    tolerance = 2 * kind(**options).epsilon if options else 1e-12
    np.testing.assert_allclose(np.sort(joined.toarray()), np.sort(alone), atol=tolerance)
    inside = scipy.linalg.block_diag(*[np.ones((n, n)) for n in sizes]).astype(bool)
    assert (joined.toarray()[~inside] == 0).all()
    if not options:
        np.testing.assert_allclose(joined.toarray(), alone, atol=tolerance)
    if kind is PPR and not options:
        assert (joined.toarray() == joined.toarray().T).all()


@pytest.mark.parametrize("method", APPROXIMATE)
@pytest.mark.parametrize("kind", KINDS)
def test_both_approximations_handle_many_graphs(kind, method, random_graph) -> None:
    many = [random_graph(i, nodes=n, density=0.15) for i, n in enumerate([30, 3, 2 * LANES + 5, 1])]
    joined = kind(method=method, top_k=200, epsilon=1e-5)(Graph.join(many)).toarray()
    alone = scipy.linalg.block_diag(*[kind()(graph) for graph in many])
    np.testing.assert_allclose(joined, alone, atol=1e-4)
    assert ((joined > 0) <= (alone > 0)).all()


@pytest.mark.parametrize("view", [PPR(), Heat(), PPR(method="push", top_k=60), Heat(method="series", top_k=60)])
def test_permuting_the_nodes_permutes_the_view(view, random_graph) -> None:
    graph = random_graph(9, nodes=60, density=0.06, weighted=True)
    order = np.random.default_rng(0).permutation(60)
    permuted = Graph.from_scipy(graph.adjacency[order][:, order])
    dense = [sp.csr_array(view(one)).toarray() for one in (graph, permuted)]
    # Push visits the permuted nodes in another order, so it may stop at other values within its bound.
    tolerance = 2 * view.error_bound(graph) + 1e-6
    np.testing.assert_allclose(dense[1], dense[0][np.ix_(order, order)], atol=tolerance)


@pytest.mark.parametrize("method", ["exact", *APPROXIMATE])
@pytest.mark.parametrize("kind", KINDS)
def test_isolated_nodes_have_only_a_diagonal_entry(kind, method) -> None:
    for nodes in (1, 4):
        matrix = kind(method=method, top_k=3, epsilon=1e-5)(Graph.from_edges([], [], nodes=nodes))
        np.testing.assert_allclose(matrix.toarray(), np.eye(nodes), atol=1e-5)
        assert matrix.nnz == nodes


@pytest.mark.parametrize("method", APPROXIMATE)
@pytest.mark.parametrize("kind", KINDS)
def test_the_result_does_not_depend_on_the_number_of_threads(kind, method, random_graph) -> None:
    graph = random_graph(10, nodes=300, density=0.02)
    view = kind(method=method, top_k=6)
    before = numba.get_num_threads()
    results = []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            results.append(view(graph))
    finally:
        numba.set_num_threads(before)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(results[0], name), getattr(results[1], name))


@pytest.mark.parametrize("kind", KINDS)
def test_ties_are_broken_by_the_lower_column(kind) -> None:
    hub = Graph.from_edges(np.zeros(9, dtype=int), np.arange(1, 10))  # all leaves have the same value in the hub's row
    matrix = kind(method="series", top_k=4)(hub)
    np.testing.assert_array_equal(matrix.indices[: matrix.indptr[1]], [0, 1, 2, 3])


@pytest.mark.parametrize("kind", KINDS)
def test_a_hub_with_many_leaves_is_within_the_bound(kind) -> None:
    # The degree of the hub multiplies rounding and truncation errors.
    leaves = 1000
    star = Graph.from_edges(np.zeros(leaves, dtype=int), np.arange(1, leaves + 1))
    exact = kind()(star)
    view = kind(method="series", top_k=leaves + 1)
    assert np.abs(view(star).toarray() - exact).max() <= view.error_bound(star)


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_method_by_series_equals_the_closed_form(kind, dense_m) -> None:
    # Heat of a ring of 600 nodes is computed by the series; the oracle inverts or exponentiates a dense matrix.
    nodes = 600
    ring = Graph.from_edges(np.arange(nodes), (np.arange(nodes) + 1) % nodes)
    view = kind()
    assert view._cheaper_by_series(nodes, 60 * 3 * nodes) == (kind is Heat)
    parameter = view.alpha if kind is PPR else view.t
    np.testing.assert_allclose(view(ring), oracle(kind, ring, dense_m, parameter), atol=1e-12)


def test_auto_uses_the_series_on_small_graphs_and_push_on_large_ones(random_graph) -> None:
    view = PPR(top_k=8, epsilon=1e-3)
    large = Graph.from_edges(np.arange(50_000), np.arange(1, 50_001))
    assert view.chosen_method(random_graph(0)) == "series"
    assert view.chosen_method(large) == "push"
    assert PPR().chosen_method(random_graph(0)) == "exact"
    assert PPR().error_bound(random_graph(0)) == 0.0
    # Nodes in other components cost push nothing, and the cost per row depends on the row's own graph.
    assert PPR(top_k=8).chosen_method(Graph.from_edges([0, 1], [1, 2], nodes=1000)) == "push"
    assert view.chosen_method(Graph.join([random_graph(0)] * 2000)) == "series"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"top_k": 5}, {"threshold": 0.01, "method": "exact"}])
def test_scaled_columns_have_a_maximum_of_one(kind, options, random_graph) -> None:
    graph = random_graph(seed=3, nodes=40, density=0.1)
    plain, scaled = (kind(scale=scale, **options)(graph) for scale in ("none", "columns"))
    dense = plain if isinstance(plain, np.ndarray) else plain.toarray()
    found = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
    assert isinstance(scaled, np.ndarray) == isinstance(plain, np.ndarray)
    np.testing.assert_allclose(found, dense / dense.max(axis=0), rtol=1e-6)
    assert not kind(scale="columns", **options).symmetric


def test_columns_are_scaled_graph_by_graph(random_graph) -> None:
    one, other = random_graph(seed=1, nodes=9, density=0.3), random_graph(seed=2, nodes=7, density=0.3)
    view = PPR(scale="columns")
    blocks = [view(one), view(other)]
    np.testing.assert_allclose(view(Graph.join([one, other])).toarray(), scipy.linalg.block_diag(*blocks), rtol=1e-12)


def test_an_unknown_scale_is_rejected() -> None:
    with pytest.raises(SettingsError, match="scale is 'rows', but it must be one of none, columns"):
        PPR(scale="rows")
