"""JSON and TOML from files of unknown origin: whatever is wrong with them, the error is a ``ValueError``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

MOST_LEVELS = 32  # no file of this package has more than five
LONGEST_TOML = 2**20  # characters


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; a value nested too deeply is a ``ValueError``, as is every other mistake.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json("[" * 5000 + "]" * 5000)
    Traceback (most recent call last):
    ...
    ValueError: nested more than 32 levels deep
    """
    return _shallow(json.loads, text)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; a value nested too deeply is a ``ValueError``, as is every other mistake.

    >>> parse_toml("a = 1")
    {'a': 1}
    """
    if len(text) > LONGEST_TOML or max(line.count(".") for line in text.split("\n")) > MOST_LEVELS:
        raise ValueError(f"too long, or nested more than {MOST_LEVELS} levels deep")  # tomllib takes quadratic time
    values: dict[str, Any] = _shallow(tomllib.loads, text)
    return values


def _shallow(parse: Callable[[Any], Any], text: str | bytes) -> Any:
    """Parse a text, and reject deep nesting: code that walks through the value later may recurse."""
    try:
        value = parse(text)
    except RecursionError:
        raise ValueError(f"nested more than {MOST_LEVELS} levels deep") from None
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for one in level if isinstance(one, (dict, list)) for inner in _inside(one)]
        if not level:
            return value
    raise ValueError(f"nested more than {MOST_LEVELS} levels deep")


def _inside(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value
