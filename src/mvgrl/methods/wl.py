"""Weisfeiler–Lehman counts of a graph's refined colours, compressed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.graphs.refinement import wl_counts
from mvgrl.matrices import SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import as_vectors, principal_components
from mvgrl.settings import Output, Settings

SIZE = 256


class WL(Method):
    """The principal components of the square roots of the counts of three rounds, 256 or fewer.

    The square root keeps frequent colours from hiding rare ones.
    """

    name, label, tasks, seeded = "wl", "compressed WL counts", ("graph",), False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        counts = wl_counts(dataset.graph)
        used = np.unique(counts.indices)
        table = SparseMatrix.from_scipy(np.sqrt(counts[:, used])).to(context.device)
        return [Outcome(as_vectors(principal_components(table, SIZE, context.device)))]
