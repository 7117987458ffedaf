"""Random splits of the nodes into train, validation and test."""

from __future__ import annotations

from typing import Any

import numpy as np

from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation.checks import check_seed, checked_labels, classes_of

PARTS = ("train", "val", "test")


def random_splits(
    labels: Any, *, train_fraction: float = 0.1, val_fraction: float = 0.1, count: int = 20, seed: int = 0
) -> list[dict[str, np.ndarray]]:
    """Draw random splits of the nodes, each a dict of sorted node numbers under "train", "val" and "test".

    The splits are stratified: the fractions apply to every class, rounded, with at least one train node per class; the
    remaining nodes are test nodes. A node with an unknown label (NaN or an empty string) is in no part. A split depends
    on the seed and on its index in the list, not on ``count``.

    >>> split = random_splits(["cat"] * 10 + ["dog"] * 20 + [""], count=5)[4]
    >>> {part: len(nodes) for part, nodes in split.items()}
    {'train': 3, 'val': 3, 'test': 24}
    """
    _check_options(train_fraction, val_fraction, count)
    check_seed(seed)
    names = checked_labels(labels)
    members = [np.flatnonzero(names == name) for name in classes_of(names)]
    sizes = []
    for nodes in members:
        # At least one, however small the fraction: a class without a train node cannot be predicted.
        train = max(1, round(train_fraction * len(nodes)))
        sizes.append((train, min(train + round(val_fraction * len(nodes)), len(nodes))))
    if all(end == len(nodes) for (_, end), nodes in zip(sizes, members, strict=True)):
        raise InputError(
            f"the largest of {len(members)} classes has {max(map(len, members))} nodes, all of them in train "
            "and val, and no test nodes remain; lower the fractions or use larger classes"
        )
    splits = []
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        drawn = [
            np.split(generator.permutation(nodes), cuts) for nodes, cuts in zip(members, sizes, strict=True)
        ]  # class by class: train, val, test
        parts = zip(*drawn, strict=True)
        splits.append({name: np.sort(np.concatenate(part)) for name, part in zip(PARTS, parts, strict=True)})
    return splits


def _check_options(train_fraction: float, val_fraction: float, count: int) -> None:
    if not 0 < train_fraction < 1:
        raise SettingsError(f"train_fraction is {train_fraction}; it must be between 0 and 1")
    if not 0 <= val_fraction < 1:
        raise SettingsError(f"val_fraction is {val_fraction}; it must be at least 0 and less than 1")
    if train_fraction + val_fraction >= 1:
        raise SettingsError(
            f"train_fraction {train_fraction} and val_fraction {val_fraction} leave nothing to test; "
            "lower one of them: together they must be less than 1"
        )
    if count < 1:
        raise SettingsError(f"count is {count}; it must be at least 1")
