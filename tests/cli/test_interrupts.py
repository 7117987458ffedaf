"""After Ctrl-C, kill or a crash, no finished work is lost, and resume ends with the same bits."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from mvgrl import Graph, Settings, fit
from mvgrl.cli.interrupts import SIGNALS, Interrupts

# Nodes with different features: otherwise the negatives drawn after resuming would not matter.
RING = Graph.from_edges(np.arange(30), (np.arange(30) + 1) % 30, features=np.random.default_rng(0).normal(size=(30, 3)))
SETTINGS = Settings(hidden=8, epochs=9)
LIMIT = 240  # seconds; normally a few are enough


def signal_in(epoch_number, number):
    def callback(epoch):
        if epoch.number == epoch_number:
            signal.raise_signal(number)

    return callback


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_stops_the_run_after_the_epoch_and_resume_continues_bit_for_bit(number, tmp_path):
    uninterrupted = fit(RING, SETTINGS, device="cpu").represent()[0]
    checkpoint, notes = tmp_path / "run.checkpoint", []
    interrupts = Interrupts(notes.append)
    callbacks = [interrupts, signal_in(4, number)]
    with interrupts, pytest.raises(KeyboardInterrupt):
        fit(RING, SETTINGS, device="cpu", callbacks=callbacks, checkpoint=checkpoint)
    assert interrupts.epochs == 5  # the signal came after the callback of the fourth
    assert len(notes) == 1
    rest = fit(RING, SETTINGS, device="cpu", checkpoint=checkpoint, resume=True)
    assert len(rest.history.losses) == 9
    assert np.array_equal(rest.represent()[0], uninterrupted)


def test_second_signal_stops_immediately():
    with Interrupts(lambda _: None) as interrupts:
        interrupts.epochs = 1
        signal.raise_signal(signal.SIGINT)
        assert interrupts.stop_requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_signal_before_the_first_epoch_stops_immediately():
    with Interrupts(lambda _: None), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_previous_signal_handlers_are_restored():
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupts(lambda _: None):
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_unfinished_run_is_not_overwritten_and_resume_needs_one(refused, graph):
    for verb, output in (("embed", "v.csv"), ("train", "model")):
        line = f"{verb} {graph} -o {output} --hidden 4 --epochs 3"
        refused(f"{line} --resume", f"{output}.checkpoint", "omit --resume")
        Path(f"{output}.checkpoint").write_text("an earlier checkpoint")
        refused(line, f"{output}.checkpoint", "--resume", "delete it")
        refused(f"{line} --resume -q", f"{output}.checkpoint", "damaged")
    Path("mvgrl-demo").mkdir()
    Path("mvgrl-demo/model.checkpoint").write_text("an earlier checkpoint")
    refused("demo", "mvgrl-demo/model.checkpoint", "--resume")


def test_checkpoint_of_another_run_is_rejected(refused, run, graph, files_up_to):
    line = f"embed {graph} -o v.csv --hidden 4 --device cpu -q"
    leave_unfinished(run, files_up_to, f"{line} --epochs 3")
    refused(f"{line} --epochs 4 --resume", "v.csv.checkpoint", "another run")
    refused(f"{line} --epochs 3 --seed 1 --resume", "v.csv.checkpoint", "another run")
    run(f"{line} --epochs 3 --resume")


def leave_unfinished(run, files_up_to, line):
    """Train to the end, but fail to write the vectors on a full disk."""
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(2000)))
    Path("nodes.csv").write_text("id,x,topic\n" + "".join(f"{i},{i % 7},a\n" for i in range(2001)))
    with files_up_to(30_000):
        run(line, code=1)
    assert Path("v.csv.checkpoint").exists()
    assert not Path("v.csv").exists()


def signalled_while_training(line, number):
    """Send a signal to a process after it has logged its second epoch; return exit code, stdout and stderr."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "mvgrl", *shlex.split(line), "-vv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            # A pipe of a page: the process waits until its log is read, and cannot end before the signal.
            fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        limit = threading.Timer(LIMIT, process.kill)
        limit.start()
        logged, epochs = [], 0
        while epochs < 2 and (text := process.stderr.readline()):
            logged.append(text)
            epochs += text.startswith("epoch ")
        process.send_signal(number)
        out, err = process.communicate()
        limit.cancel()
    return process.returncode, out, "".join(logged) + err


def test_interrupted_terminated_and_killed_run_resumes_bit_for_bit(run, refused):
    nodes = 100
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{i * i % nodes}\n" for i in range(nodes)))
    flags = "--hidden 8 --epochs 300 --patience 300 --learning-rate 0.0001 --device cpu"
    checkpoint = Path("v.npy.checkpoint")
    line, done = f"embed edges.csv -o v.npy {flags}", 0
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)):
        resume = " --resume" if checkpoint.exists() else ""
        ended, out, err = signalled_while_training(line + resume, number)
        assert (ended, out) == (code, ""), err
        assert f"resumed after epoch {done}\n" in err if resume else "resumed" not in err
        if code == 130:
            (last,) = re.findall(r"^interrupted after epoch (\d+); to continue: (.*)$", err, flags=re.MULTILINE)
            assert int(last[0]) >= done + 2
            assert last[1] == f"mvgrl {line} -vv --resume"
            assert "Traceback" not in err
            done = int(last[0])
        assert checkpoint.exists()
        assert not Path("v.npy").exists()
        run(line, code=2)  # removes what a killed process left
        refused(line, "v.npy.checkpoint", "--resume")
    result = run(f"{line} --resume --json").json
    assert result["epochs"] == 300
    assert sorted(path.name for path in Path().iterdir() if path.suffix != ".checkpoint") == [
        *("edges.csv", "v.ids.csv", "v.npy")
    ]
    assert not checkpoint.exists()
    run(f"embed edges.csv -o uninterrupted.npy {flags}")
    assert Path("v.npy").read_bytes() == Path("uninterrupted.npy").read_bytes()
