"""Automatic choices depend on the graph and the machine, are explained, and never override given settings."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mvgrl import Graph, Output, Settings, fit
from mvgrl.automatic import EXACT_ENTRIES, TOP_K, check_vectors_fit, resolve
from mvgrl.errors import InputError, SettingsError
from mvgrl.matrices import SparseMatrix
from mvgrl.sampling import Walk
from mvgrl.settings import BY_SAMPLER, literal
from mvgrl.views import view_matrix

GIB = 2**30
SAMPLE_SIZE, SAMPLED_PATIENCE = BY_SAMPLER["large"]["sample_size"], BY_SAMPLER["large"]["patience"]


def path(nodes, **more):
    return Graph.from_edges(np.arange(nodes - 1), np.arange(1, nodes), nodes=nodes, **more)


def rings(sizes):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ends = [
        (start + i, start + (i + 1) % size) for start, size in zip(starts[:-1], sizes, strict=True) for i in range(size)
    ]
    sources, targets = np.array(ends).T
    return Graph.from_edges(sources, targets, nodes=int(starts[-1]), offsets=starts)


def chosen(graph, given=None, **more):
    return resolve(graph, given, **more).summary


# Task and features


def test_one_graph_is_a_node_task_and_many_are_a_graph_task():
    assert resolve(path(5)).settings == literal({"features": "position"})
    assert resolve(rings([3, 4, 5])).settings == literal({"task": "graph", "features": "degree-one-hot"})
    assert chosen(path(5)).startswith("task node (one graph); positions in the graph as features (none are given)")
    assert chosen(rings([3, 4, 5])).startswith("task graph (3 graphs); degrees as features (none are given)")


def test_node_labels_are_used_if_there_are_no_features():
    graph = path(3, node_labels=["C", "N", "C"])
    assert "node labels as features (none are given)" in chosen(graph)
    assert resolve(graph).settings.features == "labels"


def test_a_graph_without_edges_has_degrees_as_features():
    graph = Graph.from_edges([], [], nodes=3)
    assert resolve(graph).settings.features == "degree-one-hot"
    assert "degrees as features (none are given)" in chosen(graph)


def test_counts_are_scaled_by_row_and_measurements_by_column():
    rng = np.random.default_rng(0)
    words = (rng.random((40, 30)) < 0.1).astype(float)
    for features in (words, sp.csr_array(words)):
        assert resolve(path(40, features=features)).settings.normalise == "row"
        assert "30 features scaled by row (mostly zeros, none negative)" in chosen(path(40, features=features))
    assert resolve(path(40, features=-words)).settings.normalise == "standard"
    assert resolve(path(40, features=rng.normal(size=(40, 3)))).settings.normalise == "standard"
    assert "3 features scaled by column" in chosen(path(40, features=rng.random((40, 3))))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_constant_features_are_replaced_by_structure(make):
    for values, reason in (([1.0, 5.0], "the same for every node"), ([0.0, 0.0], "all zero")):
        graph = path(10, features=make(np.tile(values, (10, 1))))
        labelled = path(10, features=graph.features, node_labels=["C", "N"] * 5)
        several = Graph.join([graph, graph])
        assert resolve(graph).settings.features == "position"
        assert resolve(several).settings.features == "degree-one-hot"
        assert resolve(labelled).settings.features == "labels"
        assert resolve(graph).settings.normalise == "row"
        assert f"positions in the graph as features (the given ones are {reason})" in chosen(graph)
        assert f"degrees as features (the given ones are {reason})" in chosen(several)
        assert f"node labels as features (the given ones are {reason})" in chosen(labelled)
        assert "scaled" not in chosen(graph)
        given = resolve(graph, {"features": "given"})
        assert given.settings.features == "given"
        assert given.settings.normalise == "row"
        assert f"the given ones are {reason}" in given.choices["features"]
    one_changes = make(np.column_stack([np.ones(10), np.arange(10.0)]))
    assert resolve(path(10, features=one_changes)).settings.normalise == "standard"


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_features_that_scaling_makes_equal_count_as_constant(make):
    one_column = path(10, features=make(np.arange(1.0, 11)[:, None]))
    assert resolve(one_column).settings.features == "auto"
    assert resolve(one_column, {"normalise": "row"}).settings.features == "position"
    assert resolve(one_column, {"normalise": "none"}).settings.features == "auto"
    one_of_eight = np.zeros((10, 8))
    one_of_eight[:, 3] = np.arange(1, 11)
    resolved = resolve(path(10, features=make(one_of_eight)))
    assert (resolved.settings.features, resolved.settings.normalise) == ("auto", "standard")
    assert "8 features scaled by column" in resolved.summary


def test_constant_features_do_not_give_zero_vectors():
    graph = path(12, features=np.zeros((12, 3)))
    vectors = fit(graph, {"hidden": 8, "epochs": 2}, device="cpu").vectors()
    assert np.abs(vectors).max(axis=1).min() > 0


# Exact or sparse


@pytest.mark.parametrize(("nodes", "device", "exact"), [
    (5_000, "cpu", True), (5_001, "cpu", False), (6_000, "cpu", False), (6_000, "cuda", True), (20_001, "cuda", False),
])  # fmt: skip
def test_diffusion_is_exact_for_small_graphs_and_sparse_for_large_ones(nodes, device, exact):
    choice = resolve(path(nodes), {"views": ["adjacency", "ppr", "heat"]}, device=device, memory=64 * GIB)
    adjacency, *diffusions = choice.settings.views
    assert adjacency == Settings().views[0]
    assert [view.top_k for view in diffusions] == ([None, None] if exact else [TOP_K, TOP_K])
    words = f"exact ({nodes:,} nodes)" if exact else f"sparse, the {TOP_K} largest entries per row ({nodes:,} nodes)"
    assert f"ppr {words}; heat {words}" in choice.summary


def test_diffusion_of_many_graphs_depends_on_their_total_size():
    few, some, many = rings([100] * 10), rings([1_000] * 50), rings([1_000] * 101)
    assert resolve(few).settings.views[1].top_k is None
    assert resolve(some).settings.views[1].top_k is None  # too many entries for one graph, but not for many
    assert resolve(many).settings.views[1].top_k == TOP_K
    assert "ppr exact (100,000 entries)" in chosen(few)
    assert "101,000,000 entries" in chosen(many)


def test_large_graph_is_never_stored_as_a_dense_matrix():
    graph = path(13_000)
    settings = resolve(graph).settings
    for view in settings.views:
        matrix = view_matrix(view, graph)
        assert isinstance(matrix, SparseMatrix)
        assert len(matrix.values) <= 13_000 * (2 * TOP_K + 1) < 13_000**2 / 100


# Full graph or samples


def test_full_graph_is_used_if_a_step_fits_into_half_of_the_memory():
    graph = path(6_000)
    full, sampled = resolve(graph, memory=GIB), resolve(graph, memory=GIB // 2)
    assert (str(full.settings.sampler), full.settings.patience) == ("full", 20)
    assert "whole graph in each step (a step needs about 0.3 GB of 1.0 GB)" in full.summary
    assert (str(sampled.settings.sampler), sampled.settings.sample_size) == ("walk", SAMPLE_SIZE)
    assert sampled.settings.patience == SAMPLED_PATIENCE
    assert f"samples of {SAMPLE_SIZE:,} nodes by random walks" in sampled.summary


def test_wider_and_deeper_encoders_need_more_memory():
    graph = path(6_000)
    for given in ({"hidden": 1024}, {"layers": 2}):
        assert str(resolve(graph, given, memory=GIB).settings.sampler) == "walk"
    assert str(resolve(graph, {"hidden": 64, "layers": 2}, memory=GIB // 2).settings.sampler) == "full"


def test_vectors_that_exceed_the_memory_are_rejected_with_a_size_that_fits():
    graph = path(6_000)
    with pytest.raises(InputError, match=r"6,000 nodes need about .* use hidden \d+ or less") as caught:
        resolve(graph, memory=2**24)
    fitting = int(str(caught.value).split("use hidden ")[1].split()[0])
    assert 1 <= fitting < 512
    assert resolve(graph, {"hidden": fitting}, memory=2**24).settings.hidden == fitting


# Given settings are kept


GIVEN = {
    "task": "node",
    "views": ["adjacency", "ppr:alpha=0.1:method=exact", "heat:top_k=5"],
    "normalise": "none",
    "sampler": "nodes",
    "sample_size": 123,
    "patience": 7,
    "hidden": 33,
    "features": "degree",
    "similar": 3,
}


def test_given_settings_are_never_overridden():
    graph = path(EXACT_ENTRIES["cpu"] // 4_000, features=np.ones((EXACT_ENTRIES["cpu"] // 4_000, 2)))
    choice = resolve(graph, GIVEN, memory=GIB // 8)
    assert choice.settings == Settings(**GIVEN)
    assert choice.choices == {}


@pytest.mark.parametrize("key", ["sampler", "sample_size", "patience", "normalise", "views", "hidden", "features"])
def test_one_given_setting_is_kept_while_the_rest_is_chosen(key):
    graph = path(6_000, features=np.random.default_rng(0).random((6_000, 2)))
    settings = resolve(graph, {key: GIVEN[key]}, memory=GIB // 2).settings
    assert getattr(settings, key) == getattr(Settings(**{key: GIVEN[key]}), key)
    others = {"sampler": Walk(), "normalise": "standard", "sample_size": SAMPLE_SIZE, "patience": SAMPLED_PATIENCE}
    if key in ("sampler", "hidden", "features"):
        return  # other choices depend on these
    assert {name: getattr(settings, name) for name in others if name != key} == {
        name: value for name, value in others.items() if name != key
    }


def test_dict_of_the_caller_is_not_changed():
    given = {"hidden": 8}
    resolve(path(5), given)
    assert given == {"hidden": 8}


def test_auto_in_a_settings_object_is_resolved():
    graph = path(6_000, features=np.random.default_rng(0).random((6_000, 2)))
    same = resolve(graph, Settings(hidden=8, views=("adjacency", "ppr")), memory=64 * GIB)
    assert same.settings == resolve(graph, {"hidden": 8}, memory=64 * GIB).settings
    assert set(same.choices) == {"normalise", "views", "sampler"}
    assert resolve(graph, same.settings, memory=64 * GIB).choices == {}


def test_invalid_settings_are_rejected():
    with pytest.raises(SettingsError, match="did you mean 'hidden'"):
        resolve(path(5), {"hiden": 8})
    with pytest.raises(SettingsError, match="node task has one graph"):
        resolve(path(5), {"mode": "global"})


def test_positions_that_do_not_fit_into_memory_are_replaced_by_degrees() -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    assert resolve(graph, memory=10**6).settings.features == "position"
    resolved = resolve(graph, {"hidden": 8}, memory=40_000)
    assert resolved.settings.features == "degree-one-hot"
    assert "positions need about 0.1 GB of 0.1 GB" in resolved.choices["features"]


@pytest.mark.parametrize(
    "smaller", [dict(dim=64), dict(beside="none"), dict(preset="paper")], ids=["dim", "beside", "paper"]
)
def test_vectors_that_do_not_fit_into_memory_are_rejected_before_training(input_error, smaller) -> None:
    graph = Graph.from_edges([0], [1], nodes=1000)
    settings, default = Settings(hidden=64), Output().for_task("node")
    size = 4 * 1000 * (2 * 64 + 6 * 256 + 512)
    check_vectors_fit(graph, settings, default, memory=size)
    input_error(lambda: check_vectors_fit(graph, settings, default, memory=size - 1), "1,000 nodes", "dim", "beside")
    check_vectors_fit(graph, settings, Output(**smaller).for_task("node"), memory=size - 1)


def test_large_graphs_are_sampled_on_a_cpu_even_if_they_fit_into_memory() -> None:
    large, small = (Graph.from_edges([0], [1], nodes=nodes, features=np.ones((nodes, 2))) for nodes in (60_000, 100))
    resolved = resolve(large, {"task": "node"}, memory=2**40)
    assert resolved.choices["sampler"] == (
        "samples of 2,000 nodes by random walks (training on all nodes is slow on a CPU)"
    )
    assert (str(resolved.settings.sampler), resolved.settings.sample_size, resolved.settings.patience) == (
        "walk",
        2000,
        20,
    )
    assert resolve(large, {"sample_size": 500, "patience": 3}, memory=2**40).settings.sample_size == 500
    assert str(resolve(large, {"sampler": "full"}, memory=2**40).settings.sampler) == "full"
    assert str(resolve(small, {"task": "node"}, memory=2**40).settings.sampler) == "full"
    assert str(resolve(large, {"task": "node"}, device="cuda", memory=2**40).settings.sampler) == "full"


def test_vectors_with_positions_need_memory_for_all_of_them(input_error) -> None:
    graph, settings = Graph.from_edges([0], [1], nodes=1000), Settings(features="position")
    size = 4 * 1000 * (2 * 512 + 2 * 3 * 512 + 512)  # codes, parts of positions and what they take, vectors
    check_vectors_fit(graph, settings, Output().for_task("node"), memory=size)
    input_error(lambda: check_vectors_fit(graph, settings, Output().for_task("node"), memory=size - 1), "1,000 nodes")
