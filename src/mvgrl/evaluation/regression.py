"""Ridge regression of numbers, such as a price or a year, on frozen vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mvgrl.errors import InputError
from mvgrl.evaluation.checks import checked_embeddings, checked_labels, is_known, node_numbers
from mvgrl.evaluation.splits import PARTS, random_splits

PENALTIES = tuple(10.0**power for power in range(-6, 5))  # relative to the mean squared length of the vectors
MOST_CLASSES = 100  # whole numbers with more different values are taken for measurements
_MOST_FRACTIONS = 10  # the same for numbers with fractions
_GROUPS = 10  # of targets by size, from each of which a random split draws


def is_continuous(labels: np.ndarray) -> bool:
    """Tell whether labels are measurements rather than classes.

    They are if they have fractions and more than 10 different values, or are whole numbers with more than 100.

    >>> is_continuous(np.linspace(0, 1, 50)), is_continuous(np.arange(50)), is_continuous(np.array(["a", "b"]))
    (True, False, False)
    """
    if labels.dtype.kind not in "iuf":
        return False
    values = np.unique(labels[is_known(labels)])
    return len(values) > (_MOST_FRACTIONS if has_fractions(labels) else MOST_CLASSES)


def has_fractions(labels: np.ndarray) -> bool:
    """Tell whether any of the known labels is not a whole number."""
    return labels.dtype.kind == "f" and bool((np.mod(labels[is_known(labels)], 1) != 0).any())


def regression_splits(targets: np.ndarray, **options: Any) -> list[dict[str, np.ndarray]]:
    """Draw random splits, with the options of :func:`random_splits`; each part has small and large targets alike."""
    known = is_known(targets)
    limits = np.unique(np.quantile(targets[known], np.linspace(0, 1, _GROUPS + 1)[1:-1]))
    groups = np.where(known, np.searchsorted(limits, targets), np.nan)
    return random_splits(groups, **options)


def regression_scores(embeddings: Any, targets: Any, splits: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Score ridge regression on every split: "r2" and "mae" on its test nodes, one per split.

    The penalty is chosen on the split's "val" nodes, by the squared error.

    >>> points = np.linspace(-1, 1, 30)[:, None]
    >>> split = {"train": range(0, 30, 3), "val": range(1, 30, 3), "test": range(2, 30, 3)}
    >>> regression_scores(points, 2 * points[:, 0], [split])["r2"].round(3).tolist()
    [1.0]
    """
    codes = checked_embeddings(embeddings, stacked=False).double().cpu().numpy()
    numbers = checked_labels(targets, len(codes))
    if numbers.dtype.kind not in "iuf":
        raise InputError("the targets of a regression must be numbers; classes are scored by logistic_scores")
    numbers = numbers.astype(np.float64)
    found: dict[str, list[float]] = {"r2": [], "mae": []}
    for place, split in enumerate(splits):
        train, val, test = (
            node_numbers(split.get(part, ()), len(codes), f"split {place}: {part}", empty=part == "val")
            for part in PARTS
        )
        if not len(val):
            raise InputError(f"split {place}: val is empty, but the penalty is chosen on val nodes; add some")
        if not np.isfinite(numbers[np.concatenate([train, val, test])]).all():
            raise InputError(f"split {place} has a node whose target is missing or not finite; leave it out")
        guesses = _guesses(codes[train], numbers[train], codes[np.concatenate([val, test])])
        errors = guesses - numbers[np.concatenate([val, test])]
        best = int(np.argmin(np.square(errors[:, : len(val)]).mean(1)))
        missed = errors[best, len(val) :]
        spread = np.square(numbers[test] - numbers[test].mean()).mean()
        found["r2"].append(1 - np.square(missed).mean() / spread if spread > 0 else 0.0)
        found["mae"].append(np.abs(missed).mean())
    return {name: np.array(values) for name, values in found.items()}


def _guesses(points: np.ndarray, targets: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the predictions for each penalty, penalties × asked, from one decomposition of the train vectors."""
    centre, mean = points.mean(0), targets.mean()
    left, lengths, right = np.linalg.svd(points - centre, full_matrices=False)
    coordinates, wanted = (asked - centre) @ right.T, left.T @ (targets - mean)
    scale = np.square(lengths).sum() or 1.0
    filters = [lengths / (np.square(lengths) + penalty * scale) for penalty in PENALTIES]
    return np.stack([coordinates @ (filter_ * wanted) + mean for filter_ in filters])
