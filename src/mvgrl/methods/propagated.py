"""Propagated features: averaged over neighbours in each view, without training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import normalize

from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.inputs import Inputs, prepare
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.mvgrl import shared_inputs
from mvgrl.runtime import resolve_device
from mvgrl.settings import Output, Settings
from mvgrl.views import ViewCache


class Propagated(Method):
    """The features of the settings, multiplied by the views."""

    name, label, seeded = "propagated", "propagated features", False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        return [Outcome(_propagated(shared_inputs(dataset, replace(settings, similar=0), context), output))]


def propagated(
    graph: Graph,
    settings: Settings,
    *,
    output: Output | None = None,
    device: str | torch.device = "auto",
    cache: ViewCache | None = None,
) -> np.ndarray:
    """Return V·X summed over the views, without training; for a graph task, also summed over each graph's nodes.

    If the output is scaled to unit length, these vectors are too.
    """
    where = resolve_device(device)
    chosen = resolve(graph, replace(settings, similar=0), device=where).settings
    return _propagated(prepare(graph, chosen, device=where, cache=cache), output or Output())


def _propagated(inputs: Inputs, output: Output) -> np.ndarray:
    codes = []
    with torch.inference_mode():
        for batch in inputs.whole():
            features = batch.features.dense()
            summed = torch.stack([view.multiply(features) for view in batch.views]).sum(0)
            codes.append(batch.pool(summed) if inputs.settings.task == "graph" else summed)
    found = torch.cat(codes)
    return (normalize(found) if output.unit_length else found).cpu().numpy()
