"""MVGRL: vectors of the trained encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from mvgrl.datasets import Dataset
from mvgrl.inputs import Inputs, prepare
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.runtime import allow_tf32
from mvgrl.settings import Output, Settings
from mvgrl.stacking import stack_size
from mvgrl.training import Trained, fit


class MVGRL(Method):
    """The encoders of the settings, trained once per seed."""

    name, label, trains = "mvgrl", "MVGRL, trained", True

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds fit in one stack."""
        return stack_size(settings, dataset.graph.nodes, device)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train, and return the vectors and the number of epochs; several outputs share the trained models."""
        inputs = shared_inputs(dataset, settings, context)
        if inputs.settings.epochs != settings.epochs:
            inputs = replace(inputs, settings=settings)

        def train() -> list[Trained]:
            with allow_tf32():
                return fit(inputs, seed=seeds, stack=len(seeds))

        runs = context.shared("trained", (dataset.name, settings.id, tuple(seeds)), train)
        return [Outcome(run.vectors(output=output), epochs=len(run.history.losses)) for run in runs]


def shared_inputs(dataset: Dataset, settings: Settings, context: Context) -> Inputs:
    """Return features and views, shared by runs with the same settings except for the number of epochs."""
    key = (dataset.name, replace(settings, epochs=0).id)
    inputs: Inputs = context.shared(
        "inputs", key, lambda: prepare(dataset.graph, settings, device=context.device, cache=context.cache)
    )
    return inputs
