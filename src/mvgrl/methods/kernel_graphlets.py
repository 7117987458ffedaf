"""The graphlet kernel: how often small subgraphs occur in two graphs, estimated from samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.kernels import offered, parts_of
from mvgrl.methods.time_limit import within
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class Graphlets(Method):
    """Counts of induced subgraphs of 3 to ``size`` random nodes, without labels, by grakel."""

    name, label, tasks = "kernel-gk", "graphlet kernel", ("graph",)
    source = (
        "Shervashidze et al., 2009: graphlets of up to 5 nodes, sampled; about 1,000 samples per graph suffice for an "
        "error of 0.1 with probability 0.9; grakel's GraphletSampling"
    )
    size: int = 5
    samples: int = 1000
    minutes: float = 30

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Sample once per seed."""
        return [
            offered([within(self.minutes, graphlet_kernel, dataset.graph, self.size, self.samples, seed)])
            for seed in seeds
        ]


def graphlet_kernel(graph: Graph, size: int, samples: int, seed: int) -> np.ndarray:
    """Return the kernel before normalisation: inner products of the counts of each graphlet."""
    try:
        from grakel import GraphletSampling
    except ImportError:
        raise InputError("the graphlet kernel needs grakel; pip install 'mvgrl[arena]'") from None
    every = [
        (adjacency.toarray().astype(np.int8), dict.fromkeys(range(adjacency.shape[0]), 0))
        for _, adjacency in parts_of(graph)
    ]
    sampler = GraphletSampling(k=size, sampling={"n_samples": samples}, random_state=seed)
    return np.asarray(sampler.fit_transform(every), dtype=np.float64)
