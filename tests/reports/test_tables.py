"""Marked tables are written from the ledger, and nothing else of a page is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from mvgrl.experiments import slips
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


def test_so_is_that_of_graphs(tmp_path: Path) -> None:
    ledger, recipe = Ledger(tmp_path / "runs.jsonl"), load_recipe("mutag", table="graph-classification").id
    scores = {"nested": 88.0, "best_c": 90.0}
    ledger.add(
        Run("graph-classification", "mutag", "best", "trained", seed, scores, 9, 0.1, "cpu", recipe)
        for seed in range(9)
    )
    page = filled(PAGE.replace("node-clustering", "graph-classification"), ledger)
    assert "\n| mutag | nested | 89.7 | 88.0 ± 0.0 | – | – | 5 |\n" in page  # of more runs, as many as the paper's
    assert "\n| mutag | best-C | 89.7 | 90.0 ± 0.0 | – | – | 5 |\n" in page


def test_settings_stand_side_by_side_and_one_metric_alone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    for setting, nmi, runs in (("paper", 0.4, 2), ("best", 0.6, 3)):
        recipe = load_recipe("cora", setting, table="node-clustering").id
        scores = {"nmi": nmi, "ari": 0.5}
        ledger.add(
            Run("node-clustering", "cora", setting, "trained", seed, scores, 9, 0.1, "cpu", recipe)
            for seed in range(runs)
        )
    page = filled(PAGE.replace("best", "all nmi"), ledger)
    assert "| dataset | metric | printed in the paper | `paper` | `released` | `best` | runs |\n" in page
    assert "\n| cora | NMI | 0.629 | 0.400 ± 0.000 | – | 0.600 ± 0.000 | 2, 3 |\n" in page
    assert "ARI" not in page
    assert "ARI" not in filled(PAGE.replace("best", "best nmi"), ledger)
    assert "ARI" in filled(PAGE, ledger)


def test_the_slips_are_a_column_a_dataset(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    changes = list(slips.ROWS)[:2]
    for change, accuracy in zip(changes, (80.0, 78.5), strict=True):
        recipe = slips.recipes("cora")[change].id
        ledger.add([Run("node-slips", "cora", "best", change, 0, {"accuracy": accuracy}, 9, 0.1, "cpu", recipe)])
    page = filled(PAGE.replace("node-clustering", "node-slips"), ledger)
    assert f"\n| {changes[1]} | 78.5 ± 0.0 (−1.5) | 1 |\n" in page


def test_an_unknown_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="node-clustering ours"):
        filled(PAGE.replace("best", "ours"), Ledger(tmp_path / "runs.jsonl"))


@pytest.mark.parametrize(("name", "tables"), [("README.md", 1), ("docs/reproducibility.md", 4)])
def test_the_pages_hold_what_the_ledger_holds(name: str, tables: int) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page.count("<!-- table ") == tables
    assert "| cora-linqs |" in page
    assert filled(page, Ledger(ROOT / "results" / "runs.jsonl")) == page
