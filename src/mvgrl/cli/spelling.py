"""Name parameters in messages as the flags that a user of the shell types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mvgrl.errors import InputError, SettingsError


def as_flags(message: str, names: Iterable[str]) -> str:
    """Return a message with the given parameters spelled as flags, except inside quotes.

    A parameter whose name is an ordinary word is only replaced at the beginning. ``id_column=`` stays: it is the
    spelling in Python, given next to the flag.

    >>> as_flags("batch_size is 0; choose one with id_column, not 'id_column'", ("batch_size", "id_column"))
    "--batch-size is 0; choose one with --id-column, not 'id_column'"
    >>> as_flags("choose with --id-column (id_column=)", ("id_column",))
    'choose with --id-column (id_column=)'
    >>> as_flags("hidden is 0; the hidden size is too small", ("hidden",))
    '--hidden is 0; the hidden size is too small'
    """
    for name in names:
        spelled = f"--{name.replace('_', '-')}"
        if "_" in name:
            message = re.sub(rf"(?<![\w'\"./-]){name}(?![\w'\"./=])", spelled, message)
        else:
            message = re.sub(rf"^{name} is ", f"{spelled} is ", message)
    return message


@contextmanager
def spelled_as_flags(names: Iterable[str]) -> Iterator[None]:
    """Spell the given parameters as flags in errors about the input or the settings."""
    try:
        yield
    except (InputError, SettingsError) as error:
        raise type(error)(as_flags(str(error), names)) from None
