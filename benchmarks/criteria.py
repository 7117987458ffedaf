"""Does the score of a search tell good settings from bad ones? Rank correlation with the accuracy on test nodes.

Random settings of the search space are scored as ``mvgrl search`` scores them: by hidden edges, without any label, and
by labels of train and validation nodes. Their vectors are then classified on test nodes that no score has seen. The
correlation is Spearman's, with a 95 % interval from resampled trials.

    python benchmarks/criteria.py --dataset cora-linqs --trials 24
    python benchmarks/criteria.py --dataset citeseer --device cuda --json
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
    split = data.splits or random_splits(data.target, count=1)[0]
    names = np.asarray(data.classes, dtype=object)[data.target].astype(str)
    known = np.full(len(names), "", dtype=names.dtype)
    for part in ("train", "val"):
        known[split[part]] = names[split[part]]
    free = Problem(data.graph, None, fixed, output, device=device)
    labelled = Problem(data.graph, known, fixed, output, device=device)
    found = []
    for number in range(trials):
        tuned = suggest(RandomTrial(number), "node", fixed)
        vectors = fit(data.graph, free.settings(tuned), device=device).vectors(output=output)
        test = logistic_probe(vectors, names, split["train"], split["test"], val=split["val"])
        scores = {"hidden-edges": free.score(tuned), "labels": labelled.score(tuned), "test": 100 * float(test)}
        found.append({**tuned, **scores})
        print(name, number, {key: round(value, 2) for key, value in scores.items()}, file=sys.stderr, flush=True)
    return found


def correlation(found: list[dict[str, float]], name: str) -> dict[str, float]:
    """Return the rank correlation of a score with the accuracy, with an interval."""
    pairs = np.array([[one[name], one["test"]] for one in found])
    rng = np.random.default_rng(0)
    drawn = [pairs[rng.integers(len(pairs), size=len(pairs))] for _ in range(1000)]
    resampled = [spearmanr(*some.T)[0] for some in drawn if (np.ptp(some, axis=0) > 0).all()]
    low, high = np.quantile(resampled, [0.025, 0.975])
    return {"spearman": float(spearmanr(*pairs.T)[0]), "low": float(low), "high": float(high)}


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
    results = {}
    for name in options.dataset or ["cora-linqs", "citeseer"]:
        output = Output(preset=options.preset).for_task("node")
        found = measured(name, options.trials, options.device, options.data_root, fixed, output)
        scores = {score: correlation(found, score) for score in ("hidden-edges", "labels")}
        results[name] = {"correlation": scores, "trials": found}
        if not options.json:
            print(name, {score: round(value["spearman"], 2) for score, value in scores.items()}, flush=True)
    if options.json:
        print(json.dumps({"preset": options.preset, "epochs": options.epochs, **results}, indent=2))


if __name__ == "__main__":
    main()
