"""The nearest vectors of every point, and the share of neighbours that two sets of vectors have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from mvgrl.neighbors import Neighbors

EXACT_UP_TO = 50_000  # points of which all pairs are compared
_BLOCK = 2**24  # cosines computed at a time
_PROBED = 6  # cells searched per point, its own among them
_ROUNDS = 4  # of K-Means, for the cells

Progress = Callable[[int, int], None]


def all_nearest(
    vectors: np.ndarray,
    k: int,
    *,
    queries: np.ndarray | None = None,
    exact: bool | None = None,
    progress: Progress = lambda done, total: None,
) -> Neighbors:
    """Find the k vectors with the highest cosine to every vector, or to every query; cosines are in single precision.

    Up to 50,000 vectors all are compared. Beyond, vectors are grouped in cells around centres, and each is compared
    with those of the nearest six cells: it misses few of the nearest. A row without enough neighbours, as of a vector
    of zeros, ends in the number of vectors and cosine −1.

    >>> found = all_nearest(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]), 2)
    >>> found.rows.tolist(), found.cosines[0].astype(float).round(2).tolist()
    ([[2, 1], [2, 0], [0, 1]], [0.71, 0.0])
    """
    known = _directions(vectors)
    asked = known if queries is None else _directions(queries)
    k = min(k, len(known) - (queries is None))
    exact = len(known) <= EXACT_UP_TO if exact is None else exact
    rows, cosines = (_compare_all if exact else _by_cells)(known, asked, k, queries is None, progress)
    nowhere = _is_zero(asked)
    rows[nowhere], cosines[nowhere] = len(known), -1
    return Neighbors(rows, cosines, exact=exact)


def common_share(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the share of the neighbours of each point that two lists of k neighbours have in common.

    >>> common_share(np.array([[1, 2], [0, 2]]), np.array([[2, 3], [0, 2]])).tolist()
    [0.5, 1.0]
    """
    k = min(ours.shape[1], theirs.shape[1])
    if not k:
        return np.zeros(len(ours))
    step = max(1, _BLOCK // k**2)
    shares = [
        (ours[start : start + step, :k, None] == theirs[start : start + step, None, :k]).any(axis=2).mean(axis=1)
        for start in range(0, len(ours), step)
    ]
    return np.concatenate(shares)


def _directions(vectors: np.ndarray) -> torch.Tensor:
    matrix = torch.from_numpy(np.array(vectors, np.float32))  # a copy, which is scaled in place
    lengths = matrix.norm(dim=1, keepdim=True)
    return matrix.div_(torch.where(lengths > 0, lengths, 1.0))


def _compare_all(
    known: torch.Tensor, asked: torch.Tensor, k: int, same: bool, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    step = max(1, _BLOCK // len(known))
    rows, cosines = np.empty((len(asked), k), np.int64), np.empty((len(asked), k), np.float32)
    empty = torch.from_numpy(_is_zero(known))
    for start in range(0, len(asked), step):
        some = asked[start : start + step]
        found = some @ known.T
        found[:, empty] = -torch.inf
        if same:
            found[torch.arange(len(some)), torch.arange(start, start + len(some))] = -torch.inf
        _keep(found, None, k, len(known), slice(start, start + len(some)), rows, cosines)
        progress(min(start + step, len(asked)), len(asked))
    return rows, cosines


def _is_zero(matrix: torch.Tensor) -> np.ndarray:
    """Return which vectors are all zeros, and so have no direction."""
    return np.asarray((matrix.abs().amax(dim=1) == 0).numpy())


def _keep(
    found: torch.Tensor, names: Any, k: int, none: int, where: Any, rows: np.ndarray, cosines: np.ndarray
) -> None:
    """Write the best k of each row of cosines, filled up where there are fewer."""
    best = found.topk(min(k, found.shape[1]), dim=1)
    numbers = best.indices.numpy() if names is None else names[best.indices.numpy()]
    missing = np.isneginf(best.values.numpy())
    width = numbers.shape[1]
    rows[where], cosines[where] = none, -1
    rows[where, :width] = np.where(missing, none, numbers)
    cosines[where, :width] = np.where(missing, -1, np.clip(best.values.numpy(), -1, 1))


def _by_cells(
    known: torch.Tensor, asked: torch.Tensor, k: int, same: bool, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    cells = max(1, int(np.sqrt(len(known))))
    centres = _centres(known, cells)
    own = _nearest_centres(known, centres, 1)[:, 0]
    own[_is_zero(known)] = cells  # in no cell
    order = np.argsort(own, kind="stable")
    bounds = np.searchsorted(own[order], np.arange(cells + 1))
    near = _nearest_centres(asked, centres, min(_PROBED, cells))
    rows, cosines = np.empty((len(asked), k), np.int64), np.empty((len(asked), k), np.float32)
    # Points of one cell are searched together, in the cells that most of them are near to.
    home = np.argsort(near[:, 0], kind="stable")
    places = np.searchsorted(near[home, 0], np.arange(cells + 1))
    for cell in range(cells):
        mine = home[places[cell] : places[cell + 1]]
        if not len(mine):
            continue
        popular, counts = np.unique(near[mine], return_counts=True)
        searched = popular[np.argsort(-counts, kind="stable")[: _PROBED + 2]]
        candidates = np.concatenate([order[bounds[one] : bounds[one + 1]] for one in searched])
        for start in range(0, len(mine), max(1, _BLOCK // max(1, len(candidates)))):
            some = mine[start : start + max(1, _BLOCK // max(1, len(candidates)))]
            found = asked[some] @ known[candidates].T
            if same:
                found[torch.from_numpy(some)[:, None] == torch.from_numpy(candidates)[None, :]] = -torch.inf
            _keep(found, candidates, k, len(known), some, rows, cosines)
        progress(int(places[cell + 1]), len(asked))
    return rows, cosines


def _centres(known: torch.Tensor, cells: int) -> torch.Tensor:
    """Return centres by a few rounds of K-Means on a sample."""
    pick = np.random.default_rng(0).permutation(len(known))
    sample = known[torch.from_numpy(pick[: 40 * cells])]
    centres = sample[:cells].clone()
    for _ in range(_ROUNDS):
        own = torch.from_numpy(_nearest_centres(sample, centres, 1)[:, 0])
        sums = torch.zeros_like(centres).index_add_(0, own, sample)
        lengths = sums.norm(dim=1, keepdim=True)
        centres = torch.where(lengths > 0, sums / torch.where(lengths > 0, lengths, 1.0), centres)
    return centres


def _nearest_centres(matrix: torch.Tensor, centres: torch.Tensor, count: int) -> np.ndarray:
    step = max(1, _BLOCK // len(centres))
    parts = [
        (matrix[start : start + step] @ centres.T).topk(count, dim=1).indices for start in range(0, len(matrix), step)
    ]
    return np.asarray(torch.cat(parts).numpy())
