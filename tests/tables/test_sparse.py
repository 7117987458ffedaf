"""Sparse matrices in memory whose arrays contradict each other are rejected; SciPy would crash on them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl import Graph
from mvgrl.graphs.convert import to_named
from mvgrl.tables.sparse import checked_csr


def damaged(kind):
    """A matrix in one format with an index that is far out of range."""
    matrix = getattr(sp, f"{kind}_array")(np.array([[0, 1.0], [1.0, 0]]))
    if kind in ("csr", "csc", "bsr"):
        matrix.indptr[1] = 100_000_000
    elif kind == "coo":
        matrix.coords[0][0] = 100_000_000
    elif kind == "lil":
        matrix.data[0] = [1.0] * 10_000
    return matrix


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil"])
def test_inconsistent_matrix_in_memory_is_rejected_through_every_door(kind, input_error):
    bad = damaged(kind)
    for call in (
        lambda: Graph.from_scipy(bad),
        lambda: to_named(bad),
        lambda: Graph(bad),
        lambda: Graph.from_edges([0], [1], features=bad),
    ):
        input_error(call, "not a consistent sparse matrix", "build it again")


def test_wrong_column_of_a_list_matrix_is_rejected(input_error):
    bad = sp.lil_array(np.eye(3))
    bad.rows[0] = [7]
    input_error(lambda: Graph.from_scipy(bad), "indices has 7")


def test_arrays_with_spare_room_are_accepted():
    spare = sp.csr_array(np.array([[0, 1.0], [1.0, 0]]))
    spare.data, spare.indices = np.append(spare.data, 9.0), np.append(spare.indices, 99)
    assert checked_csr(spare).toarray().tolist() == [[0, 1], [1, 0]]


def test_flag_that_claims_sorted_indices_is_not_trusted():
    matrix = sp.csr_array(np.array([[0, 1.0, 1.0], [1.0, 0, 0], [1.0, 0, 0]]))
    assert matrix.has_canonical_format
    matrix.indices[:2] = matrix.indices[:2][::-1].copy()
    assert not checked_csr(matrix).has_canonical_format


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_inconsistent_sparse_tensor_is_rejected(layout, input_error):
    bad = torch.eye(3).to_sparse(layout=layout)
    parts = {
        torch.sparse_coo: lambda: bad._indices(),
        torch.sparse_csr: lambda: bad.crow_indices(),
        torch.sparse_csc: lambda: bad.ccol_indices(),
    }
    parts[layout]()[..., 1] = 100_000_000
    input_error(lambda: Graph.from_edges([0, 1], [1, 2], features=bad), "features is not a consistent sparse tensor")
