"""Does the score of a search tell good settings from bad ones? Rank correlation with the accuracy on test nodes.

Random settings of the search space are scored as ``mvgrl search`` scores them: by hidden edges, without any label, and
by the labels of a fifth of the nodes. Their vectors are then classified on the other nodes, whose labels no score has
seen: mean accuracy over ten random splits of them. The correlation is Spearman's, with a 95 % interval from resampled
trials; over several datasets, it is the mean of theirs.

    python benchmarks/criteria.py --dataset cora --trials 24
    python benchmarks/criteria.py --dataset citeseer --dataset amazon-photo --device cuda --json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from mvgrl.datasets import load
from mvgrl.evaluation.logistic import logistic_probe
from mvgrl.evaluation.splits import random_splits
from mvgrl.settings import Output
from mvgrl.training import fit
from mvgrl.tuning import Problem
from mvgrl.tuning.space import suggest

SCORES = ("hidden-edges", "labels")
SPLITS = 10


class RandomTrial:
    """Draws every setting at random, with the interface of a trial of Optuna."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 7])

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def suggest_int(self, name: str, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def suggest_float(self, name: str, low: float, high: float, *, log: bool) -> float:
        assert log
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))


def measured(name: str, trials: int, device: str, root: Path | None, fixed: dict[str, Any], output: Output) -> Any:
    """Return the trials of a dataset: settings, both scores and the accuracy on test nodes."""
    data = load(name, root)
    names = np.asarray(data.classes, dtype=object)[data.target].astype(str)
    (split,) = random_splits(names, count=1)
    others = split["test"]
    known = names.copy()
    known[others] = ""
    splits = random_splits(names[others], count=SPLITS)
    free = Problem(data.graph, None, fixed, output, device=device)
    labelled = Problem(data.graph, known, fixed, output, device=device)
    found = []
    for number in range(trials):
        tuned = suggest(RandomTrial(number), "node", fixed)
        vectors = fit(data.graph, free.settings(tuned), device=device).vectors(output=output)[others]
        accuracies = [
            logistic_probe(vectors, names[others], one["train"], one["test"], val=one["val"], device=device)
            for one in splits
        ]
        test = 100 * float(np.mean(accuracies))
        scores = {"hidden-edges": free.score(tuned), "labels": labelled.score(tuned), "test": test}
        found.append({**tuned, **scores})
        print(name, number, {key: round(value, 2) for key, value in scores.items()}, file=sys.stderr, flush=True)
    return found


def correlation(datasets: list[list[dict[str, float]]], name: str) -> dict[str, float]:
    """Return the rank correlation of a score with the accuracy, averaged over datasets, with an interval."""
    tables = [np.array([[one[name], one["test"]] for one in found]) for found in datasets]
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(2000):
        resampled = [pairs[rng.integers(len(pairs), size=len(pairs))] for pairs in tables]
        if all((np.ptp(some, axis=0) > 0).all() for some in resampled):
            drawn.append(_mean_correlation(resampled))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"spearman": _mean_correlation(tables), "low": float(low), "high": float(high)}


def _mean_correlation(tables: list[np.ndarray]) -> float:
    return float(np.mean([spearmanr(*pairs.T)[0] for pairs in tables]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dataset", action="append")
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--epochs", type=int, help="at most so many")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    fixed: dict[str, Any] = {} if options.epochs is None else {"epochs": options.epochs}
    results: dict[str, Any] = {}
    for name in options.dataset or ["cora", "citeseer"]:
        output = Output(preset=options.preset).for_task("node")
        found = measured(name, options.trials, options.device, options.data_root, fixed, output)
        results[name] = {"correlation": {score: correlation([found], score) for score in SCORES}, "trials": found}
    together = [result["trials"] for result in results.values()]
    results["mean"] = {"correlation": {score: correlation(together, score) for score in SCORES}}
    if options.json:
        print(json.dumps({"preset": options.preset, "epochs": options.epochs, **results}, indent=2))
        return
    for name, result in results.items():
        print(name, {score: round(value["spearman"], 2) for score, value in result["correlation"].items()})


if __name__ == "__main__":
    main()
