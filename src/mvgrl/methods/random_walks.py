"""Random walks for compiled methods: plain ones, and those of node2vec that prefer to return or to leave.

A walker is a tuple of arrays, and a state a single 64-bit number in an array, which every draw advances.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mvgrl.graphs import Graph
from mvgrl.runtime import compiled


def walker_of(graph: Graph, p: float = 1.0, q: float = 1.0) -> tuple[Any, ...]:
    """Return what a step of a walk needs: the edges, their total weight before each one, 1/p and 1/q."""
    adjacency = graph.adjacency.sorted_indices()
    totals = np.concatenate([[0.0], np.cumsum(adjacency.data, dtype=np.float64)])
    return adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int32), totals, 1 / p, 1 / q


@compiled()
def draw(state: Any) -> float:
    """Return the next number in [0, 1) of SplitMix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@compiled()
def draw_neighbour(walker: Any, node: int, state: Any) -> int:
    """Return a random neighbour, by the weight of the edge."""
    indptr, indices, totals, _, _ = walker
    first, last = indptr[node], indptr[node + 1]
    drawn = totals[first] + draw(state) * (totals[last] - totals[first])
    low, high = first, last - 1  # the last edge with a total of at most what was drawn before it
    while low < high:
        middle = (low + high + 1) // 2
        if totals[middle] <= drawn:
            low = middle
        else:
            high = middle - 1
    return int(indices[low])


@compiled()
def _adjacent(walker: Any, node: int, other: int) -> bool:
    indptr, indices = walker[0], walker[1]
    low, high = indptr[node], indptr[node + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < other:
            low = middle + 1
        else:
            high = middle
    return bool(low < indptr[node + 1] and indices[low] == other)


@compiled()
def draw_walk(walker: Any, start: int, walk: Any, state: Any) -> None:
    """Fill a walk from a node that has neighbours. Steps of node2vec are proposed by weight, and accepted or not."""
    back, away = walker[3], walker[4]
    plain, bound = back == 1.0 and away == 1.0, max(back, away, 1.0)
    walk[0] = start
    for step in range(1, len(walk)):
        found = draw_neighbour(walker, walk[step - 1], state)
        while step > 1 and not plain:
            before = walk[step - 2]
            weight = back if found == before else (1.0 if _adjacent(walker, before, found) else away)
            if draw(state) * bound < weight:
                break
            found = draw_neighbour(walker, walk[step - 1], state)
        walk[step] = found


@compiled()
def draw_walks(walker: Any, rounds: Any, walks: Any, state: Any) -> None:
    """Fill one walk per start."""
    for row, start in enumerate(rounds.flat):
        draw_walk(walker, start, walks[row], state)
