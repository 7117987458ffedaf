"""node2vec: skip-gram vectors of walks that prefer to return or to leave (Grover and Leskovec, 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mvgrl.datasets import Dataset
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.skip_gram import SkipGram
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class Node2Vec(Method):
    """10 walks of 80 nodes from every node, window 10, 128 dimensions; features are not used.

    The paper chooses p and q by cross-validation with 10 % of the labels. Here they keep the defaults of its code, so
    that no labels are used, and the walks are unbiased: DeepWalk with fewer and longer walks and shorter vectors.
    """

    name, label, tasks = "node2vec", "node2vec", ("node",)
    source = "Grover and Leskovec (2016), section 4; defaults of snap-stanford/snap, examples/node2vec"

    size: int = 128
    walks: int = 10
    length: int = 80
    window: int = 10
    p: float = 1.0
    q: float = 1.0

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Walk and train once per seed."""
        size = min(self.size, dataset.graph.nodes)
        engine = SkipGram(size, self.walks, self.length, self.window, p=self.p, q=self.q)
        return [Outcome(engine.fit(dataset.graph, seed, context.device)) for seed in seeds]
