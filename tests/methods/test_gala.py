"""GALA: its loss and its layers against naive versions, and planted groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from tests.methods.planted import accuracy, planted, vectors_of

from mvgrl.graphs import Graph
from mvgrl.matrices import SparseMatrix
from mvgrl.methods import METHODS
from mvgrl.methods.gala import encode, last_layer, reconstruction_loss, sharpener, smoother

CPU = torch.device("cpu")


def test_the_sharpener_is_that_of_the_paper_and_stable() -> None:
    graph = Graph.from_edges([0, 0, 0, 1, 3], [1, 2, 3, 2, 4], [1.0, 2, 1, 1, 5], nodes=6)
    adjacency = graph.adjacency.toarray()
    root = np.diag((2 + adjacency.sum(axis=1)) ** -0.5)
    expected = root @ (2 * np.eye(6) - adjacency) @ root
    found = sharpener(graph, CPU).dense().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(np.linalg.eigvalsh(found)).max() <= 1 + 1e-6


def test_the_loss_is_the_mean_squared_error_of_the_features() -> None:
    graph = planted(2, 10).graph
    features = SparseMatrix.from_scipy(sp.csr_array(graph.features))
    draws = torch.Generator().manual_seed(0)
    weights = [torch.randn(*shape, generator=draws).requires_grad_() for shape in ((30, 8), (8, 4), (4, 8), (8, 30))]
    first, second, third, fourth = weights
    views = smoother(graph, CPU), sharpener(graph, CPU)
    hidden = last_layer(encode(features, views[0], first, second), views[1], third)
    loss = reconstruction_loss(features, features.row_squares().sum(), hidden, fourth)
    gradients = torch.autograd.grad(loss, weights)
    smooth, sharp = (view.dense() for view in views)
    wanted = features.dense()
    codes = (smooth @ (smooth @ wanted @ first).relu() @ second).relu()
    found = sharp @ (sharp @ codes @ third).relu() @ fourth
    expected = 0.5 * (wanted - found).square().sum() / 20
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-4)
    for one, other in zip(gradients, torch.autograd.grad(expected, weights), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_vectors_are_those_of_the_seed_and_classify_planted_groups(context: Any) -> None:
    data, method = planted(3, 30), replace(METHODS["gala"], sizes=(20, 10), epochs=50, rate=0.01)
    found = vectors_of(method, data, context)
    assert found.shape == (90, 10)
    assert accuracy(found, data) > 0.85
    np.testing.assert_array_equal(found, vectors_of(method, data, context))
    assert not np.allclose(found, vectors_of(method, data, context, seed=1))
