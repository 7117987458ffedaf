"""Tables 2 and 3: node classification and node clustering, many runs at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mvgrl.datasets import Dataset
from mvgrl.evaluation import clustering_scores, linear_predictions, logistic_probe, propagated
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.runs import Missing, Outcome, RunContext
from mvgrl.runtime import allow_tf32
from mvgrl.stacking import fit_seeds, stackable


def run(dataset: Dataset, recipe: Recipe, missing: Missing, bench: RunContext) -> None:
    """Train the missing seeds of every variant, score the recipe's tables from the same vectors, write their lines."""
    stack = _at_once(dataset, recipe, bench.device)
    for variant, seeds in missing.items():
        size = max(stack, 10) if variant == "propagated" else stack  # whose vectors are the same for all
        for start in range(0, len(seeds), size):
            some = seeds[start : start + size]
            bench.attempt(recipe, variant, some, partial(_scored, dataset, recipe, variant, some, bench))


def _scored(dataset: Dataset, recipe: Recipe, variant: str, seeds: Sequence[int], bench: RunContext) -> Outcome:
    settings = recipe.settings
    if variant == "propagated":  # the same for every seed: only the probe and K-Means start anew
        codes = propagated(dataset.graph, settings, device=str(bench.device), cache=bench.cache)
        return _scores((codes for _ in seeds), dataset, recipe, seeds, bench.device), [0 for _ in seeds]
    chosen = replace(settings, epochs=0) if variant == "untrained" else settings
    with allow_tf32():
        trained = fit_seeds(dataset.graph, chosen, seeds, device=bench.device, cache=bench.cache, at_once=len(seeds))
    scores = _scores((run.represent()[0] for run in trained), dataset, recipe, seeds, bench.device)
    return scores, [len(run.history.losses) for run in trained]


def _scores(
    vectors: Iterable[np.ndarray], dataset: Dataset, recipe: Recipe, seeds: Sequence[int], device: torch.device
) -> dict[str, list[dict[str, float]]]:
    """The scores of the recipe's tables, an entry a seed."""
    splits = dataset.splits
    assert splits is not None
    nodes = np.concatenate([splits["train"], splits["val"], splits["test"]])
    inside = torch.from_numpy(nodes).to(device)
    kept, clusters = [], []
    for seed, vectors_of_seed in zip(seeds, vectors, strict=True):
        codes = torch.from_numpy(vectors_of_seed).to(device)
        kept.append(codes[inside])
        if "node-clustering" in recipe.tables:
            found = clustering_scores(codes, dataset.target, runs=1, seed=seed)
            clusters.append({name: float(values[0]) for name, values in found.items()})
    if recipe.tables == ("node-clustering",):
        return {"node-clustering": clusters}
    sizes = [len(splits[part]) for part in ("train", "val", "test")]
    classified = _classified(torch.stack(kept), dataset.target[nodes], sizes, recipe.weight_decay, seeds)
    return {table: clusters if table == "node-clustering" else classified for table in recipe.tables}


def _classified(
    codes: Tensor, truth: np.ndarray, sizes: Sequence[int], weight_decay: float, seeds: Sequence[int]
) -> list[dict[str, float]]:
    """Both probes of all seeds at once; codes of the train, val and test nodes, one part after the other."""
    train, val, test = np.split(np.arange(len(truth)), np.cumsum(sizes)[:-1])
    scored = np.concatenate([val, test])
    hits = 100.0 * (
        linear_predictions(codes, truth, train, scored, weight_decay=weight_decay, seed=list(seeds)) == truth[scored]
    )
    tuned = 100.0 * logistic_probe(codes, truth, train, test, val=val)
    return [
        {
            "accuracy": float(one[len(val) :].mean()),
            "validation": float(one[: len(val)].mean()),
            "logistic": float(best),
        }
        for one, best in zip(hits, tuned, strict=True)
    ]


def _at_once(dataset: Dataset, recipe: Recipe, device: torch.device) -> int:
    """How many seeds fit into half of the memory, by the measured hundred bytes a node, dimension and layer."""
    if device.type == "cpu" or not stackable(recipe.settings):
        return 1  # which a single training keeps busy; or which is all that can be trained as one
    free = torch.cuda.mem_get_info(device)[0]
    samples = recipe.settings.sample_size * recipe.settings.batch_size
    nodes = dataset.graph.nodes if recipe.settings.sampler == "full" else max(samples, dataset.graph.nodes)
    each = nodes * recipe.settings.hidden * recipe.settings.layers * 100
    return max(1, min(50, int(free / 2 / each)))
