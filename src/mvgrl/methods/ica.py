"""ICA, iterative classification: a classifier that also sees the classes of the neighbours (Sen et al., 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression

from mvgrl.datasets import Dataset
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of, split_of
from mvgrl.runtime import compiled
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class ICA(Method):
    """Logistic regression on the features gives the first classes; one that also sees neighbours' classes refines them.

    A node sees how many of its neighbours are in each class, by the labels of train nodes and the current predictions
    of all others. The seed draws the order of the nodes in each sweep. The penalty of each classifier is the one with
    the best accuracy on the val nodes, since the source names none.
    """

    name: ClassVar[str] = "ica"
    label: ClassVar[str] = "ICA"
    tasks: ClassVar[tuple[str, ...]] = ("node",)
    supervised: ClassVar[bool] = True
    source: ClassVar[str] = "Sen et al. (AI Magazine 2008), Algorithm 1, with logistic regression and counts"
    sweeps: int = 10
    inverse_penalties: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # C in scikit-learn

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train both classifiers once, and sweep once per seed."""
        train, val = split_of(dataset)
        adjacency = sp.csr_array(dataset.graph.adjacency)
        x = _table(features_of(dataset, settings, torch.device("cpu"), normalise="none"))
        classes, known = np.unique(dataset.target[train], return_inverse=True)
        wanted = dataset.target[val, None] == classes  # of the val nodes
        start = _scores(x, self._weights(x, known, train, val, wanted)).argmax(axis=1)
        start[train] = known
        both = _beside(x, adjacency @ np.eye(len(classes))[start])
        weights = self._weights(both, known, train, val, wanted)
        own = _scores(x, np.delete(weights, np.s_[x.shape[1] : -1], axis=1))  # of the features and the intercept
        of_counts = np.ascontiguousarray(weights[:, x.shape[1] : -1].T)
        edges = adjacency.indptr, adjacency.indices, adjacency.data.astype(np.float64)
        others, found = np.setdiff1d(np.arange(dataset.graph.nodes), train), []
        for seed in seeds:
            current, generator = start.copy(), np.random.default_rng(seed)
            for _ in range(self.sweeps):
                _sweep(generator.permutation(others), *edges, own, of_counts, current)
            found.append(Outcome(predictions=classes[current]))
        return found

    def _weights(self, x: Any, known: np.ndarray, train: np.ndarray, val: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the weights of the best logistic regression, classes × columns, with the intercept at the end."""
        if known.max() == 0:
            return np.zeros((1, x.shape[1] + 1))
        best, highest = None, -1
        for inverse in self.inverse_penalties:
            model = LogisticRegression(C=inverse, max_iter=5000).fit(x[train], known)
            weights = np.column_stack([model.coef_, model.intercept_])
            if len(weights) == 1:  # of two classes, scikit-learn has one row
                weights = np.concatenate([-weights, weights]) / 2
            hits = wanted[np.arange(len(val)), _scores(x[val], weights).argmax(axis=1)].sum()
            if hits > highest:
                best, highest = weights, hits
        assert best is not None
        return best


def _table(features: Matrix) -> Any:
    if not isinstance(features, SparseMatrix):
        return features.dense().numpy().astype(np.float64)
    arrays = features.values.double().numpy(), features.indices.numpy(), features.indptr.numpy()
    return sp.csr_array(arrays, shape=features.shape)


def _beside(x: Any, counts: np.ndarray) -> Any:
    return sp.csr_array(sp.hstack([x, counts])) if sp.issparse(x) else np.hstack([x, counts])


def _scores(x: Any, weights: np.ndarray) -> np.ndarray:
    found: np.ndarray = x @ weights[:, :-1].T + weights[:, -1]
    return found


@compiled()
def _sweep(order: Any, indptr: Any, indices: Any, values: Any, own: Any, weights: Any, classes: Any) -> None:
    """Give each node, one after the other, the class with the highest score, given the classes of its neighbours."""
    for i in order:
        scores = own[i].copy()
        for edge in range(indptr[i], indptr[i + 1]):
            scores += values[edge] * weights[classes[indices[edge]]]
        classes[i] = np.argmax(scores)
