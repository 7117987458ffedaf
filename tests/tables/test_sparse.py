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


@pytest.mark.parametrize("part", ["rows", "data"])
def test_lists_that_do_not_fit_the_shape_are_rejected_before_scipy_writes_past_its_arrays(part, input_error):
    matrix = sp.lil_array(sp.eye_array(50))
    assert checked_csr(matrix).toarray().tolist() == np.eye(50).tolist()
    for count in (49, 51, 5000):
        changed = sp.lil_array(sp.eye_array(50))
        lists = np.empty(count, dtype=object)
        lists[:] = [[0] for _ in range(count)]
        setattr(changed, part, lists)
        input_error(lambda changed=changed: checked_csr(changed), f"{part} has {count} entries instead of 50")
    changed = sp.lil_array(sp.eye_array(50))
    changed._shape = (4, 4)
    input_error(lambda: checked_csr(changed), "rows has 50 entries instead of 4")


def test_dictionaries_are_converted():
    matrix = sp.dok_array((3, 4))
    matrix[2, 3] = 5.0
    assert checked_csr(matrix).toarray()[2].tolist() == [0, 0, 0, 5]
    assert checked_csr(sp.lil_array((2, 3))).nnz == 0
