"""Exact diffusions of many graphs; graphs of the same size are solved together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.views.base import check_dense_size, check_total_size
from mvgrl.views.sparsify import sparsify

_STACK = 2**22  # entries of the matrices that are solved together

# Maps a stack of Â (graphs × n × n, may be overwritten) to the stack of views.
Solve = Callable[[np.ndarray], np.ndarray]


def exact_blocks(graph: Graph, view: str, solve: Solve, top_k: int | None, threshold: float | None) -> sp.csr_array:
    """Compute the views of many graphs as one block-diagonal float64 matrix; zeros are not stored."""
    sizes = graph.sizes
    check_dense_size(view, int(sizes.max()))
    if top_k is None and threshold is None:
        check_total_size(view, sizes)
    blocks: list[Any] = [None] * graph.count
    order = np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        size = int(sizes[order[start]])
        stop = min(int(np.searchsorted(sizes[order], size, side="right")), start + max(1, _STACK // size**2))
        chosen = order[start:stop]
        for which, matrix in zip(chosen, solve(_dense_stack(graph, chosen)), strict=True):
            blocks[which] = sparsify(matrix, top_k, threshold)
        start = stop
    return join_blocks(blocks, graph.offsets)


def _dense_stack(graph: Graph, chosen: np.ndarray) -> np.ndarray:
    """Return Â of graphs of the same size as one dense array, graphs × n × n."""
    size = int(graph.sizes[chosen[0]])
    stack = np.zeros((len(chosen), size, size))
    indptr = graph.adjacency.indptr
    for place, which in enumerate(chosen):
        low, high = graph.offsets[which], graph.offsets[which + 1]
        entries = slice(indptr[low], indptr[high])
        rows = np.repeat(np.arange(size), np.diff(indptr[low : high + 1]))
        stack[place, rows, graph.adjacency.indices[entries] - low] = graph.adjacency.data[entries]
    stack[:, np.arange(size), np.arange(size)] += 1.0
    return stack


def join_blocks(blocks: list[Any], offsets: np.ndarray) -> sp.csr_array:
    """Join square CSR matrices into one block-diagonal CSR matrix."""
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    indices = np.concatenate([block.indices + low for block, low in zip(blocks, offsets[:-1], strict=True)])
    data = np.concatenate([block.data for block in blocks])
    nodes = int(offsets[-1])
    return sp.csr_array((data, indices, np.concatenate([[0], np.cumsum(counts)])), shape=(nodes, nodes))
