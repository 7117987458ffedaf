"""A job that is killed at any moment continues, loses nothing, and ends with the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
def test_killed_job_continues_bit_for_bit() -> None:
    command = [sys.executable, "-m", "tests.outofcore.kills", "--kills", "4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["kills"] == 4
    assert record["vectors"] == "equal to the bit"
