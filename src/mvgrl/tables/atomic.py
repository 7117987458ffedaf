"""Atomic writes: to a temporary name in the same folder, renamed once the content is complete."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mvgrl.errors import cannot_write
from mvgrl.tables.leftovers import REPLACED, temporary_file, temporary_folder


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path with the same extension; rename it to ``path`` unless an exception is raised.

    If ``path`` is a link, the file it points to is replaced.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("complete")
    ...     Path(folder, "a.txt").read_text()
    'complete'
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(target) as temporary:
            yield temporary
            _sync(temporary)
            temporary.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def atomic_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces ``folder`` unless an exception is raised.

    There is a complete folder at every moment, the old or the new one. If ``folder`` is a link, the folder it points to
    is replaced.
    """
    target = Path(os.path.realpath(folder))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target) as made:
            new = made / "new"
            new.mkdir()
            yield new
            for path in new.iterdir():
                _sync(path)
            _replace(target, new, made / REPLACED)
            _sync_folder(target.parent)
    except OSError as error:
        raise cannot_write(folder, error) from None


def _replace(target: Path, new: Path, old: Path) -> None:
    try:
        new.replace(target)  # there is none, or an empty one
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not _exchange(new, target):
            # Without an exchange there is a moment without a folder; if this process dies in it, the next one that
            # writes here puts the old folder back.
            old.mkdir()
            target.replace(old / target.name)
            new.replace(target)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, which Linux and macOS can do on most file systems; return whether it worked."""
    if sys.platform not in ("linux", "darwin"):
        return False
    library, paths = ctypes.CDLL(None), (os.fsencode(one), os.fsencode(other))
    sys.audit("os.rename", one, other, -1, -1)  # as os.rename does
    if hasattr(library, "renameat2"):
        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        return bool(library.renameat2(here, paths[0], here, paths[1], exchange) == 0)
    return hasattr(library, "renamex_np") and library.renamex_np(*paths, 2) == 0  # RENAME_SWAP


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())  # some file systems report a full disk only here


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not supported everywhere; the rename is then durable a little later
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that a file can be written, before spending time on its content.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".csv") as file:
    ...     check_writable(f"{file.name}/out.csv")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: /...csv/out.csv cannot be written: Not a directory; choose another path
    """
    target = Path(os.path.realpath(path))
    try:
        with suppress(FileNotFoundError):
            Path(path).stat()  # fails for a loop of links
        folder = target.parent
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent  # atomic_write creates the missing ones
        for name in target.relative_to(folder).parts:
            _check_length(name, folder)
        with temporary_file(folder / target.name):
            pass
    except OSError as error:
        raise cannot_write(path, error) from None


def _check_length(name: str, folder: Path) -> None:
    """Check that a name is not too long; the limit of most file systems is in bytes."""
    if hasattr(os, "pathconf") and len(os.fsencode(name)) > os.pathconf(folder, "PC_NAME_MAX"):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
