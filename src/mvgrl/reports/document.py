"""A document of headings, paragraphs, tables and figures, independent of its format; and its Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NONE = "–"  # the text of an empty cell


@dataclass(frozen=True)
class Cell:
    """The text of a cell, notes in small print below it, and its kind: within, above, below or failed."""

    text: str
    notes: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first ``words`` columns hold words, the others numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1


@dataclass(frozen=True)
class Figure:
    """A chart of numbers that are also in a table; Markdown omits it."""

    caption: str
    svg: str


Part = str | Table | Figure  # a string is a paragraph


@dataclass(frozen=True)
class Section:
    """A heading and its content; a section of level 3 is part of the preceding one of level 2."""

    title: str
    parts: tuple[Part, ...]
    level: int = 2


@dataclass(frozen=True)
class Document:
    """A title and its sections."""

    title: str
    sections: tuple[Section, ...]


def plain(text: object) -> str:
    """Return text on one line, without control characters: names in a file may contain anything.

    >>> plain("two\\nlines\\x00")
    'two lines'
    """
    return "".join(letter for letter in " ".join(str(text).split()) if letter.isprintable())


def as_markdown(document: Document) -> str:
    """Return the document as GitHub-flavored Markdown, without its figures."""
    return f"# {_escaped(document.title)}\n\n{parts_as_markdown(document.sections)}\n"


def parts_as_markdown(parts: Iterable[Part | Section]) -> str:
    """Return parts of a document as Markdown, separated by blank lines; an empty caption is omitted.

    >>> print(parts_as_markdown([Table("", ("name", "number"), ((Cell("a|b"), Cell("1", ("+1", "above"))),))]))
    | name | number |
    |---|---:|
    | a\\|b | 1 (+1; above) |
    """
    blocks = []
    for part in parts:
        if isinstance(part, Section):
            blocks += [f"{'#' * part.level} {_escaped(part.title)}", parts_as_markdown(part.parts)]
        elif isinstance(part, Table):
            blocks += [_escaped(part.caption), _markdown_table(part)]
        elif isinstance(part, str):
            blocks.append(_escaped(part))
    return "\n\n".join(filter(None, blocks))


def _markdown_table(table: Table) -> str:
    rule = "|" + "---|" * table.words + "---:|" * (len(table.columns) - table.words)
    rows = [[cell.text + (f" ({'; '.join(cell.notes)})" if cell.notes else "") for cell in row] for row in table.rows]
    head, *body = ("| " + " | ".join(map(_escaped, row)) + " |" for row in (table.columns, *rows))
    return "\n".join([head, rule, *body])


def _escaped(text: str) -> str:
    """Return text with a backslash before each character that Markdown or HTML would interpret."""
    return re.sub(r"([\\|<>&*`\[\]~]|(?<!\w)_|_(?!\w)|^(?=[#+-]\s))", r"\\\1", plain(text))
