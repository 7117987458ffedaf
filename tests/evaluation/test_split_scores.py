"""Scores over splits: those of the probe, in percent; invalid splits are rejected before training."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mvgrl.errors import InputError
from mvgrl.evaluation import (
    linear_predictions,
    linear_probe,
    linear_scores,
    logistic_predictions,
    logistic_scores,
    random_splits,
    summary,
)


@pytest.fixture(scope="module")
def blobs():
    points, labels = make_blobs([30, 60, 110], n_features=6, cluster_std=4.5, random_state=0)
    return (points / 10).astype(np.float32), labels


def macro_f1(truth, predicted):
    """The harmonic mean of precision and recall, averaged over the classes."""
    scores = []
    for name in np.union1d(truth, predicted):
        hits = np.sum((truth == name) & (predicted == name))
        scores.append(2 * hits / (np.sum(truth == name) + np.sum(predicted == name)))
    return np.mean(scores)


@pytest.mark.parametrize("score", [linear_scores, logistic_scores])
def test_progress_is_reported_after_each_split(blobs, score):
    done = []
    score(*blobs, random_splits(blobs[1], count=3), progress=done.append)
    assert done == [1, 2, 3]


@pytest.mark.parametrize("kind", ["int", "text", "bool", "float"])
def test_scores_equal_those_of_the_probe_in_percent(blobs, kind):
    points, numbers = blobs
    labels = {"int": numbers, "text": np.array(["a", "bb", "c"])[numbers], "bool": numbers > 0, "float": numbers / 4}
    labels = labels[kind]
    splits = random_splits(labels, count=2)
    scores = linear_scores(points, labels, splits, seed=4, weight_decay=0.1)
    assert list(scores) == ["accuracy", "macro_f1", "validation_accuracy"]
    options = {"seed": 4, "weight_decay": 0.1}
    for k, split in enumerate(splits):
        train, val, test = split.values()
        assert scores["accuracy"][k] == 100 * linear_probe(points, labels, train, test, **options)
        assert scores["validation_accuracy"][k] == 100 * linear_probe(points, labels, train, val, **options)
        predicted = linear_predictions(points, labels, train, test, **options)
        assert scores["macro_f1"][k] == pytest.approx(100 * macro_f1(labels[test], predicted))
    assert np.abs(scores["accuracy"] - scores["macro_f1"]).max() > 1  # the classes are of unequal size
    assert scores["accuracy"].tolist() != linear_scores(points, labels, splits, seed=4)["accuracy"].tolist()


def test_logistic_regression_is_tuned_per_split_and_requires_val_nodes(blobs):
    points, labels = blobs
    splits = random_splits(labels, count=2)
    scores = logistic_scores(points, labels, splits)
    assert list(scores) == ["accuracy", "macro_f1"]
    for k, split in enumerate(splits):
        train, val, test = split.values()
        predicted = logistic_predictions(points, labels, train, test, val=val)
        assert scores["accuracy"][k] == 100 * (predicted == labels[test]).mean()
        assert scores["macro_f1"][k] == pytest.approx(100 * macro_f1(labels[test], predicted))
    without = {"train": splits[1]["train"], "test": splits[1]["test"]}
    with pytest.raises(InputError, match="split 1: val is empty, but the strength is chosen on val nodes; add some"):
        logistic_scores(points, labels, [splits[0], without])


def test_validation_is_scored_only_if_every_split_has_it(blobs):
    points, labels = blobs
    splits = random_splits(labels, count=2)
    masks = [{part: np.isin(np.arange(200), nodes) for part, nodes in split.items()} for split in splits]
    scores = linear_scores(points, labels, masks)
    assert scores["validation_accuracy"].shape == (2,)
    for without in ({"train": splits[1]["train"], "test": splits[1]["test"]}, masks[1] | {"val": np.zeros(200, bool)}):
        fewer = linear_scores(points, labels, [masks[0], without])
        assert list(fewer) == ["accuracy", "macro_f1"]
        assert fewer["accuracy"].tolist() == scores["accuracy"].tolist()


def test_unlabelled_nodes_are_allowed_outside_the_splits(blobs):
    points, labels = blobs
    splits = random_splits(labels, count=1)
    expected = linear_scores(points, labels, splits)
    more = np.concatenate([points, points[:5] * 50])
    for longer in (np.append(labels, [np.nan] * 5), np.append(labels.astype(str), [""] * 5)):
        assert linear_scores(more, longer, splits)["macro_f1"].tolist() == expected["macro_f1"].tolist()


@pytest.mark.parametrize("part", ["train", "val", "test"])
@pytest.mark.parametrize("kind", ["NaN", "empty text"])
def test_an_unlabelled_node_in_a_split_is_rejected_by_number(blobs, part, kind):
    points, labels = blobs
    splits = random_splits(labels, count=2)
    node = splits[1][part][3]
    splits[0] = {name: nodes[nodes != node] for name, nodes in splits[0].items()}
    holed = labels.astype(float) if kind == "NaN" else labels.astype(str)
    holed[node] = np.nan if kind == "NaN" else ""
    message = f"split 1: {part} node {node} has no label; give its label or take it out of the split"
    with pytest.raises(InputError, match=message):
        linear_scores(points, holed, splits)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": None}, "split 1 has no 'test'; put the test nodes under that key"),
        ({"train": []}, "split 1: train names no node; there is nothing to learn from"),
        ({"test": [200]}, "split 1: test names node 200, but nodes are numbered 0 to 199"),
        ({"val": [0.5]}, "split 1: val is float64 of shape"),
        ({"train": "one class"}, "split 1: val node .* has class [02], of which there is no train node"),
        ({"train": "one class", "val": []}, "split 1: test node .* has class [02], of which there is no train node"),
    ],
    ids=str,
)
def test_an_invalid_split_is_rejected_by_number(blobs, change, message):
    points, labels = blobs
    splits = random_splits(labels, count=2)
    change = {part: np.flatnonzero(labels == 1) if nodes == "one class" else nodes for part, nodes in change.items()}
    splits[1] = {part: nodes for part, nodes in (splits[1] | change).items() if nodes is not None}
    with pytest.raises(InputError, match=message):
        linear_scores(points, labels, splits)


def test_invalid_arrays_and_lists_are_rejected(blobs):
    points, labels = blobs
    splits = random_splits(labels, count=1)
    for wrong in ([], splits[0]):
        with pytest.raises(InputError, match="put a single one in a list"):
            linear_scores(points, labels, wrong)
    with pytest.raises(InputError, match=r"must be nodes × columns$"):
        linear_scores(np.stack([points, points]), labels, splits)
    with pytest.raises(InputError, match=r"labels has shape \(199,\).*200 nodes"):
        linear_scores(points, labels[1:], splits)


def test_a_summary_contains_plain_numbers():
    report = summary({"accuracy": np.array([80, 83, 86], dtype=np.float32), "nmi": np.array([0.5])})
    assert json.loads(json.dumps(report)) == {
        "accuracy": {"mean": 83.0, "std": pytest.approx(6**0.5)},
        "nmi": {"mean": 0.5, "std": 0.0},
    }
