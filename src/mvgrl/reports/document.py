"""A document of headings, sentences, tables and figures, to be written as a web page or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NONE = "–"  # in a cell that has nothing to say


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, what stands small below it, and of what kind that is: within, above, below, failed."""

    text: str
    notes: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first ``words`` columns are words, the others numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1


@dataclass(frozen=True)
class Figure:
    """A picture of numbers that a table beside it has too, and so no part of a Markdown file."""

    caption: str
    svg: str


Part = str | Table | Figure  # text is a paragraph


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; level 3 belongs to the last section of level 2."""

    title: str
    parts: tuple[Part, ...]
    level: int = 2


@dataclass(frozen=True)
class Document:
    """A title and its sections."""

    title: str
    sections: tuple[Section, ...]


def plain(text: object) -> str:
    """A text on one line, without what no page can hold: names in a file may be anything.

    >>> plain("two\\nlines\\x00")
    'two lines'
    """
    return "".join(letter for letter in " ".join(str(text).split()) if letter.isprintable())


def as_markdown(document: Document) -> str:
    """The document in GitHub's Markdown, without its figures.

    >>> table = Table("Two.", ("name", "number"), ((Cell("a|b"), Cell("1", ("+1", "above"))),))
    >>> print(as_markdown(Document("Title", (Section("One", (table,)),))))
    # Title
    <BLANKLINE>
    ## One
    <BLANKLINE>
    Two.
    <BLANKLINE>
    | name | number |
    |---|---:|
    | a\\|b | 1 (+1; above) |
    <BLANKLINE>
    """
    return f"# {_marked(document.title)}\n\n{parts_as_markdown(document.sections)}\n"


def parts_as_markdown(parts: Iterable[Part | Section]) -> str:
    """Parts of a page, with an empty line between them; a table without a caption stands alone."""
    blocks = []
    for part in parts:
        if isinstance(part, Section):
            blocks.append(f"{'#' * part.level} {_marked(part.title)}")
            blocks.append(parts_as_markdown(part.parts))
        elif isinstance(part, Table):
            blocks += [_marked(part.caption), _markdown_table(part)]
        elif isinstance(part, str):
            blocks.append(_marked(part))
    return "\n\n".join(filter(None, blocks))


def _markdown_table(table: Table) -> str:
    numbers = len(table.columns) - table.words
    lines = ["| " + " | ".join(map(_marked, table.columns)) + " |", f"|{'---|' * table.words}{'---:|' * numbers}"]
    for row in table.rows:
        cells = (f"{cell.text} ({'; '.join(cell.notes)})" if cell.notes else cell.text for cell in row)
        lines.append("| " + " | ".join(map(_marked, cells)) + " |")
    return "\n".join(lines)


def _marked(text: str) -> str:
    """Text as it is, where Markdown or the HTML within it would make something else of it."""
    return re.sub(r"([\\|<>&*`\[\]~]|(?<!\w)_|_(?!\w)|^(?=[#+-]\s))", r"\\\1", plain(text))
