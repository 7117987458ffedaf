"""From numbered edges in a file to the CSR arrays of a stored graph, with few of them in memory at a time.

The result is that of ``Graph.from_edges``, bit for bit. With D the directed matrix of the edges, in which duplicates
are summed, the adjacency is max(D, Dᵀ). The edges are divided into ranges of source nodes, and the rows of D are built
one range after the other; its entries are then divided into the same ranges of their targets, which gives the rows of
Dᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs.checks import weights_too_large
from mvgrl.graphs.graph import DUPLICATES_MERGED, LOOPS_DROPPED, MADE_UNDIRECTED
from mvgrl.graphs.import_ids import Ends, Report
from mvgrl.graphs.stored import index_type
from mvgrl.graphs.stored_files import ArrayWriter

BYTES_PER_ENTRY = 100  # while the rows of a range are built, per entry of D and of Dᵀ
_BINS = 2**16  # of the histogram that the ranges follow from


@dataclass
class _Buckets:
    """Entries of a matrix, row, column and value, in a file per range of rows; they keep their order."""

    folder: Path
    name: str
    starts: np.ndarray  # the first row of each range
    dtype: np.dtype
    valued: bool

    def append(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray | None) -> None:
        place = np.searchsorted(self.starts, rows, side="right") - 1
        order = np.argsort(place, kind="stable")
        cuts = np.searchsorted(place[order], np.arange(len(self.starts) + 1))
        parts = {"rows": rows.astype(self.dtype), "columns": columns.astype(self.dtype)}
        if self.valued and values is not None:
            parts["values"] = values
        for part, array in parts.items():
            array = array[order]
            for bucket in np.flatnonzero(np.diff(cuts)):
                with self._path(int(bucket), part).open("ab") as file:
                    file.write(array[cuts[bucket] : cuts[bucket + 1]].data)

    def take(self, bucket: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read the entries of a range, and remove their files."""
        rows, columns = (self._take(bucket, part, self.dtype) for part in ("rows", "columns"))
        values = self._take(bucket, "values", np.dtype(np.float64)) if self.valued else np.ones(len(rows))
        return rows, columns, values

    def _path(self, bucket: int, part: str) -> Path:
        return self.folder / f"{self.name}-{bucket}-{part}"

    def _take(self, bucket: int, part: str, dtype: np.dtype) -> np.ndarray:
        path = self._path(bucket, part)
        if not path.exists():
            return np.empty(0, dtype)
        array = np.fromfile(path, dtype)
        path.unlink()
        return array


def write_adjacency(
    ends: Ends, nodes: int, folder: Path, scratch: Path, limit: int, report: Report, name: Callable[[int], object]
) -> tuple[int, list[str]]:
    """Write indptr.npy, indices.npy and weights.npy; return the number of edges, and notes on how they were changed.

    ``name`` returns the id of a node, for an error message.
    """
    notes, kept = [], 0
    starts, loops = _ranges(ends, nodes, max(1, limit // BYTES_PER_ENTRY), report)
    dtype = np.dtype(index_type(nodes))
    buckets = _Buckets(scratch, "forward", starts, dtype, ends.weighted)
    for start, sources, targets, weights in _without_loops(ends):
        report("sorting edges", start, ends.rows)
        buckets.append(sources, targets, weights)
        kept += len(sources)
    _remove(ends)
    if loops:
        notes.append(LOOPS_DROPPED)
    backward = _Buckets(scratch, "backward", starts, dtype, ends.weighted)
    entries = _write_directed(buckets, backward, nodes, scratch, report)
    if entries < kept:
        notes.append(DUPLICATES_MERGED + (", their weights summed" if ends.weighted else ""))
    edges, changed = _write_symmetric(backward, nodes, folder, scratch, report, name)
    if changed:
        notes.append(MADE_UNDIRECTED)
    return edges, notes


def _remove(ends: Ends) -> None:
    for name in ("ends", "weights"):
        (ends.folder / name).unlink(missing_ok=True)


def _without_loops(ends: Ends) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray | None]]:
    for start, block, weights in ends.blocks():
        sources, targets = block.T
        other = sources != targets
        yield start, sources[other], targets[other], None if weights is None else weights[other]


def _ranges(ends: Ends, nodes: int, most: int, report: Report) -> tuple[np.ndarray, int]:
    """Divide the nodes into ranges with a limited number of edge ends; return where they start, and the self-loops.

    A few nodes that share a bin of the histogram, or a node with more edges, may exceed it.
    """
    width = -(-nodes // _BINS)
    counts, loops = np.zeros(-(-nodes // width), np.int64), 0
    for start, block, _ in ends.blocks():
        report("counting edges", start, ends.rows)
        loops += int((block[:, 0] == block[:, 1]).sum())
        counts += np.bincount(block.ravel() // width, minlength=len(counts))
    starts, filled = [0], 0
    for place, count in enumerate(counts.tolist()):
        if filled and filled + count > most:
            starts.append(place * width)
            filled = 0
        filled += count
    return np.array(starts), loops


def _block(entries: tuple[np.ndarray, np.ndarray, np.ndarray], start: int, stop: int, nodes: int) -> sp.csr_array:
    """Build the rows of a range from its entries; duplicates are summed, in the order in which SciPy sorts a row."""
    rows, columns, values = entries
    rows -= rows.dtype.type(start)
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=(stop - start, nodes)))


def _bounds(starts: np.ndarray, nodes: int) -> Iterator[tuple[int, int, int]]:
    for bucket, (start, stop) in enumerate(zip(starts, [*starts[1:], nodes], strict=True)):
        yield bucket, int(start), int(stop)


def _write_directed(forward: _Buckets, backward: _Buckets, nodes: int, scratch: Path, report: Report) -> int:
    """Write the rows of D, range by range, and divide its entries by their targets; return how many there are."""
    entries = 0
    for bucket, start, stop in _bounds(forward.starts, nodes):
        report("merging edges", start, nodes)
        directed = _block(forward.take(bucket), start, stop, nodes)
        if not forward.valued:
            directed.data[:] = 1.0
        entries += directed.nnz
        for name in ("indptr", "indices", "data"):
            if forward.valued or name != "data":
                np.save(scratch / f"directed-{bucket}-{name}.npy", getattr(directed, name))
        sources = np.repeat(np.arange(start, stop, dtype=forward.dtype), np.diff(directed.indptr))
        backward.append(directed.indices, sources, directed.data if forward.valued else None)
    return entries


def _take_directed(bucket: int, valued: bool, shape: tuple[int, int], scratch: Path) -> sp.csr_array:
    parts = {}
    for name in ("indptr", "indices", "data") if valued else ("indptr", "indices"):
        path = scratch / f"directed-{bucket}-{name}.npy"
        parts[name] = np.load(path)
        path.unlink()
    values = parts["data"] if valued else np.ones(len(parts["indices"]))
    return sp.csr_array((values, parts["indices"], parts["indptr"]), shape=shape)


def _write_symmetric(
    backward: _Buckets, nodes: int, folder: Path, scratch: Path, report: Report, name: Callable[[int], object]
) -> tuple[int, bool]:
    """Write max(D, Dᵀ), range by range; return the number of edges, and whether any was added or changed."""
    entries, changed, ones, single = 0, False, True, True
    sums = _Sums(name)
    with (
        ArrayWriter(folder / "indptr.npy", np.int64) as pointers,
        ArrayWriter(folder / "indices.npy", index_type(nodes)) as indices,
        ArrayWriter(folder / "weights.npy", np.float64) as weights,
    ):
        pointers.append(np.zeros(1, np.int64))
        for bucket, start, stop in _bounds(backward.starts, nodes):
            report("joining both directions", start, nodes)
            shape = (stop - start, nodes)
            directed = _take_directed(bucket, backward.valued, shape, scratch)
            adjacency = sp.csr_array(directed.maximum(_block(backward.take(bucket), start, stop, nodes)))
            changed = changed or bool((adjacency != directed).nnz)
            pointers.append(adjacency.indptr[1:].astype(np.int64) + entries)
            indices.append(adjacency.indices)
            if backward.valued:
                weights.append(adjacency.data)
                sums.add(adjacency, start)
                ones = ones and bool((adjacency.data == 1).all())
                single = single and bool((adjacency.data == adjacency.data.astype(np.float32)).all())
            entries += adjacency.nnz
    if ones:
        (folder / "weights.npy").unlink()
    elif single:
        _in_single_precision(folder / "weights.npy", scratch / "weights.npy")
    return entries // 2, changed


class _Sums:
    """Checks that the weights can be summed: every view divides by sums of weights."""

    def __init__(self, name: Callable[[int], object]) -> None:
        self._name, self._total, self._most, self._node = name, 0.0, -1.0, 0

    def add(self, adjacency: sp.csr_array, start: int) -> None:
        with np.errstate(over="ignore"):
            sums = np.asarray(adjacency.sum(axis=1)).reshape(-1)
            self._total += float(sums.sum())
        if sums.max(initial=-1.0) > self._most:
            self._most, self._node = float(sums.max()), start + int(np.argmax(sums))
        if not np.isfinite(self._total):
            raise weights_too_large(self._name(self._node))


def _in_single_precision(path: Path, scratch: Path) -> None:
    """Rewrite an array, none of whose values this changes."""
    array = np.load(path, mmap_mode="r")
    with ArrayWriter(scratch, np.float32) as writer:
        for start in range(0, len(array), 2**20):
            writer.append(array[start : start + 2**20])
    scratch.replace(path)
