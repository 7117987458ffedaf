"""Supervised graph classifiers: layers against PyTorch Geometric, models that do not see each other, honest folds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GATConv, GINConv, SAGEConv, SimpleConv

from mvgrl.datasets import Dataset
from mvgrl.folds import FOLDS, fold_of_each
from mvgrl.graphs import Graph
from mvgrl.methods import METHODS
from mvgrl.methods.graph_classifiers import GATLayer, GINLayer, GraphModels, Training, node_kinds
from mvgrl.methods.graph_levels import Batch, GraphBatches, Step
from mvgrl.methods.graph_stack import StackedBatchNorm
from mvgrl.settings import Output, literal

CPU = torch.device("cpu")
SETTINGS = literal(dict(task="graph"))
SYSTEMS = ["gin-0", "gin-epsilon", "graph-gcn", "graph-sage", "graph-gat"]


def rings_and_stars(count: int = 40, seed: int = 0) -> Dataset:
    """Half of the graphs are rings, half are stars, of 4 to 8 nodes."""
    rng = np.random.default_rng(seed)
    target, every = np.arange(count) % 2, []
    for kind in target:
        n = int(rng.integers(4, 9))
        others = np.arange(1, n)
        every.append(
            Graph.from_edges(np.arange(n), (np.arange(n) + 1) % n) if kind else Graph.from_edges(0 * others, others)
        )
    return Dataset("any", Graph.join(every), target, "graph", None, ("star", "ring"), "")


GRAPH = Graph.join([Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 2]), Graph.from_edges([0], [1], nodes=3)])
EDGES = torch.from_numpy(np.stack(GRAPH.adjacency.nonzero()).astype(np.int64))


def every_node(graph: Graph, layers: int = 1) -> GraphBatches:
    """Batches in which every node has a row of its own."""
    return GraphBatches(graph, np.arange(graph.nodes), layers, CPU)


def one_step() -> tuple[Step, torch.Tensor]:
    """The neighbours in GRAPH, and random codes."""
    x = np.random.default_rng(0).standard_normal((GRAPH.nodes, 3)).astype(np.float32)
    return every_node(GRAPH).take(np.arange(GRAPH.count)).steps[0], torch.from_numpy(x)


def batches_of(data: Dataset, layers: int = METHODS["gin-0"].layers) -> GraphBatches:
    return GraphBatches(data.graph, node_kinds(data.graph, "labels"), layers, CPU)


@pytest.mark.parametrize("learned", [False, True])
def test_a_gin_layer_equals_that_of_pytorch_geometric(learned: bool) -> None:
    step, x = one_step()
    layer = GINLayer(3, 4, torch.Generator().manual_seed(0), learned=learned)
    if layer.epsilon is not None:
        nn.init.uniform_(layer.epsilon)
    counts = torch.ones(GRAPH.nodes, FOLDS)
    found = layer(step, x, counts)
    for model in range(FOLDS):
        parts = [part for width in (3, 4) for part in (nn.Linear(width, 4), nn.BatchNorm1d(4), nn.ReLU())]
        epsilon = 0.0 if layer.epsilon is None else layer.epsilon[model].item()
        plain = GINConv(nn.Sequential(*parts), eps=epsilon)  # resets the parameters of its parts
        for ours, theirs in zip(layer.perceptron.linear, parts[::3], strict=True):
            theirs.weight.data, theirs.bias.data = ours.weight[model].T.clone(), ours.bias[model].clone()
        torch.testing.assert_close(found[:, model], plain(x, EDGES))


def test_pooling_over_neighbours_equals_that_of_pytorch_geometric() -> None:
    step, x = one_step()
    own = torch.arange(GRAPH.nodes)
    edges = torch.cat([EDGES, torch.stack([own, own])], dim=1)
    torch.testing.assert_close(step.mean_with_self(x), SimpleConv("mean")(x, edges))
    torch.testing.assert_close(step.max_with_self(x), SimpleConv("max")(x, edges))
    sage = SAGEConv(3, 2, aggr="max", root_weight=False)
    torch.testing.assert_close(sage.lin_l(step.max_with_self(x)), sage(x, edges))


def test_a_gat_layer_equals_that_of_pytorch_geometric() -> None:
    step, x = one_step()
    layer = GATLayer(3, 6, 2, torch.Generator().manual_seed(0))
    found = layer(step, x, torch.ones(GRAPH.nodes, FOLDS))
    for model in range(FOLDS):
        plain = GATConv(3, 3, heads=2, bias=False)
        plain.lin.weight.data = layer.project.weight[model].T.clone()
        plain.att_src.data, plain.att_dst.data = layer.away[model][None].clone(), layer.towards[model][None].clone()
        expected = nn.functional.elu(nn.BatchNorm1d(6)(plain(x, EDGES)))
        torch.testing.assert_close(found[:, model], expected)


def test_batch_normalisation_ignores_rows_that_do_not_count() -> None:
    x, counts = torch.randn(12, 2, 3), torch.ones(12, 2)
    counts[:5, 1] = 0
    ours = StackedBatchNorm(2, 3)
    found = ours(x, counts)
    for model, rows in enumerate((slice(None), slice(5, None))):
        plain = nn.BatchNorm1d(3)
        torch.testing.assert_close(found[rows, model], plain(x[rows, model]))
        torch.testing.assert_close(ours.mean[model], plain.running_mean)
        torch.testing.assert_close(ours.variance[model], plain.running_var)
        torch.testing.assert_close(ours(x, None)[:, model], plain.eval()(x[:, model]))


def test_batch_normalisation_has_the_gradients_of_torch() -> None:
    x, counts = torch.randn(12, 2, 3, requires_grad=True), torch.ones(12, 2)
    counts[:5, 1] = 0
    target = torch.randn(12, 2, 3) * counts.unsqueeze(-1)  # rows that do not count have no loss
    ours = StackedBatchNorm(2, 3)
    nn.init.uniform_(ours.scale)
    (ours(x, counts) * target).sum().backward()
    for model, rows in enumerate((slice(None), slice(5, None))):
        plain, y = nn.BatchNorm1d(3), x.detach()[rows, model].clone().requires_grad_()
        plain.weight.data = ours.scale[model].detach().clone()
        (plain(y) * target[rows, model]).sum().backward()
        torch.testing.assert_close(x.grad[rows, model], y.grad)
        torch.testing.assert_close(ours.scale.grad[model], plain.weight.grad)
        torch.testing.assert_close(ours.shift.grad[model], plain.bias.grad)


def test_batches_hold_the_graphs_in_the_given_order() -> None:
    batch = every_node(GRAPH, layers=2).take(np.array([1, 0]))
    order = batch.features.argmax(1).numpy()
    assert order.tolist() == [4, 5, 6, 0, 1, 2, 3]
    assert batch.sizes.tolist() == [3, 4]
    for level in batch.levels:
        assert level.owner.tolist() == [0, 0, 0, 1, 1, 1, 1]
        assert level.nodes.tolist() == [1] * 7
    expected = GRAPH.adjacency.toarray()[order][:, order]
    for step in batch.steps:
        np.testing.assert_array_equal(step.neighbours.dense().numpy(), expected)
        np.testing.assert_array_equal(step.neighbours.T.dense().numpy(), expected)
        assert step.own.tolist() == list(range(7))


def test_nodes_that_layers_cannot_tell_apart_share_a_row() -> None:
    star = Graph.from_edges([0, 0, 0, 3], [1, 2, 3, 4])  # 1 and 2 are alike; one round also joins 4 with them
    batch = GraphBatches(star, np.zeros(5, dtype=int), 2, CPU).take(np.array([0]))
    assert [sorted(level.nodes.tolist()) for level in batch.levels] == [[5], [1, 1, 3], [1, 1, 1, 2]]
    assert sorted(batch.steps[0].neighbours.dense().flatten().tolist()) == [1, 2, 3]  # degrees
    assert [level.summed(torch.ones(len(level.nodes), 1)).item() for level in batch.levels] == [5, 5, 5]
    averaged = GraphBatches(star, np.zeros(5, dtype=int), 2, CPU, averages=True).take(np.array([0]))
    assert [level.nodes.tolist() for level in averaged.levels] == [[5], [5], [5]]


@pytest.mark.parametrize("name", SYSTEMS)
def test_shared_rows_change_neither_scores_nor_gradients(name: str) -> None:
    data, numbers = rings_and_stars(12), np.random.default_rng(3).permutation(12)
    method = replace(METHODS[name], hidden=8, layers=3)
    kinds = np.minimum(node_kinds(data.graph, "labels"), 1)  # leaves of stars, and all others
    shared = GraphBatches(data.graph, kinds, 3, CPU, averages=method.averages).take(numbers)
    single = every_node(data.graph, 3).take(numbers)
    order = single.features.argmax(1).numpy()
    single = replace(single, features=nn.functional.one_hot(torch.from_numpy(kinds[order])).float())
    assert len(shared.levels[-1].owner) < len(single.levels[-1].owner)
    counts = (torch.rand(12, FOLDS, generator=torch.Generator().manual_seed(1)) < 0.7).double()

    def found(batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        models = GraphModels(method, int(kinds.max()) + 1, 2, torch.Generator().manual_seed(0)).double()
        scores = models(replace(batch, features=batch.features.double()), counts)
        (scores * counts.unsqueeze(-1)).square().sum().backward()
        assert all(one.grad.abs().sum() > 0 for one in models.heads.parameters())
        return scores, {**{at: one.grad for at, one in models.named_parameters()}, **dict(models.named_buffers())}

    (scores, others), (expected, theirs) = found(shared), found(single)
    torch.testing.assert_close(scores, expected)
    for at, one in theirs.items():
        torch.testing.assert_close(others[at], one)


def test_features_are_labels_degrees_or_constant() -> None:
    labelled = Graph.from_edges([0, 1], [1, 2], node_labels=[7, 7, 5])
    assert node_kinds(labelled, "labels").tolist() == [1, 1, 0]
    assert node_kinds(labelled, "constant").tolist() == [0, 0, 0]
    batch = GraphBatches(labelled, node_kinds(labelled, "labels"), 1, CPU).take(np.array([0]))
    assert batch.features.tolist() == [[0, 1], [1, 0]]
    assert batch.levels[0].nodes.tolist() == [2, 1]
    assert METHODS["gin-0"].for_dataset("reddit-binary").parameters["features"] == "constant"
    assert METHODS["graph-gat"].for_dataset("reddit-binary").parameters["features"] == "labels"


@pytest.mark.parametrize("name", SYSTEMS)
def test_rings_and_stars_are_told_apart(name: str, context: Any) -> None:
    data = rings_and_stars()
    method = replace(METHODS[name], epochs=12, hidden=8, layers=2, batch=8)
    (found,) = method.outcomes(data, SETTINGS, Output(), [0], context)
    assert (found.predictions == data.target).mean() > 0.9
    (again,) = method.outcomes(data, SETTINGS, Output(), [0], context)
    np.testing.assert_array_equal(found.predictions, again.predictions)


def test_labels_of_a_fold_do_not_affect_its_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rings_and_stars()
    rng = np.random.default_rng(0)
    data = replace(data, target=np.where(rng.random(40) < 0.3, 1 - data.target, data.target))  # far from certain
    folds = fold_of_each(data.target, seed=0)
    held = folds == 3
    hidden = np.where(held, 1 - data.target, data.target)
    monkeypatch.setattr("mvgrl.methods.graph_classifiers.fold_of_each", lambda *_, **__: folds)  # not by these labels
    method = replace(METHODS["gin-0"], epochs=5, hidden=8, layers=2)
    batches = batches_of(data, method.layers)
    before, after = (
        Training(method, replace(data, target=one), batches, [0]).run()[0] for one in (data.target, hidden)
    )
    np.testing.assert_array_equal(before[held], after[held])
    assert (before != after).any()


@pytest.mark.parametrize("name", SYSTEMS)
def test_seeds_trained_together_equal_each_alone(name: str, context: Any) -> None:
    data = rings_and_stars()
    method = replace(METHODS[name], epochs=3, hidden=8, layers=2)
    assert method.seeds_together(data, SETTINGS, torch.device("cuda")) > 1
    together = Training(method, data, batches_of(data, 2), [0, 1])
    together.run()
    alone = Training(method, data, batches_of(data, 2), [1])
    alone.run()
    batch = alone.everything[0]
    # Statistics of the batch: biases before a normalisation follow nothing but rounding, and running means follow them.
    found, expected = (training.models(batch, training.counts) for training in (together, alone))
    torch.testing.assert_close(found[:, FOLDS:], expected, rtol=1e-2, atol=1e-2)
    outcomes = method.outcomes(data, SETTINGS, Output(), [0, 1], context)
    assert [len(one.predictions) for one in outcomes] == [40, 40]


def test_models_do_not_affect_each_other() -> None:
    data = rings_and_stars(20)
    method = replace(METHODS["gin-0"], hidden=4, layers=1, dropout=0.0)
    training = Training(method, data, batches_of(data, method.layers), [0])
    every = np.arange(20)
    before = training.models(training.batches.take(every), training.counts).detach()
    with torch.no_grad():
        for parameter in training.models.parameters():
            parameter[4] += 1
    after = training.models(training.batches.take(every), training.counts).detach()
    changed = (before != after).flatten(2).any(2).any(0)
    assert changed.nonzero().flatten().tolist() == [4]


def test_each_model_is_held_out_chosen_and_trained_on_different_graphs() -> None:
    data = rings_and_stars()
    training = Training(METHODS["gin-0"], data, batches_of(data), [2])
    total = training.held.float() + training.chooses.float() + training.counts
    assert (total == 1).all()
    folds = fold_of_each(data.target, seed=2)
    for model in range(FOLDS):
        np.testing.assert_array_equal(training.held[:, model].numpy(), folds == model)
        assert len(np.unique(data.target[training.chooses[:, model].numpy()])) == 2
