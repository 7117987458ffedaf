"""Sparse matrices, checked before SciPy uses them: its compiled code trusts their indices and crashes on wrong ones."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError

# The arrays of each format, besides "data"; COO has either row and col or, in newer files, coords.
ARRAYS = {
    "csr": ("indptr", "indices"),
    "csc": ("indptr", "indices"),
    "bsr": ("indptr", "indices"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}


def checked_csr(matrix: Any, name: str = "the matrix") -> sp.csr_array:
    """Convert any SciPy matrix to a CSR array, or raise an error if its arrays contradict each other.

    The arrays are shared where possible, and the given matrix is not modified.

    >>> checked_csr(sp.coo_array(([2.0], ([0], [1])), shape=(2, 2))).toarray().tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    if len(matrix.shape) != 2:
        raise InputError(f"{name} is a sparse array of shape {matrix.shape}; it must be two-dimensional")
    kind = matrix.format
    try:
        if kind in ARRAYS:
            arrays = {part: getattr(matrix, part) for part in ("data", *ARRAYS[kind])}
            return csr_from_arrays(kind, matrix.shape, arrays)
        return _from_lists(matrix) if kind == "lil" else checked_csr(matrix.tocoo(), name)
    except InputError as error:
        raise InputError(f"{name} is not a consistent sparse matrix ({error}); build it again") from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{name} is not a consistent sparse matrix ({error}); build it again") from None


def csr_from_arrays(kind: str, shape: Any, arrays: Mapping[str, Any]) -> sp.csr_array:
    """Build a CSR array from the arrays of a matrix in one of the formats of ``ARRAYS``, all of them checked.

    >>> csr_from_arrays("csr", (1, 2), {"data": np.ones(1), "indices": np.array([5]), "indptr": np.array([0, 1])})
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: indices has 5, outside 0 to 1
    """
    rows, columns = _checked_shape(shape)
    data = np.asarray(arrays["data"])
    if data.dtype.kind not in "biufc":
        raise InputError(f"it holds {data.dtype} values, not numbers")
    if data.dtype == np.float16:  # SciPy cannot convert it
        data = data.astype(np.float32)
    others = {name: _integers(arrays[name], name) for name in ARRAYS[kind]}
    if kind == "bsr":
        return _from_blocks(data, rows, columns, **others)
    if kind == "dia":
        return _from_diagonals(data, rows, columns, **others)
    if data.ndim != 1:
        raise InputError(f"data has {data.ndim} dimensions, not one")
    if kind == "coo":
        for name, limit in (("row", rows), ("col", columns)):
            _check_length(others[name], name, len(data))
            _check_range(others[name], name, limit)
        return sp.csr_array(sp.coo_array((data, (others["row"], others["col"])), shape=(rows, columns)))
    outer, inner = (rows, columns) if kind == "csr" else (columns, rows)
    used = _check_compressed(others["indptr"], others["indices"], len(data), outer, inner)
    build = sp.csr_array if kind == "csr" else sp.csc_array
    return sp.csr_array(build((data[:used], others["indices"][:used], others["indptr"]), shape=(rows, columns)))


def _checked_shape(shape: Any) -> tuple[int, int]:
    try:
        rows, columns = (operator.index(size) for size in shape)
    except (TypeError, ValueError):
        raise InputError("its shape is not two integers") from None
    if not (0 <= rows < 2**48 and 0 <= columns < 2**48):
        raise InputError(f"its shape is {rows} by {columns}")
    return rows, columns


def _integers(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions, not one")
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} holds {array.dtype} values, not integers")
    if array.dtype.kind == "u":
        _check_range(array, name, 2**63)
        return array.astype(np.int64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _check_length(array: np.ndarray, name: str, length: int) -> None:
    if len(array) != length:
        raise InputError(f"{name} has {len(array)} entries instead of {length}")


def _check_range(array: np.ndarray, name: str, limit: int) -> None:
    for extreme in (array.min(), array.max()) if len(array) else ():
        if not 0 <= int(extreme) < limit:
            raise InputError(f"{name} has {extreme}, outside 0 to {limit - 1}")


def _check_compressed(indptr: np.ndarray, indices: np.ndarray, count: int, outer: int, inner: int) -> int:
    """Check the arrays of a compressed format; return how many entries are in use, as SciPy may allocate more."""
    _check_length(indices, "indices", count)
    _check_length(indptr, "indptr", outer + 1)
    _check_range(indptr, "indptr", count + 1)  # before the differences, which could overflow
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise InputError("indptr does not start at 0 or decreases")
    used = int(indptr[-1])
    _check_range(indices[:used], "indices", inner)
    return used


def _from_blocks(data: np.ndarray, rows: int, columns: int, indptr: np.ndarray, indices: np.ndarray) -> sp.csr_array:
    if data.ndim != 3 or 0 in data.shape[1:] or rows % data.shape[1] or columns % data.shape[2]:
        raise InputError(f"data of shape {data.shape} does not divide {rows} by {columns} into blocks")
    height, width = data.shape[1:]
    used = _check_compressed(indptr, indices, len(data), rows // height, columns // width)
    return sp.csr_array(sp.bsr_array((data[:used], indices[:used], indptr), shape=(rows, columns)))


def _from_lists(matrix: Any) -> sp.csr_array:
    """Convert a LIL matrix, which has a list of columns and one of values per row."""
    for name in ("rows", "data"):
        _check_length(getattr(matrix, name), name, matrix.shape[0])
    counts = [len(columns) for columns in matrix.rows]
    if counts != [len(values) for values in matrix.data]:
        raise InputError("a row has different numbers of columns and values")
    arrays = {
        "data": np.array([value for values in matrix.data for value in values], dtype=matrix.dtype),
        "indices": np.array([column for columns in matrix.rows for column in columns] or np.empty(0, np.int64)),
        "indptr": np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
    }
    return csr_from_arrays("csr", matrix.shape, arrays)


def _from_diagonals(data: np.ndarray, rows: int, columns: int, offsets: np.ndarray) -> sp.csr_array:
    if data.ndim != 2:
        raise InputError(f"data has {data.ndim} dimensions, not two")
    _check_length(offsets, "offsets", len(data))
    if len(np.unique(offsets)) < len(offsets):
        raise InputError("offsets has a diagonal twice")
    inside = (offsets > -rows) & (offsets < columns)
    return sp.csr_array(sp.dia_array((data[inside], offsets[inside]), shape=(rows, columns)))
