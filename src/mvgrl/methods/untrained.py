"""The untrained encoder: the same architecture with its initial weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Outcome
from mvgrl.methods.mvgrl import MVGRL
from mvgrl.settings import Output, Settings
from mvgrl.training import fit


class Untrained(MVGRL):
    """The encoders of the settings, with their initial weights."""

    name, label, trains = "untrained", "untrained encoder", False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the vectors after zero epochs."""
        return super().outcomes(dataset, replace(settings, epochs=0), output, seeds, context)


def untrained(
    graph: Graph, settings: Settings, *, output: Output | None = None, seed: int = 0, device: str = "auto"
) -> np.ndarray:
    """Return the vectors of the encoder before training: one per node, or per graph for a graph task."""
    return fit(graph, replace(settings, epochs=0), seed=seed, device=device).vectors(output=output)
