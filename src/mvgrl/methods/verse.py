"""VERSE (Tsitsulin et al., 2018): vectors whose inner products follow the ends of personalised PageRank walks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.random_walks import draw, draw_neighbour, walker_of
from mvgrl.runtime import compiled
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class VERSE(Method):
    """One vector per node; the end of a walk is a positive, three random nodes are negatives; features are not used.

    The loss is noise-contrastive, with the biases log n of positives and log(n / negatives) of negatives. The authors
    draw 100,000 positives per node, which takes hours; vectors change little after the first thousands.
    """

    name, label, tasks, trains = "verse", "VERSE", ("node",), True
    source = "Tsitsulin et al. (2018), section 4, and xgfs/verse: src/verse.cpp; fewer epochs than its 100,000"

    size: int = 128
    alpha: float = 0.85  # the chance that a walk goes on
    negatives: int = 3
    rate: float = 0.0025
    epochs: int = 10_000  # positives per node

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed, on one thread of the CPU."""
        return [Outcome(self.vectors(dataset.graph, seed), epochs=self.epochs) for seed in seeds]

    def vectors(self, graph: Graph, seed: int) -> np.ndarray:
        """Return a vector per node, nodes × size, float32."""
        generator = np.random.default_rng(seed)
        vectors = generator.random((graph.nodes, self.size), dtype=np.float32) - np.float32(0.5)
        state = generator.integers(1, 2**63, 1, dtype=np.uint64)
        shape = (self.epochs * graph.nodes, self.negatives)
        _train(walker_of(graph), shape, self.alpha, np.float32(self.rate), vectors, state)
        return vectors


@compiled(fastmath=True)
def _train(walker: Any, shape: Any, alpha: float, rate: Any, vectors: Any, state: Any) -> None:
    steps, negatives = shape
    nodes = len(vectors)
    positive, negative = np.float32(np.log(nodes)), np.float32(np.log(nodes / negatives))
    for _ in range(steps):
        node = int(draw(state) * nodes)
        end = node
        while draw(state) < alpha and walker[0][end] < walker[0][end + 1]:
            end = draw_neighbour(walker, end, state)
        _update(vectors[node], vectors[end], np.float32(1), positive, rate)
        for _ in range(negatives):
            _update(vectors[node], vectors[int(draw(state) * nodes)], np.float32(0), negative, rate)


@compiled(fastmath=True)
def _update(one: Any, other: Any, truth: Any, bias: Any, rate: Any) -> None:
    """Take a step of logistic regression for a pair: first the other vector, then the first with its new value."""
    score = -bias
    for k in range(len(one)):
        score += one[k] * other[k]
    step = (truth - np.float32(1) / (np.float32(1) + np.exp(-score))) * rate
    for k in range(len(one)):
        other[k] += step * one[k]
    for k in range(len(one)):
        one[k] += step * other[k]
