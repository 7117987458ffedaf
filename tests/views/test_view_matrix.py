from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.views import PPR, Adjacency, Distance, Heat, ViewCache, view_matrix

EXPECTED = [
    (Adjacency(), SparseMatrix, True),
    (PPR(), DenseMatrix, True),
    (PPR(top_k=3), SparseMatrix, False),
    (Heat(), DenseMatrix, False),
    (Distance(), DenseMatrix, False),
]


@pytest.mark.parametrize(("view", "kind", "symmetric"), EXPECTED, ids=str)
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_with_the_matrix_equal_products_with_the_view(
    view, kind, symmetric, cached, dtype, random_graph
) -> None:
    graph = random_graph(0, weighted=True)
    matrix = view_matrix(view, graph, cache=ViewCache() if cached else None, dtype=dtype)
    assert type(matrix) is kind
    assert matrix.symmetric is symmetric
    right = torch.randn(12, 4, dtype=dtype, generator=torch.Generator().manual_seed(0))
    full = view(graph)
    dense = full if isinstance(full, np.ndarray) else full.toarray()
    torch.testing.assert_close(matrix @ right, torch.from_numpy(dense).to(dtype) @ right)
    torch.testing.assert_close(matrix.T @ right, torch.from_numpy(dense.T.copy()).to(dtype) @ right)


def test_names_and_mappings_are_accepted(random_graph) -> None:
    graph = random_graph(1)
    by_name = view_matrix({"name": "ppr", "alpha": 0.4}, graph, dtype=torch.float64).dense()
    np.testing.assert_array_equal(by_name.numpy(), PPR(0.4)(graph))


def test_modifying_the_matrix_does_not_modify_the_cache(random_graph) -> None:
    cache, graph = ViewCache(), random_graph(2)
    for view in (PPR(), Adjacency()):
        matrix = view_matrix(view, graph, cache=cache, dtype=torch.float64)
        (matrix.blocks if isinstance(matrix, DenseMatrix) else matrix.values).zero_()
        assert view_matrix(view, graph, cache=cache).dense().abs().sum() > 0


def test_many_graphs_give_one_sparse_matrix(random_graph) -> None:
    many = Graph.join([random_graph(i, nodes=4) for i in range(3)])
    matrix = view_matrix("ppr", many)
    assert isinstance(matrix, SparseMatrix)
    assert matrix.symmetric


def test_importing_graphs_and_views_does_not_import_slow_or_optional_packages() -> None:
    code = (
        "import sys, mvgrl.graphs, mvgrl.views; "
        "print([m for m in ('torch_geometric', 'pyarrow', 'grakel') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert output.stdout.strip() == "[]"
