"""ManiReg against its closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.matrices import SparseMatrix
from mvgrl.methods.manireg import ManiReg
from mvgrl.methods.node_classifier import NodeData
from mvgrl.settings import Settings


@pytest.mark.parametrize("wide", [False, True])
def test_scores_equal_the_closed_form(planted: Dataset, wide: bool) -> None:
    graph, train = planted.graph, planted.splits["train"]
    if wide:
        dense = np.random.default_rng(0).normal(size=(graph.nodes, 100))
        graph = Graph(graph.adjacency, dense)
    data = NodeData.of(replace(planted, graph=graph), Settings(), torch.device("cpu"))
    adjacency = graph.adjacency.toarray()
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    method = ManiReg(size_penalty=0.02, manifold_penalty=0.3)
    found = method.scores(data, SparseMatrix.from_scipy(laplacian, symmetric=True, dtype=torch.float64))
    x = data.features.matrix.dense().double().numpy()
    left = x[train].T @ x[train] + 0.02 * np.eye(x.shape[1]) + 0.3 * x.T @ laplacian @ x
    weights = np.linalg.solve(left, x[train].T @ np.eye(3)[planted.target[train]])
    np.testing.assert_allclose(found.numpy(), x @ weights, atol=1e-6)
