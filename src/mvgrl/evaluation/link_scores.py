"""Scores of pairs of nodes from the graph alone or from vectors, and how well scores rank edges above other pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import SettingsError
from mvgrl.runtime import compiled

HITS = 50
_BLOCK = 2**22  # numbers gathered at a time


@compiled()
def _common(indptr: Any, neighbours: Any, weights: Any, pairs: Any, counts: Any, sums: Any) -> None:
    """Count and weigh the common neighbours of each pair by merging two sorted lists."""
    for row in range(len(pairs)):
        one, other = indptr[pairs[row, 0]], indptr[pairs[row, 1]]
        last_one, last_other = indptr[pairs[row, 0] + 1], indptr[pairs[row, 1] + 1]
        while one < last_one and other < last_other:
            if neighbours[one] < neighbours[other]:
                one += 1
            elif neighbours[one] > neighbours[other]:
                other += 1
            else:
                counts[row] += 1.0
                sums[row] += weights[neighbours[one]]
                one += 1
                other += 1


def heuristics(adjacency: sp.csr_array, pairs: np.ndarray) -> dict[str, np.ndarray]:
    """Score pairs, m×2, by the graph alone: Adamic–Adar, common neighbours and the product of degrees.

    Weights of edges are not used. Adamic–Adar is the sum of 1 / log(degree) over the common neighbours. If there is an
    edge between the two nodes of a pair, it is not counted: a known edge is scored as if it were missing.

    >>> path = sp.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> {name: values.round(3).tolist() for name, values in heuristics(path, np.array([[0, 2], [0, 1]])).items()}
    {'adamic_adar': [1.443, 0.0], 'common_neighbors': [1.0, 0.0], 'degree_product': [1.0, 0.0]}
    """
    adjacency = sp.csr_array(adjacency)
    adjacency.sort_indices()
    degrees = np.diff(adjacency.indptr).astype(np.float64)
    weights = 1 / np.log(np.maximum(degrees, 2))  # a common neighbour has at least two neighbours
    counts, sums = np.zeros(len(pairs)), np.zeros(len(pairs))
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    _common(adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64), weights, pairs, counts, sums)
    ends = degrees[pairs] - (_is_edge(adjacency, pairs)[:, None])
    return {"adamic_adar": sums, "common_neighbors": counts, "degree_product": ends.prod(axis=1)}


def _is_edge(adjacency: sp.csr_array, pairs: np.ndarray) -> np.ndarray:
    return np.asarray(adjacency[pairs[:, 0], pairs[:, 1]]).ravel() != 0


def cosines(vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the cosine of the two vectors of each pair; 0 if one of them is zero.

    >>> cosines(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]), np.array([[0, 1], [0, 2]])).tolist()
    [0.6, 0.0]
    """
    found = np.zeros(len(pairs))
    for rows in _blocks(len(pairs), vectors.shape[1]):
        one, other = (vectors[pairs[rows, side]].astype(np.float64) for side in (0, 1))
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        found[rows] = np.where(lengths > 0, (one * other).sum(axis=1) / np.where(lengths > 0, lengths, 1), 0)
    return found


def products(vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the elementwise product of the two vectors of each pair, m×d.

    >>> products(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0, 1]])).tolist()
    [[3.0, 8.0]]
    """
    found: np.ndarray = vectors[pairs[:, 0]] * vectors[pairs[:, 1]]
    return found


def weighted_products(vectors: np.ndarray, pairs: np.ndarray, weights: np.ndarray, constant: float) -> np.ndarray:
    """Return Σ weight · product + constant per pair, without the products of all pairs in memory."""
    found = np.empty(len(pairs))
    for rows in _blocks(len(pairs), vectors.shape[1]):
        found[rows] = products(vectors, pairs[rows]).astype(np.float64) @ weights + constant
    return found


def _blocks(count: int, width: int) -> Iterator[slice]:
    size = max(1, _BLOCK // width)
    return (slice(start, start + size) for start in range(0, count, size))


def ranking_scores(edges: np.ndarray, others: np.ndarray) -> dict[str, float]:
    """Compare the scores of edges with those of other pairs: "auc", "average_precision" and "hits", all at most 1.

    Hits@50 is the share of edges that are above all but 49 of the other pairs; ties do not count. With 50 other pairs
    or fewer it is NaN: it would be 1 for any scores.

    >>> ranking_scores(np.array([3.0, 1.0]), np.array([2.0, 0.0]))
    {'auc': 0.75, 'average_precision': 0.833..., 'hits': nan}
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    if not len(edges) or not len(others):
        raise SettingsError("there are no pairs to rank; give at least one edge and one other pair")
    truth = np.repeat([1, 0], [len(edges), len(others)])
    scores = np.concatenate([edges, others])
    return {
        "auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
        "hits": hits(edges, others),
    }


def hits(edges: np.ndarray, others: np.ndarray, k: int = HITS) -> float:
    """Return the share of edges with a higher score than the k-th highest of the other pairs.

    >>> hits(np.array([5.0, 3.0, 1.0]), np.array([4.0, 2.0, 0.0]), k=2)
    0.666...
    """
    if len(others) <= k:
        return float("nan")
    return float((edges > np.partition(others, -k)[-k]).mean())
