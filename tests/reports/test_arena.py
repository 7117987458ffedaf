"""The arena's comparisons: how MVGRL stands against the systems that the paper prints below it, and what is free."""

from __future__ import annotations

from typing import Any

import pytest

from mvgrl.evaluation.scores import SCORES
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Variant
from mvgrl.experiments.summary import Row
from mvgrl.reports import arena
from mvgrl.reports.arena import arena_sections, better, coverage
from mvgrl.reports.terminal import as_text

NODES = EXPERIMENTS["arena-nodes"]


def row(system: str, mean: float | None, std: float = 1.0, paper: float | None = None, **changes: Any) -> Row:
    free = changes.pop("free", False)
    about: dict[str, Any] = dict(runs=25, paper=paper, paper_std=None if paper is None else 0.5) | changes
    return Row(NODES, "cora", Variant(system, free=free), SCORES["accuracy"], mean, std, **about)


ROWS = [
    row("MVGRL", 83.0, paper=86.8),
    row("GCN", 81.0, paper=81.5),
    row("DGI", 82.8, paper=82.3),
    row("GAT", 84.0, paper=83.0),
    row("GraphMAE", 85.0),  # not in the paper
    row("raw features", 60.0, free=True),
    row("propagated features", 82.9, free=True),
    row("broken", None, failed="out of memory"),
]


def cells(title: str) -> list[list[str]]:
    (section,) = (one for one in arena_sections({"arena-nodes": ROWS}) if one.title == title)
    (table,) = section.parts
    return [[cell.text for cell in line] for line in table.rows]  # type: ignore[union-attr]


def test_systems_printed_below_mvgrl_are_below_equal_or_above_it_here() -> None:
    assert cells("MVGRL and the other systems, in the paper and here") == [["cora", "accuracy", "3", "1", "DGI", "GAT"]]


def test_a_dataset_on_which_the_paper_prints_nothing_else_is_left_out() -> None:
    rows = [row("MVGRL", 83.0, paper=86.8), row("GCN", 81.0)]
    assert not [one for one in arena_sections({"arena-nodes": rows}) if one.title.startswith("MVGRL")]


def test_systems_that_are_not_better_than_the_best_free_method_are_named() -> None:
    assert cells("Where nothing is learned") == [
        ["cora", "accuracy", "propagated features, 82.9 ± 1.0", "3 of 5", "MVGRL, GCN, DGI"]
    ]


@pytest.mark.parametrize(("difference", "sign"), [(0.5, 0), (0.6, 1), (-0.6, -1)])
def test_a_difference_counts_above_two_standard_errors(difference: float, sign: int) -> None:
    assert better(row("a", 80 + difference), row("b", 80.0)) == sign  # two errors are 2·√(2/25) = 0.57


def test_without_runs_there_is_nothing_to_say() -> None:
    assert arena_sections({}) == []
    assert arena_sections({"arena-nodes": [row("GCN", 81.0, paper=81.5)]}) == []


def test_coverage_counts_the_papers_numbers_that_were_run_or_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = {"GCN": {"accuracy": {"cora": [81.5], "pubmed": [79.0]}}, "DGI": {"accuracy": {"cora": [82.3]}}}
    monkeypatch.setattr(arena, "PUBLISHED", {"arena-nodes": printed})
    rows = [row("GCN", 81.0), row("DGI", None, runs=0, failed="out of memory"), row("GAT", 83.0)]
    assert coverage({"arena-nodes": rows})["arena-nodes"] == (2, 3)
    assert coverage({})["arena-nodes"] == (0, 3)


def test_the_terminal_shows_the_papers_number_the_difference_and_the_joint_spread() -> None:
    text = as_text(NODES, ROWS)
    lines = {line.split()[1]: line.split() for line in text.splitlines()[1 : len(ROWS) + 1]}
    assert lines["GCN"][3:-1] == ["within", "81.5", "±", "0.5", "81.0", "±", "1.0", "−0.5", "25"]
    assert "below" in lines["MVGRL"]
    assert "−3.8" in lines["MVGRL"]
    assert "failed" in lines["broken"]
    assert "broken: failed: out of memory." in text
