"""Nodes joined with similar ones: which, when by default, and that saved models do the same again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

import mvgrl
from mvgrl import NodeEmbedder, automatic, similar
from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset
from mvgrl.errors import InputError, SettingsError
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.contest import contest
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.planner import Task, plan
from mvgrl.experiments.runner import RunContext, run
from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.matrices import DenseMatrix
from mvgrl.method_vectors import PlainContext
from mvgrl.methods import METHODS, Method, Outcome
from mvgrl.outofcore.job import check_settings
from mvgrl.pretrained import load_model
from mvgrl.runtime import generator_for
from mvgrl.sampling import corrupt_adjacency
from mvgrl.settings import Output, Settings, literal
from mvgrl.similar import join_similar
from mvgrl.training import fit
from mvgrl.views import PPR, ViewCache

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


def chosen(graph: Graph, preset: str = "default", **settings: Any) -> int | None:
    return resolve(graph, {"task": "node", **settings}, preset=preset).settings.similar


def diffusion(graph: Graph, count: int, **settings: Any) -> np.ndarray:
    inputs = prepare(graph, literal({"hidden": 8, "similar": count, **settings}), device="cpu")
    found: np.ndarray = inputs.views[1].dense().numpy()
    return found


# Which nodes are joined


@pytest.mark.parametrize("width", [5, 300])
def test_nodes_of_the_highest_cosines_are_joined_if_that_holds_for_both(width: int) -> None:
    rows = np.random.default_rng(1).normal(size=(40, width)) @ np.diag(np.r_[np.ones(5), np.zeros(width - 5)])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(40)
    nearest = np.zeros((40, 40), dtype=bool)
    np.put_along_axis(nearest, np.argsort(-cosines, axis=1)[:, :3], True, axis=1)
    graph = Graph.from_scipy(nx.to_scipy_sparse_array(nx.cycle_graph(40)))
    assert (nearest & nearest.T).any()
    assert (nearest & ~nearest.T).any()
    assert joined(graph, rows, 3) == pytest.approx(0.1 * (nearest & nearest.T))


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
    assert joined(Graph.from_edges([0], [1], nodes=3), np.ones((3, 2)), 10) == pytest.approx(0.1 * (1 - np.eye(3)))
    assert not joined(Graph.from_edges([], [], nodes=1), np.ones((1, 2)), 10).any()


def test_light_edges_are_light_relative_to_the_weights_of_the_graph() -> None:
    heavy = Graph.from_edges([0, 1], [1, 2], [300.0, 100.0], nodes=4)
    assert joined(heavy, np.ones((4, 2)), 3) == pytest.approx(20.0 * (1 - np.eye(4)))


def test_nodes_of_different_graphs_are_not_joined() -> None:
    pair = Graph.from_edges([0], [1], nodes=3)
    found = joined(Graph.join([pair, pair]), np.ones((6, 2)), 10)
    assert found[:3, :3].any()
    assert found[3:, 3:].any()
    assert not found[:3, 3:].any()


# What it changes


def test_only_diffusions_see_the_light_edges() -> None:
    views = ("adjacency", "heat", "distance")
    plain, light = (
        prepare(topics(), literal({"views": views, "similar": count}), device="cpu").views for count in (0, 10)
    )
    assert [torch.equal(one.dense(), other.dense()) for one, other in zip(plain, light, strict=True)] == [
        True,
        False,
        True,
    ]


def test_similar_nodes_without_a_diffusion_are_an_error() -> None:
    settings = literal({"views": ("adjacency", "distance"), "similar": 3})
    with pytest.raises(SettingsError, match="similar is 3, but edges between similar nodes are for diffusions"):
        prepare(topics(), settings, device="cpu")


def test_a_node_without_edges_learns_from_nodes_like_it() -> None:
    graph = topics()
    weights = graph.adjacency.toarray()
    weights[0] = weights[:, 0] = 0
    row = diffusion(Graph.from_scipy(weights, graph.features), 10)[0]
    group = np.arange(90) % 3
    assert row[1:].sum() > 0.05
    assert row[1:][group[1:] == group[0]].sum() > 0.9 * row[1:].sum()


def test_negatives_with_other_edges_keep_the_light_ones() -> None:
    graph = topics()
    settings = literal({"hidden": 8, "views": ("adjacency", "ppr"), "negatives": "adjacency", "similar": 10})
    inputs = prepare(graph, settings, device="cpu")
    found = inputs.batches(seed=3).corrupted_views
    other = corrupt_adjacency(graph, generator_for(3, "corruption"))
    wanted = PPR()(join_similar(other, inputs.features, 10, CPU))
    assert found[1].dense().numpy() == pytest.approx(np.asarray(wanted), abs=1e-6)


def test_the_encoders_are_trained_with_light_edges() -> None:
    graph = topics()
    light, plain = (fit(graph, Settings(**QUICK, similar=count), device="cpu") for count in (None, 0))
    assert light.model.settings.similar == 10
    weights = zip(light.model.parameters(), plain.model.parameters(), strict=True)
    assert any(not torch.equal(one, other) for one, other in weights)
    default = fit(graph, Settings(**QUICK, similar=10), device="cpu")
    assert np.array_equal(default.vectors(), light.vectors())


def test_the_paper_s_vectors_are_trained_without_them() -> None:
    graph = topics()
    plain = fit(graph, Settings(**QUICK, similar=0), device="cpu").vectors(output=Output(preset="paper"))
    for paper in (dict(preset="paper"), dict(method="mvgrl")):
        assert np.array_equal(NodeEmbedder(**QUICK, **paper, device="cpu").fit(graph).embedding_, plain)
    light = NodeEmbedder(**QUICK, preset="paper", similar=10, device="cpu").fit(graph).embedding_
    assert not np.allclose(light, plain)


def test_hashes_of_settings_without_similar_nodes_do_not_change() -> None:
    assert Settings(similar=0).id == Settings().id == "b3b0db00e592"
    assert Settings(similar=10).id != Settings().id


# When by default


def test_similar_nodes_are_joined_by_many_related_features(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = topics()
    assert chosen(graph) == 10
    assert "each node joined with up to 10 similar ones" in resolve(graph, {"task": "node"}).summary
    assert chosen(graph, views=("adjacency", "distance")) == 0  # no diffusion
    assert chosen(graph, preset="paper") == 0
    assert chosen(graph, similar=3) == chosen(graph, preset="paper", similar=3) == 3
    assert chosen(graph, similar=0) == 0
    monkeypatch.setattr(automatic, "LARGE_GRAPH", 89)
    assert chosen(graph) == 0


def test_few_or_unrelated_features_and_positions_join_nobody() -> None:
    graph = topics()
    shuffled = np.random.default_rng(0).permutation(graph.features)
    for other in (topics(200), Graph(graph.adjacency, features=shuffled), Graph(graph.adjacency)):
        assert chosen(other) == 0
    assert chosen(graph, features="position") == 0


def test_it_is_only_for_nodes_of_one_graph() -> None:
    many = Graph.join([topics(), topics()])
    assert resolve(many, {"task": "graph"}).settings.similar == 0
    with pytest.raises(SettingsError, match="similar is 3, but it is only for the nodes of one graph"):
        Settings(task="graph", similar=3)
    with pytest.raises(SettingsError, match="compares all nodes of a graph in memory; omit it"):
        check_settings(Settings(views=("adjacency", "ppr:top_k=4"), similar=3), Output().for_task("node"))


def labelled() -> Dataset:
    return Dataset("topics", topics(), np.arange(90) % 3, "node", None, ("a", "b", "c"), "")


def test_comparisons_and_experiments_train_the_paper_s_vectors_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = contest(labelled(), ["default", "mvgrl", "untrained", "beside-alone"], device="cpu")
    assert [compared.resolved(one).similar for one in compared.contenders] == [10, 0, 0, 10]
    steps = plan(EXPERIMENTS["default-vectors"], ["cora"])
    recipes = {step.variant.id: replace(step.recipe, settings=Settings(**QUICK)) for step in steps}
    context = RunContext(Ledger(tmp_path / "runs.jsonl"), CPU, lambda text: None, ViewCache())
    given: list[int] = []

    class Told(Method):
        name, label = "told", "told"

        def outcomes(self, dataset: Any, settings: Settings, *others: Any) -> list[Outcome]:
            given.append(settings.similar)
            return [Outcome(np.eye(90))]

    monkeypatch.setitem(METHODS, "told", Told())
    for row in ("default", "paper's vector"):
        run([Task(recipes[row], row, "told", None, {}, (0,))], labelled(), context)
    assert given == [10, 0]


def test_controls_that_only_propagate_do_not_see_light_edges() -> None:
    dataset = labelled()
    settings = resolve(dataset.graph, {"task": "node"}).settings
    for name in ("propagated-beside", "propagated"):
        light, plain = (
            METHODS[name].outcomes(dataset, replace(settings, similar=count), Output(), [0], PlainContext(CPU))[0]
            for count in (10, 0)
        )
        assert np.array_equal(light.points(), plain.points())


# Saved models


def test_a_saved_model_joins_them_again(tmp_path: Path) -> None:
    graph = topics()
    embedder = NodeEmbedder(**QUICK).fit(graph)
    assert embedder.choices_["similar"] == "each node joined with up to 10 similar ones (by their features)"
    embedder.save(tmp_path / "model")
    assert "| similar nodes joined | up to 10 per node |" in (tmp_path / "model" / "README.md").read_text()
    loaded = mvgrl.load(tmp_path / "model")
    assert np.allclose(loaded.transform(graph), embedder.embedding_, atol=1e-6)
    trained = load_model(tmp_path / "model", device="cpu").trained
    assert np.allclose(trained.vectors(graph), embedder.embedding_, atol=1e-6)


def test_models_without_the_option_join_nobody(tmp_path: Path) -> None:
    graph = topics()
    embedder = NodeEmbedder(**QUICK, similar=0).fit(graph)
    embedder.save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    text = path.read_text()
    assert '"similar": 0,' in text
    path.write_text(text.replace('"similar": 0,', ""))
    assert np.allclose(mvgrl.load(tmp_path / "model").transform(graph), embedder.embedding_, atol=1e-6)


def test_models_whose_training_saw_no_light_edges_but_their_vectors_did_are_refused(tmp_path: Path) -> None:
    graph = topics()
    NodeEmbedder(**QUICK, similar=0).fit(graph).save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    del config["settings"]["similar"]
    for count in (0, 10):
        older = {**config, "format": "mvgrl-model-6", "output": {**config["output"], "similar": count}}
        path.write_text(json.dumps(older))
        if count == 0:
            assert len(mvgrl.load(tmp_path / "model").transform(graph)) == 90
            continue
        with pytest.raises(InputError, match="train it again"):
            mvgrl.load(tmp_path / "model")


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
