"""The most likely missing edges of a graph: candidates, a block at a time, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import SettingsError
from mvgrl.neighbors import nearest, row_lengths

NEAREST = 10  # neighbours by cosine that are candidates for a node
_BLOCK = 2**22  # paths of length two that are followed at a time, except from a single node


@dataclass(frozen=True, eq=False)
class MissingLinks:
    """Pairs without an edge, m×2, from the highest score to the lowest, and the number of candidates."""

    pairs: np.ndarray
    scores: np.ndarray
    candidates: int


def missing_links(
    adjacency: sp.csr_array, vectors: np.ndarray, score: Callable[[np.ndarray], np.ndarray], count: int
) -> MissingLinks:
    """Find the ``count`` candidates with the highest score; ``score`` gets pairs, m×2, and returns a number for each.

    Candidates are pairs of nodes at distance two, and every node with its ten nearest by cosine. Ties are in the order
    of the nodes.

    >>> path = sp.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> missing_links(path, np.eye(3), lambda pairs: pairs.sum(axis=1), 5).pairs.tolist()
    [[0, 2]]
    """
    if count < 1:
        raise SettingsError(f"count is {count}; it must be at least 1")
    pairs, scores, seen = np.empty((0, 2), np.int64), np.empty(0), 0
    for some in candidates(adjacency, vectors):
        seen += len(some)
        pairs, scores = np.concatenate([pairs, some]), np.concatenate([scores, score(some)])
        best = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[:count]
        pairs, scores = pairs[best], scores[best]
    return MissingLinks(pairs, scores, seen)


def candidates(adjacency: sp.csr_array, vectors: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the candidates, each once: pairs with the smaller node first, m×2, grouped by it."""
    adjacency = sp.csr_array(adjacency)
    binary = sp.csr_array((np.ones(adjacency.nnz, np.int32), adjacency.indices, adjacency.indptr), adjacency.shape)
    near = _near(vectors)
    paths = np.cumsum(binary @ np.diff(binary.indptr))  # of length two, up to each node
    start, nodes = 0, binary.shape[0]
    while start < nodes:
        before = paths[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(paths, before + _BLOCK, side="right")))
        rows = slice(start, stop)
        wanted = sp.csr_array(binary[rows] @ binary) + near[rows]
        found = sp.coo_array(wanted - wanted.multiply(binary[rows]))  # known edges become zeros
        one, other = found.coords[0] + start, found.coords[1]
        keep = (one < other) & (found.data != 0)
        yield np.stack([one[keep], other[keep]], axis=1).astype(np.int64)
        start = stop


def _near(vectors: np.ndarray) -> sp.csr_array:
    """Return a symmetric matrix with an entry for every node and its nearest by cosine."""
    nodes = len(vectors)
    rows = np.flatnonzero(row_lengths(vectors) > 0)
    found = nearest(vectors, rows, NEAREST).rows if len(rows) else np.empty((0, 0), np.int64)
    ends = np.repeat(rows, found.shape[1]), found.ravel()
    one_way = sp.csr_array(sp.coo_array((np.ones(found.size, np.int32), ends), shape=(nodes, nodes)))
    return sp.csr_array(one_way.maximum(one_way.T))
