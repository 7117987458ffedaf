"""Random splits: the accuracies of a plain loop over splits, and no score of a node that chose the defaults."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from mvgrl.evaluation import logistic_probe, newton, random_probe, random_splits
from mvgrl.evaluation.random_probe import random_10_accuracy, random_20_accuracy, tuning_nodes

GRID = (1e-2, 1.0, 1e2)


@pytest.fixture(scope="module")
def blobs() -> tuple[torch.Tensor, np.ndarray]:
    points, labels = make_blobs([150, 110, 40], n_features=6, cluster_std=5.0, random_state=3)
    return torch.from_numpy(points.astype(np.float32)), labels + 5


@pytest.fixture(params=["scikit-learn", "batched"])
def _solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve as on the CPU, or all splits together as on a GPU."""
    if request.param == "batched":
        monkeypatch.setattr(random_probe, "solve_with_sklearn", newton.solve)
        monkeypatch.setitem(random_probe._GROUP_BYTES, "cpu", 2**30)


@pytest.mark.usefixtures("_solver")
def test_10_10_80_is_the_converged_probe_on_each_split(blobs: tuple[torch.Tensor, np.ndarray]) -> None:
    codes, labels = blobs
    splits = random_splits(labels, train_fraction=0.1, val_fraction=0.1, count=4)
    expected = []
    for number in (0, 3):
        train, val, test = splits[number].values()
        test = np.setdiff1d(test, tuning_nodes(len(labels)))
        expected.append(100 * float(logistic_probe(codes, labels, train, test, val=val)))
    assert random_10_accuracy(codes, labels, [0, 3], tuning_nodes(len(labels))) == pytest.approx(expected)
    assert expected[0] != expected[1]


@pytest.mark.usefixtures("_solver")
def test_20_80_chooses_the_strength_by_folds_of_the_train_nodes(
    blobs: tuple[torch.Tensor, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_probe, "STRENGTHS", GRID)
    codes, labels = blobs
    found = random_20_accuracy(codes, labels, [1, 2], tuning_nodes(len(labels)))
    train, _, test = random_splits(labels, train_fraction=0.2, val_fraction=0.0, count=3)[2].values()
    points = codes.double().numpy()
    points = points - points[train].mean(0)
    points /= np.sqrt((points[train] ** 2).sum(1).mean())
    order = np.random.default_rng([2, 1]).permutation(train)
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.concatenate([np.arange(count) % 5 for count in np.unique(labels[order], return_counts=True)[1]])
    parts = [(order[fold != number], order[fold == number]) for number in range(5)]

    def hits(C: float) -> int:
        return sum((machine(C).fit(points[a], labels[a]).predict(points[b]) == labels[b]).sum() for a, b in parts)

    kept = np.setdiff1d(test, tuning_nodes(len(labels)))
    best = machine(max(GRID, key=hits)).fit(points[train], labels[train])
    assert found[1] == pytest.approx(100 * (best.predict(points[kept]) == labels[kept]).mean())


def machine(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, tol=1e-8, max_iter=10_000)


@pytest.mark.parametrize("accuracy", [random_10_accuracy, random_20_accuracy])
def test_excluded_nodes_are_not_scored(accuracy: Callable[..., np.ndarray]) -> None:
    labels = np.arange(200) % 2
    codes = torch.from_numpy(labels[:, None] * 2.0 - 1.0)
    hidden = tuning_nodes(200)
    assert len(hidden) == 40
    assert np.array_equal(hidden, np.random.default_rng(12345).permutation(200)[:40])
    parts = "train", "val"
    options = dict(val_fraction=0.1) if accuracy is random_10_accuracy else dict(val_fraction=0.0, train_fraction=0.2)
    split = random_splits(labels, count=1, **options)[0]
    untouched = np.setdiff1d(hidden, np.concatenate([split[part] for part in parts]))
    assert 0 < len(untouched) < 40  # some are train or val nodes
    codes[untouched] *= -1  # all predicted wrong
    assert accuracy(codes, labels, [0], hidden).tolist() == [100.0]
    assert accuracy(codes, labels, [0])[0] < 100
    codes[np.setdiff1d(split["test"], hidden)[:16]] *= -1
    assert accuracy(codes, labels, [0], hidden)[0] < 100


def test_a_class_with_one_train_node_does_not_stop_the_folds() -> None:
    labels = np.array([0] * 60 + [1] * 60 + [2] * 4)
    codes = torch.from_numpy(np.eye(3)[labels])
    assert (random_20_accuracy(codes, labels, [0, 1]) > 95).all()  # all of the large classes
