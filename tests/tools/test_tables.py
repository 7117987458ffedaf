"""Marked tables are filled from the ledger, and nothing else on a page changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.tables import filled

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.recipes import load_recipe
from mvgrl.reports.report import Runs

ROOT = Path(__file__).resolve().parents[2]
PAGE = "# Before\n<!-- table node-clustering best -->\nold\n<!-- end -->\nafter | old\n"


def test_a_marked_table_is_filled_from_the_ledger(tmp_path: Path) -> None:
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


def test_a_graph_table_is_filled_from_the_ledger(tmp_path: Path) -> None:
    ledger, recipe = Ledger(tmp_path / "runs.jsonl"), load_recipe("mutag", table="graph-classification").id
    scores = {"nested": 88.0, "best_c": 90.0}
    ledger.add(
        Run("graph-classification", "mutag", "best", "trained", seed, scores, 9, 0.1, "cpu", recipe)
        for seed in range(9)
    )
    page = filled(PAGE.replace("node-clustering", "graph-classification"), ledger)
    assert (
        "\n| mutag | nested | 89.7 | 88.0 ± 0.0 | – | – | – | 5 |\n" in page
    )  # only as many runs as in the paper count
    assert "\n| mutag | best-C | 89.7 | 90.0 ± 0.0 | – | – | – | 5 |\n" in page


def test_settings_are_side_by_side_and_limited_to_one_metric(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    for setting, nmi, runs in (("paper", 0.4, 2), ("best", 0.6, 3)):
        recipe = load_recipe("cora", setting, table="node-clustering").id
        scores = {"nmi": nmi, "ari": 0.5}
        ledger.add(
            Run("node-clustering", "cora", setting, "trained", seed, scores, 9, 0.1, "cpu", recipe)
            for seed in range(runs)
        )
    page = filled(PAGE.replace("best", "all nmi"), ledger)
    assert "| dataset | metric | printed in the paper | paper | released | best | runs |\n" in page
    assert "\n| cora | NMI | 0.629 | 0.400 ± 0.000 | – | 0.600 ± 0.000 | 2, 3 |\n" in page
    assert "ARI" not in page
    assert "ARI" not in filled(PAGE.replace("best", "best nmi"), ledger)
    assert "ARI" in filled(PAGE, ledger)


def test_discrepancies_have_a_column_per_dataset(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    slips = EXPERIMENTS["node-slips"]
    changes = [variant.id for variant in slips.variants[:2]]
    for change, accuracy in zip(changes, (80.0, 78.5), strict=True):
        recipe = slips.recipes("cora")[change].id
        ledger.add([Run("node-slips", "cora", "best", change, 0, {"accuracy": accuracy}, 9, 0.1, "cpu", recipe)])
    page = filled(PAGE.replace("node-clustering", "node-slips"), ledger)
    assert f"\n| {changes[1]} | 78.5 (−1.5) | 1 |\n" in page


def add_runs(ledger: Ledger, name: str, dataset: str, row: str, *scores: float, failed: str = "") -> None:
    recipe = EXPERIMENTS[name].recipes(dataset)[row].id
    found = [{"accuracy": score, "nested": score} for score in scores] or [{}]
    ledger.add(
        Run(name, dataset, "best", row, seed, score, 9, 0.1, "cpu", recipe, {}, failed)
        for seed, score in enumerate(found)
    )


def test_an_ablation_has_a_column_per_dataset_with_notes_below(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    add_runs(ledger, "ablation-views", "pubmed", "adj-ppr", 79.0, 81.0)
    add_runs(ledger, "ablation-views", "pubmed", "adj-dist", failed="out of memory")
    add_runs(ledger, "ablation-views", "mutag", "adj-ppr", 89.0, 90.0, 91.0)
    page = filled(PAGE.replace("node-clustering", "ablation-views"), ledger)
    table = (
        "| row | pubmed | mutag | runs |\n|---|---:|---:|---:|\n"
        "| adj-ppr | 80.0 ± 1.0 (80.1) | 90.0 ± 0.8 (89.7) | 2, 3 |\n| adj-dist | failed (74.6) | – | – |\n"
    )
    assert f"# Before\n<!-- table ablation-views best -->\n{table}" in page
    for note in ("failed: out of memory", "distance sparsified: 64 largest entries per row"):
        assert f"\n\nadj-dist (pubmed): {note}.\n" in page
    unrun = "cora-linqs, citeseer, ptc-mr, imdb-binary, imdb-multi, reddit-binary"
    assert f"\n\nThere are no runs yet on {unrun}; run mvgrl reproduce ablation-views.\n<!-- end -->" in page
    assert filled(page, ledger) == page


def test_a_sweep_has_no_numbers_of_the_paper(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    add_runs(ledger, "ablation-batch-size", "mutag", "32", 89.0, 91.0)
    add_runs(ledger, "ablation-batch-size", "mutag", "16", 88.0)
    page = filled(PAGE.replace("node-clustering", "ablation-batch-size"), ledger)
    assert "\n| 16 | 88.0 | 1 |\n| 32 | 90.0 ± 1.0 | 2 |\n" in page


def test_an_ablation_without_runs_names_the_command(tmp_path: Path) -> None:
    page = filled(PAGE.replace("node-clustering", "ablation-bounds"), Ledger(tmp_path / "runs.jsonl"))
    words = "There are no runs yet of ablation-bounds; run mvgrl reproduce ablation-bounds."
    assert f"<!-- table ablation-bounds best -->\n{words}\n<!-- end -->\nafter | old\n" in page


def test_conclusions_are_updated_as_the_ledger_grows(tmp_path: Path) -> None:
    ledger, marked = Ledger(tmp_path / "runs.jsonl"), "# Before\n<!-- conclusions -->\nold\n<!-- end -->\nafter\n"
    empty = filled(marked, ledger)
    assert "\nold\n" not in empty
    assert "\n| 1. The views | Adjacency with ppr is the best pair | no runs yet |" in empty
    assert "### " not in empty
    for row in (variant.id for variant in EXPERIMENTS["ablation-views"].variants):
        add_runs(ledger, "ablation-views", "mutag", row, *((89.0, 91.0) if row == "adj-ppr" else (79.0, 81.0)))
    page = filled(empty, ledger)
    assert page == filled(marked, ledger)
    assert "\n### 1. The views\n" in page
    expected = "holds on 1 of 8 datasets, not run on 7; mean difference +10.0 points over 12 runs."
    assert f"\nClaim: Adjacency with ppr is the best pair. Here: {expected}\n" in page
    assert page.endswith("\n<!-- end -->\nafter\n")


@pytest.mark.parametrize(
    "mark", ["node-clustering ours", "ablation-bounds all", "ablation-bounds paper", "nothing best"]
)
def test_an_unknown_table_is_rejected(tmp_path: Path, mark: str) -> None:
    with pytest.raises(ValueError, match=mark):
        filled(PAGE.replace("node-clustering best", mark), Ledger(tmp_path / "runs.jsonl"))


@pytest.mark.parametrize("name", ["README.md", "docs/reproducibility.md", "docs/ablations.md", "docs/arena.md"])
def test_the_pages_match_the_ledger(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert filled(page, Runs(ROOT / "results" / "runs.jsonl")) == page


def test_the_pages_have_every_table_and_make_updates_them() -> None:
    readme, main, ablations, arena = (
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/reproducibility.md", "docs/ablations.md", "docs/arena.md")
    )
    assert (readme.count("<!-- table "), main.count("<!-- table ")) == (4, 13)
    presets = {name for name, one in EXPERIMENTS.items() if one.preset and not one.systems}
    assert presets <= set(re.findall("<!-- table (.*) best -->", main))
    for name in ("cora-linqs", "mutag"):
        assert f"| {name} |" in readme
        assert f"| {name} |" in main
    grouped = [name for name, one in EXPERIMENTS.items() if one.group and not one.preset]
    assert re.findall("<!-- table (.*) best -->", ablations) == grouped
    assert ablations.count("<!-- conclusions -->") == 1
    assert [mark for mark in re.findall("<!-- (.*) -->", arena) if mark != "end"] == [
        *(f"table {name} best" for name, one in EXPERIMENTS.items() if one.systems),
        "arena",
    ]
    assert ablations.count("<!-- end -->") == len(grouped) + 1
    assert (
        "tools/tables.py results/runs.jsonl README.md docs/reproducibility.md docs/ablations.md docs/arena.md\n"
        in (ROOT / "Makefile").read_text()
    )
    for page in (main, ablations, arena):
        for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page):
            path, _, heading = link.partition("#")
            there = ROOT / "docs" / path
            assert there.exists()
            if heading:
                named = re.findall("^#+ (.*)$", there.read_text(encoding="utf-8") if path else page, re.MULTILINE)
                assert heading in [re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in named]
