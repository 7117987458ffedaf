"""The HTML of a document: every name is text, tables are accessible, and nothing is loaded."""

from __future__ import annotations

import re

from mvgrl.reports.document import Cell, Document, Figure, Section, Table
from mvgrl.reports.web_page import as_html

EVIL = '<script>alert("1")</script>\n&\x00'
ESCAPED = "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt; &amp;"


def page(*parts: str | Table | Figure, title: str = "T") -> str:
    return as_html(Document(title, (Section(title, parts), Section("Inner", (), level=3))))


def test_names_from_files_are_escaped_everywhere() -> None:
    table = Table(EVIL, (EVIL, EVIL), ((Cell(EVIL, (EVIL,), EVIL), Cell(EVIL, (EVIL,), EVIL)),))
    html = page(EVIL, table, Figure(EVIL, "<svg></svg>"), title=EVIL)
    assert "<script" not in html
    assert "\x00" not in html
    assert html.count(ESCAPED) == 15
    assert "<svg></svg>" in html  # ours, and so not escaped


def test_tables_have_captions_scopes_and_a_box_that_scrolls() -> None:
    rows = ((Cell("mutag", (), "failed"), Cell("x" * 25), Cell("1.0", ("+0.1", "above"), "above")),)
    html = page(Table("Scores.", ("dataset", "reason", "accuracy"), rows, words=2))
    assert '<figcaption id="part-1-1">Scores.</figcaption>' in html
    assert '<div class="box" role="region" aria-labelledby="part-1-1" tabindex="0">' in html
    heads = re.findall(r'<th scope="col"(.*?)</th>', html)
    assert heads == [">dataset", ">reason", ' class="number">accuracy']
    assert '<th scope="row" class="short failed">mutag</th>' in html
    assert f'<td class="long">{"x" * 25}</td>' in html
    assert '<td class="number above">1.0 <small>+0.1</small> <small>above</small></td>' in html


def test_the_contents_link_to_every_section() -> None:
    html = page("Text.")
    assert '<li><a href="#part-1">T</a></li>\n<li class="inner"><a href="#part-2">Inner</a></li>' in html
    assert '<h2 id="part-1">T</h2>\n<p>Text.</p>\n<h3 id="part-2">Inner</h3>' in html


def test_the_page_has_dark_mode_and_print_styles_and_loads_nothing() -> None:
    html = page()
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    assert "@media (prefers-color-scheme: dark)" in html
    assert "@media print" in html
    assert "tr > :first-child { position: sticky; left: 0; }" in html
    assert set(re.findall(r'(?:href|src)="([^#"]*)', html)) == {"", "data:,"}
    assert "url(" not in html
    assert "@import" not in html
