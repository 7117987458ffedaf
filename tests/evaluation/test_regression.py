"""Ridge regression on frozen vectors, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, r2_score

from mvgrl.errors import InputError
from mvgrl.evaluation.regression import PENALTIES, is_continuous, regression_scores, regression_splits


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(80, 5))
    return points, points @ rng.normal(size=5) + rng.normal(size=80) + 3


def test_scores_equal_scikit_learns_ridge_with_the_penalty_of_the_val_nodes(data):
    points, targets = data
    splits = regression_splits(targets, train_fraction=0.3, val_fraction=0.3, count=3)
    found = regression_scores(points, targets, splits)
    for number, split in enumerate(splits):
        train, val, test = (split[part] for part in ("train", "val", "test"))
        scale = np.square(points[train] - points[train].mean(0)).sum()
        fits = [Ridge(alpha=penalty * scale).fit(points[train], targets[train]) for penalty in PENALTIES]
        best = min(fits, key=lambda fit: np.square(fit.predict(points[val]) - targets[val]).mean())
        assert found["r2"][number] == pytest.approx(r2_score(targets[test], best.predict(points[test])))
        assert found["mae"][number] == pytest.approx(mean_absolute_error(targets[test], best.predict(points[test])))


def test_every_part_has_small_and_large_targets(data):
    _, targets = data
    targets = np.append(targets, np.nan)
    for split in regression_splits(targets, train_fraction=0.25, val_fraction=0.25, count=5):
        for nodes in split.values():
            assert 80 not in nodes
            assert targets[nodes].min() < np.nanquantile(targets, 0.1)
            assert targets[nodes].max() > np.nanquantile(targets, 0.9)


@pytest.mark.parametrize(
    ("labels", "continuous"),
    [
        (np.arange(100), False),
        (np.arange(101), True),
        (np.arange(101).astype(float), True),
        (np.array([0.5, 1.5, np.nan] * 9), False),
        (np.linspace(0, 1, 11), True),
        (np.array([str(number) for number in range(300)]), False),
        (np.array([True, False]), False),
    ],
)
def test_measurements_have_fractions_or_many_values(labels, continuous):
    assert is_continuous(labels) == continuous


def test_targets_that_are_missing_or_not_numbers_are_refused(data):
    points, targets = data
    split = {"train": range(40), "val": range(40, 60), "test": range(60, 80)}
    with pytest.raises(InputError, match="must be numbers"):
        regression_scores(points, targets.astype(str), [split])
    with pytest.raises(InputError, match="split 0 has a node whose target is missing"):
        regression_scores(points, np.where(np.arange(80) == 70, np.nan, targets), [split])
    with pytest.raises(InputError, match="split 0: val is empty"):
        regression_scores(points, targets, [{**split, "val": []}])


def test_vectors_that_are_all_equal_predict_the_mean(data):
    _, targets = data
    split = {"train": range(40), "val": range(40, 60), "test": range(60, 80)}
    found = regression_scores(np.ones((80, 3)), targets, [split])
    assert found["mae"][0] == pytest.approx(np.abs(targets[60:] - targets[:40].mean()).mean())
