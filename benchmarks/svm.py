"""Nested cross-validation of a linear SVM, all problems as one batch, compared with GridSearchCV over LinearSVC.

Both get the same vectors and the same folds: two overlapping Gaussian classes with variances that decrease along the
principal axes, steeply, as in the graph vectors that two layers learn on IMDB-BINARY, or gently, which is easier for
LinearSVC. Each runs after a small warm-up and may use every core: ours with threads, GridSearchCV with a worker process
per core. LinearSVC is timed on some of the outer folds, and its time is scaled to all. It stops at its default
tolerance, ours at the optimum; ours also computes the best-C protocol, which the other's time does not include. A ratio
is theirs / ours: above 1, ours is faster.

    python benchmarks/svm.py
    python benchmarks/svm.py --output results/benchmarks/svm.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import alone, spent
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from mvgrl.evaluation.svm import CrossValidated, LinearSVM, cross_validate
from mvgrl.folds import shuffled_folds
from mvgrl.tables.atomic import atomic_write

CS = tuple(10.0**exponent for exponent in range(-3, 4))
FOLDS, INNER_FOLDS, MAX_ITER = 10, 5, 20_000
SPECTRA: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # the variance along each axis, up to scale
    "steep": lambda axes: 1 / (1 + (axes / 6) ** 3),
    "gentle": lambda axes: axes**-1.5,
}
SCALES = {
    "steep": 1.0,
    "gentle": 0.3,
}  # the standard deviation of a column: as on IMDB-BINARY; smaller, for a larger best C

Data = tuple[str, int, int, int]  # the spectrum, points, columns, seed


def overlapping_classes(spectrum: str, points: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of two classes with means that differ along the leading axes, and their classes."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(points) % 2)
    deviations = np.sqrt(SPECTRA[spectrum](np.arange(1.0, columns + 1)))
    deviations *= SCALES[spectrum] / np.sqrt(np.square(deviations).mean())
    apart = np.where(np.arange(columns) < 32, rng.normal(size=columns), 0.0)
    apart *= 1.6 / np.linalg.norm(apart)
    codes = rng.normal(size=(points, columns)) + np.outer(truth - 0.5, apart)
    axes = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    return (codes * deviations) @ axes, truth


def ours(data: Data) -> CrossValidated:
    return cross_validate(*overlapping_classes(*data), folds=FOLDS, inner_folds=INNER_FOLDS, Cs=CS)


def scored(machine: Any, codes: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    return {"accuracy": machine.score(codes, truth), "unconverged": float(np.max(machine.n_iter_) >= MAX_ITER)}


def theirs(data: Data, timed: int) -> dict[str, list[float]]:
    """The choices and scores of GridSearchCV on the first outer folds, and how many of its fits did not converge."""
    codes, truth = overlapping_classes(*data)
    found: dict[str, list[float]] = {"C": [], "accuracy": [], "unconverged": []}
    for train, test in list(shuffled_folds(FOLDS, 0, 0).split(codes, truth))[:timed]:
        search = GridSearchCV(
            LinearSVC(dual="auto", max_iter=MAX_ITER),
            {"C": CS},
            cv=shuffled_folds(INNER_FOLDS, 0, 0),
            n_jobs=os.cpu_count(),
            scoring=scored,
            refit="accuracy",
        ).fit(codes[train], truth[train])
        found["C"].append(search.best_params_["C"])
        found["accuracy"].append(100 * search.best_estimator_.score(codes[test], truth[test]))
        found["unconverged"].append(INNER_FOLDS * float(search.cv_results_["mean_test_unconverged"].sum()))
    return found


def measured_ours(data: Data) -> tuple[CrossValidated, dict[str, float]]:
    ours(("gentle", 60, 8, 1))  # starts the threads
    return spent(ours, data)


def measured_theirs(data: Data, timed: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    theirs(("gentle", 60, 8, 1), 1)  # starts the workers
    return spent(theirs, data, timed)


def benchmark(data: Data, timed: int) -> dict[str, Any]:
    started = os.getloadavg()[0]
    our_result, our_cost = alone(measured_ours, data)
    their_result, their_cost = measured_theirs(
        data, timed
    )  # in this process: its workers find ``scored`` in the main module
    their_seconds = their_cost["seconds"] * FOLDS / timed
    return {
        "points": data[1],
        "columns": data[2],
        "cores": os.cpu_count(),
        "load_before": started,
        "time_ratio": their_seconds / our_cost["seconds"],
        "nested_accuracy": float(our_result.nested_accuracy[0]),
        "best_c_accuracy": float(our_result.best_c_accuracy[0]),
        "folds": FOLDS,
        "folds_timed": timed,
        "C": {"ours": our_result.nested_cs[0, :timed].tolist(), "theirs": their_result["C"]},
        "accuracy": {
            "ours": fold_accuracies(data, our_result.nested_cs[0, :timed]),
            "theirs": their_result["accuracy"],
        },
        "unconverged_fits": sum(their_result["unconverged"]),
        "timed_fits": timed * (INNER_FOLDS * len(CS) + 1),
        "seconds": {"ours": our_cost["seconds"], "theirs": their_seconds, "theirs_timed": their_cost["seconds"]},
        "bytes": our_cost["bytes"],
    }


def fold_accuracies(data: Data, chosen: np.ndarray) -> list[float]:
    """The accuracy of our SVM with the C it chose, on each of the folds that LinearSVC was timed on."""
    codes, truth = overlapping_classes(*data)
    parts = shuffled_folds(FOLDS, 0, 0).split(codes, truth)
    return [
        100 * LinearSVM(C=float(C)).fit(codes[train], truth[train]).score(codes[test], truth[test])
        for C, (train, test) in zip(chosen, parts, strict=False)
    ]


def show(name: str, result: dict[str, Any]) -> str:
    seconds, timed = result["seconds"], result["folds_timed"]
    return "\n".join(
        [
            f"{name}: {result['points']:,} points, {result['columns']:,} columns, {FOLDS} folds of {INNER_FOLDS}, 7 Cs",
            f"  ours           {seconds['ours']:8.2f} s",
            f"  GridSearchCV   {seconds['theirs']:8.2f} s ({timed} of {FOLDS} folds timed), "
            f"{result['time_ratio']:.1f} times as long",
            f"  C chosen       {result['C']['ours']}, {result['C']['theirs']}",
            f"  fold accuracy  {result['accuracy']['ours']}, {result['accuracy']['theirs']}",
            f"  {result['unconverged_fits']:.0f} of {result['timed_fits']} timed fits of LinearSVC did not converge "
            f"in {MAX_ITER:,} iterations.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1000, help="number of vectors (default: 1000)")
    parser.add_argument("--columns", type=int, default=512, help="columns per vector (default: 512)")
    parser.add_argument(
        "--timed-folds", type=int, default=3, help="outer folds that LinearSVC is timed on (default: 3)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the vectors (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--output", type=Path, help="also write the JSON to a file")
    options = parser.parse_args()
    result = {
        name: benchmark((name, options.points, options.columns, options.seed), options.timed_folds) for name in SPECTRA
    }
    text = json.dumps(result, indent=2)
    if options.output is not None:
        with atomic_write(options.output) as temporary:
            temporary.write_text(text + "\n")
    sys.stdout.write((text if options.json else "\n".join(show(*item) for item in result.items())) + "\n")


if __name__ == "__main__":
    main()
