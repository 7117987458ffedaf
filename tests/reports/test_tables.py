"""Marked tables are written from the ledger, and nothing else of a page is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.recipes import load_recipe
from mvgrl.reports.tables import filled

ROOT = Path(__file__).resolve().parents[2]
PAGE = "# Before\n<!-- table node-clustering best -->\nold\n<!-- end -->\nafter | old\n"


def test_a_marked_table_is_written_from_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    recipe = load_recipe("cora").id
    ledger.add(
        Run(
            "node-clustering",
            "cora",
            "best",
            variant,
            seed,
            {"nmi": nmi + seed / 10, "ari": 0.5},
            9,
            0.1,
            "cpu",
            recipe,
        )
        for variant, nmi in (("trained", 0.5), ("untrained", 0.1))
        for seed in (0, 1)
    )
    page = filled(PAGE, ledger)
    assert page.startswith("# Before\n<!-- table node-clustering best -->\n| dataset |")
    assert "| cora | NMI | 0.629 | 0.550 ± 0.050 | 0.150 | – | 2 |\n" in page
    assert page.endswith("<!-- end -->\nafter | old\n")
    assert "\nold\n" not in page
    assert filled(page, ledger) == page


def test_an_unknown_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="node-clustering ours"):
        filled(PAGE.replace("best", "ours"), Ledger(tmp_path / "runs.jsonl"))


@pytest.mark.parametrize(("name", "tables"), [("README.md", 1), ("docs/reproducibility.md", 2)])
def test_the_pages_hold_what_the_ledger_holds(name: str, tables: int) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page.count("<!-- table ") == tables
    assert "| cora-linqs |" in page
    assert filled(page, Ledger(ROOT / "results" / "runs.jsonl")) == page
