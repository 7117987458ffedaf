"""Atomic writes: a file or folder is complete or unchanged."""

from __future__ import annotations

import errno
import os
import sys

import pytest

from mvgrl.errors import InputError, MachineError, cannot_write
from mvgrl.tables.atomic import atomic_folder, atomic_write, check_writable


def test_file_appears_only_when_complete(tmp_path):
    path = tmp_path / "nested" / "folder" / "a.tar.gz"
    with atomic_write(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == ".gz"
        temporary.write_text("half")
        assert not path.exists()
        temporary.write_text("complete")
    assert path.read_text() == "complete"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_old_file_is_kept_if_writing_fails(tmp_path, error):
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


def test_existing_file_is_replaced(tmp_path):
    path = tmp_path / "a.txt"
    for text in ("a long text", "short"):
        with atomic_write(str(path)) as temporary:
            temporary.write_text(text)
        assert path.read_text() == text


def test_very_long_file_names_can_be_written(tmp_path):
    path = tmp_path / ("n" * 250 + ".txt")
    check_writable(path)
    with atomic_write(path) as temporary:
        temporary.write_text("x")
    assert path.read_text() == "x"


def test_folder_is_replaced_only_when_complete(tmp_path):
    folder = tmp_path / "model"
    with atomic_folder(folder) as new:
        (new / "old.txt").write_text("old")
    assert [path.name for path in folder.iterdir()] == ["old.txt"]
    with pytest.raises(ZeroDivisionError), atomic_folder(folder) as new:
        (new / "half.txt").write_text(str(1 / 0))
    assert [path.name for path in folder.iterdir()] == ["old.txt"]
    with atomic_folder(folder) as new:
        (new / "new.txt").write_text("new")
        assert [path.name for path in folder.iterdir()] == ["old.txt"]
    assert [path.name for path in folder.iterdir()] == ["new.txt"]
    assert list(tmp_path.iterdir()) == [folder]


def test_check_writable_leaves_no_files(tmp_path):
    check_writable(tmp_path / "a.txt")
    check_writable(str(tmp_path / "none" / "of" / "these" / "a.txt"))
    assert list(tmp_path.iterdir()) == []


def errors_for(path):
    """Return the messages of both the check and the write for a path that cannot be written."""
    with pytest.raises(InputError) as before:
        check_writable(path)
    with pytest.raises(InputError) as after, atomic_write(path) as temporary:
        temporary.write_text("x")
    for caught in (before, after):
        assert str(caught.value).startswith(f"{path} cannot be written: ")
        assert str(caught.value).endswith("; choose another path")
        assert caught.value.__suppress_context__
    return str(before.value), str(after.value)


def test_parent_that_is_a_file_is_rejected(tmp_path):
    (tmp_path / "file").write_text("old")
    errors_for(tmp_path / "file" / "a.txt")
    errors_for(tmp_path / "file" / "folder" / "a.txt")
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root can write to every folder")
def test_folder_without_write_permission_is_rejected(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        assert all("Permission denied" in message for message in errors_for(folder / "a.txt"))
        assert list(folder.iterdir()) == []
    finally:
        folder.chmod(0o700)


def test_folder_with_the_name_of_the_file_is_rejected(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(InputError, match=r"a\.txt cannot be written"), atomic_write(tmp_path / "a.txt") as temporary:
        temporary.write_text("x")
    assert list(tmp_path.iterdir()) == [tmp_path / "a.txt"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_machine_failures_are_distinguished_from_bad_paths(code):
    error = cannot_write("a.txt", OSError(code, os.strerror(code)))
    assert isinstance(error, MachineError)
    assert str(error) == f"a.txt cannot be written: {os.strerror(code)}; free some space or choose another path"
    for other in (OSError(errno.EACCES, "Permission denied"), OSError("something else")):
        assert isinstance(cannot_write("a.txt", other), InputError)
        assert str(other.strerror or other) in str(cannot_write("a.txt", other))


def test_full_disk_keeps_the_old_file_and_leaves_no_temporary_file(tmp_path, files_up_to):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(MachineError, match=r"a\.txt cannot be written: .*; free some space"), files_up_to(100):  # noqa: SIM117
        with atomic_write(path) as temporary:
            temporary.write_text("new" * 100)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_link_is_kept_and_its_target_is_replaced(tmp_path):
    for name, write in (("a.txt", atomic_write), ("model", atomic_folder)):
        target, link = tmp_path / "elsewhere" / name, tmp_path / f"link-{name}"
        link.symlink_to(target)
        for text in ("old", "new"):
            with write(link) as temporary:
                (temporary / "a" if name == "model" else temporary).write_text(text)
        assert link.is_symlink()
        assert (target / "a" if name == "model" else target).read_text() == "new"
        assert list(target.parent.glob(".*")) == []


def test_folder_is_complete_at_every_moment_of_its_replacement(tmp_path):
    folder = tmp_path / "model"
    with atomic_folder(folder) as new:
        (new / "a").write_text("old")
    seen = set()

    def look(event, arguments):
        if event.startswith(("os.", "shutil.", "open")) and watching:
            watching.clear()  # looking raises events, too
            seen.add((folder / "a").read_text())
            watching.append(True)

    watching: list[bool] = []
    sys.addaudithook(look)
    with atomic_folder(folder) as new:
        (new / "a").write_text("new")
        watching.append(True)
    watching.clear()
    assert seen == {"old", "new"}


def test_folder_moved_away_by_a_killed_process_is_put_back(tmp_path):
    for name in ("lost", "replaced"):
        moved = tmp_path / f".{name}.mvgrl-0123" / "replaced" / name
        moved.mkdir(parents=True)
        (moved / "a").write_text("old")
    (tmp_path / "replaced").mkdir()
    (tmp_path / "replaced" / "a").write_text("new")
    check_writable(tmp_path / "anything.txt")
    assert (tmp_path / "lost" / "a").read_text() == "old"
    assert (tmp_path / "replaced" / "a").read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"lost", "replaced"}


def test_names_that_are_too_long_in_bytes_are_rejected_before_any_work(tmp_path):
    for path in (tmp_path / ("é" * 126 + ".csv"), tmp_path / "new" / ("n" * 256), tmp_path / ("n" * 256) / "a.csv"):
        with pytest.raises(InputError, match="cannot be written: File name too long"):
            check_writable(path)
    check_writable(tmp_path / ("é" * 125 + ".csv"))


def test_loop_of_links_is_rejected(tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(InputError, match="symbolic links"):
        check_writable(tmp_path / "loop.csv")
