"""The summary of the ledger: the recorded numbers, and every run counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mvgrl.errors import SettingsError
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.planner import missing, plan
from mvgrl.experiments.reproduce import overview
from mvgrl.experiments.summary import summarise

ROOT = Path(__file__).resolve().parents[2]
BEFORE = json.loads(Path(__file__).with_name("summaries_before.json").read_text(encoding="utf-8"))


class ReadOnce(Ledger):
    """The committed ledger, in memory."""

    def __init__(self) -> None:
        super().__init__(ROOT / "results" / "runs.jsonl")
        self.runs = list(Ledger(self.path))

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def add(self, runs: object) -> None:
        raise AssertionError("a test must not write to the committed ledger")


@pytest.fixture(scope="module")
def committed() -> ReadOnce:
    return ReadOnce()


@pytest.mark.parametrize("key", BEFORE)
def test_rows_match_the_recorded_summaries(key: str, committed: ReadOnce) -> None:
    name, setting = key.split()
    experiment = EXPERIMENTS[name]
    rows = summarise(experiment, committed, setting=setting)
    recipes = {dataset: experiment.recipes(dataset, setting) for dataset in experiment.datasets}
    assert [[row.dataset, row.id, row.score.name, recipes[row.dataset][row.id].id] for row in rows] == [
        before[:4] for before in BEFORE[key]
    ]
    for row, (*_, before) in zip(rows, BEFORE[key], strict=True):
        after = {name: value for name, value in row.to_dict().items() if value is not None}
        numbers = ("mean", "std", "runs", "paper", "paper_std", "seconds", "failed", "difference")
        for one in {*numbers, *before}:
            expected = before.get(one)
            assert after.get(one) == (pytest.approx(expected, rel=1e-9, abs=1e-9) if expected else expected), (row, one)


def test_every_line_of_the_committed_ledger_counts(committed: ReadOnce) -> None:
    keys = {
        step.key(seed)
        for one in EXPERIMENTS.values()
        for setting in one.settings
        for step in plan(one, one.datasets, setting=setting)
        for seed in range(step.runs)
    }
    assert {run.key for run in committed} <= keys


def test_complete_experiments_have_nothing_left_to_run(committed: ReadOnce) -> None:
    listed = {row["experiment"]: row for row in overview(committed)}
    for name in ("node-classification", "node-clustering", "graph-classification", "node-slips", "ablation-bounds"):
        one = EXPERIMENTS[name]
        assert (listed[name]["done"], listed[name]["seconds_left"]) == (listed[name]["runs"], 0)
        assert missing(plan(one, one.datasets), committed) == []


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "runs.jsonl")


def test_a_row_with_some_failed_runs_has_a_note(ledger: Ledger, tiny: Path) -> None:
    experiment = EXPERIMENTS["ablation-regularisers"]
    recipe = experiment.recipes("mutag", folder=tiny)["dropout"]
    done = Run(experiment.name, "mutag", "best", "dropout", 0, {"nested": 80.0}, 1, 2.0, "cpu", recipe.id)
    ledger.add([done, replace(done, seed=1, scores={}, seconds=9.0, failed="out of memory")])
    (row,) = summarise(experiment, ledger, ["mutag"], recipes=tiny)
    assert (row.mean, row.runs, row.failed, row.seconds) == (80.0, 1, None, 2.0)
    assert row.note == "the paper gives no strength; 0.5 here; 1 of 2 runs failed: out of memory"
    assert (row.paper, row.paper_std) == (None, None)


def test_without_the_baseline_there_is_no_difference(ledger: Ledger) -> None:
    experiment = EXPERIMENTS["node-slips"]
    row, second = experiment.variants[1:3]
    run = Run("node-slips", "cora", "best", row.id, 0, {"accuracy": 80.0}, 9, 0.1, "cpu", "")
    ledger.add([replace(run, recipe=experiment.recipes("cora")[row.id].id)])
    (found,) = summarise(experiment, ledger, ["cora"])
    assert (found.mean, found.difference) == (80.0, None)
    first = experiment.variants[0]
    for one, score in ((first, 81.0), (second, 83.5)):
        recipe = experiment.recipes("cora")[one.id].id
        ledger.add([replace(run, variant=one.id, scores={"accuracy": score}, recipe=recipe)])
    assert [row.difference for row in summarise(experiment, ledger, ["cora"])] == [0.0, -1.0, 2.5]


def test_json_keeps_its_keys(ledger: Ledger) -> None:
    common = {"dataset", "metric", "mean", "std", "runs", "paper", "paper_std", "seconds", "row", "failed", "note"}
    for name, dataset, more in (
        ("node-classification", "cora", {"untrained", "propagated"}),
        ("node-slips", "cora", {"change", "difference"}),
        ("ablation-bounds", "mutag", set()),
    ):
        one = EXPERIMENTS[name]
        scores = {score.name: 80.0 for score in one.scores_for(dataset)}
        recipe = one.recipes(dataset)[one.variants[0].id].id
        ledger.add([Run(name, dataset, "best", one.variants[0].id, 0, scores, 9, 0.1, "cpu", recipe)])
        for row in summarise(one, ledger):
            assert common | more <= set(row.to_dict())
            json.dumps(row.to_dict())


def test_a_count_below_one_is_rejected(ledger: Ledger) -> None:
    with pytest.raises(SettingsError, match="runs is 0; it must be at least 1"):
        overview(ledger, runs=0)
