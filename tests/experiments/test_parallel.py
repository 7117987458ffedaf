"""The worker pool: the same lines as serial runs, and none lost when memory runs out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mvgrl.errors import MachineError, SettingsError
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.parallel import pieces, run_tasks, usual_jobs
from mvgrl.experiments.planner import Task
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.reproduce import reproduce
from mvgrl.settings import Settings, literal

needs_groups = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
CPU = torch.device("cpu")
NAMES = [variant.id for variant in EXPERIMENTS["graph-classification"].variants]
ROWS = len(NAMES)
TINY = "[best]\nhidden = 4\nlayers = 1\nepochs = 1\n"


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    (tmp_path / "recipes" / "graph").mkdir(parents=True)
    (tmp_path / "recipes" / "graph" / "mutag.toml").write_text(TINY)
    return tmp_path / "recipes"


def task(dataset: str, settings: Settings, row: str, seeds: list[int], *, method: str = "mvgrl") -> Task:
    recipe = Recipe(dataset, "best", settings, tables=("ablation-bounds",))
    return Task(recipe, row, method, None, {"ablation-bounds": ("nested-svm",)}, tuple(seeds))


def test_parallel_runs_write_the_same_lines_as_serial_ones(tmp_path: Path, recipes: Path, data: Path) -> None:
    options = dict(datasets=["mutag"], runs=2, device="cpu", recipes=recipes, data_root=data)
    messages: list[str] = []
    both, serial = Ledger(tmp_path / "both.jsonl"), Ledger(tmp_path / "serial.jsonl")
    rows = reproduce("graph-classification", both, jobs=2, tell=messages.append, **options)
    expected = reproduce("graph-classification", serial, **options)
    assert {run.key: run.scores for run in both} == {run.key: run.scores for run in serial}
    assert len(both.path.read_text().splitlines()) == 2 * ROWS
    assert [replace(row, seconds=0) for row in rows] == [replace(row, seconds=0) for row in expected]
    assert messages.pop(0) == "2 pieces, 2 in parallel"
    assert {text.partition(" (")[0] for text in messages} == {
        f"mutag, best, {variant}: seed {seed}" for variant in NAMES for seed in (0, 1)
    }
    assert messages[-1].endswith("(2 of 2)")

    messages.clear()
    assert reproduce("graph-classification", both, jobs=2, tell=messages.append, **options) == rows
    assert messages == []


def test_a_run_out_of_memory_is_retried_by_itself_before_it_fails(tmp_path: Path, data: Path) -> None:
    ledger, messages = Ledger(tmp_path / "runs.jsonl"), []
    small, vast = (literal(dict(task="graph", hidden=hidden, layers=2, epochs=1)) for hidden in (4, 2**21))
    tasks = [
        task("mutag", small, "small", [0]),
        task("mutag", vast, "propagated", [0], method="propagated"),
        task("mutag", vast, "vast", [0]),
    ]
    run_tasks(tasks, ledger, CPU, jobs=2, data_root=data, tell=messages.append)
    lines = {run.variant: run for run in ledger}
    assert lines["small"].scores["nested"] > 50
    assert lines["propagated"].scores["nested"] > 50
    assert (lines["vast"].failed, lines["vast"].scores) == ("out of memory", {})
    assert len(ledger.path.read_text().splitlines()) == 3  # runs that finished in parallel are not repeated
    assert [text for text in messages if text.startswith("mutag") and "(" not in text] == [
        "mutag, best, vast: seed 0",
        "mutag, best, vast: seed 0 failed: out of memory",
    ]


def test_a_killed_worker_is_reported_and_finished_runs_are_kept(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text("import os, signal\ndef mode(*_):\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import deadly  # the worker processes import it from the same path

    settings = literal(dict(task="graph", hidden=4, layers=1, epochs=1, mode=deadly.mode))
    ledger = Ledger(tmp_path / "runs.jsonl")
    tasks = [task("mutag", settings, "untrained", [0], method="untrained"), task("mutag", settings, "trained", [0, 1])]
    with pytest.raises(MachineError, match=r"one of 2 worker processes was killed.* fewer jobs"):
        run_tasks(tasks, ledger, CPU, jobs=2, data_root=data)
    assert {run.variant for run in ledger} <= {"untrained"}
    sys.modules.pop("deadly")


def _gone(group: int) -> bool:
    time.sleep(0.05)
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


Start = Callable[[Ledger, Path], subprocess.Popen[bytes]]
# Tests that run in the background ignore Ctrl-C, and so do the processes they start, unless it is enabled.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from mvgrl.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def start(tmp_path: Path, data: Path) -> Iterator[Start]:
    """Return a function that starts two workers in a process group that is killed after the test."""
    groups = []

    def begin(ledger: Ledger, recipes: Path) -> subprocess.Popen[bytes]:
        words = ["graph-classification", "--dataset", "mutag", "--runs", "4", "--jobs", "2", "--device", "cpu"]
        places = ["--ledger", str(ledger.path), "--recipes", str(recipes), "--data-root", str(data)]
        command = [sys.executable, "-c", PROGRAM, "reproduce", *words, *places]
        parent = subprocess.Popen(
            command, start_new_session=True, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)}
        )
        groups.append(parent.pid)
        return parent

    yield begin
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@needs_groups
def test_a_restart_after_a_kill_loses_and_repeats_no_run(
    tmp_path: Path, recipes: Path, data: Path, start: Start
) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    parent = start(ledger, recipes)
    while not list(ledger):
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    assert any(_gone(parent.pid) for _ in range(600))
    done = list(ledger)
    options = dict(device="cpu", recipes=recipes, data_root=data)
    reproduce("graph-classification", ledger, datasets=["mutag"], runs=4, **options)
    assert list(ledger)[: len(done)] == done
    assert len(list(ledger)) == len(ledger.path.read_text().splitlines()) == 4 * ROWS


@needs_groups
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_when_the_parent_ends(number: signal.Signals, tmp_path: Path, recipes: Path, start: Start) -> None:
    (recipes / "graph" / "mutag.toml").write_text(TINY.replace("epochs = 1", "epochs = 10000000\npatience = 10000000"))
    parent = start(Ledger(tmp_path / "runs.jsonl"), recipes)
    while not list(tmp_path.glob(".views.mvgrl-*/ppr-*.npz")):  # written before the first training starts
        assert parent.poll() is None
        time.sleep(0.05)
    parent.send_signal(number)
    assert parent.wait(timeout=30) == (-number if number == signal.SIGKILL else 130)
    assert any(_gone(parent.pid) for _ in range(600))
    assert not (tmp_path / "runs.jsonl").exists()


def test_stacked_seeds_stay_together_and_others_are_split() -> None:
    def seeds(kind: str, device: str) -> list[list[tuple[str, tuple[int, ...]]]]:
        recipe = Recipe("any", "best", Settings(task=kind))
        tasks = [Task(recipe, "trained", "mvgrl", None, {}, (0, 1, 2)), Task(recipe, "raw", "raw", None, {}, (2,))]
        return [[(one.variant, one.seeds) for one in piece] for piece in pieces(tasks, torch.device(device))]

    assert seeds("node", "cuda") == [[("trained", (0, 1, 2)), ("raw", (2,))]]
    for kind, device in (("node", "cpu"), ("graph", "cuda"), ("graph", "cpu")):
        assert seeds(kind, device) == [
            [("trained", (0,))],
            [("trained", (1,))],
            [("trained", (2,)), ("raw", (2,))],
        ]


def test_there_are_never_more_jobs_than_pieces() -> None:
    for task in ("node", "graph"):
        for device in ("cpu", "cuda"):
            assert usual_jobs(task, 1, torch.device(device)) == 1
            assert 1 <= usual_jobs(task, 3, torch.device(device)) <= 3


def test_fewer_than_one_job_is_rejected(tmp_path: Path, recipes: Path) -> None:
    with pytest.raises(SettingsError, match="jobs is 0; it must be at least 1"):
        reproduce("graph-classification", Ledger(tmp_path / "none.jsonl"), recipes=recipes, jobs=0)
