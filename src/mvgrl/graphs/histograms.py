"""Histograms of the nodes of each graph: how many have each value."""

from __future__ import annotations

import numpy as np

from mvgrl.graphs.graph import Graph

DEGREE_CAP = 100  # higher degrees share a column: REDDIT-BINARY has thousands, most of them once


def value_counts(graph: Graph, values: np.ndarray, columns: int) -> np.ndarray:
    """Count how often each value from 0 to ``columns`` - 1 occurs in each graph: float32, graphs × ``columns``.

    >>> two = Graph.join([Graph.from_edges([0], [1]), Graph.from_edges([0, 1], [1, 2])])
    >>> value_counts(two, np.array([0, 2, 2, 2, 0]), 3).tolist()
    [[1.0, 0.0, 1.0], [1.0, 0.0, 2.0]]
    """
    owner = np.repeat(np.arange(graph.count), graph.sizes)
    counts = np.bincount(owner * columns + values, minlength=graph.count * columns)
    return counts.reshape(graph.count, columns).astype(np.float32)


def degree_counts(graph: Graph) -> np.ndarray:
    """Count the degrees of the nodes of each graph: float32, graphs × 101.

    >>> degree_counts(Graph.from_edges([0, 1], [1, 2]))[0, :3].tolist()
    [0.0, 2.0, 1.0]
    """
    return value_counts(graph, np.minimum(graph.degrees, DEGREE_CAP).astype(np.int64), DEGREE_CAP + 1)
