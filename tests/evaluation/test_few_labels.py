"""Accuracy with a share of the labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mvgrl.evaluation import cross_validate
from mvgrl.evaluation.few_labels import graph_accuracy, node_accuracy


def test_the_probe_never_sees_test_nodes_and_the_share_is_of_all_nodes() -> None:
    rng = np.random.default_rng(0)
    truth, test = np.repeat([0, 1], 500), np.arange(250, 750)
    codes = torch.from_numpy(rng.normal(size=(1000, 3)) + truth[:, None]).float()
    plain = [node_accuracy(codes, truth, test, share, seed=5) for share in (0.004, 0.2)]
    assert plain[0] < plain[1]
    other = truth.copy()
    other[test] = 1 - other[test]
    swapped = [node_accuracy(codes, other, test, share, seed=5) for share in (0.004, 0.2)]
    assert swapped == pytest.approx([100 - score for score in plain])  # the same predictions
    drawn = [node_accuracy(codes, truth, test, 1e-6, seed=seed) for seed in (5, 6)]
    assert drawn[0] != drawn[1]  # one node per class, which depends on the seed
    # Half of the nodes can be drawn; each other node equals one of them, and is classified correctly if that was drawn.
    twins, labels = torch.eye(500).repeat(2, 1), rng.integers(2, size=500)
    known = node_accuracy(twins, np.tile(labels, 2), np.arange(500, 1000), 0.2, seed=0)
    assert known == pytest.approx(100 * (0.4 + 0.6 / 2), abs=4)


def test_the_weight_decay_is_chosen_on_the_drawn_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    truth, test = np.repeat([0, 1], [150, 50]), np.arange(0, 200, 2)
    codes = torch.from_numpy(rng.normal(size=(200, 3)) + 2.0 * truth[:, None]).float()
    found = {}
    for decays in ((0.0,), (100.0,), (100.0, 0.0), (0.0, 100.0)):
        monkeypatch.setattr("mvgrl.evaluation.few_labels.DECAYS", decays)
        found[decays] = node_accuracy(codes, truth, test, 0.2, seed=0)
    assert found[(100.0,)] < found[(0.0,)] == found[(100.0, 0.0)] == found[(0.0, 100.0)]
    # With one node per class, there is nothing to hold out for the choice.
    monkeypatch.setattr("mvgrl.evaluation.few_labels.DECAYS", (0.0, 100.0))
    monkeypatch.setattr("mvgrl.evaluation.few_labels.linear_predictions", lambda *_, **__: 1 / 0)
    assert node_accuracy(codes, truth, test, 1e-6, seed=0) > 50


def test_with_all_labels_graph_accuracy_is_the_nested_accuracy() -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], [40, 30, 25])
    codes = torch.from_numpy(rng.normal(size=(95, 4)) + 0.7 * np.eye(4)[truth])
    for seed in (0, 1):
        nested = cross_validate(codes, truth, seed=seed).nested_accuracy[0]
        assert graph_accuracy(codes, truth, 1.0, seed=seed) == pytest.approx(nested)
    few, more = ([graph_accuracy(codes, truth, share, seed=seed) for seed in range(5)] for share in (0.001, 0.5))
    assert 33 < np.mean(few) < np.mean(more)  # two graphs of each class
