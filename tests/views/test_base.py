from __future__ import annotations

import json
import math

import numpy as np
import pytest

from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.views import PPR, VIEWS, Adjacency, Distance, Heat, View, resolve_view

EXAMPLES = [Adjacency(), PPR(), PPR(0.1, top_k=5), Heat(t=2, threshold=0.01), Distance("hops", top_k=3)]


@pytest.mark.parametrize("view", EXAMPLES, ids=str)
def test_a_view_survives_a_round_trip_through_json(view: View) -> None:
    assert resolve_view(json.loads(json.dumps(view.to_dict()))) == view


def test_views_compare_and_hash_by_their_parameters() -> None:
    assert len({PPR(alpha=0.2), PPR(), PPR(alpha=0.1), Heat(), Heat(5), Adjacency(), Adjacency()}) == 4
    assert PPR(top_k=np.int64(3)) == PPR(top_k=3)
    assert type(PPR(top_k=np.int64(3)).to_dict()["top_k"]) is int


def test_names_resolve_to_their_classes() -> None:
    assert [type(resolve_view(name)) for name in VIEWS] == [Adjacency, PPR, Heat, Distance]
    assert all(kind().name == name for name, kind in VIEWS.items())
    view = Heat(t=3)
    assert resolve_view(view) is view


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("pprr", "did you mean 'ppr'"),
        ("HEAT", "did you mean 'heat'"),
        ("zzz", "choose one of 'adjacency', 'ppr', 'heat', 'distance'"),
        ({"name": "ppr", "alhpa": 0.1}, "parameter of view 'ppr': 'alhpa'; did you mean 'alpha'?"),
        ({"name": "adjacency", "alpha": 0.1}, "there are none to choose from"),
        ({"alpha": 0.1}, "has no 'name'"),
        ({"name": ["ppr"]}, "unknown view ['ppr']"),
        (3, "view is 3 (int)"),
    ],
)
def test_an_unknown_view_is_rejected_with_a_suggestion(choice: object, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolve_view(choice)  # type: ignore[arg-type]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (PPR, {"alpha": 0}, "alpha is 0, but it must be a probability strictly between 0 and 1"),
        (PPR, {"alpha": 1.0}, "alpha is 1.0"),
        (PPR, {"alpha": math.nan}, "alpha is nan"),
        (PPR, {"alpha": "0.2"}, "alpha is '0.2'"),
        (PPR, {"alpha": True}, "alpha is True"),
        (PPR, {"method": "fast"}, "must be one of auto, exact, push, series"),
        (PPR, {"top_k": 0}, "top_k is 0, but it must be a positive integer"),
        (PPR, {"top_k": 1.5}, "top_k is 1.5"),
        (PPR, {"threshold": 0.0}, "threshold is 0.0, but it must be a positive number"),
        (PPR, {"threshold": -1}, "threshold is -1"),
        (PPR, {"epsilon": 0}, "epsilon is 0, but it must be a number between 0 and 1"),
        (PPR, {"epsilon": 1e-300}, "epsilon is 1e-300, but double precision"),
        (PPR, {"epsilon": 1e-300, "method": "push", "top_k": 3}, "use 1e-15 or more"),
        (Heat, {"epsilon": 9e-16, "top_k": 3}, "use 1e-15 or more"),
        (PPR, {"alpha": 5e-324}, "alpha is 4.94066e-324, too small to compute; use 0.0001 or more"),
        (PPR, {"alpha": 9e-5}, "use 0.0001 or more"),
        (PPR, {"alpha": 1e-4, "epsilon": 1e-15, "method": "push", "top_k": 3}, "345,388 passes over the graph"),
        (PPR, {"alpha": 10**400}, "alpha is 1000"),
        (PPR, {"top_k": 10**400}, "top_k is 1000"),
        (PPR, {"top_k": 2**63}, "more than any graph has nodes; use None for all"),
        (Distance, {"top_k": 1e300}, "more than any graph has nodes"),
        (PPR, {"threshold": 10**400}, "threshold is 1000"),
        (PPR, {"method": "x" * 5000}, "…"),
        (Heat, {"t": 1e-300}, "t is 1e-300, so small that nothing spreads; use 1e-15 or more"),
        (Heat, {"t": 1e300}, "t is 1e+300, but it must be a time above 0 and below 10,000"),
        (PPR, {"method": "push"}, "needs top_k or threshold"),
        (PPR, {"threshold": 1e-6}, "is not above epsilon 0.0001"),
        (Heat, {"t": 0}, "t is 0, but it must be a time above 0"),
        (Heat, {"t": math.inf}, "t is inf"),
        (Heat, {"method": "series"}, "needs top_k or threshold"),
        (Distance, {"lengths": "miles"}, "must be one of inverse, hops, weights"),
        (Distance, {"top_k": -2}, "top_k is -2"),
    ],
)
def test_an_invalid_parameter_is_rejected_with_what_is_allowed(
    kind: type[View], settings: dict[str, object], words: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        kind(**settings)
    assert words in str(caught.value)
    assert str(caught.value).startswith(kind.name)
    assert len(str(caught.value)) < 300


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "view",
    [
        PPR(alpha=1e-4),
        PPR(alpha=1e-4, top_k=3),
        PPR(alpha=1e-4, top_k=3, method="series", epsilon=1e-15),
        PPR(alpha=0.01, top_k=3, method="push", epsilon=1e-15),
        PPR(alpha=math.nextafter(1, 0), top_k=3),
        PPR(top_k=2**31 - 1, method="push"),
        PPR(top_k=2**31 - 1, method="series"),
        PPR(top_k=2**31 - 1, method="exact"),
        PPR(threshold=5e-324, method="exact"),
        PPR(threshold=1e308),
        Heat(t=1e-15, top_k=3, method="push"),
        Heat(t=9999, top_k=3, method="push", epsilon=1e-15),
        Heat(t=9999, top_k=3, method="series", epsilon=1e-15),
        Heat(t=9999),
        Distance(top_k=2**31 - 1),
    ],
    ids=str,
)
def test_the_extremes_of_every_parameter_can_be_computed(view: View) -> None:
    graph = Graph.from_edges([0, 1, 2, 3, 5], [1, 2, 3, 4, 6], nodes=8)
    for one in (graph, Graph.join([graph, graph])):
        matrix = view(one)
        values = matrix if isinstance(matrix, np.ndarray) else matrix.data
        assert np.isfinite(values).all()
        assert (values >= 0).all()


def test_the_exact_method_allows_a_threshold_below_epsilon() -> None:
    assert PPR(method="exact", threshold=1e-9).threshold == 1e-9


@pytest.mark.parametrize("view", [PPR(), Heat(), Distance(), PPR(method="exact", top_k=4)], ids=str)
def test_a_dense_view_of_a_huge_graph_is_rejected_before_allocation(view: View) -> None:
    with pytest.raises(InputError, match=r"200,000 nodes.*149\.0 GiB.*top_k=32"):
        view(Graph.from_edges([0], [1], nodes=200_000))


@pytest.mark.parametrize("view", [PPR(), Heat(), Distance()], ids=str)
def test_dense_views_of_too_many_graphs_are_rejected(view: View) -> None:
    graph = Graph.from_edges([0], [1], nodes=100_000, offsets=np.arange(0, 100_001, 10_000))
    with pytest.raises(InputError, match=r"10 graphs have 1,000,000,000 entries in total, 11\.2 GiB.*top_k"):
        view(graph)


@pytest.mark.parametrize("view", [PPR(top_k=2), Heat(top_k=2, t=1), Heat(top_k=2, method="push")], ids=str)
def test_a_huge_graph_has_a_sparse_view(view: View) -> None:
    nodes = 100_000  # a dense matrix would take 40 GB
    matrix = view(Graph.from_edges(np.arange(0, 10), np.arange(1, 11), nodes=nodes))
    assert matrix.shape == (nodes, nodes)
    assert matrix.nnz == 11 * 2 + (nodes - 11)
    np.testing.assert_allclose(matrix.diagonal()[11:], 1.0, rtol=1e-5)
