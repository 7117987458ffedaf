from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.views import Adjacency


def test_a_path_of_three_nodes_in_closed_form() -> None:
    # The degrees including self-loops are 2, 3, 2.
    side = 1 / np.sqrt(6)
    expected = [[1 / 2, side, 0], [side, 1 / 3, side], [0, side, 1 / 2]]
    matrix = Adjacency()(Graph.from_edges([0, 1], [1, 2]))
    assert isinstance(matrix, sp.csr_array)
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-15)


def test_weights_and_isolated_nodes_in_closed_form() -> None:
    matrix = Adjacency()(Graph.from_edges([0], [1], [3.0], nodes=3))
    np.testing.assert_allclose(matrix.toarray(), [[0.25, 0.75, 0], [0.75, 0.25, 0], [0, 0, 1]], rtol=1e-15)


def test_a_complete_graph_is_uniform(random_graph) -> None:
    np.testing.assert_allclose(Adjacency()(random_graph(0, nodes=7, density=1.1)).toarray(), np.full((7, 7), 1 / 7))


def test_the_view_is_symmetric_to_the_last_bit(random_graph) -> None:
    matrix = Adjacency()(random_graph(3, nodes=60, weighted=True)).toarray()
    assert Adjacency().symmetric
    assert (matrix == matrix.T).all()


def test_the_graph_is_not_modified(random_graph) -> None:
    graph = random_graph(4)
    before = graph.adjacency.copy()
    Adjacency()(graph)
    assert (graph.adjacency != before).nnz == 0
    assert graph.adjacency.diagonal().sum() == 0
