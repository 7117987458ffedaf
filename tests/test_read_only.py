"""The package works from a read-only install, as a user without a home: nothing but the outputs is written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")

VERBS = """
import sys
from mvgrl.cli import main

common = "--epochs 2 --hidden 4 --device cpu"
lines = [
    f"embed edges.csv -o v.npy {common}",
    f"train edges.csv -o model {common}",
    "apply model edges.csv -o again.npy -q",
    "map v.npy -o map.svg -q",
    "datasets",
    "evaluate v.npy --labels nodes.csv -q",
    "info model",
    f"reproduce list --ledger {sys.argv[1]}",
    f"report --ledger {sys.argv[1]} -o report.md -q",
]
for line in lines[: int(sys.argv[2])]:
    code = main(line.split())
    assert code == 0, (line, code)
"""


@pytest.fixture
def installed() -> Iterator[Path]:
    """A folder with a copy of the package that cannot be written, and a folder for outputs, open to everybody."""
    with tempfile.TemporaryDirectory() as made:  # others may not enter the folders of pytest
        Path(made).chmod(0o755)
        package, work = Path(made, "site", "mvgrl"), Path(made, "work")
        shutil.copytree(ROOT / "src" / "mvgrl", package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "recipes", package / "recipes")
        work.mkdir()
        work.chmod(0o777)
        Path(work, "edges.csv").write_text("source,target\n" + "".join(f"{i},{(i * i + 1) % 30}\n" for i in range(30)))
        Path(work, "nodes.csv").write_text("id,class\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(30)))
        yield Path(made)
        for folder in (package, *(one for one in package.rglob("*") if one.is_dir())):
            folder.chmod(0o755)


def run_verbs(folder: Path, home: str, count: int = 99, before: tuple[str, ...] = ()) -> str:
    """Run the first verbs in one process, and return what it says; no place that the environment names is writable."""
    keep = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    places = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "NUMBA_CACHE_DIR", "TORCH_HOME")
    environment |= dict.fromkeys(places, home) | {"PYTHONPATH": str(folder / "site")}
    command = [*before, sys.executable, "-c", VERBS, str(ROOT / "results" / "runs.jsonl"), str(count)]
    done = subprocess.run(command, cwd=folder / "work", env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def check_outputs(folder: Path, notes: str) -> None:
    assert notes.count("compiled code is not cached") == 1
    assert "Traceback" not in notes
    work = folder / "work"
    expected = {"edges.csv", "nodes.csv", "v.npy", "v.ids.csv", "model", "again.npy", "again.ids.csv", "map.svg"}
    assert expected | {"report.md"} >= {path.name for path in work.iterdir()} >= expected
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    line = (
        "from mvgrl.cli import main; main('embed edges.csv -o cached.npy --epochs 2 --hidden 4 --device cpu'.split())"
    )
    subprocess.run([sys.executable, "-c", line], cwd=work, env=environment, check=True, capture_output=True)
    cached = np.load(work / "cached.npy")  # compiled with a cache, to the same machine code
    for name in ("v.npy", "again.npy"):
        np.testing.assert_array_equal(np.load(work / name), cached)


def test_all_verbs_work_where_no_cache_can_be_created(installed: Path) -> None:
    # Permissions do not apply to root, but nobody can create a folder where there is a file, or below one.
    for folder in [installed / "site" / "mvgrl", *(installed / "site").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")
    check_outputs(installed, run_verbs(installed, str(installed / "work" / "edges.csv" / "home")))


def test_verbs_work_for_a_user_who_may_write_nothing(installed: Path) -> None:
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        probe = (*NOBODY, sys.executable, "-c", "import torch, numba, encodings.cp437")
        if shutil.which("setpriv") is None or subprocess.run(probe, capture_output=True, cwd="/").returncode:
            pytest.skip("this Python can be run by root only")
        before = NOBODY
    for folder in (one for one in (installed / "site").rglob("*") if one.is_dir()):
        folder.chmod(0o555)
    check_outputs(installed, run_verbs(installed, "/nonexistent", 4, before))
