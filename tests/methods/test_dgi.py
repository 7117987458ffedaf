"""DGI: against PyTorch Geometric's DeepGraphInfomax with the same weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.automatic import TOP_K
from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.matrices import SparseMatrix
from mvgrl.methods import METHODS
from mvgrl.methods.dgi import DGI, Infomax
from mvgrl.methods.graph_data import edge_index_of, features_of
from mvgrl.settings import Output, literal
from mvgrl.views import PPR, Adjacency, view_matrix

CPU = torch.device("cpu")
SETTINGS = literal({})


def planted(groups: int = 3, size: int = 20) -> Dataset:
    """A graph of groups, with features that say a little about them."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(groups), size)
    chance = np.where(group[:, None] == group, 0.3, 0.02)
    ends = np.nonzero(np.triu(rng.random(chance.shape) < chance, 1))
    features = (rng.random((len(group), 12)) < 0.15 + 0.3 * (np.arange(12) % groups == group[:, None])).astype(float)
    nodes = rng.permutation(len(group))
    splits = {"train": nodes[:15], "val": nodes[15:25], "test": nodes[25:]}
    graph = Graph.from_edges(*ends, nodes=len(group), features=features)
    return Dataset("planted", graph, group, "node", splits, ("a", "b", "c"), "")


def test_the_loss_is_half_that_of_pytorch_geometric() -> None:
    from torch_geometric.nn import DeepGraphInfomax, GCNConv

    data = planted()
    features, view = features_of(data, SETTINGS, CPU), view_matrix(Adjacency(), data.graph)
    ours = Infomax(features, view, 16, seed=0)
    with torch.no_grad():
        ours.discriminator.weight.mul_(20)  # scores far from zero
    drawn = ours.draw(torch.Generator().manual_seed(0))

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.activation = GCNConv(12, 16), torch.nn.PReLU()

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            return self.activation(self.layer(x, edges))

    theirs = DeepGraphInfomax(
        16, Encoder(), lambda z, *_: z.mean(0).sigmoid(), lambda x, edges: (x[drawn["order"]], edges)
    )
    with torch.no_grad():
        theirs.weight.copy_(ours.discriminator.weight)
        theirs.encoder.layer.lin.weight.copy_(ours.encoder.weights[0].T)
    loss = theirs.loss(*theirs(features.dense(), edge_index_of(data.graph)))
    found = ours(drawn, {})
    torch.testing.assert_close(2 * found, loss)
    gradients = torch.autograd.grad(2 * found, [ours.encoder.weights[0], ours.discriminator.weight])
    wanted = torch.autograd.grad(loss, [theirs.encoder.layer.lin.weight, theirs.weight])
    torch.testing.assert_close(gradients[0], wanted[0].T, atol=1e-6, rtol=1e-3)
    torch.testing.assert_close(gradients[1], wanted[1], atol=1e-6, rtol=1e-3)


def test_training_stops_when_the_loss_stops_falling(context: Any) -> None:
    method = DGI(hidden=16, patience=3, learning_rate=0.01)
    (first,) = method.outcomes(planted(), SETTINGS, Output(), [0], context)
    (longer,) = replace(method, epochs=first.epochs - 3).outcomes(planted(), SETTINGS, Output(), [0], context)
    assert 3 < first.epochs < 1000
    np.testing.assert_array_equal(first.vectors, longer.vectors)  # those of the lowest loss


def test_the_diffusion_is_exact_if_it_fits() -> None:
    method = METHODS["dgi-diffusion"]
    assert method.view(planted().graph, CPU) == PPR(alpha=0.2)
    large = Graph.from_edges([0], [1], nodes=5001)
    assert method.view(large, CPU) == PPR(alpha=0.2, top_k=TOP_K)
    assert METHODS["dgi"].view(large, CPU) == Adjacency()


@pytest.mark.parametrize("name", ["dgi", "dgi-diffusion", "cca-ssg", "grace", "bgrl", "sgrl", "graphmae"])
def test_vectors_separate_planted_groups_and_repeat_bit_for_bit(name: str, context: Any) -> None:
    from mvgrl.evaluation import linear_probe

    data = planted()
    small = {"bgrl": dict(epochs=30, warm_up=5, learning_rate=3e-3, hidden=32, size=16, predictor=32)}
    method = replace(METHODS[name], **small.get(name, dict(epochs=15, hidden=32)))
    first, again = (method.outcomes(data, SETTINGS, Output(), [1], context)[0].vectors for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.dtype == np.float32
    score = linear_probe(first / first.std(), data.target, data.splits["train"], data.splits["test"])
    assert score > 0.6


@pytest.mark.parametrize("name", ["dgi", "cca-ssg", "grace", "bgrl", "sgrl"])
def test_seeds_trained_together_give_the_vectors_of_each_alone(name: str, context: Any) -> None:
    data = planted()
    small = dict(epochs=4, hidden=8) | (dict(size=4, predictor=8, warm_up=2) if name == "bgrl" else {})
    method = replace(METHODS[name], **small)
    together = method.outcomes(data, SETTINGS, Output(), [3, 7], context)
    for seed, outcome in zip([3, 7], together, strict=True):
        (alone,) = method.outcomes(data, SETTINGS, Output(), [seed], context)
        np.testing.assert_allclose(outcome.vectors, alone.vectors, rtol=1e-3, atol=1e-5)
        assert outcome.epochs == alone.epochs == 4
    assert not np.allclose(together[0].vectors, together[1].vectors)


def test_a_seed_that_stops_early_keeps_its_best_vectors_in_a_stack(context: Any) -> None:
    method, data = DGI(hidden=16, patience=2, learning_rate=0.01), planted()
    together = method.outcomes(data, SETTINGS, Output(), [0, 1, 2], context)
    alone = [method.outcomes(data, SETTINGS, Output(), [seed], context)[0] for seed in (0, 1, 2)]
    assert [one.epochs for one in together] == [one.epochs for one in alone]
    assert len({one.epochs for one in alone}) > 1
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.vectors, other.vectors, rtol=1e-2, atol=1e-4)


def test_features_of_a_large_graph_stay_sparse(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: SparseMatrix) -> torch.Tensor:
        raise AssertionError("densified")

    monkeypatch.setattr(SparseMatrix, "dense", refuse)
    rng = np.random.default_rng(0)
    table = sp.random(300, 400, 0.01, format="csr", random_state=rng)
    graph = Graph.from_edges(*rng.integers(300, size=(2, 600)), nodes=300, features=table)
    data = replace(planted(), graph=graph)
    for name in ("dgi", "cca-ssg", "grace", "bgrl", "sgrl", "graphmae"):
        method = replace(METHODS[name], epochs=1, hidden=8)
        assert method.outcomes(data, SETTINGS, Output(), [0], context)[0].vectors.shape[0] == 300
