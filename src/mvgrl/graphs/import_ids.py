"""From the ids in tables larger than memory to node numbers, in files.

Each end of an edge becomes a number in a file of ends, edges × 2. The ids are looked up in a hash table; if it takes
more memory than it may, the ids are divided into shares by their hashes, and the edges are read once per share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mvgrl.errors import InputError, shown
from mvgrl.graphs.stored import PART, index_type
from mvgrl.graphs.tables import check_not_negative
from mvgrl.runtime import compiled
from mvgrl.tables.columns import id_array, to_numbers
from mvgrl.tables.id_map import IdMap, MapTooLargeError
from mvgrl.tables.ids import Keyed
from mvgrl.tables.streams import TableStream

Report = Callable[[str, int, int], None]  # what is being done, and how many of how many rows are
_MOST_SHARES = 2**12
_AT_A_TIME = 2**20  # edges


def batches_of(stream: TableStream, columns: Sequence[str], what: str, report: Report) -> Iterator[tuple[int, Any]]:
    """Yield the batches of a table with the number of their first rows, and report the progress."""
    start = 0
    for batch in stream.batches(columns):
        report(what, start, stream.rows)
        yield start, batch
        start += batch.num_rows


@dataclass
class IdColumn:
    """A column of ids, whose batches all become integers or all become text."""

    stream: TableStream
    name: str
    text: bool = False  # as it is by itself: not all values are integers
    as_text: bool = False  # as other columns need it

    def settle(self, report: Report) -> None:
        """Find out whether all values are integers."""
        dtype = self.stream.types[self.name]
        if pa.types.is_signed_integer(dtype):
            return
        if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
            self.text = True
            return
        for start, batch in batches_of(self.stream, [self.name], f"reading {self.stream.place.name}", report):
            array = id_array(self.stream.place.after(start), self.name, batch[self.name])
            if not pa.types.is_int64(array.type):
                self.text = True
                return

    def read(self, batch: Any, start: int) -> Any:
        """Return the ids of a batch, which starts at a row."""
        found = id_array(self.stream.place.after(start), self.name, batch[self.name], as_text=self.text)
        return found.cast(pa.large_string()) if self.as_text else found


def settle_ids(columns: Sequence[IdColumn], report: Report) -> None:
    """Give columns that identify the same things one type: integers if all of them are, else text."""
    for column in columns:
        column.settle(report)
    for column in columns:
        column.as_text = any(one.text for one in columns)


class IdWriter:
    """Writes the ids of the nodes in their order, unless they are 0, 1, 2, …"""

    def __init__(self, path: Path) -> None:
        self.path, self.rows = path, 0
        self._numbered, self._waiting, self._count = True, list[Any](), 0
        self._writer: Any = None

    def append(self, ids: Any) -> None:
        """Add the ids of more nodes, an Arrow array."""
        if self._numbered:
            here = pa.types.is_int64(ids.type) and ids.equals(pa.array(np.arange(self.rows, self.rows + len(ids))))
            if not here:
                self._numbered = False
                if self.rows:
                    for start in range(0, self.rows, PART):
                        self._add(pa.array(np.arange(start, min(start + PART, self.rows))).cast(ids.type))
        self.rows += len(ids)
        if not self._numbered:
            self._add(ids)

    def _add(self, ids: Any) -> None:
        self._waiting.append(ids)
        self._count += len(ids)
        if self._count >= PART:
            self._write()

    def _write(self) -> None:
        if not self._count:
            return
        table = pa.table({"id": pa.chunked_array(self._waiting)})
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.path, table.schema, compression="zstd")
        self._writer.write_table(table, row_group_size=PART)
        self._waiting, self._count = [], 0

    def __enter__(self) -> IdWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._write()
        if self._writer is not None:
            self._writer.close()


@dataclass
class Ends:
    """The numbers of the nodes at both ends of the edges, and their weights, in files."""

    folder: Path
    rows: int
    dtype: Any
    weighted: bool

    def blocks(self) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
        """Yield the first edge of a block, its ends, edges × 2, and its weights."""
        for start in range(0, self.rows, _AT_A_TIME):
            count = min(_AT_A_TIME, self.rows - start)
            weights = self._read("weights", np.float64, start, count, 1) if self.weighted else None
            yield start, self._read("ends", self.dtype, start, count, 2).reshape(-1, 2), weights

    def put(self, start: int, found: np.ndarray, *, keep: bool) -> None:
        """Write the numbers of edges from ``start``; ``keep`` what is there where none was found."""
        found = found.astype(self.dtype)
        if keep:
            there = self._read("ends", self.dtype, start, len(found), 2).reshape(-1, 2)
            found = np.where(found == _ELSEWHERE, there, found)
        with (self.folder / "ends").open("r+b" if (self.folder / "ends").exists() else "w+b") as file:
            file.seek(2 * start * self.dtype.itemsize)
            file.write(np.ascontiguousarray(found).data)

    def put_weights(self, start: int, weights: np.ndarray) -> None:
        """Write the weights of edges from ``start``."""
        path = self.folder / "weights"
        with path.open("r+b" if path.exists() else "w+b") as file:
            file.seek(8 * start)
            file.write(np.ascontiguousarray(weights, np.float64).data)

    def _read(self, name: str, dtype: Any, start: int, count: int, width: int) -> np.ndarray:
        size = np.dtype(dtype).itemsize * width
        return np.fromfile(self.folder / name, dtype, count * width, offset=start * size)


_ELSEWHERE = -2


@dataclass
class EdgeColumns:
    """The columns of a table of edges."""

    stream: TableStream
    source: IdColumn
    target: IdColumn
    weight: str | None

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return [self.source.name, self.target.name, *(() if self.weight is None else (self.weight,))]

    def ids(self, batch: Any, start: int) -> tuple[Any, Any]:
        """Return the ids of both ends."""
        return self.source.read(batch, start), self.target.read(batch, start)

    def weights(self, batch: Any, start: int) -> np.ndarray | None:
        """Return the weights, checked not to be negative."""
        if self.weight is None:
            return None
        place = self.stream.place.after(start)
        weights = to_numbers(place, self.weight, batch[self.weight])
        if weights.ndim != 1:
            raise InputError(f"{place.name}: column {shown(self.weight)} holds lists; give one number per edge")
        check_not_negative(weights, place)
        return weights


def number_by_table(edges: EdgeColumns, ids: IdColumn, output: Path, scratch: Path, limit: int, report: Report) -> Ends:
    """Number the nodes in the order of their table, and write their ids to ``output``."""
    nodes = ids.stream

    def attempt(shares: int, seed: int) -> Ends:
        ends = Ends(scratch, edges.stream.rows, np.dtype(index_type(nodes.rows)), edges.weight is not None)
        for share in range(shares):
            expected = nodes.rows // shares + nodes.rows // (20 * shares)
            known = IdMap(text=ids.as_text or ids.text, share=share, shares=shares, expected=expected, limit=limit,
                          seed=seed)  # fmt: skip
            with IdWriter(output) as writer:
                for start, batch in batches_of(nodes, [ids.name], "reading ids", report):
                    array = ids.read(batch, start)
                    writer.append(array)
                    _check_unique(known.add(array, start), start, array, nodes)
            for start, batch in batches_of(edges.stream, edges.names, f"reading edges{_of(share, shares)}", report):
                found = np.column_stack([known.find(some) for some in edges.ids(batch, start)])
                ends.put(start, found, keep=share > 0)
                if share == 0 and edges.weight is not None:
                    ends.put_weights(start, edges.weights(batch, start))  # type: ignore[arg-type]
        return ends

    ends = _with_few_shares(attempt)
    _check_known(ends, edges, ids)
    return ends


def _of(share: int, shares: int) -> str:
    return f", part {share + 1} of {shares}" if shares > 1 else ""


def _with_few_shares(attempt: Callable[[int, int], Any]) -> Any:
    shares, seed = 1, IdMap.random_seed()
    while True:
        try:
            return attempt(shares, seed)
        except MapTooLargeError:
            shares *= 2
            if shares > _MOST_SHARES:
                raise InputError("the ids do not fit into memory, not even in parts; give more --memory") from None


def _check_unique(found: np.ndarray, start: int, ids: Any, nodes: TableStream) -> None:
    repeated = np.flatnonzero((found != _ELSEWHERE) & (found != np.arange(start, start + len(found))))
    if len(repeated):
        row = int(repeated[0])
        described = Keyed(np.array([ids[row].as_py()])).describe(0)
        problem = f"{described} is also on {nodes.place.row(int(found[row]))}"
        raise nodes.place.error(start + row, f"{problem}; ids must be unique")


def _check_known(ends: Ends, edges: EdgeColumns, ids: IdColumn) -> None:
    """Check that both ends of every edge are in the table of nodes."""
    for start, block, _ in ends.blocks():
        missing = np.flatnonzero(block.ravel() < 0)
        if len(missing):
            row, end = start + int(missing[0]) // 2, int(missing[0]) % 2
            column = (edges.source, edges.target)[end]
            value = next(
                column.read(batch, first)[row - first].as_py()
                for first, batch in batches_of(edges.stream, [column.name], "", _silent)
                if first <= row < first + batch.num_rows
            )
            problem = f"{column.name} is node {shown(value)}, which is not in {ids.stream.place.name}"
            raise edges.stream.place.error(row, f"{problem}; add the node or drop the edge")


def _silent(*_: object) -> None:
    pass


def number_by_appearance(
    edges: EdgeColumns, output: Path, scratch: Path, limit: int, report: Report
) -> tuple[Ends, int]:
    """Number the nodes in the order of their first appearance, and write their ids; return the number of nodes.

    An id is first represented by the position of its first appearance, 2·row or 2·row + 1, whatever its share is. Its
    number is the number of such positions before.
    """
    dtype = np.dtype(index_type(2 * edges.stream.rows))

    def attempt(shares: int, seed: int) -> Ends:
        ends = Ends(scratch, edges.stream.rows, dtype, edges.weight is not None)
        for share in range(shares):
            known = IdMap(text=edges.source.as_text or edges.source.text, share=share, shares=shares, limit=limit,
                          seed=seed)  # fmt: skip
            for start, batch in batches_of(edges.stream, edges.names, f"reading edges{_of(share, shares)}", report):
                mixed = _interleaved(*edges.ids(batch, start))
                ends.put(start, known.add(mixed, 2 * start).reshape(-1, 2), keep=share > 0)
                if share == 0 and edges.weight is not None:
                    ends.put_weights(start, edges.weights(batch, start))  # type: ignore[arg-type]
        return ends

    ends = _with_few_shares(attempt)
    firsts, before = _first_positions(ends)
    for start, block, _ in ends.blocks():
        numbers = np.empty(block.size, np.int64)
        _rank(firsts, before, block.ravel(), numbers)
        ends.put(start, numbers.reshape(-1, 2), keep=False)
    with IdWriter(output) as writer:
        for start, batch in batches_of(edges.stream, edges.names[:2], "writing ids", report):
            mixed = _interleaved(*edges.ids(batch, start))
            bits = np.unpackbits(firsts[start // 4 : (start + len(mixed) // 2) // 4 + 1], bitorder="little")
            inside = bits[2 * (start % 4) : 2 * (start % 4) + len(mixed)].astype(bool)
            array = mixed if not isinstance(mixed, np.ndarray) else pa.array(mixed)
            writer.append(array.filter(pa.array(inside)))
    return ends, int(before[-1])


def _interleaved(sources: Any, targets: Any) -> Any:
    """Return the ids row by row: the source, then the target."""
    if pa.types.is_int64(sources.type):
        return np.column_stack([sources.to_numpy(), targets.to_numpy()]).ravel()
    order = np.arange(2 * len(sources)).reshape(2, -1).T.ravel()
    return pc.take(pa.concat_arrays([sources, targets]), pa.array(order))


def _first_positions(ends: Ends) -> tuple[np.ndarray, np.ndarray]:
    """Return a bit per position, set where an id appears first, and the number of bits set before each byte."""
    firsts = np.zeros(ends.rows // 4 + 1, np.uint8)  # eight positions, four edges, per byte
    for start, block, _ in ends.blocks():
        first = block.ravel() == np.arange(2 * start, 2 * (start + len(block)))
        packed = np.packbits(first, bitorder="little")  # blocks start at multiples of four edges
        firsts[start // 4 : start // 4 + len(packed)] |= packed
    before = np.zeros(len(firsts) + 1, np.int64 if 2 * ends.rows > 2**31 else np.int32)
    np.cumsum(np.bitwise_count(firsts), out=before[1:])
    return firsts, before


@compiled()
def _rank(firsts, before, positions, numbers):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Count the bits set before each position."""
    for i in range(len(positions)):
        byte, bit = positions[i] >> 3, positions[i] & 7
        number = before[byte]
        for j in range(bit):
            number += (firsts[byte] >> j) & 1
        numbers[i] = number
