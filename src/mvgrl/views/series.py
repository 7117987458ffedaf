"""Chebyshev series: f(M) for many rows together, M = D̂^-1/2 Â D̂^-1/2.

The rows are computed in groups of 64. Each entry of M is read once per group, and the arithmetic uses vector
registers: per entry and row, this is about thirty times cheaper than push. It pays off whenever push would visit most
of the graph anyway, which is the case up to some hundred thousand edges. Memory: two n × 64 arrays per thread.

The eigenvalues of M are in [−1, 1], where f(x) ≈ Σ c_k T_k(x) with an error of at most Σ_{k>K} |c_k|. No entry of a
symmetric matrix exceeds its largest absolute eigenvalue, so that sum also bounds the error of every entry of f(M).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from mvgrl.runtime import compiled
from mvgrl.views.sparsify import collect, offer, sort_row, structure

LANES = 64  # rows computed together


@compiled(fastmath={"contract"})
def _step(indptr: Any, indices: Any, values: Any, low: int, factor: Any, ahead: Any, behind: Any) -> None:
    """behind ← factor·M·ahead − behind, on one graph whose first node is ``low``."""
    lanes = ahead.shape[1]  # not the constant: the compiler would unroll a loop of known length, not vectorise it
    for v in range(ahead.shape[0]):
        for lane in range(lanes):
            behind[v, lane] = -behind[v, lane]
        for entry in range(indptr[low + v], indptr[low + v + 1]):
            value, u = factor * values[entry], indices[entry] - low
            for lane in range(lanes):
                behind[v, lane] += value * ahead[u, lane]


@compiled(fastmath={"contract"})
def _evaluate(
    indptr: Any, indices: Any, values: Any, coefficients: Any, low: int, first: int, width: int, ahead: Any, behind: Any
) -> Any:
    """Evaluate ``width`` columns of f(M) from column ``first`` by Clenshaw's recurrence; n × lanes."""
    ahead[:] = 0
    behind[:] = 0
    for k in range(len(coefficients) - 1, -1, -1):
        _step(indptr, indices, values, low, values.dtype.type(2 if k > 0 else 1), ahead, behind)
        for lane in range(width):
            behind[first - low + lane, lane] += coefficients[k]
        ahead, behind = behind, ahead
    return ahead


@compiled()
def _select(
    result: Any, low: int, width: int, row_scale: Any, column_scale: Any, threshold: Any, floor: Any,
    starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Keep the largest entries of each lane. An entry is considered only if it exceeds the lane's ``floor``."""
    for lane in range(width):
        # At least about the smallest normal float32, so values that underflow are never stored.
        floor[lane] = max(np.nextafter(threshold, values.dtype.type(0)), values.dtype.type(1e-37))
        counts[lane] = 0
    for v in range(result.shape[0]):
        scale = column_scale[low + v]
        for lane in range(width):
            value = result[v, lane] * (scale * row_scale[lane])
            if value > floor[lane]:
                start, capacity = starts[lane], starts[lane + 1] - starts[lane]
                counts[lane] = offer(value, low + v, values, columns, start, counts[lane], capacity)
                if counts[lane] == capacity:
                    floor[lane] = max(floor[lane], values[start])
    for lane in range(width):
        sort_row(values, columns, starts[lane], counts[lane])


@compiled(parallel=True)
def _series_sparse(
    indptr: Any, indices: Any, matrix: Any, coefficients: Any, row_scale: Any, column_scale: Any, threshold: Any,
    blocks: Any, largest: int, origin: int, tasks: int, starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    for task in numba.prange(tasks):
        one, other = np.empty((largest, LANES), matrix.dtype), np.empty((largest, LANES), matrix.dtype)
        floor = np.empty(LANES, matrix.dtype)
        for block in range(task, len(blocks), tasks):
            first, width, low, high = blocks[block]
            size, row = high - low, first - origin
            result = _evaluate(indptr, indices, matrix, coefficients, low, first, width, one[:size], other[:size])
            _select(
                result, low, width, row_scale[first : first + width], column_scale, threshold, floor,
                starts[row : row + width + 1], counts[row : row + width], columns, values,
            )  # fmt: skip


def _blocks(offsets: np.ndarray, first: int, last: int) -> np.ndarray:
    """Split rows first:last into groups of at most LANES rows per graph: first row, count, node range of the graph."""
    table = []
    for graph in range(np.searchsorted(offsets, first, side="right") - 1, len(offsets) - 1):
        low, high = int(offsets[graph]), int(offsets[graph + 1])
        if low >= last:
            break
        stop = min(high, last)
        table += [(row, min(LANES, stop - row), low, high) for row in range(max(low, first), stop, LANES)]
    return np.array(table, dtype=np.int64).reshape(-1, 4)


def series_sparse(
    normalised: sp.csr_array, offsets: np.ndarray, coefficients: np.ndarray, scales: tuple[np.ndarray, np.ndarray],
    capacity: np.ndarray, threshold: float, dtype: Any,
) -> sp.csr_array:  # fmt: skip
    """Compute the largest entries per row of diag(scales[0])·f(M)·diag(scales[1]), graph by graph."""
    row_scale, column_scale = (scale.astype(dtype) for scale in scales)
    values_in, coefficients = normalised.data.astype(dtype), coefficients.astype(dtype)
    indptr, indices = structure(normalised)
    lowest = row_scale.dtype.type(min(threshold, float(np.finfo(dtype).max)))  # larger ones overflow
    largest, tasks = int(np.diff(offsets).max()), numba.get_num_threads()

    def fill(first: int, last: int, starts: Any, counts: Any, columns: Any, values: Any) -> None:
        _series_sparse(
            indptr, indices, values_in, coefficients, row_scale, column_scale,
            lowest, _blocks(offsets, first, last), largest, first, tasks,
            starts, counts, columns, values,
        )  # fmt: skip

    return collect(normalised.shape, capacity, np.dtype(dtype), fill)


@compiled(parallel=True)
def _series_dense(indptr: Any, indices: Any, matrix: Any, coefficients: Any, tasks: int, out: Any) -> None:
    nodes = out.shape[0]
    for task in numba.prange(tasks):
        one, other = np.empty((nodes, LANES), matrix.dtype), np.empty((nodes, LANES), matrix.dtype)
        for first in range(task * LANES, nodes, tasks * LANES):
            width = min(LANES, nodes - first)
            result = _evaluate(indptr, indices, matrix, coefficients, 0, first, width, one, other)
            for v in range(nodes):
                for lane in range(width):
                    out[v, first + lane] = result[v, lane]


def series_dense(normalised: sp.csr_array, coefficients: np.ndarray, dtype: Any) -> np.ndarray:
    """Compute all entries of f(M), n×n."""
    out = np.empty(normalised.shape, dtype=dtype)
    _series_dense(
        *structure(normalised), normalised.data.astype(dtype), coefficients.astype(dtype),
        numba.get_num_threads(), out,
    )  # fmt: skip
    return out
