"""DeepWalk: skip-gram vectors of random walks (Perozzi et al., 2014), alone and concatenated with the features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import VECTOR_SIZE, as_vectors
from mvgrl.methods.graph_data import features_of
from mvgrl.methods.skip_gram import SkipGram
from mvgrl.settings import Output, Settings

WALKS, LENGTH = 80, 40


class DeepWalk(Method):
    """80 walks of 40 nodes from every node, as sentences for skip-gram: 5 negatives, window 10, one epoch.

    Frequent nodes are not subsampled. Features are not used.
    """

    name, label, tasks = "deepwalk", "DeepWalk", ("node",)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Walk and train once per seed."""
        return [Outcome(shared_vectors(dataset.graph, seed, context)) for seed in seeds]


class DeepWalkFeatures(Method):
    """The vectors of DeepWalk concatenated with the row-normalised features, as in Table 2 of DGI."""

    name, label, tasks = "deepwalk-features", "DeepWalk and features", ("node",)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Walk and train once per seed."""
        features = as_vectors(features_of(dataset, settings, context.device).dense())
        return [Outcome(np.hstack([shared_vectors(dataset.graph, seed, context), features])) for seed in seeds]


def shared_vectors(graph: Graph, seed: int, context: Context) -> np.ndarray:
    """Return the vectors of a seed, which both methods use; they take minutes on a large graph."""
    engine = SkipGram(size=min(VECTOR_SIZE, graph.nodes), walks=WALKS, length=LENGTH)

    def make() -> np.ndarray:
        return engine.fit(graph, seed, context.device)

    found: np.ndarray = context.shared(f"DeepWalk, seed {seed}", graph.fingerprint, make)
    return found
