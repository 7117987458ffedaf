"""Standard streams that are full, closed or not read: one message or none, a meaningful exit code, the work done."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full on this platform")

EMBED = "embed edges.csv -o v.csv --hidden 4 --epochs 2 --device cpu --json"


def shell(line):
    """Run a command line of the shell in which mvgrl stands for this package."""
    mvgrl = f"{shlex.quote(sys.executable)} -m mvgrl"
    script = "set -o pipefail; " + line.replace("mvgrl ", f"{mvgrl} ")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)


def test_full_stdout_is_one_message_and_the_work_is_kept(graph):
    done = shell(f"mvgrl {EMBED} -q > /dev/full")
    assert done.returncode == 2
    assert done.stderr == (
        "mvgrl: standard output cannot be written: No space left on device; redirect it to another place\n"
    )
    assert Path("v.csv").exists()
    assert not Path("v.csv.checkpoint").exists()


def test_full_and_closed_stderr_do_not_stop_the_work(graph):
    for number, stream in enumerate(("2> /dev/full", "2>&-")):
        done = shell(f"mvgrl {EMBED.replace('v.csv', f'v{number}.csv')} {stream}")
        assert (done.returncode, done.stderr) == (0, "")
        assert '"epochs": 2' in done.stdout
        assert Path(f"v{number}.csv").read_bytes() == Path("v0.csv").read_bytes()
    assert shell("mvgrl embed missing.csv -o v.csv 2> /dev/full").returncode == 2


def test_closed_stdout_does_not_stop_the_work(graph):
    done = shell(f"mvgrl {EMBED} -q >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("v.csv").read_text().startswith("id,e0")


def test_reader_that_stops_reading_ends_the_output_quietly(folder):
    done = shell("mvgrl datasets | true; echo $?; mvgrl --help > /dev/full")
    assert done.stdout == "0\n"
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.returncode == 2


def test_arguments_that_are_not_utf8_are_rejected(run, folder):
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_text("source,target\na,b\n")
    done = subprocess.run([sys.executable, "-m", "mvgrl", "info", name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mvgrl: the argument 'caf\\xe9.csv' is not valid UTF-8; rename the file\n"


def test_results_are_printed_in_any_encoding(graph):
    Path("café.csv").write_text(Path("edges.csv").read_text().replace("n1", "né"))
    line = "PYTHONIOENCODING=ascii mvgrl info café.csv"
    text, json_ = shell(line), shell(f"{line} --json")
    assert (text.returncode, json_.returncode) == (0, 0)
    assert "n\\xe9" not in json_.stdout
    assert '"ids"' in json_.stdout
