"""Tables 2 and 3: node classification and node clustering, many runs at once."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import mvgrl
from mvgrl.evaluation import clustering_scores, linear_predictions, propagated
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.published import METRICS, NODE_DATASETS, PUBLISHED
from mvgrl.experiments.recipes import Recipe, load_recipe
from mvgrl.graphs import load
from mvgrl.graphs.datasets import Dataset
from mvgrl.many_seeds import fit_seeds
from mvgrl.training import resolve_device
from mvgrl.views import ViewCache

EXPERIMENTS = ("node-classification", "node-clustering")
VARIANTS = ("trained", "untrained", "propagated")
Progress = Callable[[str], None]


def reproduce(
    experiment: str,
    ledger: Ledger,
    *,
    datasets: Sequence[str] = NODE_DATASETS,
    runs: int = 50,
    setting: str = "best",
    device: str = "auto",
    data_root: Path | None = None,
    recipes: Path | None = None,
    tell: Progress = lambda text: None,
) -> list[dict[str, Any]]:
    """Run what the ledger lacks, and return the table: a row a dataset and metric."""
    chosen = [load_recipe(name, setting, folder=recipes) for name in datasets]
    for recipe in chosen:
        missing = _missing(ledger, experiment, recipe, runs)
        if any(missing.values()):
            _run(load(recipe.dataset, data_root), recipe, missing, ledger, resolve_device(device), tell)
    return table(experiment, ledger, chosen, runs=runs)


def table(experiment: str, ledger: Ledger, recipes: Sequence[Recipe], *, runs: int = 50) -> list[dict[str, Any]]:
    """The rows of a table from the ledger alone, the paper's numbers beside ours; a dataset without runs has none."""
    found = [run for run in ledger if run.experiment == experiment and run.seed < runs]
    rows = []
    for recipe in recipes:
        mine = {
            variant: [run for run in found if run.key[1:4] == (recipe.dataset, recipe.setting, variant)]
            for variant in VARIANTS
        }
        mine = {variant: [run for run in some if run.recipe == recipe.id] for variant, some in mine.items()}
        for metric in METRICS[experiment] if mine["trained"] else ():
            scores = {variant: np.array([run.scores[metric] for run in some]) for variant, some in mine.items()}
            rows.append(
                {
                    "dataset": recipe.dataset,
                    "metric": metric,
                    "mean": float(scores["trained"].mean()),
                    "std": float(scores["trained"].std()),
                    "runs": len(scores["trained"]),
                    "paper": PUBLISHED[experiment].get(recipe.dataset, {}).get(metric),
                    "untrained": float(scores["untrained"].mean()) if len(scores["untrained"]) else None,
                    "propagated": float(scores["propagated"].mean()) if len(scores["propagated"]) else None,
                    "seconds": float(np.mean([run.seconds for run in mine["trained"]])),
                }
            )
    return rows


def _missing(ledger: Ledger, experiment: str, recipe: Recipe, runs: int) -> dict[str, list[int]]:
    """The seeds of each variant that the ledger does not have yet."""
    there = {run.key for run in ledger}
    key = (experiment, recipe.dataset, recipe.setting)
    return {
        variant: [seed for seed in range(runs) if (*key, variant, seed, recipe.id) not in there] for variant in VARIANTS
    }


def _run(
    dataset: Dataset,
    recipe: Recipe,
    missing: dict[str, list[int]],
    ledger: Ledger,
    device: torch.device,
    tell: Progress,
) -> None:
    """Train, score both tables from the same vectors, and write the lines of both."""
    cache = ViewCache(memory=2**33)
    settings = recipe.settings
    for variant, seeds in missing.items():
        stack = _at_once(dataset, recipe, device)
        for start in range(0, len(seeds), stack):
            some = seeds[start : start + stack]
            which = f"seed {some[0]}" if len(some) == 1 else f"seeds {some[0]} to {some[-1]}"
            tell(f"{dataset.name}, {recipe.setting}, {variant}: {which}")
            started = time.perf_counter()
            if variant == "propagated":  # the same for every seed: only the probe and K-Means start anew
                if start == 0:
                    codes = propagated(dataset.graph, settings, device=str(device))
                epochs = [0] * len(some)
                vectors: Iterable[np.ndarray] = (codes for _ in some)
            else:
                chosen = settings if variant == "trained" else replace(settings, epochs=0)
                trained = fit_seeds(dataset.graph, chosen, some, device=device, cache=cache, at_once=stack)
                epochs = [len(run.history.losses) for run in trained]
                vectors = (run.represent()[0] for run in trained)
            scores = _scores(vectors, dataset, recipe, some, device)
            seconds = (time.perf_counter() - started) / len(some)
            ledger.add(_lines(dataset, recipe, variant, some, scores, epochs, seconds, device))


def _scores(
    vectors: Iterable[np.ndarray], dataset: Dataset, recipe: Recipe, seeds: Sequence[int], device: torch.device
) -> dict[str, list[dict[str, float]]]:
    """The scores of both tables, an entry a seed; all probes train at once, on the split's nodes alone."""
    splits = dataset.splits
    assert splits is not None
    nodes = np.concatenate([splits["train"], splits["val"], splits["test"]])
    train, val, _ = (len(splits[part]) for part in ("train", "val", "test"))
    kept, clusters = [], []
    for seed, vectors_of_seed in zip(seeds, vectors, strict=True):
        codes = torch.from_numpy(vectors_of_seed).to(device)
        kept.append(codes[torch.from_numpy(nodes).to(device)])
        found = clustering_scores(codes, dataset.target, runs=1, seed=seed)
        clusters.append({name: float(values[0]) for name, values in found.items()})
    truth, scored = dataset.target[nodes], np.arange(train, len(nodes))
    predicted = linear_predictions(
        torch.stack(kept), truth, np.arange(train), scored, weight_decay=recipe.weight_decay, seed=list(seeds)
    )
    hits = 100.0 * (predicted == truth[scored])
    classified = [{"accuracy": float(one[val:].mean()), "validation": float(one[:val].mean())} for one in hits]
    return {"node-classification": classified, "node-clustering": clusters}


def _lines(
    dataset: Dataset,
    recipe: Recipe,
    variant: str,
    seeds: Sequence[int],
    scores: dict[str, list[dict[str, float]]],
    epochs: Sequence[int],
    seconds: float,
    device: torch.device,
) -> list[Run]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    versions = {"mvgrl": mvgrl.__version__, "torch": torch.__version__, "python": platform.python_version()}
    return [
        Run(experiment, dataset.name, recipe.setting, variant, seed, score, ended, seconds, name, recipe.id, versions)
        for experiment, found in scores.items()
        for seed, score, ended in zip(seeds, found, epochs, strict=True)
    ]


def _at_once(dataset: Dataset, recipe: Recipe, device: torch.device) -> int:
    """How many seeds fit into half of the memory, by the measured hundred bytes a node, dimension and layer."""
    if device.type == "cpu":
        return 1  # which a single training keeps busy
    free = torch.cuda.mem_get_info(device)[0]
    samples = recipe.settings.sample_size * recipe.settings.batch_size
    nodes = dataset.graph.nodes if recipe.settings.sampler == "full" else max(samples, dataset.graph.nodes)
    each = nodes * recipe.settings.hidden * recipe.settings.layers * 100
    return max(1, min(50, int(free / 2 / each)))
