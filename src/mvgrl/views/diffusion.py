"""The base class of ppr and heat: three methods to compute f(M), and the choice between them.

* ``exact``: all entries, up to rounding.
* ``push``: local push, row by row; visits only nodes with non-negligible entries, so its cost per row does not depend
  on the size of the graph.
* ``series``: a Chebyshev series for 64 rows at a time; the fastest method unless the graph is large.

Push and series keep the largest entries per row, each within :meth:`Diffusion.error_bound` of its exact value. If an
exact value is closer than that to ``threshold``, or to the k-th largest value, the entry may or may not be kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.runtime import use_torch_threads
from mvgrl.views.adjacency import normalised_adjacency, with_self_loops
from mvgrl.views.base import SINGLE_PRECISION_FROM, View, check_dense_size
from mvgrl.views.exact import exact_blocks
from mvgrl.views.series import series_dense, series_sparse
from mvgrl.views.sparsify import sparsify

METHODS = ("auto", "exact", "push", "series")
SCALES = ("none", "columns")

# Measured: following one edge in push costs as much as 32 entries of M per row in the series, which reads M in order
# and for many rows together; and push does about a quarter of the work that its bound allows.
_SERIES_ENTRIES_PER_PUSH = 8
# Measured: one entry of M in the series costs about as much as 20 multiplications in the dense inverse.
_DENSE_PER_SERIES_ENTRY = 20


# The smallest useful epsilon: entries are about 1 or less, in double precision, where every addition may be off by
# 1e-16. Push would follow smaller residuals, for ever longer, without making any entry more accurate.
SMALLEST_EPSILON = 1e-15


@dataclass(frozen=True)
class Diffusion(View):
    """Base class of views f(M), M = D̂^-1/2 Â D̂^-1/2, that spread the weight of each node over its neighbourhood."""

    @property
    def open(self) -> bool:
        """Whether it is left open how many entries are kept: neither a method nor a limit is given."""
        fields: Any = self
        return (fields.method, fields.top_k, fields.threshold) == ("auto", None, None)

    @property
    def symmetric(self) -> bool:
        """Whether the matrix equals its transpose exactly."""
        return False

    def chosen_method(self, graph: Graph) -> str:
        """Return ``exact``, ``push`` or ``series``; ``auto`` is resolved from the view and the graph alone."""
        fields: Any = self
        if fields.method != "auto":
            return str(fields.method)
        if fields.top_k is None and fields.threshold is None:
            return "exact"
        # Per row and term, the series reads every entry of the node's graph. The work of push is limited by its bound,
        # and by as many passes over the node's connected component.
        entries = np.diff(graph.adjacency.indptr) + 1
        graph_of_node = np.repeat(np.arange(graph.count), graph.sizes)
        component_of_node = connected_components(graph.adjacency, directed=False)[1]
        terms = len(self._coefficients(self._tolerance(graph)))
        by_series, push_limit = (
            terms * np.bincount(part, weights=entries)[part] for part in (graph_of_node, component_of_node)
        )
        by_push = np.minimum(push_limit, self._push_work((graph.adjacency.sum() + graph.nodes) / graph.nodes))
        return "series" if by_series.mean() <= _SERIES_ENTRIES_PER_PUSH * by_push.mean() else "push"

    def error_bound(self, graph: Graph) -> float:
        """Return the largest possible difference between a kept entry and its exact value (except float32 rounding).

        >>> from mvgrl.views import PPR
        >>> PPR(top_k=2).error_bound(Graph.from_edges([0, 1], [1, 2]))
        0.0001
        """
        method = self.chosen_method(graph)
        return 0.0 if method == "exact" else self._bound(method, graph)

    def __call__(self, graph: Graph) -> sp.csr_array | np.ndarray:
        """Compute the view of a graph, n×n."""
        matrix = self._unscaled(graph)
        if self.scale == "columns":  # type: ignore[attr-defined]
            _scale_columns(matrix)
        return matrix

    def _unscaled(self, graph: Graph) -> sp.csr_array | np.ndarray:
        fields: Any = self
        use_torch_threads()
        method = self.chosen_method(graph)
        if method == "exact":
            return self._exact(graph, fields.top_k, fields.threshold)
        degrees = with_self_loops(graph)[1]
        lowest = 0.0 if fields.threshold is None else fields.threshold
        capacity = np.full(graph.nodes, graph.nodes if fields.top_k is None else fields.top_k, dtype=np.int64)
        if lowest:
            # The sum of a row is bounded, and so is the number of its entries that can reach the threshold.
            reaching = self._row_total(degrees) / max(lowest - fields.epsilon, 1e-300)
            capacity = np.minimum(capacity, np.minimum(reaching, graph.nodes).astype(np.int64) + 1)
        dtype = np.float32 if self._tolerance(graph) >= 1e-7 else np.float64
        if method == "push":
            return self._push(graph, capacity, lowest, dtype)
        normalised = normalised_adjacency(graph)[0]
        coefficients = self._coefficients(self._tolerance(graph))
        return series_sparse(normalised, graph.offsets, coefficients, self._scales(degrees), capacity, lowest, dtype)

    def _exact(self, graph: Graph, top_k: int | None, threshold: float | None) -> sp.csr_array | np.ndarray:
        if graph.count > 1:
            return exact_blocks(graph, self.name, self._solve, top_k, threshold)
        check_dense_size(self.name, graph.nodes)
        dtype: Any = np.float32 if graph.nodes > SINGLE_PRECISION_FROM else np.float64
        normalised, degrees = normalised_adjacency(graph)
        coefficients = self._coefficients(float(np.finfo(dtype).eps) / 4)
        if self._cheaper_by_series(graph.nodes, normalised.nnz * len(coefficients)):
            matrix = series_dense(normalised, coefficients, dtype)
            self._finish(matrix, degrees)
        else:
            matrix = self._solve(with_self_loops(graph)[0].astype(dtype).toarray()[None])[0]
        return matrix if top_k is None and threshold is None else sparsify(matrix, top_k, threshold)

    def _cheaper_by_series(self, nodes: int, work: int) -> bool:
        return nodes > 512 and _DENSE_PER_SERIES_ENTRY * work < nodes**2

    def _check_diffusion(self) -> None:
        fields: Any = self
        self._check_choice("method", METHODS)
        self._check_choice("scale", SCALES)
        self._check_sparsification()
        self._check_number("epsilon", 0.0, 1.0, "a number between 0 and 1")
        if fields.epsilon < SMALLEST_EPSILON:
            raise SettingsError(
                f"{self.name}: epsilon is {fields.epsilon:g}, but double precision does not resolve errors that small; "
                f"use {SMALLEST_EPSILON:g} or more"
            )
        sparse = fields.top_k is not None or fields.threshold is not None
        if fields.method in ("push", "series") and not sparse:
            raise SettingsError(
                f"{self.name}: method {fields.method!r} keeps only some entries per row, so it needs top_k or "
                "threshold; set one of them, or use method 'exact' for the full matrix"
            )
        if fields.threshold is not None and fields.method != "exact" and fields.threshold <= fields.epsilon:
            raise SettingsError(
                f"{self.name}: threshold {fields.threshold:g} is not above epsilon {fields.epsilon:g}, so the error of "
                "the approximation would decide which entries are kept; use a smaller epsilon or method 'exact'"
            )

    def _tolerance(self, graph: Graph) -> float:
        """Return the error allowed in f(M) for an error of epsilon in the view; half of it is reserved for rounding."""
        raise NotImplementedError

    def _bound(self, method: str, graph: Graph) -> float:
        raise NotImplementedError

    def _coefficients(self, tolerance: float) -> np.ndarray:
        """Return Chebyshev coefficients of f on [−1, 1], as many as needed for a truncation error within tolerance."""
        raise NotImplementedError

    def _push_work(self, mean_degree: float) -> float:
        """Return an upper bound of the edges that push follows per row, on average."""
        raise NotImplementedError

    def _push(self, graph: Graph, capacity: np.ndarray, threshold: float, dtype: Any) -> sp.csr_array:
        raise NotImplementedError

    def _row_total(self, degrees: np.ndarray) -> np.ndarray:
        """Return an upper bound of each row's sum."""
        raise NotImplementedError

    def _scales(self, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the row and column factors that turn f(M) into the view."""
        raise NotImplementedError

    def _solve(self, stack: np.ndarray) -> np.ndarray:
        """Compute the views of a stack of Â, which may be overwritten."""
        raise NotImplementedError

    def _finish(self, matrix: np.ndarray, degrees: np.ndarray) -> None:
        """Turn f(M) into the view, in place."""
        raise NotImplementedError


def _scale_columns(matrix: sp.csr_array | np.ndarray) -> None:
    """Divide each column by its largest entry, in place; a column of zeros is left unchanged."""
    if isinstance(matrix, np.ndarray):
        largest = matrix.max(axis=0)
        matrix /= np.where(largest > 0, largest, 1)
        return
    largest = np.zeros(matrix.shape[1], dtype=matrix.dtype)
    np.maximum.at(largest, matrix.indices, matrix.data)
    matrix.data /= largest[matrix.indices]


def truncate_series(coefficients: np.ndarray, tolerance: float) -> np.ndarray:
    """Drop as many trailing coefficients as possible while their absolute sum is at most the tolerance.

    >>> truncate_series(np.array([1.0, 0.5, 0.02, -0.01]), 0.04)
    array([1. , 0.5])
    """
    rest = np.append(np.cumsum(np.abs(coefficients[::-1]))[::-1], 0.0)
    return coefficients[: max(1, int(np.argmax(rest <= max(tolerance, math.ulp(0.0)))))]
