"""Temporary files of killed processes are removed, those of living ones are not; one process at a time holds a path."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mvgrl.errors import InputError
from mvgrl.tables.leftovers import check_free, hold, remove_leftovers, temporary_file, temporary_folder

pytest.importorskip("fcntl", reason="leftovers can only be recognised where files can be locked")

OTHER_PROCESS = """
import sys
from contextlib import ExitStack
from pathlib import Path
from mvgrl.tables.leftovers import hold, temporary_file, temporary_folder

target = Path(sys.argv[1])
with ExitStack() as stack:
    stack.enter_context(temporary_file(target)).write_text("half")
    (stack.enter_context(temporary_folder(target)) / "a").write_text("half")
    stack.enter_context(hold(target))
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other_process(tmp_path):
    """A process with a temporary file, a temporary folder and a lock in the folder."""
    words = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path / "v.csv")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_leftovers_are_removed_once_their_owner_is_dead(tmp_path, other_process):
    (tmp_path / ".v.csv.1234.csv").write_text("a file of the user")
    before = sorted(tmp_path.iterdir())
    assert len(before) == 4
    remove_leftovers(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    other_process.kill()
    other_process.wait()
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".v.csv.1234.csv"]


def test_second_process_is_told_who_holds_a_path(tmp_path, other_process):
    path = tmp_path / "v.csv"
    words = rf"v\.csv is in use by process {other_process.pid} on .*, since .*; wait until it is done"
    with pytest.raises(InputError, match=words), hold(path):
        raise AssertionError
    with pytest.raises(InputError, match=words):
        check_free(path)
    other_process.kill()
    other_process.wait()
    check_free(path)
    with hold(path), hold(path):  # a function may hold what its caller holds
        check_free(path)
    assert not list(tmp_path.glob("*lock*"))


def test_other_threads_do_not_share_a_hold(tmp_path):
    found = []

    def other():
        try:
            with hold(tmp_path / "run"):
                pass
        except InputError as error:
            found.append(str(error))

    with hold(tmp_path / "run"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert f"process {os.getpid()}" in found[0]


def test_names_stay_within_the_limit_of_the_file_system(tmp_path):
    for name in ("n" * 255, "é" * 120 + ".parquet", "n." + "x" * 250):
        for make in (temporary_file, temporary_folder):
            with make(tmp_path / name) as made:
                assert made.exists()
        with hold(tmp_path / name):
            pass
    assert list(tmp_path.iterdir()) == []


def test_links_and_foreign_objects_are_left_alone(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").write_text("a")
    (tmp_path / ".v.mvgrl-0").symlink_to(tmp_path / "kept")
    os.mkfifo(tmp_path / ".pipe.mvgrl-1")
    remove_leftovers(tmp_path)
    remove_leftovers(Path("/nonexistent"))
    assert (tmp_path / "kept" / "a").read_text() == "a"
    assert len(list(tmp_path.iterdir())) == 3
