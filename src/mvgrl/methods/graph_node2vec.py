"""node2vec for graphs: the sum of a graph's node vectors (Grover and Leskovec, 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.skip_gram import SkipGram
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class GraphNode2Vec(Method):
    """Skip-gram vectors of the nodes of all graphs together, summed per graph.

    No walk leaves its graph, so the vectors of two graphs have nothing in common but the objective. With p = q = 1, the
    defaults, a walk is a plain random walk.
    """

    name, label, tasks = "graph-node2vec", "node2vec, summed per graph", ("graph",)
    source = "the defaults of the authors' code: p = q = 1, 10 walks of 80, window 10, 128 dimensions, one epoch"
    size: int = 128
    walks: int = 10
    length: int = 80
    window: int = 10

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Walk and train once per seed."""
        graph, engine = dataset.graph, SkipGram(self.size, self.walks, self.length, self.window)
        return [Outcome(np.add.reduceat(engine.fit(graph, seed), graph.offsets[:-1])) for seed in seeds]
