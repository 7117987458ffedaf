"""Files are written whole or not at all: to a temporary name beside the real one, then renamed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mvgrl.errors import InputError, MachineError, MVGRLError

# What the machine is to blame for; every other failure to write is a matter of the path that was given.
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE}


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name to write to, with the ending of the real one; it becomes the real one if nothing is raised.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem[:100]}.{os.getpid()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # some disks say only now that they are full
        temporary.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with suppress(OSError):  # where there is no such folder, or it may not be looked into
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder to fill; it takes the real one's place if nothing is raised."""
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


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Wait until no other process has locked this open file; ours is let go at the end, or with the file."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system, where nothing is locked
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a place that cannot be written to, before the work is done whose outcome is to go there.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".csv") as file:
    ...     check_writable(f"{file.name}/out.csv")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: /...csv/out.csv cannot be written: Not a directory; choose another place
    """
    path = Path(path)
    try:
        folder = path.parent
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent  # the missing ones will be made
        probe = folder / f".{path.stem[:100]}.{os.getpid()}.probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: str | os.PathLike[str], error: OSError) -> MVGRLError:
    """The refusal that goes with a failure to write: the path's fault, or the machine's."""
    reason = f"{path} cannot be written: {error.strerror or error}"
    if error.errno in _MACHINE:
        return MachineError(f"{reason}; make room, or choose another place")
    return InputError(f"{reason}; choose another place")
