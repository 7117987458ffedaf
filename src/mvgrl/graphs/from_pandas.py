"""Convert tables of pandas and other libraries to Arrow; columns of Python objects may hold anything."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import match_id
from mvgrl.tables.endpoints import match_endpoints
from mvgrl.tables.names import check_distinct


def to_arrow(table: Any, place: str) -> Any:
    """Convert a table to Arrow; ``place`` is what error messages call it, "edges" or "nodes".

    >>> to_arrow(pa.table({"source": [0], "target": [1]}), "edges").column_names
    ['source', 'target']
    """
    if isinstance(table, pa.Table):
        return table
    if not any(kind.__module__.split(".")[0] == "pandas" for kind in type(table).__mro__):
        try:
            return pa.table(table.collect() if hasattr(table, "collect") else table)
        except (pa.ArrowException, TypeError, ValueError) as error:
            reason = shown(str(error).partition("\n")[0])
            raise InputError(f"{place} cannot be converted to an Arrow table ({reason}); give a pandas table") from None
    if table.index.name is not None:  # a named index is a column, often the ids
        if table.index.name in table.columns:
            name = shown(table.index.name)
            raise InputError(f"{place} has a column {name} and an index of that name; rename or drop one")
        try:
            table = table.reset_index()
        except (TypeError, ValueError):  # pandas cannot make every name the name of a column
            name = shown(table.index.name)
            raise InputError(f"{place}: the name of the index, {name}, is not a column name; rename it") from None
    names = [_as_text(name, f"{place}: a column name") for name in table.columns]
    ids = _id_columns(names, place)
    return pa.table([_column(table.iloc[:, i], place, name, name in ids) for i, name in enumerate(names)], names=names)


def _id_columns(names: list[str], place: str) -> set[str]:
    found = match_endpoints(names) or () if place == "edges" else (match_id(names, None),)
    return {"graph", *(name for name in found if name is not None)}


def _column(column: Any, place: str, name: str, is_id: bool) -> Any:
    what = f"{place}, column {shown(name)}"
    as_text = False
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):  # mixed types, or integers beyond 64 bits
        as_text = True
        texts = [
            None if _is_missing(value) else _as_text(value, f"{what}, row {row}") for row, value in enumerate(column)
        ]
        array = pa.array(texts, pa.large_string())
    if (as_text or is_id) and str(column.dtype) in ("object", "category") and len(set(map(type, column))) > 1:
        given = [None if _is_missing(value) else value for value in column]
        check_distinct(given, array.to_pylist(), what)
    return array


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # only NaN and its relatives differ from themselves
    except (TypeError, ValueError):  # pandas' NA has no truth value; an array has several
        return not hasattr(value, "__len__")


def _as_text(value: Any, what: str) -> str:
    try:
        text = str(value)
        text.encode()
    except Exception as error:  # an integer of thousands of digits, a lone surrogate, or a failing __str__
        reason = "it is not valid Unicode" if isinstance(error, UnicodeError) else type(error).__name__
        shape = f" {shown(value)}" if isinstance(value, str) else ""
        raise InputError(f"{what}:{shape} cannot be converted to text ({reason}); rename it") from None
    return text
