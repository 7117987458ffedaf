"""Whether neighbours have similar features, compared with chance."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.agreement import agreement
from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.views import Adjacency


def matrix(rows: np.ndarray) -> DenseMatrix:
    return DenseMatrix(torch.from_numpy(np.asarray(rows, dtype=np.float32)))


def network(nodes: int = 60) -> Graph:
    return Graph.from_scipy(nx.to_scipy_sparse_array(nx.barabasi_albert_graph(nodes, 3, seed=0)))


def survives(graph: Graph, rows: np.ndarray) -> float:
    centred = rows - rows.mean(0)
    return float(np.square(Adjacency()(graph) @ centred).sum() / np.square(centred).sum())


def test_chance_is_the_mean_over_assignments_of_features_to_nodes() -> None:
    graph, rng = network(), np.random.default_rng(0)
    rows = rng.normal(size=(60, 4)) * [1, 2, 3, 4] + 5
    by_chance = np.mean([survives(graph, rng.permutation(rows)) for _ in range(4000)])
    assert agreement(graph, matrix(rows)) == pytest.approx(survives(graph, rows) / by_chance, rel=0.02)


def test_many_columns_are_estimated_from_combinations() -> None:
    graph = network(2000)
    rows = np.random.default_rng(1).random((2000, 500))
    rows[:, :100] = np.asarray(Adjacency()(graph) @ rows[:, :100]) * 3
    one_by_one = survives(graph, rows) / survives(graph, np.random.default_rng(2).permutation(rows))
    assert agreement(graph, matrix(rows)) == pytest.approx(one_by_one, rel=0.05)
    assert one_by_one > 1.1


def test_sparse_features_agree_like_dense_ones() -> None:
    graph = network()
    rows = (np.random.default_rng(0).random((60, 90)) < 0.1).astype(np.float32)
    sparse = SparseMatrix.from_scipy(sp.csr_array(rows))
    assert agreement(graph, sparse) == pytest.approx(agreement(graph, matrix(rows)), rel=1e-5)


@pytest.mark.parametrize("graph", [network(), Graph.from_edges([0], [1], nodes=2)])
def test_the_same_features_everywhere_are_chance(graph: Graph) -> None:
    assert agreement(graph, matrix(np.ones((graph.nodes, 3)))) == 1.0


def test_in_a_clique_everything_is_chance() -> None:
    clique = Graph.from_scipy(nx.to_scipy_sparse_array(nx.complete_graph(8)))
    assert agreement(clique, matrix(np.eye(8))) == 1.0


def test_weights_of_edges_count() -> None:
    ends = [0, 1, 2, 3], [1, 2, 3, 0]
    rows = matrix(np.array([[1.0], [1.0], [0.0], [0.0]]))
    strong = agreement(Graph.from_edges(*ends, [9.0, 1.0, 9.0, 1.0]), rows)
    assert strong > agreement(Graph.from_edges(*ends), rows) > agreement(Graph.from_edges(*ends, [1.0, 9.0] * 2), rows)
