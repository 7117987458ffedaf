"""Skip-gram over many walks at once, for a GPU: one window of each, whose updates are added up.

Walks, windows, negatives and learning rate are those of skip_gram.py, which uses one window after the other. So that
the vectors are as good, few of the windows that are used at once have the same node in their middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.graphs import Graph
from mvgrl.methods.random_walks import draw_walks, walker_of

FIRST_RATE, LAST_RATE = 0.025, 0.0001
POWER = 0.75  # negatives are drawn by this power of how often a node occurs
LARGEST = 6.0  # scores beyond ± this are not updated, as in word2vec
_NODES_PER_WALK = 4
_SAME_MIDDLE = 16  # windows that are expected to have the most frequent node in their middle, at most
_NUMBERS = 2**28  # of the vectors of all windows, at most


@dataclass(frozen=True)
class Parameters:
    """Hyper-parameters of walks and training.

    ``p`` and ``q`` are those of node2vec: a walk returns with weight 1/p, stays near its last node with weight 1, and
    leaves with weight 1/q. With p = q = 1, walks are those of DeepWalk.
    """

    size: int
    walks: int
    length: int
    window: int = 10
    negatives: int = 5
    p: float = 1.0
    q: float = 1.0

    def starts(self, graph: Graph, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the first nodes of all walks, walks × nodes with neighbours, and two random states.

        The first state is that of the walks, the second that of everything else.
        """
        nodes = np.flatnonzero(graph.degrees > 0)
        rounds = np.stack([generator.permutation(nodes) for _ in range(self.walks)]).astype(np.int32)
        return rounds, generator.integers(1, 2**63, 2, dtype=np.uint64)


def fit_in_batches(engine: Parameters, graph: Graph, seed: int, device: torch.device) -> np.ndarray:
    """Return a vector per node, nodes × size, float32. That of an isolated node is random and small."""
    generator = np.random.default_rng(seed)
    rounds, state = engine.starts(graph, generator)
    first: np.ndarray = (2 * generator.random((graph.nodes, engine.size), dtype=np.float32) - 1) / engine.size
    if rounds.size == 0:
        return first
    walker = walker_of(graph, engine.p, engine.q)
    counts = np.zeros(graph.nodes, np.int64)
    for walks in _rounds(walker, rounds, engine, state):
        counts += np.bincount(walks.ravel(), minlength=graph.nodes)
    training = Training(engine, torch.from_numpy(first).to(device), counts, int(state[1] >> np.uint64(1)))
    for number, walks in enumerate(_rounds(walker, rounds, engine, state)):
        training.round(torch.from_numpy(walks).to(device), number / len(rounds), 1 / len(rounds))
    return training.vectors.cpu().numpy()


def _rounds(walker: Any, rounds: np.ndarray, engine: Parameters, state: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the walks of every round, the same ones in every call."""
    walks, state = np.empty((rounds.shape[1], engine.length), np.int32), state[:1].copy()
    for starts in rounds:
        draw_walks(walker, starts, walks, state)
        yield walks


class Training:
    """The vectors of nodes and contexts, and the random numbers of windows and negatives."""

    def __init__(self, engine: Parameters, vectors: Tensor, counts: np.ndarray, seed: int) -> None:
        self.engine, self.vectors, self.contexts = engine, vectors, torch.zeros_like(vectors)
        self.generator = torch.Generator(vectors.device).manual_seed(seed)
        weights = counts**POWER
        self.totals = torch.from_numpy(np.cumsum(weights / weights.sum())).to(vectors.device)
        self.places = torch.arange(engine.length, device=vectors.device)
        most = (
            _NUMBERS // ((2 * engine.window + 1) * engine.size),
            len(vectors) // _NODES_PER_WALK,
            _SAME_MIDDLE * int(counts.sum()) // int(counts.max()),
        )
        self.batch = max(1, min(most))

    def round(self, walks: Tensor, done: float, share: float) -> None:
        """Train on walks × length, beginning after a share of all walks."""
        for start in range(0, len(walks), self.batch):
            progress = done + share * start / len(walks)
            self.step(walks[start : start + self.batch].long(), FIRST_RATE + (LAST_RATE - FIRST_RATE) * progress)

    def step(self, walks: Tensor, rate: float) -> None:
        """Train on the windows of some walks, one window of each at a time."""
        engine = self.engine
        targets, counts = self._targets(walks)
        reach = torch.randint(1, engine.window + 1, walks.shape, generator=self.generator, device=walks.device)
        for middle in range(engine.length):
            first, last = max(0, middle - engine.window), min(engine.length, middle + engine.window + 1)
            distance = (self.places[first:last] - middle).abs()
            inside = (distance > 0) & (distance <= reach[:, middle, None])
            self._move(walks[:, first:last], targets[:, middle], rate * inside[..., None] * counts[:, middle, None])

    def _move(self, nodes: Tensor, targets: Tensor, rates: Tensor) -> None:
        """Move the vectors of the nodes of every window towards its first target, and away from the others."""
        of_nodes, of_targets = self.vectors[nodes], self.contexts[targets]
        scores = torch.bmm(of_nodes, of_targets.mT)
        steps = -scores.sigmoid()
        steps[..., 0] += 1
        steps *= rates * (scores.abs() < LARGEST)
        self.vectors.index_add_(0, nodes.flatten(), torch.bmm(steps, of_targets).flatten(0, 1))
        self.contexts.index_add_(0, targets.flatten(), torch.bmm(steps.mT, of_nodes).flatten(0, 1))

    def _targets(self, walks: Tensor) -> tuple[Tensor, Tensor]:
        """Return the middle of every window and its negatives, and whether each counts: none is used twice."""
        shape = (*walks.shape, self.engine.negatives)
        drawn = torch.rand(shape, generator=self.generator, device=walks.device, dtype=torch.float64)
        negatives = torch.searchsorted(self.totals, drawn, right=True).clamp(max=len(self.totals) - 1)
        targets = torch.cat([walks[..., None], negatives], dim=2)
        same = (targets[..., None] == targets[..., None, :]).tril(-1)
        return targets, ~same.any(-1)
