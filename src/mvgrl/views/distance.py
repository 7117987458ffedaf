"""The distance view: a softmax over the inverse shortest-path distances of each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from mvgrl.graphs import Graph
from mvgrl.views.base import SINGLE_PRECISION_FROM, View, check_dense_size, check_total_size
from mvgrl.views.exact import join_blocks
from mvgrl.views.sparsify import sparsify

LENGTHS = ("inverse", "hops", "weights")
_CHUNK = 2**24  # entries of the distance matrix computed at a time


@dataclass(frozen=True)
class Distance(View):
    """The softmax over each row of 1/distance, within each graph.

    The paper does not define the inverse of a node's distance to itself, 0, or of the distance to a node that cannot be
    reached. Here the former is 1, as for a neighbour, and the latter is 0, so unreachable nodes still get the smallest
    share of the softmax.

    An edge of weight w has length 1/w (``lengths="inverse"``: weights are strengths, as in the other views), 1
    (``"hops"``) or w (``"weights"``).

    >>> Distance()(Graph.from_edges([], [], nodes=2)).round(4)
    array([[0.7311, 0.2689],
           [0.2689, 0.7311]])
    """

    name: ClassVar[str] = "distance"

    lengths: str = "inverse"
    top_k: int | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        self._check_choice("lengths", LENGTHS)
        self._check_sparsification()

    @property
    def symmetric(self) -> bool:
        """Always False: the softmax divides each row by its own sum."""
        return False

    def __call__(self, graph: Graph) -> sp.csr_array | np.ndarray:
        """Compute the view of a graph, n×n."""
        dense = self.top_k is None and self.threshold is None
        if dense:
            check_dense_size(self.name, int(graph.sizes.max()))
            check_total_size(self.name, graph.sizes)
        if dense and graph.count == 1:
            # Filled chunk by chunk, so the float64 distances of all rows are never in memory together with the result.
            dtype = np.float32 if graph.nodes > SINGLE_PRECISION_FROM else np.float64
            out = np.empty((graph.nodes, graph.nodes), dtype=dtype)
            for first, rows in self._rows(graph.adjacency):
                out[first : first + len(rows)] = rows
            return out
        blocks = []
        for low, high in zip(graph.offsets[:-1], graph.offsets[1:], strict=True):
            own = graph.adjacency if graph.count == 1 else graph.adjacency[low:high, low:high]
            parts = [sparsify(rows, self.top_k, self.threshold) for _, rows in self._rows(own)]
            blocks.append(parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr")))
        return join_blocks(blocks, graph.offsets)

    def _rows(self, adjacency: sp.csr_array) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the view of one graph in chunks of rows, as (index of the first row, rows)."""
        nodes = adjacency.shape[0]
        lengths = sp.csr_array(adjacency, dtype=np.float64, copy=True)
        if self.lengths == "inverse":
            lengths.data = 1.0 / lengths.data
        elif self.lengths == "hops":
            lengths.data[:] = 1.0
        for first in range(0, nodes, max(1, _CHUNK // nodes)):
            sources = np.arange(first, min(first + max(1, _CHUNK // nodes), nodes))
            rows = np.atleast_2d(dijkstra(lengths, directed=True, indices=sources))
            rows[np.arange(len(sources)), sources] = 1.0
            np.divide(1.0, rows, out=rows)
            # Inverses of tiny lengths are huge: subtract the row's maximum, or the exponential would overflow.
            rows -= rows.max(axis=1, keepdims=True)
            np.exp(rows, out=rows)
            rows /= rows.sum(axis=1, keepdims=True)
            yield first, rows
