"""Skip-gram with negative sampling over random walks, as in word2vec, compiled: each walk is drawn, used and forgotten.

One thread and one stream of random numbers, so that a seed always gives the same vectors. The arithmetic is that of
word2vec: a window that is shortened at random, negatives drawn by the 3/4 power of how often a node occurs, a learning
rate that decreases linearly, and updates that are applied at once. The one difference is that all nodes of a window
share their negatives (Ji et al., 2016): the rows of these stay in the processor's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mvgrl.graphs import Graph
from mvgrl.methods.random_walks import draw, draw_walk, draw_walks, walker_of
from mvgrl.methods.skip_gram_batches import FIRST_RATE, LARGEST, LAST_RATE, POWER, Parameters, fit_in_batches
from mvgrl.runtime import compiled

_GROUP = 6  # targets that are multiplied in one pass over a vector
_ENTRIES = 4096  # of the table of sigmoids
_MIDDLES = (np.arange(_ENTRIES) + 0.5) / _ENTRIES * 2 * LARGEST - LARGEST
_SIGMOID = (1 / (1 + np.exp(-_MIDDLES))).astype(np.float32)


class SkipGram(Parameters):
    """Skip-gram with given hyper-parameters."""

    def fit(self, graph: Graph, seed: int, device: torch.device | None = None) -> np.ndarray:
        """Return a vector per node, nodes × size, float32. That of an isolated node is random and small.

        On a GPU, many walks are used at once (skip_gram_batches.py).

        >>> SkipGram(size=4, walks=1, length=5).fit(Graph.from_edges([0, 1], [1, 2]), seed=0).shape
        (3, 4)
        """
        if device is not None and device.type != "cpu":
            return fit_in_batches(self, graph, seed, device)
        generator = np.random.default_rng(seed)
        rounds, state = self.starts(graph, generator)
        vectors: np.ndarray = (2 * generator.random((graph.nodes, self.size), dtype=np.float32) - 1) / self.size
        if rounds.size == 0:
            return vectors
        walker = walker_of(graph, self.p, self.q)
        counts = np.zeros(graph.nodes, dtype=np.int64)
        _count(walker, rounds, self.length, counts, state[:1].copy())
        chances, others = alias_table(counts**POWER)
        contexts = np.zeros_like(vectors)
        shape = (self.length, self.window, self.negatives)
        _train(walker, rounds, shape, chances, others, vectors, contexts, state, _SIGMOID)
        return vectors


def walks_of(graph: Graph, engine: SkipGram, seed: int) -> np.ndarray:
    """Return the walks that a seed trains on, walks × length, for other programs.

    >>> walks_of(Graph.from_edges([0], [1], nodes=3), SkipGram(size=4, walks=1, length=3), seed=0)
    array([[0, 1, 0],
           [1, 0, 1]], dtype=int32)
    """
    rounds, state = engine.starts(graph, np.random.default_rng(seed))
    walks = np.empty((rounds.size, engine.length), np.int32)
    draw_walks(walker_of(graph, engine.p, engine.q), rounds, walks, state[:1])
    return walks


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Walker's table for drawing by weight: cell i gives i with a chance, and its other entry otherwise.

    >>> alias_table(np.array([1.0, 3.0]))
    (array([0.5, 1. ]), array([1, 1], dtype=int32))
    """
    chances = np.asarray(weights, dtype=np.float64) / np.sum(weights) * len(weights)
    others = np.arange(len(weights), dtype=np.int32)
    small = [int(i) for i in np.flatnonzero(chances < 1)]
    large = [int(i) for i in np.flatnonzero(chances >= 1)]
    while small and large:
        low, high = small.pop(), large[-1]
        others[low] = high
        chances[high] -= 1 - chances[low]
        if chances[high] < 1:
            small.append(large.pop())
    for left in (*small, *large):  # rounding errors
        chances[left] = 1.0
    return chances, others


@compiled()
def _count(walker: Any, rounds: Any, length: int, counts: Any, state: Any) -> None:
    """Count how often each node occurs in the walks."""
    walk = np.empty(length, np.int32)
    for r in range(rounds.shape[0]):
        for i in range(rounds.shape[1]):
            draw_walk(walker, rounds[r, i], walk, state)
            for node in walk:
                counts[node] += 1


@compiled(fastmath=True)
def _train(
    walker: Any, rounds: Any, shape: Any, chances: Any, others: Any, vectors: Any, contexts: Any, state: Any, table: Any
) -> None:
    """Train on all walks: the nodes of a window predict the node in its middle, and not the negatives."""
    length, window, negatives = shape
    rows = -(-(negatives + 1) // _GROUP) * _GROUP
    walk, targets = np.empty(length, np.int32), np.empty(rows, np.int32)
    steps, updated = np.empty((2 * window, rows), np.float32), np.empty((rows, vectors.shape[1]), np.float32)
    walks, draws = state[:1], state[1:]
    for r in range(rounds.shape[0]):
        for i in range(rounds.shape[1]):
            draw_walk(walker, rounds[r, i], walk, walks)
            done = (r + i / rounds.shape[1]) / rounds.shape[0]
            rate = np.float32(FIRST_RATE + (LAST_RATE - FIRST_RATE) * done)
            for middle in range(length):
                count = _draw_targets(walk[middle], negatives, chances, others, targets, draws)
                reach = 1 + int(draw(draws) * window)
                first, last = max(0, middle - reach), min(length, middle + reach + 1)
                walk[middle] = walk[last - 1]  # the window without its middle; restored below
                _update(vectors, walk[first : last - 1], contexts, targets, count, steps, updated, rate, table)
                walk[middle] = targets[0]


@compiled()
def _draw_targets(node: int, negatives: int, chances: Any, others: Any, targets: Any, state: Any) -> int:
    """Write the node and its negatives, each once, and return how many they are. What remains is filled with copies."""
    targets[:] = node
    count = 1
    for _ in range(negatives):
        drawn = draw(state) * len(chances)
        cell = int(drawn)
        found = cell if drawn - cell < chances[cell] else others[cell]
        fresh = True
        for t in range(count):
            fresh = fresh and targets[t] != found
        if fresh:
            targets[count] = found
            count += 1
    return count


@compiled(fastmath=True)
def _update(
    vectors: Any, nodes: Any, contexts: Any, targets: Any, count: int, steps: Any, updated: Any, rate: Any, table: Any
) -> None:
    """Take a step of gradient descent for the vectors of a window and their targets, the first of them positive.

    All gradients are those before the step. Loops have a fixed number of rows so that they are vectorised.
    """
    for a in range(len(nodes)):
        for first in range(0, len(targets), _GROUP):
            _scores(vectors[nodes[a]], contexts, targets[first : first + _GROUP], steps[a, first : first + _GROUP])
        for t in range(len(targets)):
            steps[a, t] = _step(steps[a, t], t == 0, table) * rate if t < count else np.float32(0)
    for t in range(count):
        updated[t] = contexts[targets[t]]
        _add_rows(updated[t], vectors, nodes, steps[:, t])
    for a in range(len(nodes)):
        _add_rows(vectors[nodes[a]], contexts, targets, steps[a])
    for t in range(count):
        contexts[targets[t]] = updated[t]


@compiled(fastmath=True)
def _step(score: Any, positive: bool, table: Any) -> Any:
    """Return the negative gradient of the logistic loss."""
    if not -np.float32(LARGEST) < score < np.float32(LARGEST):
        return np.float32(0)
    entry = int((score + np.float32(LARGEST)) * np.float32(_ENTRIES / (2 * LARGEST)))
    return np.float32(positive) - table[min(entry, _ENTRIES - 1)]


@compiled(fastmath=True)
def _scores(vector: Any, contexts: Any, targets: Any, out: Any) -> None:
    """Write six inner products."""
    t0, t1, t2 = contexts[targets[0]], contexts[targets[1]], contexts[targets[2]]
    t3, t4, t5 = contexts[targets[3]], contexts[targets[4]], contexts[targets[5]]
    s0 = s1 = s2 = s3 = s4 = s5 = np.float32(0)
    for k in range(len(vector)):
        x = vector[k]
        s0 += x * t0[k]
        s1 += x * t1[k]
        s2 += x * t2[k]
        s3 += x * t3[k]
        s4 += x * t4[k]
        s5 += x * t5[k]
    out[0], out[1], out[2], out[3], out[4], out[5] = s0, s1, s2, s3, s4, s5


@compiled(fastmath=True)
def _add_rows(row: Any, table: Any, which: Any, factors: Any) -> None:
    """Add some rows of a table, each times its factor, six and then two at a time."""
    count = len(which)
    sixes = count - count % 6
    for i in range(0, sixes, 6):
        a, b, c = table[which[i]], table[which[i + 1]], table[which[i + 2]]
        d, e, f = table[which[i + 3]], table[which[i + 4]], table[which[i + 5]]
        fa, fb, fc, fd, fe, ff = (
            *(factors[i], factors[i + 1], factors[i + 2]),
            *(factors[i + 3], factors[i + 4], factors[i + 5]),
        )
        for k in range(len(row)):
            row[k] += fa * a[k] + fb * b[k] + fc * c[k] + fd * d[k] + fe * e[k] + ff * f[k]
    for i in range(sixes, count, 2):
        a, b = table[which[i]], table[which[min(i + 1, count - 1)]]
        fa, fb = factors[i], (factors[i + 1] if i + 1 < count else np.float32(0))
        for k in range(len(row)):
            row[k] += fa * a[k] + fb * b[k]
