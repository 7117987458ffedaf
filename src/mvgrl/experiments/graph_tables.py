"""Table 4: graph classification, one run after the other, each kept as soon as it is done."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mvgrl.datasets import Dataset
from mvgrl.evaluation import cross_validate, propagated
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.runs import Missing, Outcome, RunContext
from mvgrl.graphs import Graph
from mvgrl.model import MVGRL
from mvgrl.runtime import allow_tf32
from mvgrl.training import Batches, feature_encoder, make_batches, train

Codes = Tensor | np.ndarray


def run(dataset: Dataset, recipe: Recipe, missing: Missing, bench: RunContext) -> None:
    """Vectors from each seed, and an SVM on folds shuffled by it; written at once, so that a kill loses one run."""
    work = _Work(dataset.graph, recipe, bench)  # the first run bears the views, which the others share
    for variant, seeds in missing.items():
        for seed in seeds:
            bench.attempt(recipe, variant, [seed], partial(_scored, work, dataset, recipe, variant, seed))


def _scored(work: _Work, dataset: Dataset, recipe: Recipe, variant: str, seed: int) -> Outcome:
    codes, epochs = work.codes(variant, seed)
    found = cross_validate(codes, dataset.target, seed=seed, device=work.device)
    score = {"nested": float(found.nested_accuracy[0]), "best_c": float(found.best_c_accuracy[0])}
    return {table: [score] for table in recipe.tables}, [epochs]


class _Work:
    """What the runs of a recipe share: the batches of those that train, the vectors of those that do not."""

    def __init__(self, graph: Graph, recipe: Recipe, bench: RunContext) -> None:
        self.graph, self.settings, self.device, self.cache = graph, recipe.settings, bench.device, bench.cache
        self.batches: Batches | None = None
        self.propagated: np.ndarray | None = None
        self.encoder = feature_encoder(graph, recipe.settings)

    def codes(self, variant: str, seed: int) -> tuple[Codes, int]:
        """The codes of all graphs, and the epochs they took."""
        if variant == "propagated":  # the same for every seed: only the folds are others
            self.batches = None  # before the next are made
            if self.propagated is None:
                self.propagated = propagated(self.graph, self.settings, device=str(self.device), cache=self.cache)
            return self.propagated, 0
        chosen = replace(self.settings, epochs=0) if variant == "untrained" else self.settings
        if self.batches is None:
            self.batches = make_batches(self.graph, chosen, self.encoder, device=self.device, cache=self.cache)
        model = MVGRL(chosen, self.encoder.width, largest=self.batches.largest, seed=seed).to(self.device)
        with allow_tf32():
            epochs = len(train(model, self.batches, seed=seed).losses)
        return _of_graphs(model, self.batches), epochs


def _of_graphs(model: MVGRL, batches: Batches) -> Tensor:
    """Graph codes alone: those of the nodes, many times as many, are let go with their batch."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model.represent(batch)[1] for batch in batches.whole()])
