"""Default vectors without trained codes: only the parts that need no training."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mvgrl.automatic import resolve_output
from mvgrl.beside import KINDS
from mvgrl.datasets import Dataset
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import as_vectors
from mvgrl.methods.mvgrl import shared_inputs
from mvgrl.settings import Output, Settings
from mvgrl.vectors import fitted_space


class BesideAlone(Method):
    """The parts that need no training, scaled and rotated as in the default vectors, and as long.

    For nodes, raw and propagated features or positions; for graphs, counts and a histogram. The difference to default
    vectors is what training adds.
    """

    name, label, seeded = "beside-alone", "default vectors without codes", False
    preset = "default"

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        chosen = resolve_output(dataset.graph, settings, Output(), device=context.device)
        inputs = shared_inputs(dataset, settings, context)
        with torch.no_grad():  # not inference mode: matrices keep their transposes, and training uses them too
            beside = KINDS[chosen.beside].fit(inputs)
            parts = [part for part in beside.parts(inputs) if part is not None]
            return [Outcome(as_vectors(fitted_space(parts, beside, inputs).transform(parts, chosen.dim)))]
