"""Weisfeiler–Lehman counts: how often each refined colour occurs in a graph.

In round 0 the colour of a node is its label, or its degree if there are no labels. In each further round it is a hash
of the previous colour and of the multiset of the neighbours' previous colours. Graphs with different counts are not
isomorphic (Shervashidze et al., 2011).

The hash is fixed: a colour has the same column in every process, on every platform and in every set of graphs, so new
graphs can be counted alone. Changing a constant of this file changes the vectors of saved models.
"""

from __future__ import annotations

import hashlib

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs.graph import Graph

# Odd 64-bit constants that keep the three uses of the mixing function apart.
_DEGREE, _NEIGHBOUR, _ROUND = (np.uint64(key) for key in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7))


def wl_counts(graph: Graph, *, rounds: int = 3, columns: int = 2**18) -> sp.csr_array:
    """Count the colours of rounds 0 to ``rounds`` in each graph: float32, graphs × ``columns``.

    A row sums to (rounds + 1) times the number of nodes. The column of a colour is its hash modulo ``columns``, so two
    colours may share one. Edge weights and features are not used. Time and memory are linear in the number of edges.

    >>> two = Graph.join([Graph.from_edges([0, 1], [1, 2]), Graph.from_edges([0, 1, 2], [1, 2, 0])])
    >>> [sorted(wl_counts(two, rounds=1)[[row]].data.tolist()) for row in range(2)]
    [[1.0, 1.0, 2.0, 2.0], [3.0, 3.0]]
    """
    colours = wl_colours(graph, rounds=rounds)
    # The nodes of a graph are contiguous, so its colours are too: a CSR matrix whose duplicates are then summed.
    found = (colours % np.uint64(columns)).astype(np.int64).reshape(-1)
    ones = np.ones(len(found), dtype=np.float32)
    counts = sp.csr_array((ones, found, graph.offsets * (rounds + 1)), shape=(graph.count, columns))
    counts.sum_duplicates()
    return counts


def wl_colours(graph: Graph, *, rounds: int = 3) -> np.ndarray:
    """Return the colour of every node in rounds 0 to ``rounds``, as 64-bit hashes: nodes × (rounds + 1).

    >>> [len(set(colours)) for colours in wl_colours(Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])).T.tolist()]
    [2, 3, 3, 3]
    """
    colours = np.empty((graph.nodes, rounds + 1), dtype=np.uint64)
    colours[:, 0] = _initial(graph)
    for number in range(1, rounds + 1):
        colours[:, number] = refined(graph.adjacency, colours[:, number - 1], number)
    return colours


def _initial(graph: Graph) -> np.ndarray:
    """Return the colours of round 0, from the labels themselves: their rank would depend on the other graphs."""
    if graph.node_labels is None:
        return _mixed(graph.degrees.astype(np.uint64) + _DEGREE)
    known, position = np.unique(graph.node_labels, return_inverse=True)
    return np.array([_label_hash(label) for label in known.tolist()], dtype=np.uint64)[position]


def _label_hash(label: str | float) -> int:
    """Return 64 bits for a label; equal numbers have equal hashes, whether they are integers, floats or booleans."""
    if isinstance(label, str):
        text = f"text {label}"
    else:
        whole = isinstance(label, int) or label.is_integer()
        text = f"number {int(label) if whole else label!r}"
    # Lone surrogates occur in text from files that are not UTF-8.
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def refined(adjacency: sp.csr_array, colours: np.ndarray, number: int) -> np.ndarray:
    """Return the colours of the next round: a hash of the round, a node's own colour, and its neighbours' colours."""
    mixed = _mixed(colours + _NEIGHBOUR)[adjacency.indices]
    # Sums of the neighbours' hashes do not depend on their order. All arithmetic is modulo 2^64, so differences of
    # running totals are exact.
    totals = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    sums = totals[adjacency.indptr[1:]] - totals[adjacency.indptr[:-1]]
    return _mixed(_mixed(colours + np.array([number], dtype=np.uint64) * _ROUND) + sums)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return splitmix64's bijection of the 64-bit integers, which spreads every bit over all others."""
    values = values ^ (values >> np.uint64(30))
    values = values * np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values
