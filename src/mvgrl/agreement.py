"""Whether neighbours have similar features: how much survives one step over the edges, compared with chance."""

from __future__ import annotations

import numpy as np
import torch

from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix
from mvgrl.views.adjacency import normalised_adjacency

FEW_FEATURES = 256  # columns below which features distinguish few nodes
_SKETCHED = 64  # columns that are propagated: all, or random combinations of them
_UNRELATED = 1.1  # agreement below which features are unrelated: 1 by chance, 1.28 or more on all datasets


def are_unrelated(graph: Graph, features: Matrix) -> bool:
    """Whether the features are unrelated to the edges."""
    return agreement(graph, features) < _UNRELATED


def agreement(graph: Graph, features: Matrix) -> float:
    """Return how much of the features' variance survives one step over the adjacency view, divided by chance.

    It is 1 if neighbours are as different as any two nodes: the features are noise, or the edges are. Chance is the
    mean over all ways to assign the features to the nodes, in closed form.

    >>> from mvgrl.matrices import DenseMatrix
    >>> graph = Graph.from_edges([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])  # two triangles, joined by an edge
    >>> alike, unlike = [[1.0]] * 3 + [[0.0]] * 3, [[1.0], [0.0]] * 3
    >>> [round(agreement(graph, DenseMatrix(torch.tensor(rows))), 2) for rows in (alike, unlike)]
    [4.44, 0.34]
    """
    adjacency = normalised_adjacency(graph)[0]
    columns = _sketch(features)
    columns -= columns.mean(axis=0)
    before, after = np.square(columns).sum(), np.square(adjacency @ columns).sum()
    sums = np.asarray(adjacency.sum(axis=1)).reshape(-1)
    kept = (np.square(adjacency.data).sum() - np.square(sums).sum() / graph.nodes) / max(graph.nodes - 1, 1)
    expected = kept * before
    return float(after / expected) if expected > np.finfo(np.float32).eps * before else 1.0


def _sketch(features: Matrix) -> np.ndarray:
    """Return all columns or, if there are many, random-sign combinations, which preserve squares in expectation."""
    width = features.shape[1]
    signs = np.eye(width)
    if width > _SKETCHED:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (width, _SKETCHED))
    found: np.ndarray = (features.to("cpu") @ torch.from_numpy(signs.astype(np.float32))).numpy().astype(np.float64)
    return found
