"""Raw features: what the graph holds before anything is computed from its edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mvgrl.datasets.registry import Dataset
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.settings import Settings
from mvgrl.training import feature_encoder


class Raw(Method):
    """The features of the settings as they are; for a graph task, summed over each graph's nodes."""

    name, label, seeded = "raw", "raw features", False

    def outcomes(
        self, dataset: Dataset, settings: Settings, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        features = feature_encoder(dataset.graph, settings).transform(dataset.graph).dense().numpy()
        if settings.task == "graph":
            features = np.add.reduceat(features, dataset.graph.offsets[:-1], axis=0)
        return [Outcome(features)]
