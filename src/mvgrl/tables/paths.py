"""Paths of input and output files, checked before any work starts."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path

from mvgrl.errors import InputError
from mvgrl.tables.atomic import check_writable

SEPARATORS = {".csv": ",", ".tsv": "\t"}
LINES_EXTENSIONS = (".jsonl", ".ndjson")
TEXT_EXTENSIONS = (*SEPARATORS, ".txt", ".edgelist", ".edges", *LINES_EXTENSIONS)
ARROW_EXTENSIONS = (".feather", ".arrow")
TABLE_EXTENSIONS = (*SEPARATORS, ".parquet", *TEXT_EXTENSIONS[len(SEPARATORS) :], *ARROW_EXTENSIONS)
# Of the parts of a table in a folder; .txt is left out because other formats are folders of such files.
PART_EXTENSIONS = (*SEPARATORS, ".parquet", *LINES_EXTENSIONS, *ARROW_EXTENSIONS)
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of text files


def is_standard_input(path: Path) -> bool:
    """Return whether a path stands for standard input.

    >>> is_standard_input(Path("-"))
    True
    """
    return path in (Path("-"), Path("/dev/stdin"))


def extension_of(path: Path) -> str:
    """Return the extension of a file in lower case, without that of a compressed text.

    >>> extension_of(Path("edges.CSV")), extension_of(Path("edges.txt.gz")), extension_of(Path("edges.gz"))
    ('.csv', '.txt', '.gz')
    """
    extension = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if extension in COMPRESSIONS and inner in TEXT_EXTENSIONS else extension


def check_input_file(path: Path, extensions: Collection[str], also: str = "") -> str:
    """Check that a file exists, is not empty and has a supported type; return its extension as in ``extension_of``.

    >>> check_input_file(Path("missing.csv"), TABLE_EXTENSIONS)
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: missing.csv does not exist; check the path
    """
    compressed = f" (text also with {', '.join(COMPRESSIONS)})" if set(extensions) & set(TEXT_EXTENSIONS) else ""
    supported = f"{', '.join(extensions)}{compressed}{' ' + also if also else ''}"
    extension = extension_of(path)
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise InputError(f"{path} is a folder; give a file: {supported}")
        if extension not in extensions:
            raise InputError(f"{path}: unsupported file type; give one of {supported}")
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"{path} is not a regular file; save it to one first")
        if not about.st_size:
            raise InputError(f"{path} is empty; write it again")
        with path.open("rb") as file:
            file.read(1)
    except (FileNotFoundError, NotADirectoryError):
        near = get_close_matches(path.name, _siblings(path), n=1)
        hint = f"did you mean {near[0]}?" if near else "check the path"
        raise InputError(f"{path} does not exist; {hint}") from None
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} cannot be read: {reason}; check the path and its permissions") from None
    except InputError:
        raise
    except ValueError:  # a NUL character or a lone surrogate, which no file system allows
        raise InputError(f"{path} does not exist; check the path") from None
    return extension


def parts_of(folder: Path) -> list[Path]:
    """List the tables in a folder, by name; hidden files and those that start with _ are not parts.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("part-1.csv", "part-0.csv", "_SUCCESS"):
    ...         _ = Path(folder, name).touch()
    ...     [path.name for path in parts_of(Path(folder))]
    ['part-0.csv', 'part-1.csv']
    """
    try:
        names = sorted(path.name for path in folder.iterdir() if path.name[0] not in "._")
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}; check its permissions") from None
    found = [folder / name for name in names if extension_of(Path(name)) in PART_EXTENSIONS]
    odd = [path for path in found if extension_of(path) != extension_of(found[0])]
    if odd:
        raise InputError(f"{folder} has tables of several types ({found[0].name}, {odd[0].name}); "
                         "give one of them, or a folder with the parts of one table")  # fmt: skip
    return found


def _siblings(path: Path) -> list[str]:
    try:
        return [other.name for other in path.parent.iterdir() if other.name != path.name]
    except OSError:
        return []


def check_output_file(path: str | os.PathLike[str], extensions: Collection[str], example: str) -> Path:
    """Check that a file of a supported type can be written; ``example`` is a file name to suggest for a folder.

    >>> check_output_file("map.gif", (".png", ".svg"), "map.png")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: map.gif: unsupported file type; use one of .png, .svg
    """
    path = Path(path)
    if _is_folder(path):
        raise InputError(f"{path} is a folder; give a file in it, such as {path / example}")
    if path.suffix.lower() not in extensions:
        problem = ": unsupported file type" if path.suffix else " has no file extension"
        raise InputError(f"{path}{problem}; use one of {', '.join(extensions)}")
    check_writable(path)
    return path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # too long a name: check_writable says so
        return False


def check_not_input(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str] | None]) -> None:
    """Check that an output is none of the input files, also not through a link; None stands for an input not given.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".csv") as file:
    ...     check_not_input(file.name, [None, file.name])
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: the output /...csv is also an input; nothing was written: choose another output
    """
    for given in inputs:
        if given is not None and _is_same_file(output, given):
            name = "is also an input" if str(output) == str(given) else f"is the same file as the input {given}"
            raise InputError(f"the output {output} {name}; nothing was written: choose another output")


def _is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # one of them does not exist
        return False
