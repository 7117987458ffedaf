"""Embeddings, a vector per id: read from and written to Parquet, CSV, TSV and NumPy files."""

from __future__ import annotations

import filecmp
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from mvgrl.errors import InputError
from mvgrl.tables import mapped_embeddings
from mvgrl.tables.arrays import read_npy
from mvgrl.tables.atomic import atomic_write, check_writable
from mvgrl.tables.columns import Place, to_ids
from mvgrl.tables.ids import Keyed, read_keyed
from mvgrl.tables.names import check_text
from mvgrl.tables.paths import SEPARATORS, check_input_file, check_not_input, check_output_file
from mvgrl.tables.vector_columns import COLUMNS_KEY, columns_used, table_vectors

EXTENSIONS = (".parquet", *SEPARATORS, ".npy")
BATCH = 2**22  # numbers converted at a time: 16 megabytes
_PLACE = Place("the embeddings")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A vector per id; the vectors are n×d, in single or double precision.

    >>> embeddings = Embeddings(np.array(["ann", "bob"]), np.eye(2, dtype=np.float32))
    >>> embeddings.vectors[embeddings.ids == "bob"].tolist()
    [[0.0, 1.0]]
    """

    ids: np.ndarray  # integers or text, one per row
    vectors: np.ndarray
    graph_ids: np.ndarray | None = None  # one per row; only if the table holds nodes of several graphs
    sides: np.ndarray | None = None  # one per row; only if the table holds the nodes of a bipartite graph
    columns: tuple[str, ...] = ()  # of the node table that the vectors were made from; only Parquet keeps them

    def __post_init__(self) -> None:
        if not isinstance(self.vectors, np.ndarray) or self.vectors.dtype not in (np.float32, np.float64):
            raise InputError(f"vectors holds {_held(self.vectors)}; it must be a NumPy array of float32 or float64")
        if self.vectors.ndim != 2 or not self.vectors.size:
            raise InputError(f"vectors has shape {self.vectors.shape}; it must have one row per id and not be empty")
        for name, values in (("ids", self.ids), ("graph_ids", self.graph_ids), ("sides", self.sides)):
            if values is None and name != "ids":
                continue
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuU":
                raise InputError(f"{name} holds {_held(values)}; it must be a NumPy array of integers or text")
            if values.shape != (len(self.vectors),):
                raise InputError(
                    f"{name} has shape {values.shape}, but there are {len(self.vectors)} vectors; give one per vector"
                )
            check_text(values, name)

    @property
    def on_disk(self) -> bool:
        """Whether the vectors are in a file that is mapped into memory, as they are too many to be read."""
        return isinstance(self.vectors, np.memmap)

    def select(self, rows: np.ndarray) -> Embeddings:
        """Return some of the rows, in memory."""
        graphs, sides = (None if values is None else values[rows] for values in (self.graph_ids, self.sides))
        return Embeddings(self.ids[rows], np.array(self.vectors[rows]), graphs, sides, self.columns)

    @property
    def rows(self) -> Keyed:
        """The ids of the rows, for matching them with other tables."""
        return Keyed(self.ids, self.graph_ids, _PLACE, sides=self.sides)


def _held(values: object) -> object:
    return getattr(values, "dtype", type(values).__name__)


def ids_path(path: Path) -> Path:
    """Return the path of the table with the ids of a NumPy file, which cannot hold them itself.

    >>> ids_path(Path("cora.npy")).name
    'cora.ids.csv'
    """
    return path.with_suffix(".ids.csv")


def read_embeddings(
    path: str | os.PathLike[str], *, id_column: str | None = None, memory: int | None = None
) -> Embeddings:
    """Read embeddings from a table, or from a NumPy file with a table of ids next to it.

    A table has an id column (``id``, ``node``, ``node_id`` or the one given) and either a column of lists
    (``embedding``, or the only such column) or one column per dimension. Rows without ids are numbered from 0. If the
    vectors of a Parquet or NumPy file take more than ``memory``, in bytes, they stay on disk: ``vectors`` is mapped
    into memory.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "z.csv").write_text("node,x,y,label\\nann,1,2,good\\nbob,0.5,3,bad\\n")
    ...     embeddings = read_embeddings(f"{folder}/z.csv")
    >>> embeddings.ids.tolist(), embeddings.vectors.tolist()
    (['ann', 'bob'], [[1.0, 2.0], [0.5, 3.0]])
    """
    path = Path(path)
    columns: tuple[str, ...] = ()
    extension = check_input_file(path, EXTENSIONS)
    mapped = False
    if memory is not None and extension in (".npy", ".parquet"):
        mapped = mapped_embeddings.size_of(path) > memory
    if extension == ".npy":
        vectors = mapped_embeddings.map_numpy(path) if mapped else _read_numpy(path)
        rows = _read_ids(path, len(vectors), id_column)
    elif mapped:
        rows, vectors, columns = mapped_embeddings.map_parquet(path, id_column)
    else:
        table, rows = read_keyed(path, id_column, number_rows=True)
        vectors = table_vectors(table, rows.place)
        columns = columns_used(table.schema)
    return Embeddings(rows.ids, vectors, rows.graph_ids, rows.sides, columns)


def _read_numpy(path: Path) -> np.ndarray:
    loaded = read_npy(path)
    if loaded.ndim != 2 or not loaded.size:
        raise InputError(f"{path} has shape {loaded.shape}; it must have one row per id and one column per dimension")
    single = loaded.dtype.kind == "f" and loaded.dtype.itemsize <= 4
    vectors = np.ascontiguousarray(loaded, dtype=np.float32 if single else np.float64)
    finite = np.isfinite(vectors)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        problem = f"column {column} is {vectors[row, column]}"
        raise Place(str(path)).error(row, f"{problem}; give a finite number or drop the row")
    return vectors


def _read_ids(path: Path, count: int, id_column: str | None) -> Keyed:
    """Read the ids of a NumPy file from the table next to it; number the rows if there is none."""
    table = ids_path(path)
    if not os.path.lexists(table):
        if id_column is not None:
            raise InputError(f"{table}, which should have the column {id_column!r}, does not exist; write it, or omit "
                             "the column")  # fmt: skip
        return Keyed(np.arange(count))
    check_input_file(table, (".csv",))
    _, rows = read_keyed(table, id_column)
    if len(rows.ids) != count:
        raise InputError(f"{table} has {len(rows.ids)} ids, but {path} has {count} rows; write both again")
    return rows


def check_output(
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str] | None] = (),
    overwrite: bool = False,
    csv_safe: bool = False,
) -> Path:
    """Check that embeddings can be written to a file, before spending time on computing them.

    It must be none of the ``inputs``. Unless ``overwrite``, the table of ids of a NumPy file must not replace a file
    that does not belong to it.

    >>> check_output("cora.xlsx")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: cora.xlsx: unsupported file type; use one of .parquet, .csv, .tsv, .npy
    """
    path, inputs = check_output_file(path, EXTENSIONS, "embeddings.parquet"), list(inputs)
    check_not_input(path, inputs)
    if path.suffix.lower() == ".npy":
        table = ids_path(path)
        if table.is_dir():
            raise InputError(f"{table}, needed for the ids, is a folder; choose another path")
        check_not_input(table, inputs)
        check_writable(table)
        if not overwrite and table.exists() and not (path.exists() and _is_ids_table(table)):
            raise InputError(f"{table}, needed for the ids, exists and does not belong to {path}; choose another path, "
                             "or add --overwrite (overwrite=True) to replace it")  # fmt: skip
    elif csv_safe and path.suffix.lower() == ".parquet":
        raise InputError(f"{path}: csv_safe applies to .csv, .tsv and the ids of .npy only; omit it")
    return path


def _is_ids_table(path: Path) -> bool:
    """Return whether a file looks like the table of ids that is written next to a NumPy file."""
    with path.open("rb") as file:
        return file.readline(20).strip() in (b"id", b"id,graph", b"id,side")


def write_embeddings(
    path: str | os.PathLike[str], embeddings: Embeddings, *, overwrite: bool = False, csv_safe: bool = False
) -> None:
    """Write a Parquet, CSV or TSV file, or a NumPy file with a table of ids next to it; the write is atomic.

    Parquet has the columns ``id`` and ``embedding``; CSV and TSV have ``id``, ``e0``, ``e1``, …. Both are in single
    precision and start with a column ``graph`` if there are graph ids, or ``side`` if there are sides. A NumPy file
    keeps the precision of the vectors.

    A spreadsheet runs text that starts with =, +, -, @, a tab or a carriage return as a formula. Ids are written to CSV
    as they are unless ``csv_safe``, which writes an apostrophe before such an id.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_embeddings(f"{folder}/z.csv", Embeddings(np.array([7, 9]), np.array([[0.5, -1], [0, 0.1]])))
    ...     print(Path(folder, "z.csv").read_text())
    id,e0,e1
    7,0.5,-1
    9,0,0.1
    """
    path = check_output(path, overwrite=overwrite, csv_safe=csv_safe)
    ids = _id_columns(embeddings)
    if csv_safe:
        ids = {name: _without_formulas(name, array) for name, array in ids.items()}
    extension = path.suffix.lower()
    if extension != ".npy":
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            if extension == ".parquet":
                _write_parquet(file, ids, embeddings)
            else:
                _write_text(file, SEPARATORS[extension], ids, embeddings)
        return
    with atomic_write(path) as temporary:
        with temporary.open("wb") as file:
            _write_numpy(file, embeddings)
            file.flush()
            os.fsync(file.fileno())  # detect a full disk before the table of ids is replaced
        with atomic_write(ids_path(path)) as beside:
            with beside.open("wb") as file:
                _write_text(file, ",", dict(reversed(ids.items())))
            if path.exists() and not _same_content(beside, ids_path(path)):
                path.unlink()  # older vectors must not get other ids if this process dies before the last rename


def _same_content(one: Path, other: Path) -> bool:
    return other.exists() and filecmp.cmp(one, other, shallow=False)


def _without_formulas(name: str, array: Any) -> Any:
    """Prefix text that a spreadsheet would run as a formula with an apostrophe."""
    if pa.types.is_integer(array.type):
        return array
    safe = pc.replace_substring_regex(array, r"\A([=+\-@\t\r])", r"'\1")
    if name == "id" and len(pc.unique(safe)) < len(pc.unique(array)):
        raise InputError("two ids differ only in an apostrophe before a formula, so csv_safe would merge them; "
                         "rename one, or write .parquet without csv_safe")  # fmt: skip
    return safe


def _id_columns(embeddings: Embeddings) -> dict[str, Any]:
    """Return the columns before the vectors, in order: 64-bit integers or text."""
    given = {"graph": embeddings.graph_ids, "side": embeddings.sides, "id": embeddings.ids}
    return {
        name: to_ids([(_PLACE, name, pa.chunked_array([pa.array(values)]))])[0]
        for name, values in given.items()
        if values is not None
    }


def _batches(rows: int, width: int) -> Iterator[slice]:
    size = max(1, BATCH // width)
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def _checked(embeddings: Embeddings, rows: slice, dtype: Any) -> np.ndarray:
    """Convert some of the vectors to the type of the file, and check that all numbers are finite."""
    with np.errstate(over="ignore"):  # numbers that are too large are rejected below
        block = np.ascontiguousarray(embeddings.vectors[rows], dtype=dtype)
    finite = np.isfinite(block)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        name, value = embeddings.ids[rows][row].item(), embeddings.vectors[rows][row, column]
        raise InputError(
            f"the embedding of {name!r} is {value} in dimension {column}, not a finite {np.dtype(dtype)}; "
            "train again with a smaller learning rate, or drop the row"
        )
    return block


def _write_parquet(file: BinaryIO, ids: dict[str, Any], embeddings: Embeddings) -> None:
    count, width = embeddings.vectors.shape
    types = {name: pa.int64() if pa.types.is_int64(array.type) else pa.string() for name, array in ids.items()}
    about = {COLUMNS_KEY: json.dumps(embeddings.columns)} if embeddings.columns else None
    schema = pa.schema({**types, "embedding": pa.list_(pa.float32(), width)}, metadata=about)
    # Vectors hardly ever repeat, so dictionary encoding would only take time.
    with pq.ParquetWriter(file, schema, use_dictionary=[name for name in ids if name != "id"] or False) as writer:
        for rows in _batches(count, width):
            values = pa.array(_checked(embeddings, rows, np.float32).ravel())
            columns = [array[rows].cast(types[name]) for name, array in ids.items()]
            columns.append(pa.FixedSizeListArray.from_arrays(values, width))
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _write_text(file: BinaryIO, separator: str, ids: dict[str, Any], embeddings: Embeddings | None = None) -> None:
    width = 0 if embeddings is None else embeddings.vectors.shape[1]
    names = [*ids, *(f"e{i}" for i in range(width))]
    schema = pa.schema([*((name, array.type) for name, array in ids.items()),
                        *((name, pa.float32()) for name in names[len(ids):])])  # fmt: skip
    file.write(f"{separator.join(names)}\n".encode())  # Arrow would quote the names
    options = csv.WriteOptions(include_header=False, delimiter=separator)
    with csv.CSVWriter(file, schema, write_options=options) as writer:
        for rows in _batches(len(ids["id"]), len(names)):
            columns = [array[rows] for array in ids.values()]
            if embeddings is not None:
                columns += map(pa.array, np.ascontiguousarray(_checked(embeddings, rows, np.float32).T))
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _write_numpy(file: BinaryIO, embeddings: Embeddings) -> None:
    """Write as numpy.save does, which does not report why a write failed."""
    count, width = embeddings.vectors.shape
    dtype = embeddings.vectors.dtype.newbyteorder("<")
    header = {"descr": dtype.str, "fortran_order": False, "shape": (count, width)}
    np.lib.format.write_array_header_1_0(file, header)
    for rows in _batches(count, width):
        file.write(_checked(embeddings, rows, dtype).data)
