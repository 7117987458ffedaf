"""Raw features, before any propagation along edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.positions import feature_encoder
from mvgrl.settings import Output, Settings


class Raw(Method):
    """The features of the settings as they are; for a graph task, summed over each graph's nodes."""

    name, label, seeded = "raw", "raw features", False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        encoder = feature_encoder(settings.features, settings.normalise, settings.degree_cap).fit(dataset.graph)
        features = encoder.transform(dataset.graph).dense().numpy()
        if settings.task == "graph":
            features = np.add.reduceat(features, dataset.graph.offsets[:-1], axis=0)
        return [Outcome(features)]
