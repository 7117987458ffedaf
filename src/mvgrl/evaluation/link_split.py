"""Hold out edges for link prediction: parts of a graph's edges, and as many pairs of nodes without an edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation.checks import check_seed

LEAST_EDGES = 20  # fewer leave parts of one or two edges
_DRAWS = 100  # rounds of drawing pairs; each leaves less than half of what is missing unless the graph is dense


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """A graph without its validation and test edges, and pairs of nodes, m×2, with the smaller number first.

    The pairs without an edge have none in the whole graph, and no pair is in two parts.
    """

    adjacency: sp.csr_array  # the train edges only, with their weights: all that models may see
    train: np.ndarray
    train_none: np.ndarray
    val: np.ndarray
    val_none: np.ndarray
    test: np.ndarray
    test_none: np.ndarray


def split_edges(
    adjacency: sp.csr_array, *, test_fraction: float = 0.1, val_fraction: float = 0.1, seed: int = 0
) -> LinkSplit:
    """Hold out test edges, and validation edges among the rest, at random; draw as many pairs without an edge.

    ``adjacency`` is symmetric. Nodes may lose all of their edges.

    >>> ring = sp.csr_array(np.eye(40, k=1) + np.eye(40, k=-1) + np.eye(40, k=39) + np.eye(40, k=-39))
    >>> split = split_edges(ring)
    >>> len(split.train), len(split.val), len(split.test), split.adjacency.nnz
    (32, 4, 4, 64)
    """
    check_seed(seed)
    for name, value in (("test_fraction", test_fraction), ("val_fraction", val_fraction)):
        if not 0 < value < 1:
            raise SettingsError(f"{name} is {value}; it must be above 0 and below 1")
    edges = edge_pairs(adjacency)
    if len(edges) < LEAST_EDGES:
        raise InputError(f"the graph has {len(edges)} edges; link prediction needs at least {LEAST_EDGES}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(edges))
    test = max(1, round(test_fraction * len(edges)))
    val = max(1, round(val_fraction * (len(edges) - test)))
    if test + val >= len(edges):
        raise SettingsError(f"nothing is left of {len(edges)} edges to train on; use a smaller test_fraction")
    parts = [edges[np.sort(part)] for part in np.split(order, [test, test + val])]
    none = np.split(draw_non_edges(adjacency, len(edges), rng), [test, test + val])
    train = _only(adjacency, parts[2])
    return LinkSplit(train, parts[2], none[2], parts[1], none[1], parts[0], none[0])


def edge_pairs(adjacency: sp.csr_array) -> np.ndarray:
    """Return the edges of a symmetric matrix, m×2, in order of their nodes.

    >>> edge_pairs(sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])).tolist()
    [[0, 1], [0, 2]]
    """
    upper = sp.coo_array(sp.triu(adjacency, k=1, format="csr"))
    return np.stack(upper.coords, axis=1).astype(np.int64)


def draw_non_edges(adjacency: sp.csr_array, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw different pairs of different nodes without an edge, count×2, in random order."""
    nodes = adjacency.shape[0]
    taken = _keys(edge_pairs(adjacency), nodes)
    free = nodes * (nodes - 1) // 2 - len(taken)
    if free < count:
        raise InputError(f"{count:,} pairs of nodes without an edge are needed, but the graph has only {free:,}; link "
                         "prediction needs a sparser graph")  # fmt: skip
    if free < 2 * count:  # drawing would take long to find the last ones
        left = np.setdiff1d(_keys(np.stack(np.triu_indices(nodes, k=1), axis=1), nodes), taken)
        return _pairs(rng.choice(left, count, replace=False), nodes)
    found = np.empty(0, np.int64)
    for _ in range(_DRAWS):
        drawn = np.sort(rng.integers(nodes, size=(2 * (count - len(found)) + 10, 2)), axis=1)
        keys = _keys(drawn[drawn[:, 0] < drawn[:, 1]], nodes)
        keys = np.concatenate([found, keys[~_contains(taken, keys)]])
        _, first = np.unique(keys, return_index=True)
        found = keys[np.sort(first)][:count]  # in the order of drawing, which is random
        if len(found) == count:
            break
    return _pairs(found, nodes)


def draw_at_distance_two(
    adjacency: sp.csr_array, count: int, rng: np.random.Generator, without: np.ndarray
) -> np.ndarray:
    """Draw up to ``count`` different pairs at distance two, m×2, by walks of two steps; none of the pairs ``without``.

    >>> path = sp.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> draw_at_distance_two(path, 5, np.random.default_rng(0), np.empty((0, 2), np.int64)).tolist()
    [[0, 2]]
    """
    nodes, degrees = adjacency.shape[0], np.diff(adjacency.indptr)
    starts = np.flatnonzero(degrees)
    if not len(starts):
        return np.empty((0, 2), np.int64)
    first = rng.choice(starts, 4 * count + 10)
    last = first
    for _ in range(2):
        last = adjacency.indices[adjacency.indptr[last] + rng.integers(degrees[last])]
    pairs = np.sort(np.stack([first, last], axis=1), axis=1)
    taken = np.sort(_keys(np.concatenate([edge_pairs(adjacency), without]), nodes))
    keys = _keys(pairs[pairs[:, 0] < pairs[:, 1]], nodes)
    keys = keys[~_contains(taken, keys)]
    _, places = np.unique(keys, return_index=True)
    return _pairs(keys[np.sort(places)][:count], nodes)


def _only(adjacency: sp.csr_array, pairs: np.ndarray) -> sp.csr_array:
    """Return the adjacency with the edges of the pairs only."""
    one, other = pairs.T
    weights = adjacency[one, other]
    ends = np.append(one, other), np.append(other, one)
    return sp.csr_array(sp.coo_array((np.tile(np.asarray(weights), 2), ends), shape=adjacency.shape))


def _keys(pairs: np.ndarray, nodes: int) -> np.ndarray:
    """Return a number per pair; pairs in order have ascending numbers."""
    keys: np.ndarray = pairs[:, 0].astype(np.int64) * nodes + pairs[:, 1]
    return keys


def _pairs(keys: np.ndarray, nodes: int) -> np.ndarray:
    return np.stack(np.divmod(keys, nodes), axis=1)


def _contains(ascending: np.ndarray, keys: np.ndarray) -> np.ndarray:
    if not len(ascending):
        return np.zeros(len(keys), bool)
    places = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    found: np.ndarray = ascending[places] == keys
    return found
