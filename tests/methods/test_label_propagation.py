"""Label propagation against a direct solution and against propagation, and the solver behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods import METHODS
from mvgrl.methods.conjugate_gradients import solve
from mvgrl.methods.label_propagation import harmonic, normalised
from mvgrl.settings import Output, Settings

CPU = torch.device("cpu")


def test_conjugate_gradients_solve_every_column() -> None:
    generator = np.random.default_rng(0)
    root = generator.normal(size=(20, 20))
    matrix, right = torch.from_numpy(root @ root.T + 0.1 * np.eye(20)), torch.from_numpy(generator.normal(size=(20, 3)))
    right[:, 1] = 0  # a column without a right side stays zero
    found = solve(lambda x: matrix @ x, right)
    torch.testing.assert_close(found, torch.linalg.solve(matrix, right), atol=1e-6, rtol=1e-6)


def test_the_harmonic_function_equals_the_direct_solution_and_the_limit_of_propagation(planted: Dataset) -> None:
    graph, target, train = planted.graph, planted.target, planted.splits["train"]
    weighted = Graph.from_scipy(graph.adjacency.multiply(np.arange(1, graph.nodes + 1)[:, None]))
    found = harmonic(weighted, target, train, 3, CPU)
    rest = np.setdiff1d(np.flatnonzero(weighted.degrees), train)
    adjacency = weighted.adjacency.toarray()
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    known = np.eye(3)[target[train]]
    direct = np.linalg.solve(laplacian[np.ix_(rest, rest)], adjacency[np.ix_(rest, train)] @ known)
    np.testing.assert_allclose(found[rest], direct, atol=1e-6)
    walked = np.zeros((graph.nodes, 3))
    for _ in range(2000):
        walked[train] = known
        walked = adjacency @ walked / np.maximum(adjacency.sum(axis=1, keepdims=True), 1)
    np.testing.assert_allclose(found[rest], walked[rest], atol=1e-6)
    np.testing.assert_array_equal(found[train], known)


def test_class_masses_become_those_of_the_train_nodes() -> None:
    shares = np.array([[1, 0], [1, 0], [0, 1], [0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    found = normalised(shares, np.array([0, 0, 1, 0, 0, 0]), np.array([0, 1, 2]))
    np.testing.assert_allclose(found[3:].sum(axis=0), [3, 2])
    assert np.isfinite(normalised(np.eye(2), np.array([0, 1]), np.array([0, 1]))).all()


def test_nodes_that_no_label_reaches_get_the_most_frequent_class(context: Any) -> None:
    graph = Graph.from_edges([0, 2, 4], [1, 3, 5], nodes=7)
    split = {"train": np.array([0, 2, 1]), "val": np.array([3]), "test": np.array([5])}
    data = Dataset("parts", graph, np.array([1, 1, 0, 0, 0, 0, 0]), "node", split, ("a", "b"), "")
    (found,) = METHODS["label-propagation"].outcomes(data, Settings(), Output(), [0], context)
    assert found.predictions.tolist() == [1, 1, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("name", ["label-propagation", "manireg"])
def test_train_nodes_decide_and_val_nodes_do_not(name: str, planted: Dataset, context: Any) -> None:
    target = planted.target.copy()
    target[planted.splits["val"]] = 0
    (found,), (other,) = (
        METHODS[name].outcomes(replace(planted, target=one), Settings(), Output(), [0], context)
        for one in (planted.target, target)
    )
    np.testing.assert_array_equal(found.predictions, other.predictions)
