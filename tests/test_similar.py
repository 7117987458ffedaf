"""Nodes joined with similar ones: which, when by default, and that saved models do the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

import mvgrl
from mvgrl import NodeEmbedder, automatic, similar
from mvgrl.automatic import resolve, resolve_output
from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.matrices import DenseMatrix
from mvgrl.outofcore.job import check_settings
from mvgrl.pretrained import load_model
from mvgrl.settings import Output, Settings, literal
from mvgrl.similar import join_similar
from mvgrl.training import fit

QUICK: dict[str, Any] = dict(hidden=8, epochs=2)
CPU = torch.device("cpu")


def joined(graph: Graph, rows: np.ndarray, count: int) -> np.ndarray:
    """The weights of the light edges alone."""
    features = DenseMatrix(torch.from_numpy(np.asarray(rows, dtype=np.float32)))
    found: np.ndarray = join_similar(graph, features, count, CPU).adjacency.toarray() - graph.adjacency.toarray()
    return found


def topics(width: int = 300, nodes: int = 90) -> Graph:
    """Three groups of nodes with words of their own; neighbours are of the same group."""
    rng, group = np.random.default_rng(0), np.arange(nodes) % 3
    words = (np.arange(width) % 3 == group[:, None]) & (rng.random((nodes, width)) < 0.2)
    words |= rng.random((nodes, width)) < 0.02
    ends = rng.integers(nodes // 3, size=(2, 4 * nodes)) * 3 + rng.integers(3, size=4 * nodes)
    return Graph.from_edges(*ends, nodes=nodes, features=words.astype(float))


def output_of(graph: Graph, output: Output | None = None, **settings: Any) -> Output:
    return resolve_output(graph, resolve(graph, {"task": "node", **settings}).settings, output or Output())


# Which nodes are joined


@pytest.mark.parametrize("width", [5, 300])
def test_each_node_is_joined_with_those_of_the_highest_cosine(width: int) -> None:
    rows = np.random.default_rng(1).normal(size=(40, width)) @ np.diag(np.r_[np.ones(5), np.zeros(width - 5)])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(40)
    nearest = np.zeros((40, 40), dtype=bool)
    np.put_along_axis(nearest, np.argsort(-cosines, axis=1)[:, :3], True, axis=1)
    graph = Graph.from_scipy(nx.to_scipy_sparse_array(nx.cycle_graph(40)))
    assert joined(graph, rows, 3) == pytest.approx(0.05 * (nearest | nearest.T))


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, graph = np.random.default_rng(0).normal(size=(30, 4)), Graph.from_edges([0], [1], nodes=30)
    whole = joined(graph, rows, 4)
    monkeypatch.setattr(similar, "_BLOCK", 70)
    assert np.array_equal(joined(graph, rows, 4), whole)


def test_rows_of_zeros_and_opposites_are_joined_with_nobody() -> None:
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    found = joined(Graph.from_edges([0], [3], nodes=4), rows, 3)
    assert np.argwhere(found).tolist() == [[0, 1], [1, 0]]


def test_a_graph_with_fewer_nodes_joins_all_of_them() -> None:
    assert joined(Graph.from_edges([0], [1], nodes=3), np.ones((3, 2)), 10) == pytest.approx(0.05 * (1 - np.eye(3)))
    assert not joined(Graph.from_edges([], [], nodes=1), np.ones((1, 2)), 10).any()


def test_light_edges_are_light_relative_to_the_weights_of_the_graph() -> None:
    heavy = Graph.from_edges([0, 1], [1, 2], [300.0, 100.0], nodes=4)
    assert joined(heavy, np.ones((4, 2)), 3) == pytest.approx(10.0 * (1 - np.eye(4)))


def test_nodes_of_different_graphs_are_not_joined() -> None:
    pair = Graph.from_edges([0], [1], nodes=3)
    found = joined(Graph.join([pair, pair]), np.ones((6, 2)), 10)
    assert found[:3, :3].any()
    assert found[3:, 3:].any()
    assert not found[:3, 3:].any()


# What it changes


def test_only_diffusions_see_the_light_edges() -> None:
    inputs = prepare(topics(), literal({"hidden": 8, "views": ("adjacency", "ppr")}), device="cpu")
    other = inputs.joined(10)
    assert other.views[0] is inputs.views[0]
    assert not torch.equal(other.views[1].dense(), inputs.views[1].dense())
    assert inputs.joined(10) is other
    assert inputs.joined(0) is inputs


def test_a_node_without_edges_learns_from_nodes_like_it() -> None:
    graph = topics()
    weights = graph.adjacency.toarray()
    weights[0] = weights[:, 0] = 0
    alone = Graph.from_scipy(weights, graph.features)
    row = prepare(alone, literal({"hidden": 8}), device="cpu").joined(10).views[1].dense()[0].numpy()
    group = np.arange(90) % 3
    assert row[1:].sum() > 0.05
    assert row[1:][group[1:] == group[0]].sum() > 0.9 * row[1:].sum()


def test_the_paper_s_vector_and_the_training_do_not_change() -> None:
    trained = fit(topics(), Settings(**QUICK), device="cpu")
    before = trained.vectors(output=Output(preset="paper"))
    default, without = trained.vectors(), trained.vectors(output=Output(similar=0))
    assert default.shape == without.shape
    assert not np.allclose(default, without)
    assert np.array_equal(trained.vectors(output=Output(preset="paper")), before)
    assert not np.array_equal(trained.vectors(output=Output(preset="paper", similar=5)), before)


# When by default


def test_similar_nodes_are_joined_by_many_related_features(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = topics()
    assert output_of(graph).similar == 10
    assert output_of(graph, Output(beside="propagated")).similar == 10
    assert output_of(graph, views=("adjacency", "distance")).similar == 0  # no diffusion
    for given in (Output(similar=0), Output(preset="paper"), Output(beside="none")):
        assert output_of(graph, given).similar == 0
    assert output_of(graph, Output(similar=3)).similar == 3
    monkeypatch.setattr(automatic, "SIMILAR_UP_TO", 89)
    assert output_of(graph).similar == 0


def test_few_or_unrelated_features_and_positions_join_nobody() -> None:
    graph = topics()
    shuffled = np.random.default_rng(0).permutation(graph.features)
    for other in (topics(200), Graph(graph.adjacency, features=shuffled), Graph(graph.adjacency)):
        assert output_of(other).similar == 0
    assert output_of(graph, features="position").similar == 0


def test_it_is_only_for_nodes_of_one_graph() -> None:
    with pytest.raises(SettingsError, match="similar is 3, but it is only for the nodes of one graph"):
        Output(similar=3).for_task("graph")
    with pytest.raises(SettingsError, match="compares all nodes of a graph in memory; omit it"):
        check_settings(Settings(views=("adjacency", "ppr:top_k=4")), Output(similar=3).for_task("node"))


# Saved models


def test_a_saved_model_joins_them_again(tmp_path: Path) -> None:
    graph = topics()
    embedder = NodeEmbedder(**QUICK).fit(graph)
    assert "each node joined with 10 similar ones" in embedder.choices_["vector"]
    embedder.save(tmp_path / "model")
    assert "| similar nodes joined | 10 per node |" in (tmp_path / "model" / "README.md").read_text()
    loaded = mvgrl.load(tmp_path / "model")
    assert np.allclose(loaded.transform(graph), embedder.embedding_, atol=1e-6)
    trained = load_model(tmp_path / "model", device="cpu").trained
    assert np.allclose(trained.vectors(graph), embedder.embedding_, atol=1e-6)
    with pytest.raises(SettingsError, match="omit beside, similar, codes and join"):
        loaded.set_params(similar=0).transform(graph)


def test_models_without_the_option_join_nobody(tmp_path: Path) -> None:
    graph = topics()
    embedder = NodeEmbedder(**QUICK, similar=0).fit(graph)
    embedder.save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    text = path.read_text()
    assert '"similar": 0,' in text
    path.write_text(text.replace('"similar": 0,', ""))
    assert np.allclose(mvgrl.load(tmp_path / "model").transform(graph), embedder.embedding_, atol=1e-6)


def test_similar_nodes_and_components_are_found_once_for_all_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(graph: Graph, features: Any, count: int, device: torch.device) -> Graph:
        calls.append(count)
        return join_similar(graph, features, count, device)

    monkeypatch.setattr("mvgrl.inputs.join_similar", counted)
    runs = fit(topics(), Settings(**QUICK), seed=range(2), device="cpu")
    first, second = (run.vectors() for run in runs)
    assert calls == [10]
    assert not np.allclose(first, second)
    compositions = [run.compose(Output()) for run in runs]
    assert compositions[0].beside is compositions[1].beside
