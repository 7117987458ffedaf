"""Read JSON Lines: an object per line, a column per key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import Place
from mvgrl.tables.dialect import not_utf8
from mvgrl.tables.names import check_distinct
from mvgrl.tables.text import Text


def read_lines(text: Text, ids: Callable[[Sequence[str]], set[str]]) -> tuple[Any, Place]:
    """Read a file with a JSON object per line; a key that is missing on a line has no value there.

    ``ids`` returns the columns with ids among all names.

    >>> table, place = read_lines(Text("t", data=b'{"u": 1, "v": "a"}\\n{"u": 2}\\n'), lambda names: {"u"})
    >>> table.to_pydict()
    {'u': [1, 2], 'v': ['a', None]}
    """
    columns: dict[str, list[Any]] = {}
    count = 0
    for count, record in enumerate(_records(text), start=1):
        for name, value in record.items():
            if name not in columns:
                columns[name] = [None] * (count - 1)
            columns[name].append(value)
        if len(record) < len(columns):
            for values in columns.values():
                values.extend([None] * (count - len(values)))
    place = Place(text.name, lambda row: f"line {_line_of_row(text, row)}")
    if not columns:
        raise InputError(f"{text.name} has no objects with keys; write it again")
    keys = ids(list(columns))
    arrays = {name: _array(values, name in keys, f"{text.name}, {shown(name)}") for name, values in columns.items()}
    try:
        return pa.table(arrays), place
    except UnicodeError:
        raise InputError(f"{text.name}: a key is not valid Unicode (a lone surrogate); write the file again") from None


def _records(text: Text) -> Iterator[dict[str, Any]]:
    try:
        with text.decoded() as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    reason = shown(str(error))[1:-1]
                    raise InputError(f"{text.name}, line {number}: not JSON ({reason}); correct the line") from None
                if not isinstance(record, dict):
                    example = '{"source": 1, "target": 2}'
                    raise InputError(f"{text.name}, line {number}: {shown(record)} is not an object; write one per "
                                     f"line, such as {example}")  # fmt: skip
                yield record
    except UnicodeDecodeError:
        raise not_utf8(text.name) from None


def _line_of_row(text: Text, row: int) -> int:
    with text.decoded() as file:
        filled = (number for number, line in enumerate(file, start=1) if line.strip())
        return next((number for i, number in enumerate(filled) if i == row), row + 1)


def _array(values: list[Any], is_id: bool, what: str) -> Any:
    """Convert a column to one type, as text if its values differ in type or are nested deeply."""
    if not any(isinstance(value, (dict, list)) and _is_nested(value) for value in values):
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    if is_id:
        check_distinct(values, texts, what)
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeError:
        raise InputError(f"{what}: a value is not valid Unicode (a lone surrogate); write the file again") from None


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) or any(isinstance(item, (dict, list)) for item in value)
