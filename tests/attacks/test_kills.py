"""Kills at file operations: the next run ends in the same bits, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("resource", reason="forks and kills need a POSIX system")


def kill(*words: str) -> dict:
    """Run the kills in a process of their own: this one has threads, which do not survive a fork."""
    command = [sys.executable, "-m", "tests.attacks.kills", "--workers", "1", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_a_killed_run_ends_in_the_same_bits_and_leaves_nothing() -> None:
    scenarios = ("train, replacing the model", "embed to .npy", "reproduce")
    found = kill("--kills", "1", "--step", "4", *(word for name in scenarios for word in ("--scenario", name)))
    assert set(found["commands"]) == set(scenarios)
    assert found["kills"] > 20
    assert not found["violations"], json.dumps(found["violations"], indent=1)
