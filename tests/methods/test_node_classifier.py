"""Supervised node systems: dropout, the choice of the epoch, and what holds for each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn.functional import cross_entropy

from mvgrl.datasets import Dataset
from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.methods import METHODS, Method
from mvgrl.methods.node_classifier import BestEpoch, NodeData
from mvgrl.methods.noise import Drawn, Features, dropout
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings

CPU = torch.device("cpu")
SUPERVISED = sorted(name for name, one in METHODS.items() if one.supervised and "node" in one.tasks)
QUICK = {
    "planetoid-t": dict(label_steps=50, graph_steps=30, epochs=100),
    "planetoid-i": dict(label_steps=50, graph_steps=100, epochs=100),
    "jknet": dict(depths=(1, 2)),
    "ica": dict(inverse_penalties=(1.0, 100.0), sweeps=3),
}


def quick(name: str, **more: Any) -> Method:
    """Return a method with fewer epochs, enough for a small graph."""
    wanted = {"epochs": 60, **QUICK.get(name, {}), **more}
    return replace(METHODS[name], **{key: wanted[key] for key in wanted if key in METHODS[name].parameters})


def predictions(method: Method, dataset: Dataset, context: Any, *seeds: int) -> list[np.ndarray]:
    found = method.outcomes(dataset, Settings(), Output(), seeds or (0,), context)
    return [outcome.predictions for outcome in found]


@pytest.mark.parametrize("name", SUPERVISED)
def test_a_planted_graph_is_classified_far_above_chance(name: str, planted: Dataset, context: Any) -> None:
    (found,) = predictions(quick(name), planted, context)
    held = planted.splits["test"]
    assert (found == planted.target)[held].mean() > (0.6 if name == "mlp" else 0.75)


@pytest.mark.parametrize("name", SUPERVISED)
def test_labels_of_test_nodes_are_never_used(name: str, planted: Dataset, context: Any) -> None:
    method, target = quick(name, epochs=5), planted.target.copy()
    target[planted.splits["test"]] = 2 - target[planted.splits["test"]]
    (found,), (other,) = (
        predictions(method, data, context) for data in (planted, replace(planted, name="other", target=target))
    )
    np.testing.assert_array_equal(found, other)


@pytest.mark.parametrize("name", [name for name in SUPERVISED if METHODS[name].seeded])
def test_a_seed_gives_the_same_predictions_alone_and_among_others(name: str, planted: Dataset, context: Any) -> None:
    method = quick(name, epochs=5)
    together, alone = predictions(method, planted, context, 3, 4), predictions(method, planted, context, 4)
    np.testing.assert_array_equal(together[1], alone[0])


@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize("kind", ["dense", "nothing", "no edges", "one class", "a class without train nodes"])
def test_any_graph_with_a_split_is_classified(name: str, kind: str, planted: Dataset, context: Any) -> None:
    graph, data, adjacency = planted.graph, planted, planted.graph.adjacency
    if kind == "dense":
        features = np.random.default_rng(0).normal(size=(graph.nodes, 3))
        data = replace(planted, graph=Graph(adjacency, features))
    elif kind == "nothing":
        data = replace(planted, graph=Graph(adjacency))
    elif kind == "no edges":
        data = replace(planted, graph=Graph(sp.csr_array(adjacency.shape), graph.features))
    elif kind == "one class":
        data = replace(planted, target=np.zeros_like(planted.target), classes=("a",))
    else:
        train = planted.splits["train"]
        data = replace(planted, splits={**planted.splits, "train": train[planted.target[train] != 1]})
    (found,) = predictions(quick(name, epochs=2, label_steps=2, graph_steps=2, depths=(1, 2)), data, context)
    assert found.shape == (graph.nodes,)
    assert set(found.tolist()) <= set(range(len(data.classes)))


@pytest.mark.parametrize("name", ["gcn", "label-propagation", "ica"])
def test_a_split_is_required(name: str, planted: Dataset, context: Any) -> None:
    with pytest.raises(InputError, match="no split"):
        predictions(METHODS[name], replace(planted, splits=None), context)


def test_dropout_keeps_the_mean_and_drops_the_share() -> None:
    found = dropout(torch.ones(100, 100), 0.6, Drawn(generator_for(0, "dropout")))
    assert found.unique().tolist() == pytest.approx([0.0, 2.5])
    assert float(found.mean()) == pytest.approx(1.0, abs=0.05)
    assert dropout(found, 0.6, None) is found


@pytest.mark.parametrize("sparse", [True, False])
def test_dropped_features_are_multiplied_and_differentiated_as_a_dense_matrix(sparse: bool) -> None:
    table = sp.random_array((6, 5), density=0.6, rng=np.random.default_rng(0), format="csr")
    whole = SparseMatrix.from_scipy(table) if sparse else DenseMatrix(torch.from_numpy(table.toarray()).float())
    found = Features(whole).dropped(0.5, Drawn(torch.Generator().manual_seed(0)))
    scaled = torch.from_numpy(table.toarray()).float() * 2
    kept = found.dense() != 0
    assert 0 < kept.sum() < table.nnz
    torch.testing.assert_close(found.dense(), torch.where(kept, scaled, 0.0))
    weight = torch.randn(5, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    product = found @ weight
    torch.testing.assert_close(product, found.dense() @ weight)
    product.square().sum().backward()
    torch.testing.assert_close(weight.grad, 2 * found.dense().T @ product.detach())


def node_data(val: list[int]) -> NodeData:
    labels, train = torch.tensor([0, 1, 0]), torch.tensor([0])
    features = Features(DenseMatrix(torch.ones(3, 1)))
    return NodeData(Graph.from_edges([0], [1], nodes=3), features, labels, train, torch.tensor(val).long(), 2)


def logits(*first: float) -> torch.Tensor:
    """Logits of class 0 of the three nodes; class 1 has 0."""
    return torch.tensor([[one, 0.0] for one in first])


def test_the_epoch_has_the_best_accuracy_then_the_lowest_loss() -> None:
    best = BestEpoch(node_data([1, 2]))
    best.look(logits(1, 1, 1))  # one of two is right
    assert best.predictions.tolist() == [0, 0, 0]
    best.look(logits(-1, -1, 0.1))  # both
    best.look(logits(1, -2, 0.1))  # both, with a lower loss
    assert best.predictions.tolist() == [0, 1, 0]
    best.look(logits(-1, -1, 0.1))
    best.look(logits(9, 0.01, 99))  # a lower loss, but one is wrong
    assert best.predictions.tolist() == [0, 1, 0]
    assert best.score == pytest.approx((1.0, -float(cross_entropy(logits(-2, 0.1), torch.tensor([1, 0])))))
    assert best.outcome().epochs == 5


def test_patience_counts_epochs_in_which_neither_accuracy_nor_loss_is_the_best() -> None:
    best, waited = BestEpoch(node_data([1, 2])), []
    for values in [(0, -1, 1), (0, -1, 0.5), (0, 3, -3), (0, -9, 0.1), (0, -9, 9), (0, 9, -9)]:
        best.look(logits(*values))
        waited.append(best.waited)
    assert waited == [0, 0, 1, 0, 0, 1]  # the second and fourth reach the best accuracy


def test_without_val_nodes_the_last_epoch_is_chosen() -> None:
    best = BestEpoch(node_data([]))
    for values in [(1, 1, 1), (-1, 1, -1)]:
        best.look(logits(*values))
    assert best.predictions.tolist() == [1, 0, 1]
    assert best.waited == 0


def test_training_stops_when_patience_is_spent(planted: Dataset, context: Any) -> None:
    (found,) = replace(METHODS["gcn"], epochs=500, patience=5).outcomes(planted, Settings(), Output(), [0], context)
    assert 5 < found.epochs < 500


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", ["mlp", "gcn", "chebyshev", "monet", "jknet", "gat"])
def test_a_stack_of_seeds_trains_as_each_seed_does(name: str, sparse: bool, planted: Dataset) -> None:
    method = replace(METHODS[name], epochs=12, patience=3)
    if name == "jknet":
        method = replace(method, depths=(2,))
    assert method.stacks
    graph = planted.graph if sparse else Graph(planted.graph.adjacency, planted.graph.features.toarray() + 0.1)
    data = NodeData.of(replace(planted, graph=graph), Settings(), CPU)
    assert isinstance(data.features.matrix, SparseMatrix if sparse else DenseMatrix)
    seeds = [0, 1, 2, 3]
    for best, alone in zip(method._train(data, seeds), method.trained(data, seeds), strict=True):
        assert best.epochs == alone.epochs
        assert best.score == pytest.approx(alone.score, rel=1e-4)
        torch.testing.assert_close(best.predictions, alone.predictions)


def test_seeds_are_trained_together_on_a_gpu_only(planted: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**36, 2**36))
    gpu = torch.device("cuda")
    assert METHODS["gat"].seeds_together(planted, Settings(), CPU) == 1
    assert METHODS["gat"].seeds_together(planted, Settings(), gpu) == 25
    assert METHODS["semi-emb"].seeds_together(planted, Settings(), gpu) == 1
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**23, 2**36))
    assert 1 <= METHODS["gat"].seeds_together(planted, Settings(), gpu) < 5
