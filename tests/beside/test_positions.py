"""Positions beside features: when they are there, what they weigh, and where they are unknown."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

import mvgrl
from mvgrl import NodeEmbedder, automatic
from mvgrl.automatic import resolve, resolve_output
from mvgrl.beside import Propagated, WithPositions
from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.inputs import Inputs, prepare
from mvgrl.positions import PositionEncoder, bytes_needed, positions
from mvgrl.pretrained import load_model, save_model
from mvgrl.settings import Output, Settings, literal
from mvgrl.training import fit
from mvgrl.vectors import fitted_space

QUICK = dict(hidden=8, epochs=2)
GROUPS = np.repeat(np.arange(6), 25)


def communities(width: int, seed: int = 0, **more: Any) -> Graph:
    """Six groups of 25 nodes; their features are noise."""
    network = nx.planted_partition_graph(6, 25, 0.4, 0.01, seed=seed)
    features = np.random.default_rng(seed).normal(size=(150, width))
    return Graph.from_scipy(nx.to_scipy_sparse_array(network), features if width else None, **more)


def inputs_of(graph: Graph | NamedGraph, **more: object) -> Inputs:
    return prepare(graph, literal({"hidden": 8, **more}), device="cpu")


def beside(graph: Graph, **settings: Any) -> str:
    output = settings.pop("output", Output())
    return resolve_output(graph, resolve(graph, {"task": "node", **settings}).settings, output).beside


# When positions are there


def topics(width: int) -> np.ndarray:
    """Features that neighbours share: each group has columns of its own."""
    own = np.arange(width) % 6 == GROUPS[:, None]
    return own + np.random.default_rng(0).normal(size=(150, width)) / 2


@pytest.mark.parametrize(("width", "expected"), [(1, "+position"), (255, "+position"), (256, ""), (400, "")])
def test_positions_stand_beside_fewer_than_256_features(width: int, expected: str) -> None:
    graph = Graph.from_scipy(communities(0).adjacency, topics(width))
    assert beside(graph) == f"propagated{expected}"


@pytest.mark.parametrize(("largest", "expected"), [(149, "propagated+position"), (150, "propagated")])
def test_positions_stand_beside_any_features_in_a_large_graph(largest: int, expected: str, monkeypatch) -> None:
    monkeypatch.setattr(automatic, "LARGE_GRAPH", largest)
    assert beside(Graph.from_scipy(communities(0).adjacency, topics(300))) == expected


def test_empty_columns_do_not_count() -> None:
    """Hashed text has thousands of columns, and most of them are empty in a small table."""
    graph = communities(0)
    table = sp.csr_array(np.hstack([topics(100), np.zeros((150, 900))]))
    wide = Graph.from_scipy(graph.adjacency, table)
    assert beside(wide) == "propagated+position"
    narrow = Graph.from_scipy(graph.adjacency, topics(100))
    found, expected = (WithPositions.fit(inputs_of(one)).weights for one in (wide, narrow))
    assert found == expected


def test_positions_stand_beside_features_that_have_nothing_to_do_with_the_edges() -> None:
    graph = communities(300)
    assert beside(graph) == "propagated+position"  # the features are noise
    network = nx.gnm_random_graph(150, 600, seed=0)  # the edges are
    assert beside(Graph.from_scipy(nx.to_scipy_sparse_array(network), topics(300))) == "propagated+position"
    assert beside(Graph.from_scipy(graph.adjacency, topics(300))) == "propagated"


def test_many_node_labels_are_compared_with_the_edges_too() -> None:
    ends = np.arange(600)
    ring = ends, (ends + 1) % 600
    assert beside(Graph.from_edges(*ring, node_labels=ends // 2)) == "propagated"  # 300 pairs of neighbours
    shuffled = np.random.default_rng(0).permutation(ends // 2)
    assert beside(Graph.from_edges(*ring, node_labels=shuffled)) == "propagated+position"


def test_positions_stand_beside_a_few_node_labels() -> None:
    edges = ([0, 1, 2], [1, 2, 3])
    assert beside(Graph.from_edges(*edges, node_labels=["a", "b", "a", "b"])) == "propagated+position"
    assert beside(Graph.from_edges(*edges, node_labels=["a", "b", "a", "b"]), features="degree") == "propagated"


def test_what_was_asked_for_is_kept() -> None:
    graph = communities(3)
    for given in ("none", "propagated", "propagated+position"):
        assert beside(graph, output=Output(beside=given)) == given
    wide = Graph.from_scipy(graph.adjacency, topics(300))
    assert beside(wide, output=Output(beside="propagated+position")) == "propagated+position"
    assert beside(graph, output=Output(preset="paper")) == "none"


def test_the_choice_of_positions_has_its_reason(monkeypatch) -> None:
    few, unrelated = (NodeEmbedder(**QUICK, device="cpu").fit(communities(width)).choices_ for width in (3, 300))
    assert few["beside"] == "positions added to the features (only 3 columns)"
    assert unrelated["beside"] == "positions added to the features (unrelated to the edges)"
    related = NodeEmbedder(**QUICK, device="cpu").fit(communities(0).adjacency, features=topics(300))
    assert "beside" not in related.choices_
    monkeypatch.setattr(automatic, "LARGE_GRAPH", 100)
    large = NodeEmbedder(**QUICK, device="cpu").fit(communities(0).adjacency, features=topics(300))
    assert large.choices_["beside"] == "positions added to the features (150 nodes)"


@pytest.mark.parametrize("kind", ["degree", "degree-one-hot", "position"])
def test_features_that_come_from_the_graph_have_no_positions_beside_them(kind: str) -> None:
    assert beside(communities(3), features=kind) == "propagated"


def test_without_edges_or_memory_there_are_no_positions() -> None:
    assert beside(Graph.from_edges([], [], nodes=4, features=np.eye(4)[:, :2])) == "propagated"
    graph = communities(3)
    settings = resolve(graph, {"task": "node", **QUICK}).settings
    columns = 2 * 8 + 2 * 3 * (256 + 512) + 512  # codes; features, positions and room to compute them; the vector
    needed = 2 * max(bytes_needed(graph.nodes), 4 * graph.nodes * columns)  # half of the memory
    assert resolve_output(graph, settings, Output(), memory=needed).beside == "propagated+position"
    choices: dict[str, str] = {}
    assert resolve_output(graph, settings, Output(), memory=needed - 1, choices=choices).beside == "propagated"
    assert choices == {"beside": "no positions added to the features (they need about 0.1 GB of 0.1 GB)"}


def test_coarse_positions_need_less_memory(monkeypatch) -> None:
    monkeypatch.setattr(automatic, "LARGE_GRAPH", 100)
    graph = Graph.from_scipy(communities(0).adjacency, topics(300))
    settings = resolve(graph, {"task": "node", **QUICK}).settings
    assert bytes_needed(150, coarse=True) == 150 * (2500 + 30 * 128) < bytes_needed(150)
    columns = 2 * 8 + 2 * 3 * (256 + 256) + 512
    needed = 2 * max(bytes_needed(150, coarse=True), 4 * 150 * columns)
    assert resolve_output(graph, settings, Output(), memory=needed).beside == "propagated+position"
    assert resolve_output(graph, settings, Output(), memory=needed - 1).beside == "propagated"


def test_graphs_have_no_positions() -> None:
    with pytest.raises(SettingsError, match=r"'propagated\+position', which does not fit task 'graph'"):
        Output(beside="propagated+position").for_task("graph")


# What they are


def test_parts_are_those_of_the_features_and_of_the_positions() -> None:
    inputs = inputs_of(communities(3))
    found = WithPositions.fit(inputs)
    features, expected = Propagated.fit(inputs).parts(inputs), PositionEncoder("position").fit(inputs.graph)
    table = expected.transform(inputs.graph).dense().double().numpy()
    parts = found.parts(inputs)
    for part, feature in zip(parts[:3], features, strict=True):
        np.testing.assert_array_equal(part, feature)
    adjacency, ppr = (view.dense().double().numpy() for view in inputs.views)
    for part, rows in zip(parts[3:], (table, np.linalg.matrix_power(adjacency, 8) @ table, ppr @ table), strict=True):
        np.testing.assert_allclose(part, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-4)
    assert found.widths(3) == [3] * 3 + [table.shape[1]] * 3
    assert found.names(inputs.settings)[3:] == [
        "raw positions",
        "propagated positions: adjacency",
        "propagated positions: ppr",
    ]


@pytest.mark.parametrize(("columns", "factor"), [(2, 0.125), (8, 0.25), (32, 0.5), (128, 1.0), (255, 1.0), (300, 1.0)])
@pytest.mark.parametrize("related", [True, False])
def test_fewer_columns_weigh_less_and_so_do_their_codes(columns: int, factor: float, related: bool) -> None:
    graph = communities(columns)
    if related:
        graph = Graph.from_scipy(graph.adjacency, topics(columns))
    found = WithPositions.fit(inputs_of(graph))
    assert found.unrelated != related
    assert found.code_weight == pytest.approx(factor)
    raw, propagated = (0.7 / 2**0.5 if related else 1.0), 0.7 / 2**0.5
    features = [raw * factor, propagated * factor, propagated * factor]
    weight = 0.35 if related and columns == 300 else 0.5
    assert found.weights == pytest.approx(features + [weight / 2**0.5] * 3)


def test_codes_weigh_half_in_a_large_graph_with_informative_features(monkeypatch) -> None:
    informative, few = (Graph.from_scipy(communities(0).adjacency, topics(width)) for width in (256, 255))
    for size, expected in ((150, 1.0), (149, 0.5)):
        monkeypatch.setattr("mvgrl.beside.propagated.LARGE_GRAPH", size)
        assert [WithPositions.fit(inputs_of(one)).code_weight for one in (few, communities(256))] == [1.0, 1.0]
        inputs = inputs_of(informative)
        found = WithPositions.fit(inputs)
        assert found.code_weight == expected
        assert found.weights == pytest.approx([0.7 / 2**0.5] * 3 + [0.35 / 2**0.5] * 3)
        parts = [part for part in found.parts(inputs) if part is not None]
        smooth = parts[1]  # as codes: it survives like the part that keeps its weight
        scale = fitted_space([smooth, smooth, *parts], found, inputs).scale
        assert float(scale[0] / scale[3]) == pytest.approx(expected / 0.7, rel=1e-4)


def test_positions_beside_features_that_say_much_are_coarse(monkeypatch) -> None:
    """Coarse positions have fewer dimensions and are computed from fewer entries per row."""
    monkeypatch.setattr("mvgrl.positions.COARSE_DIMENSIONS", 20)
    monkeypatch.setattr("mvgrl.positions._FEWEST", 10)
    graph, noise = Graph.from_scipy(communities(0).adjacency, topics(256)), communities(256)
    few = Graph.from_scipy(communities(0).adjacency, topics(255))
    for one, coarse in ((graph, True), (noise, False), (few, False)):
        found = WithPositions.fit(inputs_of(one)).encoder
        assert found is not None
        np.testing.assert_array_equal(found.positions_, positions(one, coarse=coarse))
    assert positions(graph, coarse=True).shape == (150, 20)
    rough, fine = (one @ one.T for one in (positions(graph, coarse=True), positions(graph)))
    assert np.abs(rough - fine).max() > 0.1


def test_only_codes_and_propagated_features_are_weighted_by_what_survives() -> None:
    inputs = inputs_of(communities(3))
    found = WithPositions.fit(inputs)
    codes = torch.from_numpy(np.random.default_rng(0).normal(size=(150, 8)).astype(np.float32))
    parts = [codes, codes[:, :4], *(part for part in found.parts(inputs) if part is not None)]
    scale = fitted_space(parts, found, inputs).scale
    lengths = torch.stack([(part - part.mean(0)).square().sum(1).mean().sqrt() for part in parts])
    weights = (scale * lengths / 3.0).numpy()  # 3: the length of a part of weight 1
    assert weights[[2, 5, 6, 7]] == pytest.approx([found.weights[0]] + [0.5 / 2**0.5] * 3, rel=1e-4)
    assert max(weights[:2]) < 0.6 * found.code_weight / 2**0.5  # random codes do not survive
    assert max(weights[3:5]) == pytest.approx(found.weights[1], rel=1e-4)  # the smoothest part keeps its weight


def test_raw_features_that_say_much_are_weighted_by_what_survives() -> None:
    graph = communities(0)
    much, few, noise = (
        WithPositions.fit(inputs_of(Graph.from_scipy(graph.adjacency, table)))
        for table in (topics(256), topics(255), np.random.default_rng(0).normal(size=(150, 256)))
    )
    assert much.by_share == [True] * 3 + [False] * 3
    assert few.by_share == noise.by_share == [False] + [True] * 2 + [False] * 3


def test_trainings_of_one_graph_share_its_positions() -> None:
    one, other = fit(communities(3), Settings(**QUICK), seed=range(2), device="cpu")
    assert one.compose(Output()).beside.encoder is other.compose(Output()).beside.encoder


def test_positions_as_features_do_not_stand_there_twice() -> None:
    graph = communities(0)
    expected = fit(graph, Settings(**QUICK, features="position"), device="cpu")
    twice = Output(beside="propagated+position")
    np.testing.assert_array_equal(expected.vectors(output=twice), expected.vectors())
    assert "raw positions" in expected.compose(twice).parts(expected.model.settings, 0)


@pytest.mark.parametrize("columns", [1, 4, 20])
def test_noise_in_a_few_columns_does_not_hide_communities(columns: int) -> None:
    vectors = NodeEmbedder(hidden=32, epochs=30, device="cpu").fit_transform(communities(columns))
    found = KMeans(6, n_init=5, random_state=0).fit_predict(vectors)
    assert normalized_mutual_info_score(GROUPS, found) > 0.95


# Other graphs


def relabelled(graph: Graph, names: np.ndarray) -> NamedGraph:
    return NamedGraph(graph, names)


def test_nodes_keep_their_positions_by_their_ids() -> None:
    graph, names = communities(3), np.array([f"n{number}" for number in range(150)])
    embedder = NodeEmbedder(**QUICK, device="cpu").fit(relabelled(graph, names))
    order = np.random.default_rng(0).permutation(150)
    shuffled = Graph.from_scipy(graph.adjacency[order][:, order], graph.features[order])
    found = embedder.transform(relabelled(shuffled, names[order]))
    np.testing.assert_allclose(found, embedder.embedding_[order], atol=1e-4)


def test_in_another_graph_positions_are_unknown_and_features_are_not(caplog) -> None:
    trained = fit(communities(3), Settings(**QUICK), device="cpu")
    other = NamedGraph(communities(3, seed=1), np.array([f"other {number}" for number in range(150)]))
    with caplog.at_level(logging.WARNING):
        found = trained.vectors(other)
    assert "no node of the training graph; positions are unknown, and the vectors come from the features" in caplog.text
    space, codes = trained.compose(Output()).space, Output(preset="paper", join="concatenate")
    inputs = prepare(other, trained.model.settings, device="cpu", encoder=trained.feature_encoder)
    features = Propagated.fit(inputs).parts(inputs)
    means = [mean.expand(150, -1) for mean in space.mean.split(space.widths)[-3:]]
    parts = [*torch.from_numpy(trained.vectors(other, codes)).split(8, dim=1), *features, *means]
    np.testing.assert_allclose(found, space.transform(parts, 512), atol=1e-5)


def test_the_same_numbers_in_another_graph_are_other_nodes(caplog) -> None:
    trained = fit(communities(3), Settings(**QUICK), device="cpu")
    order = np.random.default_rng(0).permutation(150)
    graph = communities(3)
    shuffled = Graph.from_scipy(graph.adjacency[order][:, order], graph.features)
    trained.vectors(shuffled)
    assert "so this is another graph; positions are unknown" in caplog.text


def test_new_nodes_are_placed_beside_their_neighbours(caplog) -> None:
    graph = communities(3)
    sources, targets = graph.adjacency.nonzero()
    new = [(150 + number, group * 25 + k) for number, group in enumerate(range(6)) for k in range(8)]
    ends = np.concatenate([np.stack([sources, targets]), np.array(new).T], axis=1)
    features = np.random.default_rng(5).normal(size=(156, 3))
    features[:150] = graph.features
    embedder = NodeEmbedder(hidden=32, epochs=30, device="cpu").fit(graph)
    found = embedder.transform(Graph.from_edges(*ends, nodes=156, features=features))
    assert "6 of 156 nodes are not in the training graph" in caplog.text
    centres = np.stack([found[:150][group == GROUPS].mean(0) for group in range(6)])
    assert (np.linalg.norm(found[150:, None] - centres, axis=2).argmin(1) == np.arange(6)).all()


# Saved models


def test_a_saved_model_gives_the_same_bits(tmp_path: Path) -> None:
    names = np.array([f"n{number}" for number in range(150)])
    named = relabelled(communities(3), names)
    embedder = NodeEmbedder(**QUICK, device="cpu").fit(named)
    embedder.save(tmp_path / "model")
    loaded = mvgrl.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.transform(named), embedder.embedding_)
    assert loaded.beside == "propagated+position"
    np.testing.assert_array_equal(
        load_model(tmp_path / "model", device="cpu").trained.vectors(named), loaded.transform(named)
    )


def test_a_loaded_model_can_be_saved_again(tmp_path: Path) -> None:
    graph = communities(3)
    trained = fit(graph, Settings(**QUICK), device="cpu")
    save_model(trained, tmp_path / "one")
    save_model(load_model(tmp_path / "one", device="cpu").trained, tmp_path / "two")
    again = load_model(tmp_path / "two", device="cpu")
    assert again.output.has_positions
    np.testing.assert_array_equal(again.trained.vectors(graph), trained.vectors())
