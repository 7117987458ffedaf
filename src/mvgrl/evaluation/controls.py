"""Cheap controls that stand beside every trained result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import normalize

from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.settings import Output, Settings
from mvgrl.training import fit
from mvgrl.views import ViewCache


def untrained(graph: Graph, settings: Settings, *, seed: int = 0, device: str = "auto") -> np.ndarray:
    """What the same architecture gives with the weights it starts from: node codes, or graph codes for a graph task."""
    nodes, graphs = fit(graph, replace(settings, epochs=0), seed=seed, device=device).represent()
    return graphs if settings.task == "graph" else nodes


def propagated(
    graph: Graph,
    settings: Settings,
    *,
    output: Output | None = None,
    device: str = "auto",
    cache: ViewCache | None = None,
) -> np.ndarray:
    """V·X, summed over the views, with nothing learned; for a graph task also summed over each graph's nodes.

    Where the settings ask for vectors of unit length, these are too.
    """
    codes = []
    inputs = prepare(graph, settings, device=device, cache=cache)
    with torch.inference_mode():
        for batch in inputs.whole():
            features = batch.features.dense()
            summed = torch.stack([view.multiply(features) for view in batch.views]).sum(0)
            codes.append(batch.pool(summed) if settings.task == "graph" else summed)
    found = torch.cat(codes)
    return (normalize(found) if output is not None and output.unit_length else found).cpu().numpy()
