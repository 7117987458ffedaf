"""The table of settings in the documentation."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from tools.settings_table import filled, table

from mvgrl.settings import Output, Settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "method.md"


def test_the_documentation_has_the_current_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert table() in page
    assert filled(page) == page


def test_every_setting_has_a_row_with_its_default() -> None:
    rows = [line.split(" | ")[0].strip("| `") for line in table().splitlines()[2:]]
    assert rows == [f.name for part in (Settings, Output) for f in fields(part)]
    assert "| `layers` | node 1, graph 2 |" in table()
    assert "| `views` | adjacency,ppr |" in table()
    assert "| `patience` | 20, or 50 if not all nodes fit into memory |" in table()
