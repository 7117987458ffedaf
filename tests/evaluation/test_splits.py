"""Random splits: stratified, determined by the seed, and strict about their input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation import random_splits

LABELS = np.repeat([3, 1, 2], [40, 25, 4])


@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    train_fraction=st.floats(0.01, 0.6),
    val_fraction=st.floats(0, 0.39),
    seed=st.integers(0, 99),
)
def test_splits_are_stratified_partitions(sizes, train_fraction, val_fraction, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes) + 1), [*sizes, 100]))
    splits = random_splits(labels, train_fraction=train_fraction, val_fraction=val_fraction, count=2, seed=seed)
    for split in splits:
        assert list(split) == ["train", "val", "test"]
        assert np.sort(np.concatenate(list(split.values()))).tolist() == list(range(len(labels)))
        assert all((np.diff(part) > 0).all() for part in split.values())
        for name, size in enumerate([*sizes, 100]):
            train, val = (int(np.sum(labels[split[part]] == name)) for part in ("train", "val"))
            assert train == max(1, round(train_fraction * size))
            assert val == min(round(val_fraction * size), size - train)


def test_every_node_is_drawn_equally_often():
    seen = np.zeros(len(LABELS))
    for split in random_splits(LABELS, train_fraction=0.25, count=400):
        seen[split["train"]] += 1
    # A quarter of 400 draws, within four standard deviations; 6 of 25 and 1 of 4 are nearly the same fraction.
    assert 60 < seen.min() < seen.max() < 140


def test_a_split_depends_on_the_seed_and_its_index_but_not_on_the_count():
    few, many = random_splits(LABELS, count=2, seed=7), random_splits(LABELS, count=5, seed=7)
    for one, other in zip(few, many[:2], strict=True):
        assert {part: nodes.tolist() for part, nodes in one.items()} == {p: n.tolist() for p, n in other.items()}
    others = [*many, *random_splits(LABELS, count=5, seed=8)]
    assert len({split["train"].tobytes() for split in others}) == 10


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, np.nan, 1, 0, 1, np.nan, 0, 1, 0, 1]),
        np.array(["a", "", "b", "a", "b", "", "a", "b", "a", "b"]),
        ["a", None, "b", "a", "b", float("nan"), "a", "b", "a", "b"],
        torch.tensor([0, torch.nan, 1, 0, 1, torch.nan, 0, 1, 0, 1]),
    ],
    ids=["NaN", "empty string", "None among strings", "tensor"],
)
def test_nodes_without_a_label_are_in_no_part(labels):
    for split in random_splits(labels, train_fraction=0.5, val_fraction=0.25, count=3):
        assert {part: len(nodes) for part, nodes in split.items()} == {"train": 4, "val": 2, "test": 2}
        assert sorted(np.concatenate(list(split.values())).tolist()) == [0, 2, 3, 4, 6, 7, 8, 9]


def test_booleans_are_classes():
    split = random_splits(np.arange(20) < 10, train_fraction=0.3, val_fraction=0, count=1)[0]
    assert (split["train"] < 10).sum() == 3
    assert len(split["train"]) == 6
    assert len(split["val"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_fraction": 0}, "train_fraction is 0; it must be between 0 and 1"),
        ({"train_fraction": 1.0}, "train_fraction is 1.0"),
        ({"val_fraction": -0.1}, "val_fraction is -0.1"),
        ({"val_fraction": 1}, "val_fraction is 1"),
        ({"val_fraction": float("nan")}, "val_fraction is nan"),
        ({"train_fraction": 0.5, "val_fraction": 0.5}, "together they must be less than 1"),
        ({"count": 0}, "count is 0; it must be at least 1"),
        ({"seed": -1}, "seed is -1; it must be an integer"),
    ],
    ids=str,
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        random_splits(LABELS, **options)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a", ""], "only the class a; at least two classes are needed"),
        (["", ""], "labels has no classes"),
        ([[0, 1]], r"shape \(1, 2\); give one label per node"),
        (["a", "b"], "no test nodes remain; lower the fractions or use larger classes"),
        (["a", "b", ("c", "d")], r"node 2 has \('c', 'd'\)"),
    ],
    ids=str,
)
def test_labels_that_cannot_be_split_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        random_splits(labels)
