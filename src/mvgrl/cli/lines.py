"""Columns as aligned lines of text, for stdout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def aligned(columns: Mapping[str, Iterable[Any]]) -> str:
    """Return a line with the names, and a line per row; fractions have four digits.

    >>> print(aligned({"id": ["ann", "b"], "cosine": [0.5, -1.0]}))
    id    cosine
    ann   0.5000
    b    -1.0000
    """
    cells = [[name, *map(_text, values)] for name, values in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    numbers = [all(_is_number(value) for value in values) for values in columns.values()]
    rows = zip(*cells, strict=True)
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in rows
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or getattr(getattr(value, "dtype", None), "kind", "O") in "iuf"


def _text(value: Any) -> str:
    """Return a cell on one line, whatever an id contains."""
    if value is None:
        return "–"
    if isinstance(value, float):  # also NumPy's double precision
        return f"{value:.4f}"
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(value))
