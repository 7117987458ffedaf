"""Columns that points are coloured, sized and searched by: categories, numbers and text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

_MOST_CLASSES = 20  # different integers that are classes; more are numbers
_MOST_LEVELS = 1000  # different texts that are classes
_DAY = 86_400


@dataclass(frozen=True, eq=False)
class Column:
    """A value per point; which of the arrays is there depends on the kind."""

    name: str
    kind: Literal["category", "number", "text"]
    codes: np.ndarray | None = None  # 0 is a missing value, i + 1 the level i
    levels: tuple[str, ...] = ()
    values: np.ndarray | None = None  # numbers, NaN where missing; of dates, days since 1970
    texts: tuple[str, ...] | None = None
    date: bool = False


def category(name: str, values: Sequence[str] | np.ndarray) -> Column:
    """Return a column of classes in alphabetical order, numbers by size; an empty text is missing.

    >>> column = category("kind", ["cat", "", "ape"])
    >>> column.levels, column.codes.tolist()
    (('ape', 'cat'), [2, 0, 1])
    """
    texts = np.asarray(values).astype(str)
    levels, codes = np.unique(texts, return_inverse=True)
    order = sorted(range(len(levels)), key=lambda level: _order(str(levels[level])))
    order = [level for level in order if levels[level].strip()]
    number = np.zeros(len(levels), np.int64)
    number[order] = np.arange(1, len(order) + 1)
    return Column(name, "category", codes=number[codes.ravel()], levels=tuple(str(levels[level]) for level in order))


def _order(level: str) -> tuple[bool, float, str]:
    try:
        value = float(level)
    except ValueError:
        value = math.nan
    return (True, 0.0, level) if math.isnan(value) else (False, value, level)


def column_of(name: str, values: np.ndarray) -> Column:
    """Return a column of numbers or texts as what it looks like.

    Booleans and at most 20 different integers are classes; so are texts that repeat and have at most 1,000 values.

    >>> column_of("age", np.array([0.5, np.nan])).kind, column_of("group", np.array([3, 3, 1])).levels
    ('number', ('1', '3'))
    """
    values = np.asarray(values)
    if values.dtype.kind == "b":
        return category(name, np.where(values, "true", "false"))
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        numbers[~np.isfinite(numbers)] = np.nan
        known = np.unique(numbers[~np.isnan(numbers)])
        if 0 < len(known) <= _MOST_CLASSES and (known == known.round()).all() and len(known) < len(numbers):
            return category(name, ["" if math.isnan(value) else f"{value:.0f}" for value in numbers.tolist()])
        return Column(name, "number", values=numbers)
    texts = values.astype(str)
    known = np.unique(texts[np.char.str_len(texts) > 0])
    if 0 < len(known) <= _MOST_LEVELS and 2 * len(known) <= len(texts):
        return category(name, texts)
    return Column(name, "text", texts=tuple(texts.tolist()))


def columns_of(table: Any, place: Any, rows: np.ndarray) -> tuple[list[Column], list[str]]:
    """Return the columns of a table for the points, whose rows in it are given (−1: none), and the names left out."""
    found, left = [], []
    for name in table.column_names:
        column = _from_table(str(name), table[name], place, rows)
        if column is None:
            left.append(str(name))
        else:
            found.append(column)
    return found, left


def _from_table(name: str, column: Any, place: Any, rows: np.ndarray) -> Column | None:
    import pyarrow as pa

    from mvgrl.tables.column_kinds import is_declared_category
    from mvgrl.tables.columns import has_lists, to_array, to_labels

    array = to_array(place, name, column)
    if has_lists(array) or pa.types.is_nested(array.type) or pa.types.is_null(array.type):
        return None
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        seconds = array.cast(pa.timestamp("s"), safe=False).cast(pa.int64()).cast(pa.float64(), safe=False)
        days = _taken(np.asarray(seconds.to_numpy(zero_copy_only=False)) / _DAY, rows)
        return Column(name, "number", values=days, date=True)
    values = _taken(to_labels(place, name, column), rows)
    if is_declared_category(column, array):
        return category(name, ["" if value != value else str(value) for value in values.tolist()])
    return column_of(name, values)


def _taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the values of the rows; where a row is −1, a missing value."""
    found = values[rows]
    if (rows >= 0).all():
        return found
    if found.dtype.kind in "biuf":
        found = found.astype(np.float64)
        found[rows < 0] = np.nan
    else:
        found[rows < 0] = ""
    return found
