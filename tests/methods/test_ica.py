"""ICA against a plain loop over nodes and scikit-learn's own predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mvgrl.datasets import Dataset
from mvgrl.methods.ica import ICA
from mvgrl.settings import Output, Settings


@pytest.mark.parametrize("classes", [3, 2])
def test_sweeps_equal_a_loop_over_nodes(classes: int, planted: Dataset, context: Any) -> None:
    target = np.minimum(planted.target, classes - 1)
    data, train = replace(planted, target=target), planted.splits["train"]
    x, adjacency = planted.graph.features.toarray(), planted.graph.adjacency.toarray()
    (found,) = ICA(sweeps=2, inverse_penalties=(1.0,)).outcomes(data, Settings(), Output(), [5], context)
    current = LogisticRegression(max_iter=5000).fit(x[train], target[train]).predict(x)
    current[train] = target[train]

    def seen(nodes: Any) -> np.ndarray:
        return np.hstack([x[nodes], adjacency[nodes] @ np.eye(classes)[current]])

    second = LogisticRegression(max_iter=5000).fit(seen(train), target[train])
    generator, others = np.random.default_rng(5), np.setdiff1d(np.arange(len(target)), train)
    for _ in range(2):
        for node in generator.permutation(others):
            current[node] = second.predict(seen([node]))[0]
    np.testing.assert_array_equal(found.predictions, current)


def test_the_penalty_is_chosen_on_val_nodes(planted: Dataset, context: Any) -> None:
    def predictions(*penalties: float) -> np.ndarray:
        method = ICA(sweeps=0, inverse_penalties=penalties)
        return method.outcomes(planted, Settings(), Output(), [0], context)[0].predictions

    val, held = planted.splits["val"], np.concatenate([planted.splits["val"], planted.splits["test"]])
    each = [predictions(one) for one in (1e-6, 1.0)]
    right = [(one == planted.target)[val].sum() for one in each]
    assert right[0] != right[1]
    np.testing.assert_array_equal(predictions(1e-6, 1.0)[held], each[int(np.argmax(right))][held])
