"""MVGRL: vectors of the trained encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from mvgrl.datasets.registry import Dataset
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.model import MVGRL
from mvgrl.runtime import allow_tf32
from mvgrl.settings import Settings
from mvgrl.stacking import fit_seeds, stackable
from mvgrl.training import Batches, feature_encoder, make_batches, train


class Trained(Method):
    """The encoders of the settings, trained from each seed."""

    name, label, trains = "mvgrl", "MVGRL, trained", True

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """As many as fit into half of the memory, at a measured hundred bytes per node, dimension and layer."""
        if device.type == "cpu" or not stackable(settings):
            return 1  # which a single training keeps busy; or which is all that can be trained as one
        samples = settings.sample_size * settings.batch_size
        nodes = dataset.graph.nodes if settings.sampler == "full" else max(samples, dataset.graph.nodes)
        each = nodes * settings.hidden * settings.layers * 100
        return max(1, min(50, int(torch.cuda.mem_get_info(device)[0] / 2 / each)))

    def outcomes(
        self, dataset: Dataset, settings: Settings, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train, and return the vectors with the epochs they took."""
        if settings.task == "graph":
            return [_graph_outcome(dataset, settings, seed, context) for seed in seeds]
        with allow_tf32():
            trained = fit_seeds(
                dataset.graph, settings, seeds, device=context.device, cache=context.cache, at_once=len(seeds)
            )
        return [Outcome(run.represent()[0], epochs=len(run.history.losses)) for run in trained]


def shared_batches(dataset: Dataset, settings: Settings, context: Context) -> tuple[FeatureEncoder, Batches]:
    """Return features and views, which several runs share, with the encoder of the features."""
    encoder = feature_encoder(dataset.graph, settings)
    batches: Batches = context.shared(
        "inputs",
        (dataset.name, replace(settings, epochs=0).id),  # the untrained encoder's too
        lambda: make_batches(dataset.graph, settings, encoder, device=context.device, cache=context.cache),
    )
    return encoder, batches


def _graph_outcome(dataset: Dataset, settings: Settings, seed: int, context: Context) -> Outcome:
    encoder, batches = shared_batches(dataset, settings, context)
    model = MVGRL(settings, encoder.width, largest=batches.largest, seed=seed).to(context.device)
    with allow_tf32():
        epochs = len(train(model, batches, seed=seed).losses)
    return Outcome(_graph_vectors(model, batches), epochs=epochs)


def _graph_vectors(model: MVGRL, batches: Batches) -> np.ndarray:
    """Graph codes alone: those of the nodes, many times as many, are freed with their batch."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model.represent(batch)[1] for batch in batches.whole()]).cpu().numpy()
