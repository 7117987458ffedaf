"""Embeddings into a file, by the ending of its name: a batch of rows at a time, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from mvgrl.errors import InputError
from mvgrl.tables.atomic import atomic_write, check_writable
from mvgrl.tables.columns import Place, keys
from mvgrl.tables.files import SEPARATORS
from mvgrl.tables.vectors import ENDINGS, Embeddings, ids_beside

BATCH = 2**22  # numbers that are made ready at a time: 16 megabytes


def check_output(path: str | os.PathLike[str]) -> Path:
    """Refuse a file that embeddings cannot be written to, before the work is done of which they come.

    >>> check_output("cora.xlsx")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: cora.xlsx has an ending that cannot be written; give one of .parquet, .csv, .tsv, .npy
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file in it, such as {path / 'embeddings.parquet'}")
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        has = "an ending that cannot be written" if ending else "no ending"
        raise InputError(f"{path} has {has}; give one of {', '.join(ENDINGS)}")
    if ending == ".npy" and ids_beside(path).is_dir():
        raise InputError(f"{ids_beside(path)}, where the ids go, is a folder; choose another place")
    check_writable(path)
    return path


def write_embeddings(path: str | os.PathLike[str], embeddings: Embeddings) -> None:
    """Write a Parquet file, a table in text, or a NumPy file with its ids in a table beside it.

    Parquet has the columns ``id`` and ``embedding``, text has ``id``, ``e0``, ``e1``, …, in single precision; both
    have ``graph`` ahead of them where graphs are told apart. A NumPy file holds the vectors as they are.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_embeddings(f"{folder}/z.csv", Embeddings(np.array([7, 9]), np.array([[0.5, -1], [0, 0.1]])))
    ...     print(Path(folder, "z.csv").read_text())
    id,e0,e1
    7,0.5,-1
    9,0,0.1
    """
    path = check_output(path)
    named = _names(embeddings)
    ending = path.suffix.lower()
    if ending != ".npy":
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            if ending == ".parquet":
                _write_parquet(file, named, embeddings)
            else:
                _write_text(file, SEPARATORS[ending], named, embeddings)
        return
    with atomic_write(path) as temporary:
        with temporary.open("wb") as file:
            _write_numpy(file, embeddings)
            file.flush()
            os.fsync(file.fileno())  # a full disk must be known of before the ids are renamed
        with atomic_write(ids_beside(path)) as beside, beside.open("wb") as file:
            _write_text(file, ",", dict(reversed(named.items())))


def _names(embeddings: Embeddings) -> dict[str, Any]:
    """The columns ahead of the vectors, in order: integers of 64 bits, or text."""
    given = {"graph": embeddings.graph_ids, "id": embeddings.ids}
    place = Place("the embeddings")
    return {
        name: keys([(place, name, pa.chunked_array([pa.array(values)]))])[0]
        for name, values in given.items()
        if values is not None
    }


def _batches(rows: int, width: int) -> Iterator[slice]:
    size = max(1, BATCH // width)
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def _checked(embeddings: Embeddings, rows: slice, kind: Any) -> np.ndarray:
    """Some of the vectors, as they will lie in the file."""
    with np.errstate(over="ignore"):  # what is too large is refused below
        block = np.ascontiguousarray(embeddings.vectors[rows], dtype=kind)
    finite = np.isfinite(block)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        whose, held = embeddings.ids[rows][row].item(), embeddings.vectors[rows][row, column]
        raise InputError(
            f"the embedding of {whose!r} holds {held} in dimension {column}, which is no number of {np.dtype(kind)}; "
            "train again with a smaller rate, or drop the row"
        )
    return block


def _write_parquet(file: BinaryIO, named: dict[str, Any], embeddings: Embeddings) -> None:
    count, width = embeddings.vectors.shape
    kinds = {name: pa.int64() if pa.types.is_int64(array.type) else pa.string() for name, array in named.items()}
    schema = pa.schema({**kinds, "embedding": pa.list_(pa.float32(), width)})
    # Every vector is another: to look for repeats would only take time.
    with pq.ParquetWriter(file, schema, use_dictionary=["graph"] if "graph" in named else False) as writer:
        for rows in _batches(count, width):
            values = pa.array(_checked(embeddings, rows, np.float32).ravel())
            columns = [array[rows].cast(kinds[name]) for name, array in named.items()]
            columns.append(pa.FixedSizeListArray.from_arrays(values, width))
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _write_text(file: BinaryIO, separator: str, named: dict[str, Any], embeddings: Embeddings | None = None) -> None:
    width = 0 if embeddings is None else embeddings.vectors.shape[1]
    names = [*named, *(f"e{i}" for i in range(width))]
    schema = pa.schema([*((name, array.type) for name, array in named.items()),
                        *((name, pa.float32()) for name in names[len(named):])])  # fmt: skip
    file.write(f"{separator.join(names)}\n".encode())  # Arrow would put the names in quotes
    options = csv.WriteOptions(include_header=False, delimiter=separator)
    with csv.CSVWriter(file, schema, write_options=options) as writer:
        for rows in _batches(len(named["id"]), len(names)):
            columns = [array[rows] for array in named.values()]
            if embeddings is not None:
                columns += map(pa.array, np.ascontiguousarray(_checked(embeddings, rows, np.float32).T))
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _write_numpy(file: BinaryIO, embeddings: Embeddings) -> None:
    """As numpy.save does, which however does not say why it failed."""
    count, width = embeddings.vectors.shape
    kind = embeddings.vectors.dtype.newbyteorder("<")
    header = {"descr": kind.str, "fortran_order": False, "shape": (count, width)}
    np.lib.format.write_array_header_1_0(file, header)
    for rows in _batches(count, width):
        file.write(_checked(embeddings, rows, kind).data)
