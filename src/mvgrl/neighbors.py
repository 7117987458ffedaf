"""Nearest vectors by cosine: exact, a block of queries at a time, or approximate with usearch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from mvgrl.errors import InputError, SettingsError, shown

EXACT_UP_TO = 1_000_000  # vectors that are all compared, unless asked otherwise
_BLOCK = 2**25  # cosines of a block of queries: 128 megabytes in single precision
_GATHERED = 2**22  # numbers converted to double precision at a time
_ROUNDING = 1e-5  # more than the error of a cosine in single precision
_COMPARED = 20_000  # ids that are compared with an unknown one
_DIGITS = 12  # cosines that agree to this many digits are ties


@dataclass(frozen=True, eq=False)
class Neighbors:
    """For each query, its nearest rows and their cosines, nearest first; both are queries × k."""

    rows: np.ndarray
    cosines: np.ndarray
    exact: bool = True


def nearest(vectors: Any, queries: Any, k: int = 10, *, approximate: bool | None = None) -> Neighbors:
    """Find the k rows with the highest cosine to each query, a row number; a row is not its own neighbour.

    Ties are in the order of the rows. A vector of zeros has no direction: it is nobody's neighbour, and cannot be a
    query. If there are fewer than k other vectors, all are returned. Beyond a million vectors, or if ``approximate`` is
    true, usearch finds neighbours, which takes little time per query but misses some; otherwise all are compared.

    >>> found = nearest(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [0.0, 0.0]]), [0], k=2)
    >>> found.rows.tolist(), found.cosines.round(3).tolist()
    ([[2, 1]], [[0.707, 0.0]])
    """
    matrix, rows = _checked(vectors), np.asarray(queries, dtype=np.int64).reshape(-1)
    if k < 1:
        raise SettingsError(f"k is {k}; it must be at least 1")
    outside = rows[(rows < 0) | (rows >= len(matrix))]
    if len(outside):
        raise InputError(f"there is no row {outside[0]}; rows are numbered 0 to {len(matrix) - 1}")
    lengths = row_lengths(matrix)
    zero = rows[lengths[rows] == 0]
    if len(zero):
        raise InputError(f"the vector of row {zero[0]} is all zeros, so it has no nearest neighbours; omit it")
    k = min(k, int((lengths > 0).sum()) - 1)
    if k < 1 or not len(rows):
        return Neighbors(np.empty((len(rows), 0), np.int64), np.empty((len(rows), 0)))
    if len(matrix) > EXACT_UP_TO if approximate is None else approximate:
        return _approximate(matrix, lengths, rows, k)
    found = [_best(matrix, lengths, row, near, k) for row, near in _cosines(matrix, lengths, rows)]
    return Neighbors(np.stack([one for one, _ in found]), np.stack([values for _, values in found]))


def closest_ids(name: str, names: np.ndarray) -> str:
    """Name the ids closest in spelling to this one, or examples, for an error message.

    >>> closest_ids("anne", np.array(["ann", "bob"]))
    "did you mean 'ann'?"
    """
    known = np.unique(names)
    if len(known) > _COMPARED:  # comparing takes long: among very many, only those that begin or end alike
        alike = np.char.startswith(known, name[:2]) | np.char.endswith(known, name[-3:])
        known = known[alike][:_COMPARED]
    near = get_close_matches(name, known.tolist(), n=3)
    if near:
        return f"did you mean {' or '.join(shown(one) for one in near)}?"
    return f"its ids are like {', '.join(shown(one) for one in names[:3].tolist())}"


def row_lengths(matrix: np.ndarray) -> np.ndarray:
    """Return the length of every row in double precision."""
    step = max(1, _GATHERED // matrix.shape[1])
    parts = [
        np.linalg.norm(matrix[start : start + step].astype(np.float64), axis=1) for start in range(0, len(matrix), step)
    ]
    return np.concatenate(parts)


def _checked(vectors: Any) -> np.ndarray:
    matrix = np.asarray(vectors)
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind not in "fiub":
        raise InputError(f"vectors has shape {matrix.shape} and holds {matrix.dtype}; give numbers, a row per vector")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    return matrix


def _cosines(matrix: np.ndarray, lengths: np.ndarray, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each query with its cosines to all rows; −∞ to itself and to vectors of zeros."""
    step = max(1, _BLOCK // len(matrix))
    factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        directions = (matrix[some] * factors[some, None]).astype(matrix.dtype)
        found = directions @ matrix.T
        found *= factors.astype(matrix.dtype)
        found[:, lengths == 0] = -np.inf
        found[np.arange(len(some)), some] = -np.inf
        yield from zip(some.tolist(), found, strict=True)


def _best(matrix: np.ndarray, lengths: np.ndarray, row: int, near: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest of a query: all that may be among them, compared again in double precision."""
    least = np.partition(near, len(near) - k)[len(near) - k]
    candidates = np.flatnonzero(near >= least - _ROUNDING)
    values = _exact(matrix, lengths, row, candidates)
    order = np.lexsort((candidates, -values.round(_DIGITS)))[:k]
    return candidates[order], values[order]


def _exact(matrix: np.ndarray, lengths: np.ndarray, row: int, candidates: np.ndarray) -> np.ndarray:
    """Return cosines whose bits depend on the two vectors only, not on their place in a block."""
    direction = matrix[row].astype(np.float64) / lengths[row]
    found, step = np.empty(len(candidates)), max(1, _GATHERED // matrix.shape[1])
    for start in range(0, len(candidates), step):
        some = candidates[start : start + step]
        found[start : start + step] = (matrix[some] * direction).sum(axis=1) / lengths[some]
    return np.clip(found, -1.0, 1.0)


def _approximate(matrix: np.ndarray, lengths: np.ndarray, rows: np.ndarray, k: int) -> Neighbors:
    """Search an index of usearch. It is built on one thread: with several, it would differ from run to run."""
    index_class = _usearch()
    index = index_class(ndim=matrix.shape[1], metric="cos", dtype="f32")
    used = np.flatnonzero(lengths > 0)
    step = max(1, _GATHERED // matrix.shape[1])
    for start in range(0, len(used), step):
        some = used[start : start + step]
        index.add(some, (matrix[some] / lengths[some, None]).astype(np.float32), threads=1)
    found_rows, found = np.empty((len(rows), k), np.int64), np.empty((len(rows), k))
    for place, row in enumerate(rows.tolist()):
        # One more than needed, as the query finds itself; and some more, as the last ones found are the least certain.
        keys = index.search((matrix[row] / lengths[row]).astype(np.float32), min(2 * k + 10, len(used))).keys
        candidates = np.asarray(keys, dtype=np.int64)
        candidates = candidates[candidates != row]
        values = _exact(matrix, lengths, row, candidates)
        order = np.lexsort((candidates, -values.round(_DIGITS)))[:k]
        found_rows[place], found[place] = candidates[order], values[order]
    return Neighbors(found_rows, found, exact=False)


def _usearch() -> Any:
    try:
        from usearch.index import Index
    except ImportError:
        raise InputError(
            f"approximate search, used beyond {EXACT_UP_TO:,} vectors, needs usearch; pip install 'mvgrl[search]', or "
            "compare all vectors with --exact (approximate=False)"
        ) from None
    return Index
