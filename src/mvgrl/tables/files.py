"""Tables of edges, of nodes and of what is known of them, from CSV, TSV and Parquet, with the line of each row."""

from __future__ import annotations

import csv as text
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from mvgrl.errors import InputError
from mvgrl.tables.columns import ENDS, NODE_IDS, Place, check_names, is_index

SEPARATORS = {".csv": ",", ".tsv": "\t"}
EDGE_KEYS = {"graph", *(name for pair in ENDS for name in pair)}


def read_edges(path: Path) -> tuple[Any, Place]:
    """A table of edges, and what to call its rows."""
    return _read(path, EDGE_KEYS)


def read_nodes(path: Path, id_column: str | None = None) -> tuple[Any, Place]:
    """A table of nodes, and what to call its rows."""
    return _read(path, {"graph", *((id_column,) if id_column is not None else NODE_IDS)})


def read_rows(path: Path, id_column: str | None = None) -> tuple[Any, Place]:
    """A table with a row for each id, and what to call its rows; an index of pandas without a name is kept.

    The numbers of columns named e0, e1, … are in single precision, for so embeddings are written.
    """
    ids = {"graph", *((id_column,) if id_column is not None else ("", *NODE_IDS))}
    return _read(path, ids, index=True, single=re.compile("e[0-9]+"))


def _read(
    path: Path, ids: Collection[str], *, index: bool = False, single: re.Pattern[str] | None = None
) -> tuple[Any, Place]:
    if path.suffix.lower() != ".parquet":
        return _read_text(path, SEPARATORS[path.suffix.lower()], ids, single)
    table = _read_parquet(path)
    # pandas stores an index without a name as a column; it is no feature of the nodes.
    return table if index else table.drop_columns(list(filter(is_index, table.column_names))), Place(str(path))


def _read_parquet(path: Path) -> Any:
    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{path} is not a Parquet file, or is cut short ({reason}); write it again") from None


def _read_text(
    path: Path, separator: str, ids: Collection[str], single: re.Pattern[str] | None = None
) -> tuple[Any, Place]:
    place = Place(str(path), lambda row: f"line {_line(path, separator, row)}")
    not_utf8 = InputError(f"{path} is not text in UTF-8; save it in that encoding")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = next((row for row in text.reader(file, delimiter=separator) if row), [])
    except UnicodeDecodeError:
        raise not_utf8 from None
    except text.Error as error:
        raise InputError(f"{path}, line 1: {error}; write the file again") from None
    if not names:
        raise InputError(f"{path} has empty lines only; write it again")
    check_names(names, place)
    _check_separator(path, separator, names)
    # Ids are read as text first: guessed at, 007 would come out as 7.
    types = {name: pa.string() for name in names if name in ids}
    # By way of double precision some numbers would be rounded twice, and not come back as they were written.
    singles = {name: pa.float32() for name in names if single and single.fullmatch(name) and name not in ids}
    try:
        try:
            table = _parsed(path, separator, types | singles)
        except pa.ArrowInvalid:  # if it is for a text among the numbers, the column's reader will say which
            if not singles:
                raise
            table = _parsed(path, separator, types)
    except pa.ArrowException as error:
        if "UTF8" in str(error):
            raise not_utf8 from None
        raise _odd_line(path, separator, len(names)) or InputError(f"{path}: {error}; write it again") from None
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise not_utf8
    for name in types:
        table = table.set_column(table.column_names.index(name), name, _whole_numbers(table[name]))
    return table, place


def _parsed(path: Path, separator: str, types: dict[str, Any]) -> Any:
    return csv.read_csv(
        path,
        # Without newlines_in_values, a quoted newline where a block happens to end cuts its value short in silence.
        parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types=types),
    )


def _whole_numbers(column: Any) -> Any:
    """Text as integers where every value is written as an integer is: no sign +, no zeros ahead."""
    try:
        read = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return read if pc.all(pc.equal(read.cast(pa.string()), column)).as_py() is not False else column


def _check_separator(path: Path, separator: str, names: list[str]) -> None:
    """Refuse a header that something else than the separator parts; most such files would fail later, in odder ways."""
    for other, called in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(names) == 1 and other != separator and other in names[0]:
            wanted = {",": "commas", "\t": "tabs"}[separator]
            also = {"\t": ", or name it .tsv", ",": ", or name it .csv"}.get(other, "")
            problem = f"has one column only, {names[0]!r}: {called} are no separator in a {path.suffix}"
            raise InputError(f"{path} {problem}; save it with {wanted}{also}")


def _line(path: Path, separator: str, row: int) -> int:
    """The line a row starts on; empty lines are no rows. Only a refusal asks, so the file is read anew for it."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = text.reader(file, delimiter=separator)
        start, rows = 1, -2
        for fields in reader:
            rows += bool(fields)
            if rows == row:
                return start
            start = reader.line_num + 1
    return row + 2


def _odd_line(path: Path, separator: str, columns: int) -> InputError | None:
    """The refusal of the first line that has more or fewer columns than the header."""
    with path.open(encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = text.reader(file, delimiter=separator)
        for fields in reader:
            if fields and len(fields) != columns:
                problem = f"there are {len(fields)} columns, but {columns} in the header"
                return InputError(f"{path}, line {reader.line_num}: {problem}; correct the line")
    return None
