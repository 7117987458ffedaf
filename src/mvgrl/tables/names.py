"""Ids and labels as text: values that NumPy or a file cannot keep apart or store are rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from mvgrl.errors import InputError, shown
from mvgrl.runtime import machine_memory

NO_NULS = "NUL characters cannot be stored; remove them"


def text_array(values: Sequence[str], what: str) -> np.ndarray:
    """Convert text to a NumPy array, which would drop NUL characters at the end: "a" and "a\\0" become the same.

    >>> text_array(["ann", "bob"], "the node")
    array(['ann', 'bob'], dtype='<U3')
    """
    odd = next((value for value in values if "\0" in value), None)
    if odd is not None:
        raise InputError(f"{what} {shown(odd)} contains a NUL character; {NO_NULS}")
    check_room(len(values), max(map(len, values), default=0), what)
    return np.array(values, dtype=np.str_)


def check_room(count: int, longest: int, what: str) -> None:
    """Check that NumPy can hold this many texts: each takes as much memory as the longest.

    >>> check_room(10**9, 10**6, "edges, column 'source'")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: edges, column 'source': a text of 1000000 characters is too long; shorten it
    """
    if 4 * count * longest > machine_memory() // 4:
        raise InputError(f"{what}: a text of {longest} characters is too long; shorten it")


def check_text(values: np.ndarray, what: str, *, allow_empty: bool = False) -> None:
    """Check that an array of text can be written as UTF-8 and read back; arrays of numbers always can.

    >>> check_text(np.array(["ann", ""]), "node_ids")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: node_ids[1] is empty; fill it in
    """
    if values.dtype.kind != "U" or not len(values):
        return
    width = values.dtype.itemsize // 4
    points = np.ascontiguousarray(values, dtype=f"=U{width}").view(np.uint32).reshape(len(values), width)
    if not allow_empty:
        empty = np.flatnonzero(points[:, 0] == 0 if width else np.ones(len(values), bool))
        if len(empty):
            raise InputError(f"{what}[{empty[0]}] is empty; fill it in")
    inside = np.flatnonzero(((points[:, :-1] == 0) & (points[:, 1:] != 0)).any(axis=1))
    if len(inside):
        raise InputError(f"{what}: {shown(values[inside[0]].item())} contains a NUL character; {NO_NULS}")
    surrogates = np.flatnonzero(((points >= 0xD800) & (points <= 0xDFFF)).any(axis=1))
    if len(surrogates):
        value = shown(values[surrogates[0]].item())
        raise InputError(f"{what}: {value} is not valid Unicode (a lone surrogate); decode it from its bytes again")


def check_distinct(given: Iterable[Any], converted: Iterable[Any], what: str) -> None:
    """Check that different values stay different after a conversion: 1 and "1" must not both become "1".

    >>> check_distinct([1, "1"], ["1", "1"], "edges, column 'source'")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: edges, column 'source': 1 and '1' would become the same; convert all values to one type
    """
    seen: dict[Any, Any] = {}
    for value, result in zip(given, converted, strict=True):
        if result is None:
            continue
        first = seen.setdefault(result, value)
        if first is not value and (_kind(first) != _kind(value) or first != value):
            problem = f"{what}: {shown(first)} and {shown(value)} would become the same"
            raise InputError(f"{problem}; convert all values to one type")


def _kind(value: Any) -> Any:
    """Return what a value is, regardless of its width: Python's and NumPy's integers are the same kind."""
    if isinstance(value, (bool, np.bool_)):
        return bool
    for kind in (Integral, Real, str, bytes):
        if isinstance(value, kind):
            return kind
    return type(value)
