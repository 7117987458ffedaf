"""What can go wrong, by who can mend it."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any


class MVGRLError(Exception):
    """Base of every error the library raises on purpose."""


class InputError(MVGRLError, ValueError):
    """The data is wrong: the message names the place and the way out."""


class SettingsError(MVGRLError, ValueError):
    """The settings are wrong or make no sense together."""


class MachineError(MVGRLError):
    """The machine failed, not the user: a full disk, too little memory, no network."""


class CheckpointError(MVGRLError):
    """A checkpoint is damaged, foreign, or of another run."""


def check_name(what: str, name: Any, known: Collection[str], error: type[MVGRLError] = SettingsError) -> None:
    """Refuse a name that is not among the known ones, and suggest the nearest.

    >>> check_name("bound", "jds", ("jsd", "nce"))
    Traceback (most recent call last):
    ...
    mvgrl.errors.SettingsError: unknown bound 'jds'; did you mean 'jsd'? Known are 'jsd', 'nce'
    """
    if isinstance(name, str) and name in known:
        return
    if not known:
        raise error(f"unknown {what} {name!r}; there are none")
    near = get_close_matches(str(name).lower(), known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? Known are" if near else "known are"
    raise error(f"unknown {what} {name!r}; {hint} {', '.join(map(repr, known))}")
