"""Scores over many splits, and their mean and standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from mvgrl.errors import InputError
from mvgrl.evaluation.checks import check_known, check_scorable, checked_embeddings, checked_labels, node_numbers
from mvgrl.evaluation.linear_probe import linear_predictions
from mvgrl.evaluation.logistic import logistic_predictions
from mvgrl.evaluation.splits import PARTS


def linear_scores(
    embeddings: Any,
    labels: Any,
    splits: Sequence[Mapping[str, Any]],
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    weight_decay: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Score the linear probe on every split: "accuracy" and "macro_f1" on its test nodes in percent, one per split.

    A split has node numbers or masks under "train", "test" and, optionally, "val"; if every split has val nodes,
    "validation_accuracy" is returned too. All probes start from the weights of the seed. ``progress`` is called with
    the number of splits that are done, after each of them.

    >>> points = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> splits = [{"train": [0, 3], "test": [1, 2]}, {"train": [1, 2], "test": [0, 3]}]
    >>> linear_scores(points, ["low", "low", "high", "high"], splits)["accuracy"].tolist()
    [100.0, 100.0]
    """
    codes = checked_embeddings(embeddings, stacked=False)
    names = checked_labels(labels, len(codes))
    parts = _checked_splits(splits, names)  # all of them, before the first probe trains
    validated = all(len(val) for _, val, _ in parts)
    found: dict[str, list[float]] = {name: [] for name in ("accuracy", "macro_f1")}
    for train, val, test in parts:
        asked = np.concatenate([val, test]) if validated else test
        predicted = linear_predictions(codes, names, train, asked, seed=seed, device=device, weight_decay=weight_decay)
        rest = len(asked) - len(test)
        _note(found, names[test], predicted[rest:])
        if validated:
            found.setdefault("validation_accuracy", []).append((predicted == names[asked])[:rest].mean())
        if progress is not None:
            progress(len(found["accuracy"]))
    return {name: 100 * np.array(values) for name, values in found.items()}


def logistic_scores(
    embeddings: Any,
    labels: Any,
    splits: Sequence[Mapping[str, Any]],
    *,
    device: torch.device | str | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """Score a converged logistic regression on every split: "accuracy" and "macro_f1" in percent, one per split.

    The regularisation strength is chosen on the split's "val" nodes, which every split must have. ``progress`` is
    called with the number of splits that are done, after each of them.

    >>> points = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0]])
    >>> split = {"train": [0, 5], "val": [1, 4], "test": [2, 3]}
    >>> logistic_scores(points, ["low"] * 3 + ["high"] * 3, [split])["accuracy"].tolist()
    [100.0]
    """
    codes = checked_embeddings(embeddings, stacked=False)
    names = checked_labels(labels, len(codes))
    parts = _checked_splits(splits, names)
    for number, (_, val, _) in enumerate(parts):
        if not len(val):
            raise InputError(
                f"split {number}: val is empty, but the strength is chosen on val nodes; add some, or use "
                "linear_scores (--protocol linear)"
            )
    found: dict[str, list[float]] = {name: [] for name in ("accuracy", "macro_f1")}
    for train, val, test in parts:
        _note(found, names[test], logistic_predictions(codes, names, train, test, val=val, device=device))
        if progress is not None:
            progress(len(found["accuracy"]))
    return {name: 100 * np.array(values) for name, values in found.items()}


def _note(found: dict[str, list[float]], truth: np.ndarray, predicted: np.ndarray) -> None:
    """Add the scores of one split."""
    from sklearn.metrics import f1_score  # here because it also imports pandas and pyarrow if installed

    found["accuracy"].append((predicted == truth).mean())
    # As integers: scikit-learn takes fractional classes for targets of a regression.
    numbers = np.unique(np.concatenate([truth, predicted]), return_inverse=True)[1]
    found["macro_f1"].append(f1_score(*np.split(numbers, 2), average="macro"))


def summary(scores: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return the mean and the population standard deviation of each score.

    >>> summary({"accuracy": np.array([80.0, 84.0])})
    {'accuracy': {'mean': 82.0, 'std': 2.0}}
    """
    return {name: {"mean": float(np.mean(one)), "std": float(np.std(one))} for name, one in scores.items()}


def _checked_splits(
    splits: Sequence[Mapping[str, Any]], names: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return train, val (may be empty) and test of every split, checked."""
    if isinstance(splits, Mapping) or not len(splits):
        raise InputError(
            "splits must be a list of dicts with train and test nodes, at least one; put a single one in a list"
        )
    checked = []
    for number, split in enumerate(splits):
        for part in ("train", "test"):
            if part not in split:
                raise InputError(f"split {number} has no {part!r}; put the {part} nodes under that key")
        train, val, test = (
            node_numbers(split.get(part, ()), len(names), f"split {number}: {part}", empty=part == "val")
            for part in PARTS
        )
        check_known(names, train, f"split {number}: train")
        check_scorable(names, train, val, f"split {number}: val")
        check_scorable(names, train, test, f"split {number}: test")
        checked.append((train, val, test))
    return checked
