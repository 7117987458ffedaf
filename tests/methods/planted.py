"""Small graphs with known groups, and data sets of them, for the tests of methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods import Method
from mvgrl.settings import Output, literal


def planted(groups: int = 3, size: int = 20, seed: int = 0, columns: int = 30) -> Dataset:
    """A graph with dense groups; each group prefers some of the binary features."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    chance = np.where(group[:, None] == group, 0.35, 0.03)
    ends = np.nonzero(np.triu(rng.random(chance.shape) < chance, 1))
    preferred = np.arange(columns) % groups == group[:, None]
    features = (rng.random((len(group), columns)) < np.where(preferred, 0.3, 0.1)).astype(float)
    graph = Graph.from_edges(*ends, nodes=len(group), features=features)
    return Dataset("planted", graph, group, "node", None, tuple("abcdefgh"[:groups]), "")


def vectors_of(method: Method, data: Dataset, context: Any, seed: int = 0) -> np.ndarray:
    """The vectors of one seed."""
    (outcome,) = method.outcomes(data, literal({}), Output(), [seed], context)
    assert outcome.vectors is not None
    return outcome.vectors


def accuracy(vectors: np.ndarray, data: Dataset) -> float:
    """The accuracy of a logistic regression on every second node, trained on the others."""
    scaled = (vectors - vectors.mean(axis=0)) / vectors.std()
    model = LogisticRegression(max_iter=500).fit(scaled[::2], data.target[::2])
    return float(model.score(scaled[1::2], data.target[1::2]))
