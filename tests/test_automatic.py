"""Settings nobody asked for: picked by the graph and the machine, said in words, and never against what is given."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl import Graph, Settings
from mvgrl.automatic import EXACT_ENTRIES, SAMPLE_SIZE, SAMPLED_PATIENCE, TOP_K, choose
from mvgrl.errors import InputError, SettingsError
from mvgrl.matrices import SparseMatrix
from mvgrl.views import view_matrix

GIB = 2**30


def path(nodes, **more):
    return Graph.from_edges(np.arange(nodes - 1), np.arange(1, nodes), nodes=nodes, **more)


def rings(sizes):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ends = [
        (start + i, start + (i + 1) % size) for start, size in zip(starts[:-1], sizes, strict=True) for i in range(size)
    ]
    sources, targets = np.array(ends).T
    return Graph.from_edges(sources, targets, nodes=int(starts[-1]), offsets=starts)


def picked(graph, given=None, **more):
    return "; ".join(choose(graph, given, **more).reasons)


# Task and features


def test_one_graph_is_a_node_task_and_many_are_a_graph_task():
    assert choose(path(5)).settings == Settings()
    assert choose(rings([3, 4, 5])).settings == Settings(task="graph")
    assert picked(path(5)).startswith("task node (one graph); degrees as features (none are given)")
    assert picked(rings([3, 4, 5])).startswith("task graph (3 graphs); degrees as features (none are given)")


def test_node_labels_are_features_where_there_are_no_others():
    graph = path(3, node_labels=["C", "N", "C"])
    assert "node labels as features (no others are given)" in picked(graph)
    assert choose(graph).settings.features == "auto"


def test_counts_are_scaled_by_row_and_measures_by_column():
    rng = np.random.default_rng(0)
    words = (rng.random((40, 30)) < 0.1).astype(float)
    for features in (words, sp.csr_array(words)):
        assert choose(path(40, features=features)).settings.normalise == "row"
        assert "30 features scaled row by row (mostly zeros, none negative)" in picked(path(40, features=features))
    assert choose(path(40, features=-words)).settings.normalise == "standard"
    assert choose(path(40, features=rng.normal(size=(40, 3)))).settings.normalise == "standard"
    assert "3 features scaled column by column" in picked(path(40, features=rng.random((40, 3))))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_features_that_never_change_are_not_scaled_to_nothing(make):
    same = make(np.tile([1.0, 5.0], (10, 1)))
    assert choose(path(10, features=same)).settings.normalise == "row"
    assert "2 features scaled row by row (the same for every node)" in picked(path(10, features=same))
    one_changes = make(np.column_stack([np.ones(10), np.arange(10.0)]))
    assert choose(path(10, features=one_changes)).settings.normalise == "standard"


# Exact or sparse


@pytest.mark.parametrize(("nodes", "device", "exact"), [
    (5_000, "cpu", True), (5_001, "cpu", False), (6_000, "cpu", False), (6_000, "cuda", True), (20_001, "cuda", False),
])  # fmt: skip
def test_a_diffusion_is_exact_up_to_a_size_and_sparse_past_it(nodes, device, exact):
    choice = choose(path(nodes), {"views": ["adjacency", "ppr", "heat"]}, device=device, memory=64 * GIB)
    adjacency, *diffusions = choice.settings.views
    assert adjacency == Settings().views[0]
    assert [view.top_k for view in diffusions] == ([None, None] if exact else [TOP_K, TOP_K])
    words = f"exact ({nodes:,} nodes)" if exact else f"sparse, the {TOP_K} largest a row ({nodes:,} nodes)"
    assert f"ppr {words}; heat {words}" in "; ".join(choice.reasons)


def test_many_graphs_are_judged_by_what_all_their_matrices_hold():
    few, some, many = rings([100] * 10), rings([1_000] * 50), rings([1_000] * 101)
    assert choose(few).settings.views[1].top_k is None
    assert choose(some).settings.views[1].top_k is None  # more than one graph may have: these are many small matrices
    assert choose(many).settings.views[1].top_k == TOP_K
    assert "ppr exact (100,000 entries)" in picked(few)
    assert "101,000,000 entries" in picked(many)


def test_a_large_graph_never_becomes_a_matrix_of_all_pairs():
    graph = path(40_000)
    settings = choose(graph).settings
    for view in settings.views:
        matrix = view_matrix(view, graph)
        assert isinstance(matrix, SparseMatrix)
        assert len(matrix.values) <= 40_000 * (2 * TOP_K + 1) < 40_000**2 / 100


# Whole or sampled


def test_the_whole_graph_where_a_step_fits_into_half_of_the_memory():
    graph = path(6_000)
    whole, sampled = choose(graph, memory=GIB), choose(graph, memory=GIB // 2)
    assert (whole.settings.sampler, whole.settings.patience) == ("full", Settings().patience)
    assert "whole graph in each step (a step needs about 0.3 GB of 1.0 GB)" in "; ".join(whole.reasons)
    assert (sampled.settings.sampler, sampled.settings.sample_size) == ("walk", SAMPLE_SIZE)
    assert sampled.settings.patience == SAMPLED_PATIENCE
    assert f"samples of {SAMPLE_SIZE:,} nodes by random walks" in "; ".join(sampled.reasons)


def test_wider_and_deeper_encoders_need_more():
    graph = path(6_000)
    for given in ({"hidden": 1024}, {"layers": 2}):
        assert choose(graph, given, memory=GIB).settings.sampler == "walk"
    assert choose(graph, {"hidden": 64, "layers": 2}, memory=GIB // 2).settings.sampler == "full"


def test_vectors_that_cannot_fit_are_refused_with_a_width_that_does():
    graph = path(6_000)
    with pytest.raises(InputError, match=r"6,000 nodes need about .* use hidden \d+ or less") as caught:
        choose(graph, memory=2**24)
    fitting = int(str(caught.value).split("use hidden ")[1].split()[0])
    assert 1 <= fitting < 512
    assert choose(graph, {"hidden": fitting}, memory=2**24).settings.hidden == fitting


# What is given stays


GIVEN = {
    "task": "node",
    "views": ["adjacency", "ppr:alpha=0.1:method=exact", "heat:top_k=5"],
    "normalise": "none",
    "sampler": "nodes",
    "sample_size": 123,
    "patience": 7,
    "hidden": 33,
    "features": "degree",
}


def test_what_is_given_is_never_overridden():
    graph = path(EXACT_ENTRIES["cpu"] // 4_000, features=np.ones((EXACT_ENTRIES["cpu"] // 4_000, 2)))
    choice = choose(graph, GIVEN, memory=GIB // 8)
    assert choice.settings == Settings(**GIVEN)
    assert choice.reasons == ()


@pytest.mark.parametrize("key", ["sampler", "sample_size", "patience", "normalise", "views", "hidden", "features"])
def test_each_alone_is_kept_while_the_rest_is_picked(key):
    graph = path(6_000, features=np.random.default_rng(0).random((6_000, 2)))
    settings = choose(graph, {key: GIVEN[key]}, memory=GIB // 2).settings
    assert getattr(settings, key) == getattr(Settings(**{key: GIVEN[key]}), key)
    others = {"sampler": "walk", "normalise": "standard", "sample_size": SAMPLE_SIZE, "patience": SAMPLED_PATIENCE}
    if key in ("sampler", "hidden", "features"):
        return  # these decide on others too
    assert {name: getattr(settings, name) for name in others if name != key} == {
        name: value for name, value in others.items() if name != key
    }


def test_the_callers_dict_stays_as_it_is():
    given = {"hidden": 8}
    choose(path(5), given)
    assert given == {"hidden": 8}


def test_wrong_settings_are_refused():
    with pytest.raises(SettingsError, match="did you mean 'hidden'"):
        choose(path(5), {"hiden": 8})
    with pytest.raises(SettingsError, match="node task has one graph"):
        choose(path(5), {"mode": "global"})
