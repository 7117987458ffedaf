"""Table 4: graph classification, one run after the other, each kept as soon as it is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from mvgrl.evaluation import cross_validate, propagated
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.runs import Missing, Progress, lines
from mvgrl.graphs import Graph
from mvgrl.graphs.datasets import Dataset
from mvgrl.model import MVGRL
from mvgrl.training import Batches, feature_encoder, make_batches, train
from mvgrl.views import ViewCache


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
    started = time.perf_counter()  # the first run bears the views, which the others share
    for variant, seed, codes, epochs in _codes(dataset.graph, recipe, missing, device, tell, cache):
        found = cross_validate(codes, dataset.target, seed=seed, device=device)
        score = {"nested": float(found.nested_accuracy[0]), "best_c": float(found.best_c_accuracy[0])}
        seconds = time.perf_counter() - started
        scores = {table: [score] for table in recipe.tables}
        ledger.add(lines(recipe, variant, [seed], scores, [epochs], seconds, device))
        started = time.perf_counter()


def _codes(
    graph: Graph, recipe: Recipe, missing: Missing, device: torch.device, tell: Progress, cache: ViewCache
) -> Iterator[tuple[str, int, Tensor | np.ndarray, int]]:
    """Variant, seed, the codes of all graphs, and the epochs they took."""
    name, settings = f"{recipe.dataset}, {recipe.setting}", recipe.settings
    encoder = feature_encoder(graph, settings)
    batches = make_batches(graph, settings, encoder, device=device, cache=cache)
    for variant, chosen in (("trained", settings), ("untrained", replace(settings, epochs=0))):
        for seed in missing[variant]:
            tell(f"{name}, {variant}: seed {seed}")
            model = MVGRL(chosen, encoder.width, largest=batches.largest, seed=seed).to(device)
            epochs = len(train(model, batches, seed=seed).losses)
            yield variant, seed, _of_graphs(model, batches), epochs
    del batches  # before the next are made
    if missing["propagated"]:
        codes = propagated(graph, settings, device=str(device), cache=cache)
        for seed in missing["propagated"]:  # the same for every seed: only the folds are others
            tell(f"{name}, propagated: seed {seed}")
            yield "propagated", seed, codes, 0


def _of_graphs(model: MVGRL, batches: Batches) -> Tensor:
    """Graph codes alone: those of the nodes, many times as many, are let go with their batch."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model.represent(batch)[1] for batch in batches.whole()])
