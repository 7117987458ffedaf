"""The errors mvgrl raises, grouped by who can fix them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

# Failures of the machine; every other failure to write is blamed on the path.
_MACHINE_FAILURES = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE}


_LONGEST = 900  # characters of a message


class MVGRLError(Exception):
    """Base class of every error the library raises on purpose.

    The message is one line that can be printed anywhere, whatever a file or another library has put into it.

    >>> str(MVGRLError("the id 'a\\0' is\\nbad"))
    "the id 'a\\\\x00' is bad"
    """

    def __init__(self, message: object = "") -> None:
        text = re.sub(r"[ ]*[\n\r\t]+[ ]*", " ", str(message).strip())
        text = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
        super().__init__(text if len(text) <= _LONGEST else _without_middle(text, _LONGEST))


class InputError(MVGRLError, ValueError):
    """The input data is invalid. The message names what is wrong, where it is, and how to fix it."""


class SettingsError(MVGRLError, ValueError):
    """A setting is invalid, or settings contradict each other."""


class MachineError(MVGRLError):
    """The machine failed rather than the user: a full disk, too little memory, no network."""


class CheckpointError(MVGRLError):
    """A checkpoint is damaged, has an unknown format, or belongs to another run."""


class GraphWarning(UserWarning):
    """A note on what was changed when a graph was read: edges made undirected, self-loops dropped, columns ignored."""


def cannot_write(path: str | os.PathLike[str], error: OSError) -> MVGRLError:
    """Return the error for a failed write: a problem of the path, or one of the machine."""
    reason = f"{path} cannot be written: {error.strerror or error}"
    if error.errno in _MACHINE_FAILURES:
        return MachineError(f"{reason}; free some space or choose another path")
    return InputError(f"{reason}; choose another path")


def shown(value: object, limit: int = 80) -> str:
    """Return the ``repr`` of a value for an error message, without its middle if it is long.

    >>> shown("cat"), shown("a" * 100, limit=20)
    ("'cat'", "'aaaaaaaaa…aaaaaaaa'")
    """
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python converts
        text = f"a very large {type(value).__name__}"
    return text if len(text) <= limit else _without_middle(text, limit)


def _without_middle(text: str, limit: int) -> str:
    return f"{text[: limit // 2]}…{text[len(text) - (limit - 1) // 2 :]}"


def check_name(what: str, name: Any, known: Collection[str], error: type[MVGRLError] = SettingsError) -> None:
    """Raise ``error`` unless ``name`` is one of the known names; the message suggests the closest one.

    >>> check_name("bound", "jsd", ("jsd", "nce"))
    >>> check_name("bound", "jds", ("jsd", "nce"))
    Traceback (most recent call last):
    ...
    mvgrl.errors.SettingsError: unknown bound 'jds'; did you mean 'jsd'? Choose one of 'jsd', 'nce'
    """
    if isinstance(name, str) and name in known:
        return
    if not known:
        raise error(f"unknown {what} {shown(name)}; there are none to choose from")
    near = get_close_matches(str(name)[:100].lower(), known, n=1)
    hint = f"did you mean {near[0]!r}? Choose one of" if near else "choose one of"
    raise error(f"unknown {what} {shown(name)}; {hint} {', '.join(map(repr, known))}")
