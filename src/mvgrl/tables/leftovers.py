"""Temporary files, folders and locks; what a killed process leaves behind is removed by the next one.

Their names are recognisable, and the owner holds a lock on each of them. The operating system releases the lock when
the owner dies, so whatever can be locked is a leftover. Without such locks (Windows, some network file systems),
leftovers stay where they are.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from mvgrl.errors import InputError, cannot_write

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MARK = ".mvgrl-"
_LONGEST = 100  # bytes of the target's name that become part of a temporary name
REPLACED = "replaced"  # the subfolder of a temporary folder where the target waits while it is being replaced
_held = threading.local()  # the locks of this thread, so that a function can hold what its caller holds


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Yield an empty file next to ``target`` with the same extension; it is removed at the end if it is still there."""
    with _temporary(target, folder=False) as path:
        yield path


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder next to ``target``; it is removed at the end, with its content."""
    with _temporary(target, folder=True) as path:
        yield path


@contextmanager
def _temporary(target: Path, *, folder: bool) -> Iterator[Path]:
    remove_leftovers(target.parent)
    path, descriptor = _create(target, folder=folder)
    try:
        yield path
    finally:
        _remove(path)
        if descriptor is not None:
            os.close(descriptor)


def _create(target: Path, *, folder: bool) -> tuple[Path, int | None]:
    suffix = target.suffix if len(target.suffix) <= 20 and target.suffix.isascii() else ""
    while True:
        path = target.with_name(f"{_hidden(target)}{_MARK}{secrets.token_hex(4)}{suffix}")
        if folder:
            path.mkdir(mode=0o700)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if fcntl is None:
            return path, None
        try:
            descriptor = os.open(path, os.O_RDONLY)
            with suppress(OSError):  # the file system has no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_open_as(path, descriptor):
                return path, descriptor
            os.close(descriptor)
        except FileNotFoundError:
            pass  # another process removed it as a leftover before it was locked


def _hidden(target: Path) -> str:
    return "." + os.fsencode(target.name)[:_LONGEST].decode("utf-8", "ignore")


def _is_open_as(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files, folders and locks in a folder that belong to processes which have died."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        found = [Path(entry.path) for entry in entries if entry.name.startswith(".") and _MARK in entry.name]
        for path in found:
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        about = os.fstat(descriptor)
        ours = about.st_uid == os.getuid() and (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode))
        if ours and _lock(descriptor):
            _restore(path)
            _remove(path)
    finally:
        os.close(descriptor)


def _restore(path: Path) -> None:
    """Put back a folder whose owner died between moving it away and putting the new one in its place."""
    with suppress(OSError):
        for old in (path / REPLACED).iterdir():
            if not os.path.lexists(path.parent / old.name):
                old.rename(path.parent / old.name)


def _remove(path: Path) -> None:
    with suppress(OSError):  # the folder may be missing or not accessible
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _lock(descriptor: int, *, without: bool = False) -> bool:
    """Lock a file unless another process has locked it; ``without`` is the result if the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return without
    return True


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Keep other processes from using ``path`` until the end of the block; raise an error if one is using it.

    A block may contain another one for the same path.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, hold(Path(folder, "run")):
    ...     len(list(Path(folder).iterdir()))
    1
    """
    lock = _lock_file(path)
    mine: set[str] = _held.__dict__.setdefault("locks", set())
    if fcntl is None or str(lock) in mine:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _acquire(lock, path)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        mine.add(str(lock))
        about = f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M:%S}"
        os.write(descriptor, about.encode())
        yield
    finally:
        mine.discard(str(lock))
        _remove(lock)
        os.close(descriptor)


def _acquire(lock: Path, path: Path) -> int:
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(descriptor, without=True):
            os.close(descriptor)
            check_free(path)
        elif _is_open_as(lock, descriptor):  # else its owner finished and removed it
            os.ftruncate(descriptor, 0)
            return descriptor
        else:
            os.close(descriptor)


def check_free(path: Path) -> None:
    """Raise an error that names the process which holds ``path``, if there is one."""
    lock = _lock_file(path)
    if fcntl is None or str(lock) in _held.__dict__.get("locks", ()):
        return
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        if _lock(descriptor, without=True):
            return
        owner = os.read(descriptor, 200).decode("utf-8", "replace") or "another process"
    finally:
        os.close(descriptor)
    raise InputError(f"{path} is in use by {owner}; wait until it is done, or choose another output")


def _lock_file(path: Path) -> Path:
    return Path(os.path.realpath(path.parent), f"{_hidden(path)}{_MARK}lock")
