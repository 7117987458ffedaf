"""Table 4: graph classification, one run after the other, each kept as soon as it is done."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from mvgrl.evaluation import cross_validate, propagated
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.runs import Missing, Progress, failed_lines, lines, reason
from mvgrl.graphs import Graph
from mvgrl.graphs.datasets import Dataset
from mvgrl.model import MVGRL
from mvgrl.training import Batches, feature_encoder, make_batches, train
from mvgrl.views import ViewCache

Codes = Tensor | np.ndarray


def run(
    dataset: Dataset,
    recipe: Recipe,
    missing: Missing,
    ledger: Ledger,
    device: torch.device,
    tell: Progress,
    cache: ViewCache,
) -> None:
    """Vectors from each seed, and an SVM on folds shuffled by it; written at once, so that a kill loses one run."""
    work = _Work(dataset.graph, recipe, device, cache)
    for variant, seeds in missing.items():
        for seed in seeds:
            what = f"{recipe.dataset}, {recipe.setting}, {variant}: seed {seed}"
            tell(what)
            started = time.perf_counter()  # the first run bears the views, which the others share
            try:
                codes, epochs = work.codes(variant, seed)
                found = cross_validate(codes, dataset.target, seed=seed, device=device)
            except Exception as error:
                why = reason(error)
            else:
                why = ""
            seconds = time.perf_counter() - started
            if why:
                tell(f"{what} failed: {why}")
                ledger.add(failed_lines(recipe, variant, [seed], why, seconds, device))
                continue
            score = {"nested": float(found.nested_accuracy[0]), "best_c": float(found.best_c_accuracy[0])}
            scores = {table: [score] for table in recipe.tables}
            ledger.add(lines(recipe, variant, [seed], scores, [epochs], seconds, device))


class _Work:
    """What the runs of a recipe share: the batches of those that train, the vectors of those that do not."""

    def __init__(self, graph: Graph, recipe: Recipe, device: torch.device, cache: ViewCache) -> None:
        self.graph, self.settings, self.device, self.cache = graph, recipe.settings, device, cache
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
        epochs = len(train(model, self.batches, seed=seed).losses)
        return _of_graphs(model, self.batches), epochs


def _of_graphs(model: MVGRL, batches: Batches) -> Tensor:
    """Graph codes alone: those of the nodes, many times as many, are let go with their batch."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model.represent(batch)[1] for batch in batches.whole()])
