"""A histogram per graph: how many nodes have each label, and how many have each degree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.graphs.histograms import degree_counts, value_counts
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.settings import Output, Settings


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
        degrees = degree_counts(graph)
        columns = [degrees[:, : np.flatnonzero(degrees.any(axis=0))[-1] + 1]]  # up to the highest
        if graph.node_labels is not None:
            known, values = np.unique(graph.node_labels, return_inverse=True)
            columns.append(value_counts(graph, values, len(known)))
        return [Outcome(np.concatenate(columns, axis=1))]
