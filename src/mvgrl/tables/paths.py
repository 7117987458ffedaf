"""Paths of input and output files, checked before any work starts."""

from __future__ import annotations

import os
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from mvgrl.errors import InputError
from mvgrl.tables.atomic import check_writable

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TABLE_EXTENSIONS = (*SEPARATORS, ".parquet")


def check_input_file(path: Path, extensions: Collection[str], also: str = "") -> str:
    """Check that a file exists, is not empty and has a supported type; return its extension in lower case.

    >>> check_input_file(Path("missing.csv"), TABLE_EXTENSIONS)
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: missing.csv does not exist; check the path
    """
    supported = f"{', '.join(extensions)}{' ' + also if also else ''}"
    extension = path.suffix.lower()
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder; give a file: {supported}")
        if not path.exists():
            siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
            near = get_close_matches(path.name, siblings, n=1)
            raise InputError(f"{path} does not exist; " + (f"did you mean {near[0]}?" if near else "check the path"))
        if extension not in extensions:
            raise InputError(f"{path}: unsupported file type; give one of {supported}")
        if not path.stat().st_size:
            raise InputError(f"{path} is empty; write it again")
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; check its permissions") from None
    return extension


def check_output_file(path: str | os.PathLike[str], extensions: Collection[str], example: str) -> Path:
    """Check that a file of a supported type can be written; ``example`` is a file name to suggest for a folder.

    >>> check_output_file("map.gif", (".png", ".svg"), "map.png")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: map.gif: unsupported file type; use one of .png, .svg
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file in it, such as {path / example}")
    if path.suffix.lower() not in extensions:
        problem = ": unsupported file type" if path.suffix else " has no file extension"
        raise InputError(f"{path}{problem}; use one of {', '.join(extensions)}")
    check_writable(path)
    return path
