"""Diffusion views of a stored graph: rows by local push, written in shards, and read back for samples and products.

A shard has the same number of entries for every row, ``top_k``: their columns, then the bits of their values, as one
array of 32-bit integers, 2 × rows × top_k. A row with fewer entries ends with columns of -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from mvgrl.errors import SettingsError
from mvgrl.graphs.stored import StoredGraph
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.outofcore.adjacency import Places
from mvgrl.outofcore.shards import Shards
from mvgrl.runtime import compiled, use_torch_threads
from mvgrl.views import PPR, Adjacency, Heat, View
from mvgrl.views.push import heat_rows, ppr_rows


def check_views(views: Sequence[View]) -> None:
    """Reject views that need the whole graph in memory."""
    for view in views:
        if isinstance(view, Adjacency):
            continue
        if not isinstance(view, (PPR, Heat)):
            raise SettingsError(f"the view {view} needs the whole graph in memory; use adjacency, ppr or heat")
        if view.top_k is None or view.method not in ("auto", "push") or view.scale != "none":
            raise SettingsError(
                f"the view {view} needs the whole graph in memory; use {view.name}:top_k=64 with method push, without "
                "scale, or more --memory"
            )


def compute_rows(view: PPR | Heat, graph: StoredGraph, degrees: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return rows of a view by local push, as a shard holds them."""
    assert view.top_k is not None
    width = min(view.top_k, graph.nodes)
    shard = np.empty((2, stop - start, width), np.int32)
    columns, values = shard[0].reshape(-1), shard[1].reshape(-1).view(np.float32)
    starts, counts = np.arange(stop - start + 1) * width, np.zeros(stop - start, np.int64)
    structure = (graph.indptr, graph.indices, graph.weights)
    lowest = 0.0 if view.threshold is None else view.threshold
    use_torch_threads()
    if isinstance(view, PPR):
        ppr_rows(structure, degrees, view.alpha, view.epsilon, lowest, start, starts, counts, columns, values)
    else:
        heat_rows(structure, degrees, *view.levels(), lowest, start, starts, counts, columns, values)
    unused = np.arange(width) >= counts[:, None]
    shard[0][unused], shard[1][unused] = -1, 0
    return shard


def fill(shards: Shards, view: PPR | Heat, graph: StoredGraph, degrees: np.ndarray, done: Callable[[], None]) -> None:
    """Compute the shards of a view that are missing."""
    shards.fill(lambda start, stop: compute_rows(view, graph, degrees, start, stop), done)


class StoredView(Matrix):
    """A diffusion in shards."""

    symmetric = False

    def __init__(self, shards: Shards, places: Places) -> None:
        self.shards, self.places = shards, places
        self.parts = [shards.read(shard) for shard in range(len(shards.ranges))]
        self.width = self.parts[0].shape[2]
        self.shape = (shards.ranges.nodes, shards.ranges.nodes)

    def select(self, nodes: Tensor, sizes: Sequence[int], *, disjoint: bool = False) -> SparseMatrix:
        """Return the submatrices induced by samples of nodes, block-diagonal, with their transpose."""
        chosen = nodes.cpu().numpy()
        rows = self._rows(chosen)
        room = rows[0].size
        indptr, columns, values = (
            np.zeros(len(chosen) + 1, np.int32),
            np.empty(room, np.int32),
            np.empty(room, np.float32),
        )
        arrays = (chosen, np.asarray(sizes), self.places.array, rows[0], rows[1].view(np.float32))
        used = _select_rows(*arrays, indptr, columns, values)
        part = _matrix(indptr, columns[:used].copy(), values[:used].copy())
        transpose = _transposed(part)
        part.pair_with(transpose)
        if nodes.device.type != "cpu":
            moved = part.to(nodes.device)
            moved.pair_with(transpose.to(nodes.device))
            return moved
        return part

    def _rows(self, nodes: np.ndarray) -> np.ndarray:
        """Gather the entries of some rows from all shards."""
        found = np.empty((2, len(nodes), self.width), np.int32)
        size = self.shards.ranges.rows
        shard_of = nodes // size
        for shard in np.unique(shard_of):
            here = np.flatnonzero(shard_of == shard)
            _take_rows(self.parts[shard], nodes[here] - shard * size, here, found)
        return found

    def product(self, start: int, stop: int, right: np.ndarray) -> np.ndarray:
        """Return the rows of one shard of the product with a matrix that is in memory."""
        out = np.empty((stop - start, right.shape[1]), np.float32)
        part = self.parts[start // self.shards.ranges.rows]
        use_torch_threads()
        _multiply_shard(part[0], part[1].view(np.float32), right, out)
        return out


@compiled(nogil=True)
def _take_rows(part: Any, rows: Any, places: Any, found: Any) -> None:
    for i in range(len(rows)):
        for k in range(part.shape[2]):
            found[0, places[i], k] = part[0, rows[i], k]
            found[1, places[i], k] = part[1, rows[i], k]


@compiled(nogil=True)
def _select_rows(
    nodes: Any, sizes: Any, places: Any, given_columns: Any, given_values: Any, starts: Any, columns: Any, values: Any
) -> int:
    used, first = 0, 0
    for size in sizes:
        for i in range(first, first + size):
            places[nodes[i]] = i
        for i in range(first, first + size):
            for k in range(given_columns.shape[1]):
                v = given_columns[i, k]
                if v >= 0 and places[v] >= 0:
                    columns[used], values[used] = places[v], given_values[i, k]
                    used += 1
            starts[i + 1] = used
        for i in range(first, first + size):
            places[nodes[i]] = -1
        first += size
    return used


def _transposed(part: SparseMatrix) -> SparseMatrix:
    rows, entries = part.shape[0], len(part.indices)
    arrays = (np.zeros(rows + 1, np.int32), np.empty(entries, np.int32), np.empty(entries, np.float32))
    _transpose(part.indptr.numpy(), part.indices.numpy(), part.values.numpy(), *arrays)
    return _matrix(*arrays)


def _matrix(indptr: np.ndarray, columns: np.ndarray, values: np.ndarray) -> SparseMatrix:
    rows = torch.from_numpy(indptr)
    return SparseMatrix(rows, torch.from_numpy(columns), torch.from_numpy(values), len(indptr) - 1)


@compiled(nogil=True)
def _transpose(indptr: Any, indices: Any, values: Any, starts: Any, columns: Any, transposed: Any) -> None:
    for entry in range(len(indices)):
        starts[indices[entry] + 1] += 1
    for i in range(len(starts) - 1):
        starts[i + 1] += starts[i]
    following = starts[:-1].copy()
    for i in range(len(indptr) - 1):
        for entry in range(indptr[i], indptr[i + 1]):
            place = following[indices[entry]]
            columns[place], transposed[place] = i, values[entry]
            following[indices[entry]] += 1


@compiled(parallel=True, fastmath={"contract"})
def _multiply_shard(columns: Any, values: Any, right: Any, out: Any) -> None:
    width = right.shape[1]
    for i in numba.prange(out.shape[0]):
        row = out[i]
        row[:] = 0
        for entry in range(columns.shape[1]):
            v = columns[i, entry]
            if v >= 0:
                factor, other = values[i, entry], right[v]
                for k in range(width):
                    row[k] += factor * other[k]
