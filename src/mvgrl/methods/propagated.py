"""Propagated features: averaged over the neighbours that the views see, with nothing learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import normalize

from mvgrl.datasets.registry import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.mvgrl import shared_batches
from mvgrl.runtime import resolve_device
from mvgrl.settings import Settings
from mvgrl.training import Batches, feature_encoder, make_batches
from mvgrl.views import ViewCache


class Propagated(Method):
    """The features of the settings, multiplied by its views."""

    name, label, seeded = "propagated", "propagated features", False

    def outcomes(
        self, dataset: Dataset, settings: Settings, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        return [Outcome(_propagated(shared_batches(dataset, settings, context)[1], settings))]


def propagated(
    graph: Graph, settings: Settings, *, device: str | torch.device = "auto", cache: ViewCache | None = None
) -> np.ndarray:
    """Return V·X, summed over the views, with nothing learned; for a graph task also summed over each graph's nodes.

    Where the settings scale vectors to unit length, these are scaled too.
    """
    encoder, where = feature_encoder(graph, settings), resolve_device(device)
    return _propagated(make_batches(graph, settings, encoder, device=where, cache=cache), settings)


def _propagated(batches: Batches, settings: Settings) -> np.ndarray:
    codes = []
    with torch.inference_mode():
        for batch in batches.whole():
            features = batch.features.dense()
            summed = torch.stack([view.multiply(features) for view in batch.views]).sum(0)
            codes.append(batch.pool(summed) if settings.task == "graph" else summed)
    found = torch.cat(codes)
    return (normalize(found) if settings.unit_length else found).cpu().numpy()
