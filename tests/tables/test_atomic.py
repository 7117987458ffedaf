"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os

import pytest

from mvgrl.errors import InputError, MachineError
from mvgrl.tables.atomic import atomic_write, cannot_write, check_writable


def test_a_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "deep" / "er" / "a.tar.gz"
    with atomic_write(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == ".gz"
        temporary.write_text("half")
        assert not path.exists()
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_whatever_goes_wrong_the_old_file_stays(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with atomic_write(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_old_file_is_replaced_not_added_to(tmp_path):
    path = tmp_path / "a.txt"
    for text in ("a long text", "short"):
        with atomic_write(str(path)) as temporary:
            temporary.write_text(text)
        assert path.read_text() == text


def test_very_long_names(tmp_path):
    path = tmp_path / ("n" * 250 + ".txt")
    check_writable(path)
    with atomic_write(path) as temporary:
        temporary.write_text("x")
    assert path.read_text() == "x"


def test_a_place_that_can_be_written_is_left_as_it_was(tmp_path):
    check_writable(tmp_path / "a.txt")
    check_writable(str(tmp_path / "none" / "of" / "these" / "a.txt"))
    assert list(tmp_path.iterdir()) == []


def refusals(path):
    """What both the check and the attempt say of a place that cannot be written."""
    with pytest.raises(InputError) as before:
        check_writable(path)
    with pytest.raises(InputError) as after, atomic_write(path) as temporary:
        temporary.write_text("x")
    for caught in (before, after):
        assert str(caught.value).startswith(f"{path} cannot be written: ")
        assert str(caught.value).endswith("; choose another place")
        assert caught.value.__suppress_context__
    return str(before.value), str(after.value)


def test_a_parent_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("old")
    refusals(tmp_path / "file" / "a.txt")
    refusals(tmp_path / "file" / "folder" / "a.txt")
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="to root no folder is closed")
def test_a_folder_that_is_closed(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        assert all("Permission denied" in message for message in refusals(folder / "a.txt"))
        assert list(folder.iterdir()) == []
    finally:
        folder.chmod(0o700)


def test_a_folder_in_the_file_s_place(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(InputError, match=r"a\.txt cannot be written"), atomic_write(tmp_path / "a.txt") as temporary:
        temporary.write_text("x")
    assert list(tmp_path.iterdir()) == [tmp_path / "a.txt"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_the_machine_s_failures_are_told_from_those_of_the_path(code):
    error = cannot_write("a.txt", OSError(code, os.strerror(code)))
    assert isinstance(error, MachineError)
    assert str(error) == f"a.txt cannot be written: {os.strerror(code)}; make room, or choose another place"
    for other in (OSError(errno.EACCES, "Permission denied"), OSError("something else")):
        assert isinstance(cannot_write("a.txt", other), InputError)
        assert str(other.strerror or other) in str(cannot_write("a.txt", other))


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, files_up_to):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(MachineError, match=r"a\.txt cannot be written: .*; make room"), files_up_to(100):  # noqa: SIM117
        with atomic_write(path) as temporary:
            temporary.write_text("new" * 100)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
