"""Sparsification: keeps the k largest entries per row, or the entries at or above a threshold.

Values are not changed: rows are not rescaled to compensate for dropped entries, so every stored value is an entry of
the full matrix. Zeros are never stored. Ties are broken in favour of the lower column, so the result does not depend on
the order in which entries are visited or on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from mvgrl.runtime import compiled

_BUFFER = 2**24  # entries that a chunk of rows may reserve before it is packed

# (first row, end row, offset of each row's slots, and to be filled in: entries per row, their columns, their values)
Fill = Callable[[int, int, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


@compiled()
def _worse(values: Any, columns: Any, a: int, b: int) -> bool:
    return bool(values[a] < values[b] or (values[a] == values[b] and columns[a] > columns[b]))


@compiled()
def _sift_down(values: Any, columns: Any, start: int, size: int, place: int) -> None:
    """Restore the heap after the entry at ``place`` changed; the root is the entry to be replaced first."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and _worse(values, columns, start + child + 1, start + child):
            child += 1
        if not _worse(values, columns, start + child, start + place):
            return
        a, b = start + place, start + child
        values[a], values[b] = values[b], values[a]
        columns[a], columns[b] = columns[b], columns[a]
        place = child


@compiled()
def offer(value: float, column: int, values: Any, columns: Any, start: int, size: int, capacity: int) -> int:
    """Insert an entry into a row stored from ``start`` that keeps its ``capacity`` largest; return its new size."""
    if size < capacity:
        values[start + size], columns[start + size] = value, column
        if size + 1 == capacity:
            for place in range(capacity // 2 - 1, -1, -1):
                _sift_down(values, columns, start, capacity, place)
        return size + 1
    if value > values[start] or (value == values[start] and column < columns[start]):
        values[start], columns[start] = value, column
        _sift_down(values, columns, start, capacity, 0)
    return size


@compiled()
def sort_row(values: Any, columns: Any, start: int, size: int) -> None:
    """Sort the entries of a row by column, by a heap sort in place: np.argsort takes four seconds to compile."""
    for place in range(size // 2 - 1, -1, -1):
        _sift_column(values, columns, start, size, place)
    for end in range(size - 1, 0, -1):
        values[start], values[start + end] = values[start + end], values[start]
        columns[start], columns[start + end] = columns[start + end], columns[start]
        _sift_column(values, columns, start, end, 0)


@compiled()
def _sift_column(values: Any, columns: Any, start: int, size: int, place: int) -> None:
    """Restore the heap after the entry at ``place`` changed; the root is the entry with the highest column."""
    value, column = values[start + place], columns[start + place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and columns[start + child + 1] > columns[start + child]:
            child += 1
        if columns[start + child] <= column:
            break
        values[start + place], columns[start + place] = values[start + child], columns[start + child]
        place = child
    values[start + place], columns[start + place] = value, column


def structure(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return indptr and indices with fixed dtypes, so each kernel is compiled only once."""
    return matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)


def collect(shape: tuple[int, int], capacity: np.ndarray, dtype: np.dtype[Any], fill: Fill) -> sp.csr_array:
    """Build a CSR matrix chunk by chunk in bounded memory; ``fill`` finds up to ``capacity[i]`` entries of row i."""
    rows, columns = shape
    capacity = np.minimum(capacity, columns).astype(np.int64)
    kept_columns, kept_values, kept_counts = [], [], []
    first = 0
    while first < rows:
        ends = np.cumsum(capacity[first:])
        last = first + max(1, int(np.searchsorted(ends, _BUFFER, side="right")))
        starts = np.concatenate([[0], ends[: last - first]])
        counts = np.zeros(last - first, dtype=np.int64)
        found = np.empty(starts[-1], dtype=np.int32)
        values = np.empty(starts[-1], dtype=dtype)
        fill(first, last, starts, counts, found, values)
        entries = np.arange(counts.sum()) + np.repeat(starts[:-1] - (np.cumsum(counts) - counts), counts)
        kept_columns.append(found[entries])
        kept_values.append(values[entries])
        kept_counts.append(counts)
        first = last
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(kept_counts))])
    return sp.csr_array((np.concatenate(kept_values), np.concatenate(kept_columns), indptr), shape=(rows, columns))


@compiled(parallel=True)
def _count_dense(matrix: Any, threshold: float, counts: Any) -> None:
    for i in numba.prange(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            counts[i] += matrix[i, j] > 0 and matrix[i, j] >= threshold


@compiled(parallel=True)
def _select_dense(matrix: Any, threshold: float, starts: Any, counts: Any, columns: Any, values: Any) -> None:
    for i in numba.prange(matrix.shape[0]):
        start, size, capacity = starts[i], 0, starts[i + 1] - starts[i]
        for j in range(matrix.shape[1]):
            if matrix[i, j] > 0 and matrix[i, j] >= threshold:
                size = offer(matrix[i, j], j, values, columns, start, size, capacity)
        sort_row(values, columns, start, size)
        counts[i] = size


def sparsify(matrix: np.ndarray, top_k: int | None = None, threshold: float | None = None) -> sp.csr_array:
    """Keep the positive entries of a dense matrix: the ``top_k`` largest per row, those from ``threshold``, or both.

    >>> sparsify(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), top_k=2).toarray()
    array([[0.5, 0.3, 0. ],
           [0.1, 0. , 0.8]])
    """
    matrix = np.ascontiguousarray(matrix)  # a single layout, so the kernels are compiled only once
    lowest = 0.0 if threshold is None else threshold
    capacity = np.zeros(len(matrix), dtype=np.int64)
    _count_dense(matrix, lowest, capacity)
    if top_k is not None:
        capacity = np.minimum(capacity, top_k)

    def fill(first: int, last: int, starts: Any, counts: Any, columns: Any, values: Any) -> None:
        _select_dense(matrix[first:last], lowest, starts, counts, columns, values)

    return collect(matrix.shape, capacity, matrix.dtype, fill)
