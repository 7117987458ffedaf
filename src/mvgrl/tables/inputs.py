"""Input files: checked before anything is read from them."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from mvgrl.errors import InputError

TABLES = (".csv", ".tsv", ".parquet")


def checked_file(path: Path, endings: tuple[str, ...], also: str = "") -> str:
    """The ending of a file that is there, has something in it and is of a known kind."""
    known = f"{', '.join(endings)}{' ' + also if also else ''}"
    ending = path.suffix.lower()
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder, not a file; give a file: {known}")
        if not path.exists():
            beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
            near = get_close_matches(path.name, beside, n=1)
            raise InputError(f"there is no {path}; " + (f"did you mean {near[0]}?" if near else "check its name"))
        if ending not in endings:
            raise InputError(f"{path} is of no kind that can be read here; give one of {known}")
        if not path.stat().st_size:
            raise InputError(f"{path} is empty; write it again")
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    return ending
