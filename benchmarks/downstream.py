"""Default vectors under common classifiers, with components mixed in blocks of several lengths: mean accuracies.

Twenty nodes per class are drawn for training, and the others classified, 20 times per training; the test nodes of the
public splits take no part. Distances do not depend on the mixing, so logistic regression does not either; classifiers
that treat every dimension separately do.

    python benchmarks/downstream.py
    python benchmarks/downstream.py --datasets cora --seeds 3 --data-root ../shared/data --json
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mvgrl.datasets import load
from mvgrl.evaluation.linear_probe import linear_probe
from mvgrl.settings import Output
from mvgrl.training import fit
from mvgrl.vector_space import mixed

SPLITS, PER_CLASS = 20, 20
FIRST = (1, 16, 64, 256, 512)  # length of the first block; 1: principal components
LENGTHS = (64, 512)  # numbers of the vector

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
    "StandardScaler, logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "random forest": lambda: RandomForestClassifier(random_state=0),
    "MLP": lambda: MLPClassifier(random_state=0),
    "nearest neighbours": lambda: KNeighborsClassifier(5),
}


def splits(target: np.ndarray, nodes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Train nodes, so many per class, and the others, several times."""
    found = []
    for number in range(SPLITS):
        order = np.random.default_rng(number).permutation(nodes)
        train = np.concatenate([order[target[order] == label][:PER_CLASS] for label in np.unique(target[nodes])])
        found.append((train, np.setdiff1d(order, train)))
    return found


def measured(name: str, seeds: int, root: Path | None) -> dict[str, Any]:
    """Accuracies by length, first block and classifier."""
    data = load(name, root)
    assert data.splits is not None
    nodes = np.setdiff1d(np.arange(data.graph.nodes), data.splits["test"])
    scores: dict[str, dict[str, list[float]]] = {}
    for seed in range(seeds):
        trained = fit(data.named(), {}, seed=seed, device="cpu")
        vectors, space = trained.vectors(), trained.compose(Output()).space
        components = vectors @ (space.directions(vectors.shape[1]).T @ space.rotation[:, : vectors.shape[1]]).numpy()
        for length in LENGTHS:
            for first in FIRST:
                some = torch.from_numpy(components[:, :length])
                rows = (some if first == 1 else mixed(some, first)).numpy()
                found = scores.setdefault(f"{length} numbers, first block {first}", {})
                for train, rest in splits(data.target, nodes):
                    probe = linear_probe(rows, data.target, train, rest)
                    found.setdefault("linear, 300 steps of Adam", []).append(100 * float(probe))
                    for label, make in CLASSIFIERS.items():
                        model = make().fit(rows[train], data.target[train])
                        found.setdefault(label, []).append(100 * model.score(rows[rest], data.target[rest]))
    return {
        row: {label: {"mean": float(np.mean(all_)), "std": float(np.std(all_))} for label, all_ in found.items()}
        for row, found in scores.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--seeds", type=int, default=1, help="trainings")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    results: dict[str, Any] = {"trainings": given.seeds, "splits": SPLITS, "per_class": PER_CLASS}
    for name in given.datasets:
        results[name] = measured(name, given.seeds, given.data_root)
        if not given.json:
            for row, found in results[name].items():
                print(f"{name}, {row}:", ", ".join(f"{label} {one['mean']:.1f}" for label, one in found.items()))
    if given.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
