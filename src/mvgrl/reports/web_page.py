"""A document as one HTML file that loads nothing: for a phone or a desktop, by day or by night, and for printing."""

from __future__ import annotations

from html import escape

from mvgrl.reports.document import Cell, Document, Figure, Part, Section, Table, plain
from mvgrl.reports.figures import CHART, PALETTE

LONG = 24  # letters of a cell of words from which it may be broken
STYLE = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 84rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere;
}
h1, h2, h3 { line-height: 1.25; text-wrap: balance; scroll-margin-top: 1rem; }
h1 { font-size: 1.75rem; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.08rem; margin: 2.25rem 0 .5rem; }
p { max-width: 46rem; margin: .5rem 0; }
a { color: var(--link); text-underline-offset: .15em; }
nav { background: var(--shade); border-radius: .5rem; padding: .75rem 1rem; margin: 1rem 0; }
nav strong { font-size: .95rem; }
nav ul { list-style: none; margin: .35rem 0 0; padding: 0; columns: 16rem; column-gap: 2rem; font-size: .95rem; }
nav li { break-inside: avoid; padding: .1rem 0; }
nav li.inner { padding-left: 1rem; }
figure { margin: 1rem 0 1.5rem; }
figcaption { max-width: 46rem; color: var(--soft); font-size: .9rem; margin-bottom: .4rem; }
.box { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; max-width: max-content; }
.box:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .45rem .75rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; background: var(--shade); color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; background: var(--paper); }
tr > :first-child { position: sticky; left: 0; }
.number { text-align: right; white-space: nowrap; }
thead .number { white-space: normal; min-width: 5.5rem; }
.short { white-space: nowrap; }
.long { min-width: 14rem; max-width: 30rem; }
small { display: block; font-size: .8rem; line-height: 1.35; color: var(--soft); }
.above small:last-child { color: var(--above); }
.below small:last-child, .failed { color: var(--below); }
.chart { display: block; width: 100%; max-width: 44rem; height: auto; }
@media (max-width: 40rem) { tbody th.long { min-width: 9rem; max-width: 9rem; } h1 { font-size: 1.4rem; } }
@media print { .box { overflow: visible; border: 0; } tr > :first-child { position: static; } }
"""


def as_html(document: Document) -> str:
    """The page, its tables in boxes that scroll by themselves where they are too wide.

    >>> page = as_html(Document("A < B", (Section("One", ("Text.",)),)))
    >>> "<h1>A &lt; B</h1>" in page, '<h2 id="part-1">One</h2>' in page
    (True, True)
    """
    title = _text(document.title)
    body = [f"<h1>{title}</h1>", _contents(document)]
    for number, section in enumerate(document.sections, start=1):
        body.append(f'<h{section.level} id="part-{number}">{_text(section.title)}</h{section.level}>')
        body += [_part(part, f"part-{number}-{place}") for place, part in enumerate(section.parts, start=1)]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            '<link rel="icon" href="data:,">',  # else a browser asks the server for one
            f"<style>\n{PALETTE}{CHART}{STYLE}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _contents(document: Document) -> str:
    def entry(number: int, section: Section) -> str:
        inner = ' class="inner"' if section.level > 2 else ""
        return f'<li{inner}><a href="#part-{number}">{_text(section.title)}</a></li>'

    entries = (entry(number, section) for number, section in enumerate(document.sections, start=1))
    opened = ['<nav aria-labelledby="contents">', '<strong id="contents">Contents</strong>', "<ul>"]
    return "\n".join([*opened, *entries, "</ul>", "</nav>"])


def _part(part: Part, name: str) -> str:
    if isinstance(part, str):
        return f"<p>{_text(part)}</p>"
    if isinstance(part, Figure):
        return f"<figure>\n<figcaption>{_text(part.caption)}</figcaption>\n{part.svg}\n</figure>"
    return _table(part, name)


def _table(table: Table, name: str) -> str:
    head = (
        f'<th scope="col" class="{_kind(table, place)}">{_text(column)}</th>'
        for place, column in enumerate(table.columns)
    )
    rows = ("<tr>" + "".join(_cell(table, *cell) for cell in enumerate(row)) + "</tr>" for row in table.rows)
    return "\n".join(
        [
            "<figure>",
            f'<figcaption id="{name}">{_text(table.caption)}</figcaption>',
            f'<div class="box" role="region" aria-labelledby="{name}" tabindex="0">',  # to be scrolled by keys
            "<table>",
            f"<thead><tr>{''.join(head)}</tr></thead>",
            "<tbody>",
            *rows,
            "</tbody>",
            "</table>",
            "</div>",
            "</figure>",
        ]
    )


def _cell(table: Table, place: int, cell: Cell) -> str:
    content = _text(cell.text) + "".join(f" <small>{_text(note)}</small>" for note in cell.notes)
    length = "" if place >= table.words else "long" if len(cell.text) > LONG else "short"
    names = " ".join(filter(None, (_kind(table, place), length, cell.kind)))
    if place == 0:
        return f'<th scope="row" class="{names}">{content}</th>'
    return f'<td class="{names}">{content}</td>'


def _kind(table: Table, place: int) -> str:
    return "word" if place < table.words else "number"


def _text(text: str) -> str:
    return escape(plain(text))
