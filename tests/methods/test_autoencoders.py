"""Graph autoencoders: the loss of all pairs against a dense one, the model against PyG's, and planted groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.methods.planted import accuracy, planted, vectors_of
from torch.nn.functional import binary_cross_entropy_with_logits
from torch_geometric.nn import ARGA, VGAE, GCNConv

from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix
from mvgrl.methods import METHODS, autoencoders
from mvgrl.methods.arga import Adversary
from mvgrl.methods.autoencoders import GraphEncoder, Reconstruction
from mvgrl.methods.graph_data import edge_index_of

CPU = torch.device("cpu")
NAMES = ("gae", "vgae", "arga", "arvga")


def problem() -> Reconstruction:
    graph = planted().graph
    return Reconstruction(graph, DenseMatrix(torch.from_numpy(np.asarray(graph.features)).float()), CPU)


@pytest.mark.parametrize("pairs", [60, 420, 10_000])  # rows at a time: 1, 7 and all
def test_the_loss_is_the_weighted_dense_one(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(autoencoders._CHUNK, "cpu", pairs)
    graph = planted().graph
    codes = torch.randn(60, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    found = problem().loss(codes)
    found.backward()
    gradient, codes.grad = codes.grad, None
    labels = torch.from_numpy(graph.adjacency.toarray()).float() + torch.eye(60)
    total, edges = 60**2, 2 * graph.edges
    weight = torch.tensor((total - edges) / edges)
    expected = binary_cross_entropy_with_logits(codes @ codes.T, labels, pos_weight=weight)
    expected = expected * total / (2 * (total - edges))  # as in the authors' code
    expected.backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient, codes.grad)


def test_a_graph_without_edges_has_a_finite_loss() -> None:
    empty = Reconstruction(Graph.from_edges([], [], nodes=2), DenseMatrix(torch.eye(2)), CPU)
    assert torch.isfinite(empty.loss(torch.ones(2, 3)))


def test_codes_equal_those_of_graph_convolutions_in_pyg() -> None:
    model = GraphEncoder(problem(), 7, 3, seed=0, variational=True)
    graph = planted().graph
    edges, hidden = edge_index_of(graph), torch.from_numpy(np.asarray(graph.features)).float()
    layers = [GCNConv(*weight.shape, bias=False) for weight in model.parameters]
    for layer, weight in zip(layers, model.parameters, strict=True):
        layer.lin.weight.data = weight.detach().T
    hidden = layers[0](hidden, edges).relu()
    torch.testing.assert_close(model.means(), layers[1](hidden, edges).detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(model.sample()[2], layers[2](hidden, edges), atol=1e-5, rtol=1e-4)


def test_the_divergence_is_that_of_pyg_per_node() -> None:
    model = GraphEncoder(problem(), 7, 3, seed=0, variational=True)
    codes, means, spread = model.sample()
    divergence = VGAE(torch.nn.Identity()).kl_loss(means, spread)  # PyG sums over columns: per node
    torch.testing.assert_close(model.loss([codes, means, spread]) - model.problem.loss(codes), divergence / 60)


def test_the_adversary_has_the_losses_of_pyg() -> None:
    adversary = Adversary((3, 4, 5, 1), 0, CPU)
    real, codes = torch.randn(2, 10, 3, generator=torch.Generator().manual_seed(0))
    theirs = ARGA(torch.nn.Identity(), adversary.scores)  # type: ignore[arg-type]
    real_loss = -torch.log(torch.sigmoid(adversary.scores(real))).mean()
    fake_loss = -torch.log(1 - torch.sigmoid(adversary.scores(codes))).mean()
    torch.testing.assert_close(adversary.loss(real, codes), real_loss + fake_loss)
    expected = theirs.reg_loss(codes)
    torch.testing.assert_close(torch.nn.functional.softplus(-adversary.scores(codes)).mean(), expected)


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_those_of_the_seed_and_classify_planted_groups(name: str, context: Any) -> None:
    method = replace(METHODS[name], epochs=40, rate=0.03)
    data = planted(3, 30)
    found = vectors_of(method, data, context)
    assert found.shape == (90, 16)
    assert accuracy(found, data) > 0.85
    np.testing.assert_array_equal(found, vectors_of(method, data, context))
    assert not np.allclose(found, vectors_of(method, data, context, seed=1))


def test_the_adversary_makes_codes_more_normal(context: Any) -> None:
    data = planted(3, 30)
    plain = vectors_of(replace(METHODS["gae"], epochs=80, rate=0.02), data, context)
    regular = vectors_of(replace(METHODS["arga"], epochs=80, rate=0.02, adversary_rate=0.02), data, context)

    def distance(codes: np.ndarray) -> float:
        """From the second moment of a standard normal distribution."""
        return float(np.abs(codes.T @ codes / len(codes) - np.eye(codes.shape[1])).mean())

    assert distance(regular) < distance(plain)


def test_arga_trains_longer_on_pubmed() -> None:
    assert METHODS["arga"].for_dataset("pubmed").parameters["epochs"] == 2000
    assert METHODS["arvga"].for_dataset("pubmed").parameters["adversary_rate"] == 0.008
    assert METHODS["arvga"].for_dataset("cora").parameters["epochs"] == 200
