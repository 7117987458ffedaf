"""Table 4: graph classification, one run after the other, each kept as soon as it is done."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.evaluation import cross_validate, propagated
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.published import GRAPH_DATASETS
from mvgrl.experiments.recipes import Recipe, load_recipe
from mvgrl.experiments.runs import Missing, Progress, completed, lines
from mvgrl.graphs import Graph
from mvgrl.graphs.datasets import Dataset
from mvgrl.model import MVGRL
from mvgrl.training import Batches, feature_encoder, make_batches, train


def reproduce(
    experiment: str,
    ledger: Ledger,
    *,
    datasets: Sequence[str] = GRAPH_DATASETS,
    runs: int = 5,
    setting: str = "best",
    device: str = "auto",
    data_root: Path | None = None,
    recipes: Path | None = None,
    tell: Progress = lambda text: None,
) -> list[dict[str, Any]]:
    """Run what the ledger lacks, and return the table: a row a dataset and way to choose the SVM's C."""
    chosen = [load_recipe(name, setting, table=experiment, folder=recipes) for name in datasets]
    return completed(experiment, ledger, chosen, _run, runs=runs, device=device, data_root=data_root, tell=tell)


def _run(
    dataset: Dataset, recipe: Recipe, missing: Missing, ledger: Ledger, device: torch.device, tell: Progress
) -> None:
    """Vectors from each seed, and an SVM on folds shuffled by it; written at once, so that a kill loses one run."""
    started = time.perf_counter()  # the first run bears the views, which the others share
    for variant, seed, codes, epochs in _codes(dataset.graph, recipe, missing, device, tell):
        found = cross_validate(codes, dataset.target, seed=seed, device=device)
        score = {"nested": float(found.nested_accuracy[0]), "best_c": float(found.best_c_accuracy[0])}
        seconds = time.perf_counter() - started
        ledger.add(lines(recipe, variant, [seed], {"graph-classification": [score]}, [epochs], seconds, device))
        started = time.perf_counter()


def _codes(
    graph: Graph, recipe: Recipe, missing: Missing, device: torch.device, tell: Progress
) -> Iterator[tuple[str, int, Tensor | np.ndarray, int]]:
    """Variant, seed, the codes of all graphs, and the epochs they took."""
    name, settings = f"{recipe.dataset}, {recipe.setting}", recipe.settings
    encoder = feature_encoder(graph, settings)
    batches = make_batches(graph, settings, encoder, device=device)
    for variant, chosen in (("trained", settings), ("untrained", replace(settings, epochs=0))):
        for seed in missing[variant]:
            tell(f"{name}, {variant}: seed {seed}")
            model = MVGRL(chosen, encoder.width, largest=batches.largest, seed=seed).to(device)
            epochs = len(train(model, batches, seed=seed).losses)
            yield variant, seed, _of_graphs(model, batches), epochs
    del batches  # before the next are made
    if missing["propagated"]:
        codes = propagated(graph, settings, device=str(device))
        for seed in missing["propagated"]:  # the same for every seed: only the folds are others
            tell(f"{name}, propagated: seed {seed}")
            yield "propagated", seed, codes, 0


def _of_graphs(model: MVGRL, batches: Batches) -> Tensor:
    """Graph codes alone: those of the nodes, many times as many, are let go with their batch."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model.represent(batch)[1] for batch in batches.whole()])
