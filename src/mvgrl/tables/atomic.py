"""Atomic writes: to a temporary name in the same folder, renamed once the content is complete."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mvgrl.errors import InputError, MachineError, MVGRLError

# Failures of the machine; every other failure to write is blamed on the path.
_MACHINE_FAILURES = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE}


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path with the same extension; rename it to ``path`` unless an exception is raised.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("complete")
    ...     Path(folder, "a.txt").read_text()
    'complete'
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem[:100]}.{os.getpid()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # some file systems report a full disk only here
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with suppress(OSError):  # the folder may be missing or not accessible
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces ``folder`` unless an exception is raised."""
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as made:
            new, old = Path(made, "new"), Path(made, "old")
            new.mkdir()
            yield new
            if folder.exists():
                folder.replace(old)
            new.replace(folder)
    except OSError as error:
        raise cannot_write(folder, error) from None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that a file can be written, before spending time on its content.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".csv") as file:
    ...     check_writable(f"{file.name}/out.csv")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: /...csv/out.csv cannot be written: Not a directory; choose another path
    """
    path = Path(path)
    try:
        folder = path.parent
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent  # atomic_write creates the missing ones
        probe = folder / f".{path.stem[:100]}.{os.getpid()}.probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: str | os.PathLike[str], error: OSError) -> MVGRLError:
    """Return the error for a failed write: a problem of the path, or one of the machine."""
    reason = f"{path} cannot be written: {error.strerror or error}"
    if error.errno in _MACHINE_FAILURES:
        return MachineError(f"{reason}; free some space or choose another path")
    return InputError(f"{reason}; choose another path")
