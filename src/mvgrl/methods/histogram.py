"""A histogram per graph: how many nodes have each label, and how many have each degree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.settings import Output, Settings

DEGREE_CAP = 100  # higher degrees share a column: REDDIT-BINARY has thousands, most of them once


class Histogram(Method):
    """Counts of node labels and degrees; of degrees only if the nodes have no labels.

    Counts, not fractions: the size of a graph is informative, and the sum readout of the other methods sees it too.
    """

    name, label, tasks, seeded = "histogram", "label and degree histogram", ("graph",), False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        graph = dataset.graph
        columns = [np.minimum(graph.degrees, DEGREE_CAP)]
        if graph.node_labels is not None:
            columns.append(np.unique(graph.node_labels, return_inverse=True)[1])
        owner = np.repeat(np.arange(graph.count), graph.sizes)
        return [Outcome(np.concatenate([_counts(owner, one, graph.count) for one in columns], axis=1))]


def _counts(owner: np.ndarray, values: np.ndarray, graphs: int) -> np.ndarray:
    """Return how often each value occurs in each graph, graphs × values."""
    counts = np.zeros((graphs, int(values.max()) + 1), dtype=np.float32)
    np.add.at(counts, (owner, values), 1)
    return counts
