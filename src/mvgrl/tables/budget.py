"""A limit on what a compressed file may unpack to, checked before it is unpacked."""

from __future__ import annotations

import re
from pathlib import Path

from mvgrl.errors import InputError, SettingsError, shown
from mvgrl.runtime import machine_memory

ALWAYS_ALLOWED = 2**28  # bytes that any file may unpack to, however small it is
HIGHEST_RATIO = 100  # a larger file may unpack to this many times its size; ordinary data compresses far less


def check_unpacked_size(path: Path, size: int) -> None:
    """Check that a file may take this many bytes in memory: few enough for its size on disk and for this machine.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".npz") as file:
    ...     check_unpacked_size(Path(file.name), 2**20)
    """
    check_ratio(path, size)
    if size > machine_memory():
        raise InputError(f"{path} unpacks to {as_size(size)}, but there is only {as_size(machine_memory())} of memory; "
                         "split it or use another machine")  # fmt: skip


def check_ratio(path: Path, size: int) -> None:
    """Check that a file unpacks to few enough bytes for its size on disk, if they are never in memory at once."""
    allowed = max(ALWAYS_ALLOWED, HIGHEST_RATIO * path.stat().st_size)
    if size > allowed:
        sizes = f"from {as_size(path.stat().st_size)} to {as_size(size)}"
        raise InputError(
            f"{path} would unpack {sizes}, which no ordinary file does; if you trust it, save it uncompressed"
        )


def as_size(size: int) -> str:
    """Return a number of bytes as readable text.

    >>> as_size(3_000_000), as_size(5 * 2**30), as_size(10**30)
    ('2.9 MB', '5.0 GB', 'over 1,000,000 GB')
    """
    if size > 10**6 * 2**30:
        return "over 1,000,000 GB"
    return f"{size / 2**30:,.1f} GB" if size >= 2**30 else f"{size / 2**20:,.1f} MB"


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 4GB or 500MB, in units as :func:`as_size` writes them.

    >>> parse_size("2GB") == 2 * 2**30, parse_size("1.5 mib")
    (True, 1572864)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    size = float(found[1]) * 2.0 ** (10 * " kmgt".index(found[2] or " ")) if found else 0.0
    if not 1 <= size < 2**63:
        raise SettingsError(f"the memory {shown(text)} is not a size; write it as 4GB or 500MB")
    return int(size)
