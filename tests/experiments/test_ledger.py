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
