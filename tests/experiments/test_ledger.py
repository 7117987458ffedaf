"""The ledger keeps every run exactly once, with several writers and after crashes."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from mvgrl.errors import InputError
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.reproduce import overview
from mvgrl.reports.report import write_report

PUBLISHED = Path(__file__).parents[2] / "results" / "runs.jsonl"
RUN = Run("node-clustering", "cora", "best", "trained", 0, {"nmi": 0.5}, 10, 0.1, "cpu", "abc", {"torch": "2"})


def test_added_runs_are_read_back_in_order(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "deep" / "runs.jsonl")
    assert list(ledger) == []
    runs = [replace(RUN, seed=seed) for seed in range(3)]
    ledger.add(runs[:2])
    ledger.add(runs[2:])
    assert list(ledger) == runs
    keys = {"experiment", "dataset", "setting", "variant", "seed", "scores", "epochs", "seconds", "device", "versions"}
    assert keys | {"recipe"} == set(json.loads(ledger.path.read_text().splitlines()[0]))


def test_duplicate_runs_count_once_and_the_first_wins(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    ledger.add([RUN, replace(RUN, scores={"nmi": 0.9}), replace(RUN, recipe="other")])
    assert [run.scores["nmi"] for run in ledger] == [0.5, 0.5]


def test_a_failed_run_is_replaced_by_a_later_one_and_a_finished_one_is_not(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    failed = replace(RUN, scores={}, failed="out of memory")
    ledger.add([failed, replace(RUN, seed=1)])
    assert [(run.failed, run.scores) for run in ledger] == [("out of memory", {}), ("", {"nmi": 0.5})]
    ledger.add([replace(failed, failed="the loss became nan"), replace(failed, seed=1)])
    assert [run.failed for run in ledger] == ["the loss became nan", ""]
    ledger.add([RUN, failed])
    assert list(ledger) == [RUN, replace(RUN, seed=1)]


STRANGE = json.dumps({**asdict(RUN), "dataset": ["cora"]})  # not a name
TEXT = json.dumps({**asdict(RUN), "scores": {"nmi": "high"}})  # not a number


@pytest.mark.parametrize("cut", ['{"experiment": "node-clus', "null", "[1]", '{"seed": 1}', "\x00\x00", STRANGE, TEXT])
def test_a_truncated_or_foreign_line_is_skipped_and_the_next_is_complete(
    cut: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    ledger.add([RUN])
    with ledger.path.open("a") as file:
        file.write(cut)
    ledger.add([replace(RUN, seed=1)])
    logging.getLogger("mvgrl").propagate = True  # an earlier test of the CLI may have disabled it
    with caplog.at_level(logging.WARNING):
        assert [run.seed for run in ledger] == [0, 1]
    assert "line 2 is not a run" in caplog.text


def line_with(**values: object) -> str:
    return json.dumps({**asdict(RUN), **values})


FOREIGN = {
    "an unknown score": line_with(scores={"nmj": 0.5}),
    "an unknown score beside a known one": line_with(scores={"nmi": 0.5, "f1": 0.5}),
    "a score that is a list": line_with(scores={"nmi": [0.5]}),
    "a score that is true": line_with(scores={"nmi": True}),
    "a score that is missing": line_with(scores={"nmi": None}),
    "a score that is not finite": line_with(scores={"nmi": float("nan")}),
    "a score beyond the floats": line_with(scores={"nmi": 10**400}),
    "a score whose sum overflows": line_with(scores={"nmi": 1.7e308}),
    "scores in a list": line_with(scores=[0.5]),
    "a seed that is true": line_with(seed=True),
    "a seed that is a float": line_with(seed=1.0),
    "a negative seed": line_with(seed=-1),
    "a huge seed": line_with(seed=10**400),
    "a seed that is a list": line_with(seed=[1]),
    "epochs that are text": line_with(epochs="10"),
    "epochs that are a list": line_with(epochs=[10]),
    "negative epochs": line_with(epochs=-1),
    "no epochs": line_with(epochs=None),
    "seconds that are text": line_with(seconds="1"),
    "negative seconds": line_with(seconds=-1.0),
    "huge seconds": line_with(seconds=1e308),
    "versions that are not text": line_with(versions={"torch": 2}),
    "nested versions": line_with(versions={"torch": {"cpu": "2"}}),
    "versions in a list": line_with(versions=["torch"]),
    "half a character": line_with(device="\ud800"),
    "half a character in the versions": line_with(versions={"\udfff": "1"}),
    "an unhashable name": line_with(variant={"id": "trained"}),
    "an unhashable setting": line_with(setting=["best"]),
    "a reason that is a number": line_with(scores={}, failed=1),
    "5,000 levels": "[" * 5000 + "]" * 5000,
    "200,000 levels": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "5,000 levels in a score": line_with(scores={"nmi": 0}).replace("0}", "[" * 5000 + "]" * 5000 + "}"),
    "a long number": line_with(seed=0).replace('"seed": 0', '"seed": ' + "9" * 5000),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_line_that_no_report_could_use_is_skipped(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    ledger.path.write_text(FOREIGN[what] + "\n" + line_with(seed=7) + "\n")
    logging.getLogger("mvgrl").propagate = True  # an earlier test of the CLI may have disabled it
    with caplog.at_level(logging.WARNING):
        assert [run.seed for run in ledger] == [7]
    assert "line 1 is not a run" in caplog.text


def test_reports_work_whatever_else_is_in_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "runs.jsonl"
    names = ("experiment", "dataset", "variant", "setting", "recipe")
    unknown = [
        line_with(**{name: value}) for name in names for value in ("", "nothing", "node-slips", "mutag", "__x__")
    ]
    ledger.write_text("\n".join([*FOREIGN.values(), *unknown, PUBLISHED.read_text().partition("\n")[0]]) + "\n")
    for suffix in (".html", ".md"):
        assert write_report(tmp_path / f"report{suffix}", ledger)["runs"] == 1
    assert {row["done"] for row in overview(Ledger(ledger))} == {0}  # it counts runs under best; that one is not


def test_every_published_run_is_accepted() -> None:
    lines = [line for line in PUBLISHED.read_text().split("\n") if line]
    assert len(list(Ledger(PUBLISHED))) == len(lines) > 3000


def test_two_processes_do_not_corrupt_the_ledger(tmp_path: Path) -> None:
    code = """
import sys
from dataclasses import asdict, replace
from mvgrl.experiments.ledger import Ledger, Run
ledger = Ledger(sys.argv[1])
for seed in range(200):
    run = Run("node-clustering", sys.argv[2], "best", "trained", seed, {"nmi": 0.5}, 1, 0.1, "cpu", "abc")
    ledger.add([replace(run, versions={"text": "x" * 3000})])
"""
    path = tmp_path / "runs.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("cora", "pubmed")]
    assert [writer.wait() for writer in writers] == [0, 0]
    runs = list(Ledger(path))
    assert len(path.read_text().splitlines()) == len(runs) == 400
    for name in ("cora", "pubmed"):
        assert [run.seed for run in runs if run.dataset == name] == list(range(200))


def test_an_unwritable_path_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Ledger(tmp_path / "file" / "runs.jsonl").add([RUN])
