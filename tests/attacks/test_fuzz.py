"""A short run of the fuzzer: every target, with fixed seeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attacks.cases import Cases

ROOT = Path(__file__).resolve().parents[2]
CASES = 800
pytest.importorskip("resource", reason="the limits of the fuzzer need a POSIX system")


def fuzz(report: Path, *words: str) -> dict:
    """Run the fuzzer in a process of its own: this one has threads, which do not survive a fork."""
    command = [sys.executable, "-m", "tests.attacks.fuzz", "--workers", "1", "--report", str(report), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert report.exists(), done.stderr
    return json.loads(report.read_text())


def test_no_file_crashes_a_reader_or_runs_code(tmp_path: Path) -> None:
    found = fuzz(tmp_path / "fuzz.json", "--cases", str(CASES), "--seed", "14")
    assert found["cases"] == CASES
    assert len(found["targets"]) >= 19, "a target was not tried"
    assert not found["findings"], json.dumps(found["findings"], indent=1)


def test_a_case_follows_from_its_seed_and_number() -> None:
    first, second, other = Cases(5), Cases(5), Cases(6)
    assert [first(number) for number in range(50)] == [second(number) for number in range(49, -1, -1)][::-1]
    assert [first(number) for number in range(50)] != [other(number) for number in range(50)]
