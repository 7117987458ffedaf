"""Embeddings larger than memory: the vectors stay in a file, mapped into memory; only ids are read.

A NumPy file is mapped directly. The vectors of a Parquet file are first unpacked, row group by row group, to a
temporary file without a name, which the operating system removes when it is no longer used.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mvgrl.errors import InputError, MachineError
from mvgrl.tables.budget import check_ratio
from mvgrl.tables.columns import Place, is_pandas_index, match_id, to_numbers
from mvgrl.tables.files import not_parquet
from mvgrl.tables.ids import Keyed, keyed
from mvgrl.tables.parquet_sizes import declared_sizes
from mvgrl.tables.text import arrow_source
from mvgrl.tables.vector_columns import columns_used, table_vectors, vector_columns

_BLOCK = 2**22  # numbers that are converted at a time


def size_of(path: Path) -> int:
    """Return the bytes that the vectors of a Parquet or NumPy file take in memory, from its metadata."""
    if path.suffix.lower() == ".npy":
        return path.stat().st_size
    try:
        size = declared_sizes(path).total
    except Exception as error:  # a damaged file may raise anything
        raise not_parquet(path, error) from None
    check_ratio(path, size)
    return size


def map_numpy(path: Path) -> np.ndarray:
    """Map the vectors of a NumPy file into memory, checked to be finite."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError(f"{path} is damaged or not an array of numbers; write it again with numpy.save") from None
    if array.ndim != 2 or not array.size or array.dtype.kind not in "biuf":
        raise InputError(f"{path} has shape {array.shape}; it must have one row per id and one column per dimension")
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    dtype = np.dtype(np.float32 if single else np.float64)
    as_it_is = array.dtype == dtype and array.flags.c_contiguous
    step = max(1, _BLOCK // array.shape[1])
    with _unnamed_file(path) as file:
        for start in range(0, len(array), step):
            block = np.ascontiguousarray(array[start : start + step], dtype=dtype)
            bad = np.argwhere(~np.isfinite(block))
            if len(bad):
                row, column = bad[0]
                problem = f"column {column} is {block[row, column]}"
                raise Place(str(path)).error(start + row, f"{problem}; give a finite number or drop the row")
            if not as_it_is:
                file.write(block.data)
        return array if as_it_is else _mapped(file, dtype, array.shape)


def map_parquet(path: Path, id_column: str | None = None) -> tuple[Keyed, np.ndarray, tuple[str, ...]]:
    """Read the ids of a Parquet file, map its vectors into memory, and return the columns they were made from."""
    place = Place(str(path))
    try:
        with pq.ParquetFile(arrow_source(path), pre_buffer=False) as file:
            schema = file.schema_arrow
            wide, is_list = vector_columns(_without_ids(schema, id_column), place)
            others = [name for name in schema.names if name not in wide] if is_list else schema.names
            rest = _small(file, others, wide if not is_list else [])
            left, rows = keyed(rest, place, id_column, number_rows=True)
            names = wide if is_list else vector_columns(left.schema, place)[0]
            vectors = _unpacked(file, names, is_list, place, path)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise not_parquet(path, error) from None
    return rows, vectors, columns_used(schema)


def _without_ids(schema: Any, id_column: str | None) -> Any:
    """Return the schema without the columns that may be ids, which are never vectors."""
    keys = {match_id(schema.names, id_column), "graph", "side"}
    return pa.schema([one for one in schema if one.name not in keys and not is_pandas_index(one.name)])


def _small(file: Any, names: list[str], empty: list[str]) -> Any:
    """Read the columns besides the vectors; of one column per dimension, only that they are there."""
    table = file.read(columns=[name for name in names if name not in empty])
    for name in empty:
        table = table.append_column(name, pa.nulls(table.num_rows, pa.int8()))
    return table


def _unpacked(file: Any, names: list[str], is_list: bool, place: Place, path: Path) -> np.ndarray:
    """Write the vectors to a temporary file, and map it."""
    first, width, dtype = 0, 0, np.dtype(np.float32)
    with _unnamed_file(path) as output:
        for batch in file.iter_batches(2**14, columns=names):
            table, here = pa.Table.from_batches([batch]), place.after(first)
            if is_list:
                block = to_numbers(here, names[0], table[names[0]]).reshape(table.num_rows, -1)
            else:
                block = table_vectors(table.select(names), here)
            if width and block.shape[1] != width:
                problem = f"there are {block.shape[1]} values, but the first row has {width}"
                raise here.error(0, f"{problem}; every row needs the same number of values, at least one")
            width, dtype = block.shape[1], block.dtype
            output.write(np.ascontiguousarray(block).data)
            first += table.num_rows
        return _mapped(output, dtype, (first, width))


def _unnamed_file(beside: Path) -> Any:
    """Return a temporary file next to the input, or else in the default folder, which may be in memory."""
    for folder in (beside.absolute().parent, None):
        try:
            return tempfile.TemporaryFile(dir=folder)
        except OSError as error:
            problem = error
    raise MachineError(f"no temporary file can be written for the vectors of {beside}: {problem.strerror}; set TMPDIR")


def _mapped(file: BinaryIO, dtype: np.dtype, shape: Any) -> np.ndarray:
    file.flush()
    os.fsync(file.fileno())  # so that its pages are clean, and some file systems report a full disk only here
    return np.memmap(file, dtype, mode="r", shape=tuple(shape))
