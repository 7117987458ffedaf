"""GRACE: NT-Xent against a naive version over all pairs."""

from __future__ import annotations

import math

import numpy as np
import torch

from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix
from mvgrl.methods.augmentations import EdgeDropper
from mvgrl.methods.grace import GRACE, Contrasted, nt_xent

CPU = torch.device("cpu")


def codes(seed: int, nodes: int = 9) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(nodes, 5, generator=generator, dtype=torch.float64).requires_grad_()


def naive(first: torch.Tensor, second: torch.Tensor, temperature: float) -> float:
    def similar(x: torch.Tensor, y: torch.Tensor) -> float:
        return math.exp(torch.nn.functional.cosine_similarity(x, y, dim=0).item() / temperature)

    total, nodes = 0.0, len(first)
    for own, other in ((first, second), (second, first)):
        for i in range(nodes):
            negatives = sum(similar(own[i], other[j]) + similar(own[i], own[j]) for j in range(nodes) if j != i)
            positive = similar(own[i], other[i])
            total -= math.log(positive / (positive + negatives))
    return total / (2 * nodes)


def test_the_loss_equals_a_naive_version_over_all_pairs() -> None:
    first, second = codes(0), codes(1)
    torch.testing.assert_close(nt_xent(first, second, 0.4).item(), naive(first, second, 0.4))


def test_blocks_of_rows_give_the_same_loss_and_gradient() -> None:
    first, second = codes(0), codes(1)
    whole, blocks = nt_xent(first, second, 0.7), nt_xent(first, second, 0.7, block=4)
    torch.testing.assert_close(blocks, whole)
    for one, other in zip(*(torch.autograd.grad(loss, [first, second]) for loss in (whole, blocks)), strict=True):
        torch.testing.assert_close(one, other)


def test_a_large_graph_contrasts_a_sample_of_its_nodes() -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    dropper, features = EdgeDropper(graph, CPU), DenseMatrix(torch.rand(5, 3))
    whole = torch.eye(5)
    plain = dict(drop_edges_1=0.0, drop_edges_2=0.0, drop_features_1=0.0, drop_features_2=0.0, hidden=4)
    model = Contrasted(features, DenseMatrix(whole), dropper, GRACE(sample=3, **plain), seed=0)  # type: ignore[arg-type]
    drawn = model.draw(torch.Generator().manual_seed(0))
    sample = drawn["sample"]
    assert len(np.unique(sample)) == 3
    view = dropper.matrix(drawn["edges 1"])
    found = model.second(torch.nn.functional.elu(model.first(model.encoder(features, view))))[sample]
    torch.testing.assert_close(model(drawn, model.matrices(drawn)), nt_xent(found, found, 0.4))
    small = Contrasted(features, DenseMatrix(whole), dropper, GRACE(sample=5, **plain), seed=0)  # type: ignore[arg-type]
    assert "sample" not in small.draw(torch.Generator())
