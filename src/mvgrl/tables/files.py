"""Read CSV, TSV and Parquet files into Arrow tables; errors name the line in a text file, the row in Parquet."""

from __future__ import annotations

import csv as csv_text
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from mvgrl.errors import InputError, shown
from mvgrl.tables.budget import check_unpacked_size
from mvgrl.tables.columns import ENDPOINT_COLUMNS, ID_COLUMNS, Place, check_unique_names, is_pandas_index
from mvgrl.tables.parquet_sizes import declared_sizes
from mvgrl.tables.paths import SEPARATORS

_BATCH, _MOST_ROWS = 2**29, 2**16  # bytes and rows of a Parquet file that are unpacked at a time


def read_edges(path: Path) -> tuple[Any, Place]:
    """Read a table of edges; return it with its place for error messages."""
    return _read(path, {"graph", *(name for pair in ENDPOINT_COLUMNS for name in pair)})


def read_nodes(path: Path, id_column: str | None = None, text: Collection[str] = ()) -> tuple[Any, Place]:
    """Read a table of nodes; return it with its place for error messages.

    The columns in ``text`` are read as they are written: in a text file, 007 stays 007.
    """
    return _read(path, {"graph", *text, *((id_column,) if id_column is not None else ID_COLUMNS)})


def read_rows(path: Path, id_column: str | None = None) -> tuple[Any, Place]:
    """Read a table with one row per id; return it with its place for error messages.

    An unnamed pandas index is kept. Columns named e0, e1, … are read in single precision, as embeddings are written.
    """
    ids = {"graph", *((id_column,) if id_column is not None else ("", *ID_COLUMNS))}
    return _read(path, ids, keep_index=True, float32=re.compile("e[0-9]+"))


def _read(
    path: Path, ids: Collection[str], *, keep_index: bool = False, float32: re.Pattern[str] | None = None
) -> tuple[Any, Place]:
    if path.suffix.lower() != ".parquet":
        return _read_text(path, SEPARATORS[path.suffix.lower()], ids, float32)
    table = _read_parquet(path)
    if not keep_index:  # pandas stores an unnamed index as a column, but it is not a feature
        table = table.select([i for i, name in enumerate(table.column_names) if not is_pandas_index(name)])
    return table, Place(str(path))


def arrow_source(path: Path) -> Any:
    """Return what Arrow can read: the path, or an open file if the name is not valid UTF-8.

    >>> arrow_source(Path("edges.csv")).name
    'edges.csv'
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return pa.PythonFile(path.open("rb"), mode="r")
    return path


def _read_parquet(path: Path) -> Any:
    """Read a Parquet file, in batches: a text that repeats is stored once and could unpack to any size."""
    try:
        declared = declared_sizes(path)
        check_unpacked_size(path, declared.total)
        rows = max(1, min(_MOST_ROWS, _BATCH // max(1, declared.longest)))
        with pq.ParquetFile(arrow_source(path)) as file:
            batches, size = [], 0
            for batch in file.iter_batches(rows):
                batches.append(batch)
                size += batch.nbytes
                check_unpacked_size(path, size)
            return pa.Table.from_batches(batches, file.schema_arrow)
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        reason = shown(str(error).strip().partition("\n")[0])[1:-1]
        raise InputError(
            f"{path} is not a Parquet file, or is truncated or damaged ({reason}); write it again"
        ) from None


def _read_text(path: Path, separator: str, ids: Collection[str], float32: re.Pattern[str] | None) -> tuple[Any, Place]:
    place = Place(str(path), lambda row: _line_of_row(path, separator, row))
    not_utf8 = InputError(f"{path} is not UTF-8 text; save it in that encoding")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = next((row for row in csv_text.reader(file, delimiter=separator) if row), [])
    except UnicodeDecodeError:
        raise not_utf8 from None
    except csv_text.Error as error:
        raise InputError(f"{path}, line 1: {error}; write the file again") from None
    if not names:
        raise InputError(f"{path} has only empty lines; write it again")
    check_unique_names(names, place)
    _check_separator(path, separator, names)
    # Ids are read as text first: type inference would turn 007 into 7.
    types = {name: pa.string() for name in names if name in ids}
    # Parsing as double precision first would round some numbers twice, and they would not round-trip.
    singles = {name: pa.float32() for name in names if float32 and float32.fullmatch(name) and name not in ids}
    try:
        try:
            table = _parse(path, separator, types | singles)
        except pa.ArrowInvalid:  # if text among the numbers caused it, to_numbers names the row later
            if not singles:
                raise
            table = _parse(path, separator, types)
    except pa.ArrowException as error:
        if "UTF8" in str(error):
            raise not_utf8 from None
        reason = shown(str(error).partition("\n")[0])[1:-1]
        raise _uneven_line(path, separator, len(names)) or InputError(f"{path}: {reason}; write it again") from None
    if any(pa.types.is_binary(dtype) for dtype in table.schema.types):
        raise not_utf8
    for name in types:
        table = table.set_column(table.column_names.index(name), name, _parse_integers(table[name]))
    return table, place


def _parse(path: Path, separator: str, types: dict[str, Any]) -> Any:
    return csv.read_csv(
        arrow_source(path),
        # Without newlines_in_values, a quoted newline at the end of a block silently truncates its value.
        parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=types),
    )


def _parse_integers(column: Any) -> Any:
    """Convert text to integers if every value is a canonical integer: no plus sign, no leading zeros."""
    try:
        integers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return integers if pc.all(pc.equal(integers.cast(pa.string()), column)).as_py() is not False else column


def _check_separator(path: Path, separator: str, names: list[str]) -> None:
    """Reject a header with another separator: most such files would fail later with a misleading error."""
    for other, called in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(names) == 1 and other != separator and other in names[0]:
            expected = {",": "commas", "\t": "tabs"}[separator]
            also = {"\t": ", or rename it to .tsv", ",": ", or rename it to .csv"}.get(other, "")
            problem = (
                f"has only one column, {shown(names[0])}: a {path.suffix} file is separated by {expected}, not {called}"
            )
            raise InputError(f"{path} {problem}; save it with {expected}{also}")


def _line_of_row(path: Path, separator: str, row: int) -> str:
    """Find the line on which a row starts, skipping empty lines; the file is read again, for error messages only."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv_text.reader(file, delimiter=separator)
            start, rows = 1, -2
            for fields in reader:
                rows += bool(fields)
                if rows == row:
                    return f"line {start}"
                start = reader.line_num + 1
    except (csv_text.Error, UnicodeDecodeError):  # Python reads no field of more than 131,072 characters, Arrow does
        return f"row {row}"
    return f"line {row + 2}"


def _uneven_line(path: Path, separator: str, columns: int) -> InputError | None:
    """Return the error for the first line with more or fewer columns than the header."""
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = csv_text.reader(file, delimiter=separator)
        try:
            for fields in reader:
                if fields and len(fields) != columns:
                    problem = f"there are {len(fields)} columns, but {columns} in the header"
                    return InputError(f"{path}, line {reader.line_num}: {problem}; correct the line")
        except csv_text.Error as error:
            return InputError(f"{path}, line {reader.line_num}: {error}; correct the line")
    return None
