"""The adjacency of a stored graph: degrees, the normalised view of samples, and its product with a tall matrix."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from mvgrl.graphs.stored import StoredGraph
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.runtime import compiled, use_torch_threads


def degrees_of(graph: StoredGraph) -> np.ndarray:
    """Return the degrees d̂ of Â = A + I, in double precision."""
    if graph.weights is None:
        found: np.ndarray = np.diff(graph.indptr) + 1.0
        return found
    sums = np.zeros(graph.nodes)
    _sum_weights(graph.indptr, graph.weights, sums)
    return sums + 1.0


@compiled()
def _sum_weights(indptr: Any, weights: Any, sums: Any) -> None:
    for i in range(len(sums)):
        for entry in range(indptr[i], indptr[i + 1]):
            sums[i] += weights[entry]


def mapped(array: np.ndarray) -> Tensor:
    """Return a memory map as a tensor, which is only read."""
    with warnings.catch_warnings():  # torch warns that the array is not writable
        warnings.simplefilter("ignore")
        return torch.from_numpy(array)


def walkable(graph: StoredGraph) -> SparseMatrix:
    """Return the adjacency as samplers expect it, over the memory maps; samplers do not read weights."""
    weights = torch.ones(1).expand(len(graph.indices))
    return SparseMatrix(mapped(graph.indptr), mapped(graph.indices), weights, graph.nodes, symmetric=True)


class Places:
    """Where the nodes of a sample are in it: an array with an entry per node, shared by all views, for one thread."""

    def __init__(self, nodes: int) -> None:
        self.array = np.full(nodes, -1, np.int32)


class StoredAdjacency(Matrix):
    """D̂^-1/2 Â D̂^-1/2 of a stored graph: entries are computed from the degrees when they are needed."""

    symmetric = True

    def __init__(self, graph: StoredGraph, degrees: np.ndarray, places: Places) -> None:
        self.graph, self.places = graph, places
        self.roots = 1.0 / np.sqrt(degrees)
        self.shape = (graph.nodes, graph.nodes)

    def select(self, nodes: Tensor, sizes: Sequence[int], *, disjoint: bool = False) -> SparseMatrix:
        """Return the submatrices induced by samples of nodes, block-diagonal."""
        graph, chosen = self.graph, nodes.cpu().numpy()
        room = int((np.asarray(graph.indptr[chosen + 1]) - np.asarray(graph.indptr[chosen]) + 1).sum())
        indptr, columns, values = (
            np.zeros(len(chosen) + 1, np.int32),
            np.empty(room, np.int32),
            np.empty(room, np.float32),
        )
        used = _select_adjacency(
            graph.indptr, graph.indices, graph.weights, self.roots, chosen, np.asarray(sizes), self.places.array,
            indptr, columns, values,
        )  # fmt: skip
        # Copies: a sample keeps few of the entries of its rows, and the rest must not stay in memory.
        entries = torch.from_numpy(columns[:used].copy()), torch.from_numpy(values[:used].copy())
        return SparseMatrix(torch.from_numpy(indptr), *entries, len(chosen), symmetric=True).to(nodes.device)

    def product(self, start: int, stop: int, right: np.ndarray) -> np.ndarray:
        """Return rows ``start:stop`` of the product with a matrix that is in memory."""
        graph, out = self.graph, np.empty((stop - start, right.shape[1]), np.float32)
        use_torch_threads()
        _multiply_adjacency(graph.indptr, graph.indices, graph.weights, self.roots, start, right, out)
        return out


@compiled(nogil=True)
def _select_adjacency(
    indptr: Any, neighbours: Any, weights: Any, roots: Any, nodes: Any, sizes: Any, places: Any,
    starts: Any, columns: Any, values: Any,
) -> int:  # fmt: skip
    """Fill in the rows of samples, without columns outside of them; entries are in the order of the graph's nodes."""
    used, first = 0, 0
    for size in sizes:
        for i in range(first, first + size):
            places[nodes[i]] = i
        for i in range(first, first + size):
            u = nodes[i]
            looped = False
            for entry in range(indptr[u], indptr[u + 1]):
                v = neighbours[entry]
                if v > u and not looped:
                    columns[used], values[used] = i, roots[u] * roots[u]
                    used += 1
                    looped = True
                place = places[v]
                if place >= 0:
                    weight = 1.0 if weights is None else np.float64(weights[entry])
                    columns[used], values[used] = place, weight * (roots[u] * roots[v])
                    used += 1
            if not looped:
                columns[used], values[used] = i, roots[u] * roots[u]
                used += 1
            starts[i + 1] = used
        for i in range(first, first + size):
            places[nodes[i]] = -1
        first += size
    return used


@compiled(parallel=True, fastmath={"contract"})
def _multiply_adjacency(
    indptr: Any, neighbours: Any, weights: Any, roots: Any, first: int, right: Any, out: Any
) -> None:
    width = right.shape[1]
    for i in numba.prange(out.shape[0]):
        u = first + i
        row, own, root = out[i], right[u], roots[u]
        factor = np.float32(root * root)
        for k in range(width):
            row[k] = factor * own[k]
        for entry in range(indptr[u], indptr[u + 1]):
            v = neighbours[entry]
            weight = 1.0 if weights is None else np.float64(weights[entry])
            factor = np.float32(weight * (root * roots[v]))
            other = right[v]
            for k in range(width):
                row[k] += factor * other[k]
