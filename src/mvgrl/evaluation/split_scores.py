"""Scores over many splits, and what is reported of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
) -> dict[str, np.ndarray]:
    """The linear probe on every split: "accuracy" and "macro_f1" on its test nodes in percent, one entry a split.

    A split has node numbers or masks under "train", "test" and, if it likes, "val"; where every split has val nodes,
    "validation_accuracy" comes too. All probes start from the seed's weights.

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
    return {name: 100 * np.array(values) for name, values in found.items()}


def logistic_scores(
    embeddings: Any, labels: Any, splits: Sequence[Mapping[str, Any]], *, device: torch.device | str | None = None
) -> dict[str, np.ndarray]:
    """Logistic regression at its optimum on every split: "accuracy" and "macro_f1" in percent, one entry a split.

    Its strength is the one that does best on the split's "val" nodes, which every split must have.

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
                f"split {number}: val is empty, and the strength is chosen on val nodes; add some, or use linear_scores"
            )
    found: dict[str, list[float]] = {name: [] for name in ("accuracy", "macro_f1")}
    for train, val, test in parts:
        _note(found, names[test], logistic_predictions(codes, names, train, test, val=val, device=device))
    return {name: 100 * np.array(values) for name, values in found.items()}


def _note(found: dict[str, list[float]], truth: np.ndarray, predicted: np.ndarray) -> None:
    """Add the scores of one split."""
    from sklearn.metrics import f1_score  # here, not above: it brings pandas and pyarrow along where they are installed

    found["accuracy"].append((predicted == truth).mean())
    # By number: scikit-learn takes classes that are fractions for a regression.
    numbers = np.unique(np.concatenate([truth, predicted]), return_inverse=True)[1]
    found["macro_f1"].append(f1_score(*np.split(numbers, 2), average="macro"))


def summary(scores: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """The mean of each score and its standard deviation over the entries (divided by their number, not one less).

    >>> summary({"accuracy": np.array([80.0, 84.0])})
    {'accuracy': {'mean': 82.0, 'std': 2.0}}
    """
    return {name: {"mean": float(np.mean(one)), "std": float(np.std(one))} for name, one in scores.items()}


def _checked_splits(
    splits: Sequence[Mapping[str, Any]], names: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Train, val (may be empty) and test of every split, each fit to be learned from or scored."""
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
