"""How a text file holds a table: its separator, its comments, and whether it has a header; found in its first lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import name_key
from mvgrl.tables.endpoints import ENDPOINT_KEYS, WEIGHT_KEYS
from mvgrl.tables.text import Text

_SAMPLE = 2**18  # characters that are looked at
SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
_SPELLED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "bar": "|", "space": " "}
_INTEGER, _NUMBER = re.compile(r"\s*[+-]?\d+\s*"), re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_COMMENT = re.compile(r"[#%]|sep=.\s*$", re.IGNORECASE)  # sep=; is written for Excel
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+\s*")
_TIME = re.compile(r"\s*[1-9]\d{8,}\s*")  # a third column of such integers holds seconds since 1970, not weights
_HEADER_KEYS = {key for pair in ENDPOINT_KEYS for key in pair} | {*WEIGHT_KEYS, "id", "graph", "label", "type", "time",
                                                                 "timestamp", "relation", "rating"}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """How to parse a text file."""

    separator: str
    names: list[str]
    header: bool = True  # whether the names are in the file
    skipped: int = 0  # lines before the header or the first row
    decimal: str = "."
    notes: tuple[str, ...] = field(default=())


def check_separator(given: str) -> str:
    """Return the character of a separator, which may be given by its name.

    >>> check_separator("tab"), check_separator(";")
    ('\\t', ';')
    """
    separator = _SPELLED.get(given.strip().lower(), given) if given.strip() else given
    if separator not in SEPARATOR_NAMES:
        raise InputError(f"the separator {shown(given)} is not supported; give one of , ; | tab space")
    return separator


def sniff(
    text: Text,
    usual: str,
    is_header: Callable[[Sequence[str]], bool],
    *,
    edges: bool = False,
    separator: str | None = None,
    header: bool | None = None,
) -> Dialect:
    """Find how a file is to be parsed; ``usual`` has the usual separators of its extension, the first one the default.

    ``is_header`` recognises the header of the table that is wanted. Only a table of ``edges`` may have no header.
    """
    sample, comments = _sample(text)
    body = "".join(sample[comments:])
    if separator is None:
        separator = _find_separator(text, body, usual, is_header, edges)
    comments = _without_rows(sample, comments, separator)
    rows = _rows("".join(sample[comments:]), separator, text.name, comments)
    if not rows:
        raise InputError(f"{text.name} has only empty lines; write it again")
    commented = [line for line in sample[:comments] if line.strip()]
    found = _guessed(text.name, Dialect(separator, rows[0], skipped=comments), rows, usual, len(commented))
    if not edges or header is True:
        return found
    _check_no_attributes(text.name, rows[0], separator)
    if header is False:
        return _without_header(text.name, found, rows)
    if is_header(rows[0]):
        recurs = all(any(cell in row[:2] for row in rows[1:]) for cell in rows[0][:2])
        note = f"the first line of {text.name} names the columns; if it is an edge, add --no-header (header=False)"
        return _noted(found, note) if recurs else found
    if commented:  # SNAP and others name the columns in the last comment
        last = _rows(commented[-1].lstrip("#% \t"), separator, text.name, 0)
        if last and len(last[0]) == len(rows[0]) and is_header(last[0]):
            return replace(found, names=last[0], header=False)
    return _without_header(text.name, found, rows) if _is_data(rows) else found


def _guessed(name: str, found: Dialect, rows: list[list[str]], usual: str, comments: int) -> Dialect:
    """Add the decimal mark, and a note on everything that is not usual."""
    found = replace(found, decimal=_decimal(rows, found.separator))
    if found.separator not in usual:
        found = _noted(found, f"{name} is separated by {SEPARATOR_NAMES[found.separator]}")
    if comments:
        lines = "1 comment line" if comments == 1 else f"{comments} comment lines"
        found = _noted(found, f"skipped {lines} at the top of {name}")
    if found.decimal == ",":
        found = _noted(found, f"{name} has decimal commas: 1,5 is read as 1.5")
    return found


def _without_header(name: str, found: Dialect, rows: list[list[str]]) -> Dialect:
    names = _default_names(rows)
    first = shown((" " if found.separator == "\t" else found.separator).join(rows[0]))
    note = f"{name} has no header: its first line, {first}, is an edge, and the columns are {', '.join(names)}"
    return replace(_noted(found, note), names=names, header=False)


def _check_no_attributes(name: str, first: list[str], separator: str) -> None:
    if separator == " " and len(first) > 2 and re.match(r"\{[^}]", first[2]):
        raise InputError(f"{name}: the lines end with attributes in braces, as NetworkX writes them; write it with "
                         "nx.write_weighted_edgelist, or with nx.write_graphml")  # fmt: skip


def _noted(found: Dialect, note: str) -> Dialect:
    return replace(found, notes=(*found.notes, note))


def _sample(text: Text) -> tuple[list[str], int]:
    """Return the first lines, and how many of them are comments or empty lines at the top."""
    try:
        with text.decoded() as file:
            content = file.read(_SAMPLE) + file.readline()  # a header may be longer
            more = bool(file.read(1))
    except UnicodeDecodeError:
        raise not_utf8(text.name) from None
    lines = StringIO(content, newline="").readlines()
    if lines and lines[0].startswith("%%MatrixMarket"):
        raise InputError(f"{text.name} is a Matrix Market file; read it with scipy.io.mmread and save it with "
                         "scipy.sparse.save_npz as .npz")  # fmt: skip
    count = next((i for i, line in enumerate(lines) if line.strip() and not _COMMENT.match(line)), len(lines))
    if more and len(lines) > count + 1:
        lines.pop()  # it may end within quotes
    return lines, count


def not_utf8(name: str) -> InputError:
    """Return the error for a file in another encoding."""
    return InputError(f"{name} is not UTF-8 text; save it in that encoding")


def _without_rows(lines: list[str], count: int, separator: str) -> int:
    """Return how many lines at the top are comments: a row may start with #, as in #cats,#dogs or #source,target."""
    width = len(next(iter(_rows("".join(lines[count : count + 1]), separator, "", 0)), ()))
    while count:
        line = lines[count - 1]
        if not line.strip() or not re.match("[#%][^#%\\s]", line):
            break
        fields = next(iter(_rows(line, separator, "", 0)), ())
        if len(fields) < 2 or (width and len(fields) != width):
            break
        count -= 1
    return count


def _rows(sample: str, separator: str, name: str, above: int) -> list[list[str]]:
    """Parse the first lines; Python's reader stops at a field that is very long, which Arrow can read."""
    if separator == " ":
        sample = re.sub(r'("[^"\r\n]*")|[ \t]+', lambda found: found[1] or " ", sample)
        sample = re.sub(r"(?:(?<=[\r\n])|\A) | (?=[\r\n]|\Z)", "", sample)
    reader = csv.reader(StringIO(sample, newline=""), delimiter=separator)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
    except csv.Error as error:
        if not rows and name:
            raise InputError(f"{name}, line {above + 1}: {error}; write the file again") from None
    return rows


def _find_separator(text: Text, body: str, usual: str, is_header: Callable[[Sequence[str]], bool], edges: bool) -> str:
    """Find the separator that gives the header that is wanted, else the same number of fields on every line."""
    order = [usual[0], *(one for one in SEPARATOR_NAMES if one != usual[0])]
    rows = {separator: _rows(body, separator, text.name, 0) for separator in order}
    for separator, found in rows.items():
        if found and is_header(found[0]):
            return separator
    several = [one for one in order if rows[one] and len(rows[one][0]) > 1]
    even = [one for one in several if len(set(map(len, rows[one]))) == 1]
    hard = [one for one in even if one != " "]
    if usual[0] in hard and (not edges or usual[0] == "\t"):
        return usual[0]
    if len(hard) > 1 and edges:
        named = " or ".join(SEPARATOR_NAMES[one] for one in hard)
        raise InputError(f"{text.name} may be separated by {named}; choose with --separator (separator=)")
    if hard:
        return hard[0]
    if usual[0] in several or not several:
        return usual[0]
    return even[0] if even and edges else next((one for one in several if one != " " or edges), usual[0])


def _decimal(rows: list[list[str]], separator: str) -> str:
    """Return the decimal mark: a comma if numbers are written with one, and none with a point."""
    cells = [cell for row in rows for cell in row] if separator == ";" else []
    with_point = any("." in cell and _NUMBER.fullmatch(cell) for cell in cells)
    return "," if not with_point and any(_COMMA_NUMBER.fullmatch(cell) for cell in cells) else "."


def _is_data(rows: list[list[str]]) -> bool:
    """Return whether the first row of two to four columns is an edge rather than names: numbers, or ids that recur."""
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if not 2 <= len(first) <= 4 or not all(cell.strip() for cell in first[:2]):
        return False
    if {name_key(cell) for cell in first} & _HEADER_KEYS:
        return False
    columns = list(zip(*others, strict=True)) if others else [()] * len(first)
    if all(_INTEGER.fullmatch(cell) for cell in first[:2]):
        return True
    for cell, column in zip(first, columns, strict=True):
        numbers = [bool(_NUMBER.fullmatch(value)) for value in column]
        if numbers and all(numbers):  # a name above numbers is a header, a number above numbers is none
            return bool(_NUMBER.fullmatch(cell))
    return any(cell in (*columns[0], *columns[1]) for cell in first[:2])


def _default_names(rows: list[list[str]]) -> list[str]:
    """Name the columns of a file without a header: source, target, and weight if the third holds weights."""
    names = ["source", "target", *(f"column {i + 1}" for i in range(2, len(rows[0])))]
    third = [row[2] for row in rows if len(row) > 2]
    numbers = bool(third) and all(_NUMBER.fullmatch(cell) or _COMMA_NUMBER.fullmatch(cell) for cell in third)
    if numbers and not all(map(_TIME.fullmatch, third)):
        names[2] = "weight"
    return names[: max(2, len(rows[0]))]
