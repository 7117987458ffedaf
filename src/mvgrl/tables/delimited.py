"""Parse text files with a separator into Arrow tables; errors name the line."""

from __future__ import annotations

import csv as csv_text
import re
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import Place, check_unique_names
from mvgrl.tables.dialect import Dialect, not_utf8
from mvgrl.tables.text import Text


def parse_text(
    text: Text,
    dialect: Dialect,
    ids: Collection[str],
    float32: re.Pattern[str] | None = None,
) -> tuple[Any, Place]:
    """Parse a text file; ``ids`` are the columns with ids, and ``float32`` matches those in single precision."""
    if dialect.separator == " ":
        text = text.with_single_spaces()
    place = Place(text.name, lambda row: line_of_row(text, dialect, row), dialect.notes)
    names = dialect.names
    check_unique_names(names, place)
    # Ids are read as text first: type inference would turn 007 into 7.
    types = {name: pa.string() for name in names if name in ids}
    # Parsing as double precision first would round some numbers twice, and they would not round-trip.
    singles = {name: pa.float32() for name in names if float32 and float32.fullmatch(name) and name not in types}
    try:
        try:
            table = _parse(text, dialect, types | singles)
        except pa.ArrowInvalid:  # if text among the numbers caused it, to_numbers names the row later
            if not singles:
                raise
            table = _parse(text, dialect, types)
    except pa.ArrowException as error:
        raise parse_error(text, dialect, error) from None
    if any(pa.types.is_binary(dtype) for dtype in table.schema.types):
        raise not_utf8(text.name)
    for name in types:
        table = table.set_column(table.column_names.index(name), name, parse_integers(_without_margin(table[name])))
    return table, place


def parse_error(text: Text, dialect: Dialect, error: Exception) -> InputError:
    """Return the error for a text that Arrow cannot parse; it names the line if there is one to blame."""
    if "UTF8" in str(error):
        return not_utf8(text.name)
    reason = shown(str(error).partition("\n")[0])[1:-1]
    return _uneven_line(text, dialect) or InputError(f"{text.name}: {reason}; write it again")


def _parse(text: Text, dialect: Dialect, types: dict[str, Any]) -> Any:
    return csv.read_csv(text.arrow(), **csv_options(dialect, types))


def csv_options(
    dialect: Dialect, types: dict[str, Any], columns: Sequence[str] | None = None, block: int = 2**20
) -> dict[str, Any]:
    """Return Arrow's options for a text file read in blocks of bytes; ``columns`` are the ones to read."""
    return {
        "read_options": csv.ReadOptions(
            skip_rows=dialect.skipped, column_names=None if dialect.header else dialect.names, block_size=block
        ),
        # Without newlines_in_values, a quoted newline at the end of a block silently truncates its value.
        "parse_options": csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            column_types=types, decimal_point=dialect.decimal, include_columns=columns
        ),
    }


def _without_margin(column: Any) -> Any:
    """Remove a space that precedes every value, as in "1, 2"."""
    while len(column) and pc.all(pc.starts_with(column, " ")).as_py():
        column = pc.utf8_slice_codeunits(column, 1)
    return column


def parse_integers(column: Any) -> Any:
    """Convert text to integers if every value is a canonical integer: no plus sign, no leading zeros."""
    try:
        integers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return integers if pc.all(pc.equal(integers.cast(pa.string()), column)).as_py() is not False else column


def line_of_row(text: Text, dialect: Dialect, row: int) -> str:
    """Find the line on which a row starts, skipping empty lines; the file is read again, for error messages only."""
    try:
        with text.decoded() as file:
            for _ in range(dialect.skipped):
                file.readline()
            reader = csv_text.reader(file, delimiter=dialect.separator)
            start, rows = dialect.skipped + 1, -1 - dialect.header
            for fields in reader:
                rows += bool(fields)
                if rows == row:
                    return f"line {start}"
                start = dialect.skipped + reader.line_num + 1
    except (csv_text.Error, UnicodeDecodeError):  # Python reads no field of more than 131,072 characters, Arrow does
        return f"row {row}"
    return f"line {dialect.skipped + row + 1 + dialect.header}"


def _uneven_line(text: Text, dialect: Dialect) -> InputError | None:
    """Return the error for the first line with more or fewer columns than the header."""
    columns = len(dialect.names)
    with text.decoded(errors="replace") as file:
        for _ in range(dialect.skipped):
            file.readline()
        reader = csv_text.reader(file, delimiter=dialect.separator)
        try:
            for fields in reader:
                if fields and len(fields) != columns:
                    first = "header" if dialect.header else "first line"
                    line = dialect.skipped + reader.line_num
                    problem = f"the number of columns is {len(fields)}, but {columns} in the {first}"
                    return InputError(f"{text.name}, line {line}: {problem}; correct the line")
        except csv_text.Error as error:
            line = dialect.skipped + reader.line_num
            return InputError(f"{text.name}, line {line}: {error}; correct the line")
    return None
