"""The base class of views: a frozen set of parameters that turns a graph into an n×n matrix."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mvgrl.components import Component
from mvgrl.errors import InputError, SettingsError, shown
from mvgrl.graphs import Graph

LARGEST_TOP_K = 2**31 - 1  # columns are 32-bit integers
LARGEST_DENSE = 30_000  # nodes of the largest dense view: 30,000² entries take 3.4 GiB in single precision
SINGLE_PRECISION_FROM = 8_192  # dense views of graphs with more nodes than this are float32, others float64


@dataclass(frozen=True)
class View(Component):
    """Base class of views: calling a view with a graph computes an n×n matrix.

    Row i holds the weights with which node i aggregates the nodes of its graph.

    Views are compared and hashed by their parameters. The matrix is a dense array if all entries of a single graph are
    kept, and a ``csr_array`` otherwise (block-diagonal for many graphs). Dense views are float64 up to 8,192 nodes and
    float32 above; approximate views are float32 unless ``epsilon`` requires more precision.

    >>> from mvgrl.graphs import Graph
    >>> from mvgrl.views import Adjacency
    >>> Adjacency()(Graph.from_edges([0], [1])).toarray()
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    steps: ClassVar[int] = 1  # how often features are propagated over it for the vectors

    def __call__(self, graph: Graph) -> sp.csr_array | np.ndarray:
        """Compute the view of a graph, n×n."""
        raise NotImplementedError

    @property
    def symmetric(self) -> bool:
        """Whether the matrix equals its transpose exactly."""
        raise NotImplementedError

    def _check_number(self, field: str, low: float, high: float, allowed: str) -> None:
        """Convert a field to float, or raise an error unless it is strictly between two bounds."""
        value = getattr(self, field)
        number = _as_number(value)
        if number is None or not low < number < high:
            raise SettingsError(f"{self.name}: {field} is {shown(value)}, but it must be {allowed}")
        object.__setattr__(self, field, float(number))

    def _check_choice(self, field: str, choices: Collection[str]) -> None:
        value = getattr(self, field)
        if value not in choices:
            raise SettingsError(f"{self.name}: {field} is {shown(value)}, but it must be one of {', '.join(choices)}")

    def _check_sparsification(self) -> None:
        fields: Any = self
        if fields.top_k is not None:
            number = _as_number(fields.top_k)
            if number is None or number != int(number) or number < 1:
                raise SettingsError(
                    f"{self.name}: top_k is {shown(fields.top_k)}, but it must be a positive integer or None"
                )
            if number > LARGEST_TOP_K:
                raise SettingsError(
                    f"{self.name}: top_k is {shown(fields.top_k)}, more than any graph has nodes; use None for all"
                )
            object.__setattr__(self, "top_k", int(number))
        if fields.threshold is not None:
            self._check_number("threshold", 0.0, math.inf, "a positive number or None")


def _as_number(value: Any) -> float | None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def check_dense_size(view: str, nodes: int) -> None:
    """Raise an error before allocating a dense matrix that would not fit into memory."""
    if nodes > LARGEST_DENSE:
        raise InputError(
            f"the exact {view} view of a graph with {nodes:,} nodes has {nodes:,} × {nodes:,} entries, "
            f"{4 * nodes**2 / 2**30:,.1f} GiB; exact views are limited to {LARGEST_DENSE:,} nodes. Keep only the "
            f"largest entries per row with top_k=32, for example, or set a threshold"
        )


def check_total_size(view: str, sizes: np.ndarray) -> None:
    """Raise an error before allocating dense blocks of many graphs that would not fit into memory together."""
    entries = int(np.sum(np.asarray(sizes, dtype=np.int64) ** 2))
    if entries > LARGEST_DENSE**2:
        raise InputError(
            f"the exact {view} views of {len(sizes):,} graphs have {entries:,} entries in total, "
            f"{12 * entries / 2**30:,.1f} GiB; the limit is {LARGEST_DENSE**2:,} entries. Keep only the largest "
            f"entries per row with top_k=32, for example, or set a threshold, or use fewer graphs at a time"
        )
