"""Several runs at once: the same lines as one after the other, and none lost to want of memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from mvgrl.errors import MachineError, SettingsError
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.parallel import pieces, usual_jobs, work_off
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.reproduce import reproduce
from mvgrl.settings import Settings

needs_groups = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
CPU = torch.device("cpu")
TINY = "[best]\nhidden = 4\nlayers = 1\nepochs = 1\n"


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    (tmp_path / "recipes" / "graph").mkdir(parents=True)
    (tmp_path / "recipes" / "graph" / "mutag.toml").write_text(TINY)
    return tmp_path / "recipes"


def test_two_at_once_write_the_lines_of_one_after_the_other(tmp_path: Path, recipes: Path) -> None:
    options = dict(datasets=["mutag"], runs=2, device="cpu", recipes=recipes)
    told: list[str] = []
    both, alone = Ledger(tmp_path / "both.jsonl"), Ledger(tmp_path / "alone.jsonl")
    rows = reproduce("graph-classification", both, jobs=2, tell=told.append, **options)
    expected = reproduce("graph-classification", alone, **options)
    assert {run.key: run.scores for run in both} == {run.key: run.scores for run in alone}
    assert len(both.path.read_text().splitlines()) == 6
    assert [{**row, "seconds": 0} for row in rows] == [{**row, "seconds": 0} for row in expected]
    assert told.pop(0) == "work in 2 pieces, 2 at once"
    assert {text.partition(" (")[0] for text in told} == {
        f"mutag, best, {variant}: seed {seed}" for variant in ("trained", "untrained", "propagated") for seed in (0, 1)
    }
    assert told[-1].endswith("(2 of 2)")

    told.clear()
    assert reproduce("graph-classification", both, jobs=2, tell=told.append, **options) == rows
    assert told == []


def test_what_finds_no_memory_beside_others_is_tried_alone_before_it_is_said_to_fail(tmp_path: Path) -> None:
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    small, vast = (Settings(task="graph", hidden=hidden, layers=2, epochs=1) for hidden in (4, 2**21))
    steps = [
        (Recipe("mutag", "best", settings, tables=("ablation-bounds",)), missing)
        for settings, missing in ((small, {"small": [0]}), (vast, {"propagated": [0], "vast": [0]}))
    ]
    work_off(steps, ledger, CPU, jobs=2, tell=told.append)
    lines = {run.variant: run for run in ledger}
    assert lines["small"].scores["nested"] > 50
    assert lines["propagated"].scores["nested"] > 50
    assert (lines["vast"].failed, lines["vast"].scores) == ("out of memory", {})
    assert len(ledger.path.read_text().splitlines()) == 3  # what was done beside others is not done again
    assert [text for text in told if text.startswith("mutag") and "(" not in text] == [
        "mutag, best, vast: seed 0",
        "mutag, best, vast: seed 0 failed: out of memory",
    ]


def test_a_process_that_is_killed_is_said_and_what_was_done_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text("import os, signal\ndef mode(*_):\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import deadly  # the processes find it where this one does

    settings = Settings(task="graph", hidden=4, layers=1, epochs=1, mode=deadly.mode)
    recipe = Recipe("mutag", "best", settings, tables=("graph-classification",))
    ledger = Ledger(tmp_path / "runs.jsonl")
    with pytest.raises(MachineError, match=r"one of 2 processes was ended .* fewer jobs"):
        work_off([(recipe, {"untrained": [0], "trained": [0, 1]})], ledger, CPU, jobs=2)
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
# Where tests are run in the background, Ctrl-C is ignored by them, and by all that they start, unless told otherwise.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from mvgrl.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Two at once, in a group of processes that does not outlive the test; their views are in its folder."""
    groups = []

    def begin(ledger: Ledger, recipes: Path) -> subprocess.Popen[bytes]:
        words = ["graph-classification", "--dataset", "mutag", "--runs", "6", "--jobs", "2", "--device", "cpu"]
        places = ["--ledger", str(ledger.path), "--recipes", str(recipes)]
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
def test_after_a_kill_a_restart_loses_and_repeats_no_run(tmp_path: Path, recipes: Path, start: Start) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    parent = start(ledger, recipes)
    while not list(ledger):
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    assert any(_gone(parent.pid) for _ in range(600))
    done = list(ledger)
    reproduce("graph-classification", ledger, datasets=["mutag"], runs=6, device="cpu", recipes=recipes)
    assert list(ledger)[: len(done)] == done
    assert len(list(ledger)) == len(ledger.path.read_text().splitlines()) == 18


@needs_groups
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_whatever_ends_the_parent_ends_long_runs_too(
    number: signal.Signals, tmp_path: Path, recipes: Path, start: Start
) -> None:
    (recipes / "graph" / "mutag.toml").write_text(TINY.replace("epochs = 1", "epochs = 10000000\npatience = 10000000"))
    parent = start(Ledger(tmp_path / "runs.jsonl"), recipes)
    while not list(tmp_path.glob("mvgrl-views-*/ppr-*.npz")):  # which is before the first training
        assert parent.poll() is None
        time.sleep(0.05)
    parent.send_signal(number)
    assert parent.wait(timeout=30) == (-number if number == signal.SIGKILL else 130)
    assert any(_gone(parent.pid) for _ in range(600))
    assert not (tmp_path / "runs.jsonl").exists()


def test_stacked_seeds_stay_together_and_others_part() -> None:
    nodes, graphs = (Recipe("any", "best", Settings(task=task)) for task in ("node", "graph"))
    missing = {"trained": [0, 1, 2], "untrained": [2]}
    assert [piece.missing for piece in pieces(nodes, missing, torch.device("cuda"))] == [missing]
    for recipe, device in ((nodes, "cpu"), (graphs, "cuda"), (graphs, "cpu")):
        assert [piece.missing for piece in pieces(recipe, missing, torch.device(device))] == [
            {"trained": [0]},
            {"trained": [1]},
            {"trained": [2], "untrained": [2]},
        ]


def test_never_more_at_once_than_there_is_to_do() -> None:
    for task in ("node", "graph"):
        for device in ("cpu", "cuda"):
            assert usual_jobs(task, 1, torch.device(device)) == 1
            assert 1 <= usual_jobs(task, 3, torch.device(device)) <= 3


def test_less_than_one_at_once_is_refused(tmp_path: Path, recipes: Path) -> None:
    with pytest.raises(SettingsError, match="jobs is 0; ask for at least one"):
        reproduce("graph-classification", Ledger(tmp_path / "none.jsonl"), recipes=recipes, jobs=0)
