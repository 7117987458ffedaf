"""The untrained encoder: what the architecture gives by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mvgrl.datasets.registry import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Outcome
from mvgrl.methods.mvgrl import Trained
from mvgrl.settings import Settings
from mvgrl.training import fit


class Untrained(Trained):
    """The encoders of the settings with the weights they start from."""

    name, label, trains = "untrained", "untrained encoder", False

    def outcomes(
        self, dataset: Dataset, settings: Settings, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the vectors of zero epochs."""
        return super().outcomes(dataset, replace(settings, epochs=0), seeds, context)


def untrained(graph: Graph, settings: Settings, *, seed: int = 0, device: str = "auto") -> np.ndarray:
    """Return what the same architecture gives before training: a vector per node, or per graph for a graph task."""
    nodes, graphs = fit(graph, replace(settings, epochs=0), seed=seed, device=device).represent()
    return graphs if settings.task == "graph" else nodes
