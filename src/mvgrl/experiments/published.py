"""What the paper prints for its own method, by experiment, row, score and dataset."""

from __future__ import annotations

import tomllib
from importlib.resources import files

Printed = dict[str, dict[str, dict[str, list[float]]]]  # row, score, dataset: mean, and perhaps standard deviation

PUBLISHED: dict[str, Printed] = tomllib.loads((files(__package__) / "published.toml").read_text(encoding="utf-8"))


def published(experiment: str, row: str, score: str, dataset: str) -> tuple[float | None, float | None]:
    """Return the paper's mean and standard deviation; None where it prints none.

    >>> published("node-classification", "trained", "accuracy", "citeseer")
    (73.3, 0.5)
    >>> published("node-clustering", "trained", "nmi", "citeseer")
    (0.47, None)
    """
    found = PUBLISHED.get(experiment, {}).get(row, {}).get(score, {}).get(dataset, [])
    mean, std = [*found, None, None][:2]
    return mean, std
