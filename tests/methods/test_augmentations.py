"""Dropped edges and masked columns: against dense versions of the same."""

from __future__ import annotations

import numpy as np
import torch

from mvgrl.graphs import Graph
from mvgrl.matrices import SparseMatrix
from mvgrl.methods.augmentations import EdgeDropper, draw_columns
from mvgrl.views import Adjacency

CPU = torch.device("cpu")
GRAPH = Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 4], [1.0, 2, 0.5, 1, 3], nodes=6)


def naive(kept: torch.Tensor) -> torch.Tensor:
    """The normalised adjacency of what is kept, one entry at a time."""
    looped = GRAPH.adjacency.toarray() + np.eye(6)
    rows, columns = np.nonzero(looped)
    left = np.zeros((6, 6))
    for row, column, keep in zip(rows, columns, kept.tolist(), strict=True):
        left[row, column] = looped[row, column] * keep
    roots = np.sqrt(np.outer(left.sum(1), left.sum(0)))
    return torch.from_numpy(np.divide(left, roots, out=np.zeros((6, 6)), where=roots > 0)).float()


def test_the_matrix_of_the_kept_edges_is_normalised_by_its_own_degrees() -> None:
    dropper, generator = EdgeDropper(GRAPH, CPU), torch.Generator().manual_seed(0)
    kept = dropper.draw(0.5, generator)
    made = dropper.matrix(kept)
    torch.testing.assert_close(made.dense(), naive(kept))
    torch.testing.assert_close(made.T.dense(), naive(kept).T)
    assert not torch.equal(made.dense() > 0, made.dense().T > 0)  # each direction is dropped by itself
    assert (made.dense().diagonal() > 0).all()


def test_without_dropping_it_is_the_adjacency_view() -> None:
    dropper = EdgeDropper(GRAPH, CPU)
    kept = dropper.draw(0.0, torch.Generator())
    torch.testing.assert_close(dropper.matrix(kept).dense(), torch.from_numpy(Adjacency()(GRAPH).toarray()).float())


def test_a_share_of_the_edges_is_dropped() -> None:
    ends = np.random.default_rng(0).integers(500, size=(2, 20_000))
    dropper = EdgeDropper(Graph.from_edges(*ends), CPU)
    kept = dropper.draw(0.3, torch.Generator().manual_seed(0))
    assert abs(float(kept[~dropper.loops].float().mean()) - 0.7) < 0.01


def test_many_seeds_have_a_matrix_each() -> None:
    dropper, generator = EdgeDropper(GRAPH, CPU), torch.Generator().manual_seed(0)
    kept = torch.stack([dropper.draw(0.5, generator) for _ in range(3)])
    right = torch.randn(3, 6, 2, requires_grad=True)
    stacked = dropper.matrix(kept)
    found = torch.vmap(lambda one: stacked @ one)(right)
    expected = torch.stack([naive(one) @ part for one, part in zip(kept, right, strict=True)])
    torch.testing.assert_close(found, expected)
    weight = torch.randn(3, 6, 2)
    (gradient,) = torch.autograd.grad((found * weight).sum(), right, retain_graph=True)
    (wanted,) = torch.autograd.grad((expected * weight).sum(), right)
    torch.testing.assert_close(gradient, wanted)


def test_masked_rows_of_the_weights_are_masked_columns_of_the_features() -> None:
    features = torch.tensor([[0.0, 1, 2, 0], [3, 0, 0, 4], [0, 5, 0, 6]])
    columns = draw_columns(4, 0.5, torch.Generator().manual_seed(1))
    assert 0 < columns.sum() < 4
    weight = torch.randn(4, 3)
    sparse = SparseMatrix.from_scipy(features.numpy())
    torch.testing.assert_close(sparse @ (weight * columns[:, None]), (features * columns) @ weight)
