"""One table from several files: those of a folder, or a list."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import Place
from mvgrl.tables.paths import TABLE_EXTENSIONS, check_input_file


def read_parts(paths: Sequence[Path], name: str, read: Callable[[Path], tuple[Any, Place]]) -> tuple[Any, Place]:
    """Read files with the same columns as one table, in their order; errors name the file."""
    for path in paths:
        check_input_file(path, TABLE_EXTENSIONS)
    tables, places = zip(*map(read, paths), strict=True)
    names = tables[0].column_names
    check_same_columns(paths, [table.column_names for table in tables])
    columns = [join_columns([table[column] for table in tables], column, paths) for column in names]
    return pa.table(columns, names=names), place_of_parts(paths, name, places, [table.num_rows for table in tables])


def check_same_columns(paths: Sequence[Path], names: Sequence[Sequence[str]]) -> None:
    """Check that all parts of a table have the columns of the first, in any order."""
    for path, some in zip(paths, names, strict=True):
        if sorted(some) != sorted(names[0]):
            theirs, ours = (shown(",".join(one), 200) for one in (some, names[0]))
            raise InputError(f"{path} has the columns {theirs}, but {paths[0]} has {ours}; give only the parts of "
                             "one table")  # fmt: skip


def place_of_parts(paths: Sequence[Path], name: str, places: Sequence[Place], rows: Sequence[int]) -> Place:
    """Return how error messages refer to the rows of a table whose parts have these numbers of rows."""
    starts = [0, *accumulate(rows)]

    def row(number: int) -> str:
        part = min(bisect_right(starts, number) - 1, len(paths) - 1)
        return f"{paths[part].name}, {places[part].row(number - starts[part])}"

    notes = tuple(dict.fromkeys(note for place in places for note in place.notes))
    notes = notes if len(notes) <= 3 else (*notes[:3], f"and {len(notes) - 3} more notes like these")
    return Place(name, row, notes)


def join_columns(columns: Sequence[Any], name: str, paths: Sequence[Path]) -> Any:
    """Concatenate the parts of a column; numbers become floats, and ids text, if one part needs it."""
    types = [column.type for column in columns]
    is_text = [pa.types.is_string(dtype) or pa.types.is_large_string(dtype) for dtype in types]
    is_whole = [pa.types.is_integer(dtype) or pa.types.is_null(dtype) for dtype in types]
    if any(is_text) and all(text or whole for text, whole in zip(is_text, is_whole, strict=True)):
        columns = [column.cast(pa.large_string()) for column in columns]  # integers are written as they are
    try:
        return pa.concat_tables([pa.table({"": column}) for column in columns], promote_options="permissive")[0]
    except pa.ArrowException:
        odd = next(i for i, dtype in enumerate(types) if dtype != types[0])
        raise InputError(
            f"column {shown(name)} has type {types[0]} in {paths[0]} but {types[odd]} in {paths[odd]}; "
            "write both with the same type"
        ) from None
