"""The files of a graph on disk: a manifest, graph.json, with the size and checksum of each of them, and arrays."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from mvgrl.errors import InputError, shown
from mvgrl.parsing import parse_json

FORMAT = "mvgrl-graph-1"
MANIFEST = "graph.json"
_LONGEST_MANIFEST = 2**28  # bytes; feature names and categories are the longest part
_BLOCK = 2**24  # bytes read at a time
_HEADER = 128  # bytes of the header of an array, whatever its length is
REMEDY = "import the tables again with mvgrl import"


def is_stored(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder has the manifest of a stored graph.

    >>> is_stored(".")
    False
    """
    return os.path.isfile(os.path.join(folder, MANIFEST))  # noqa: PTH113, PTH118  # Path raises for too long a name


def checksum(path: Path, advance: Callable[[int], None] | None = None) -> str:
    """Return the BLAKE2b checksum of a file; ``advance`` is told how many bytes were read."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            if advance is not None:
                advance(len(block))
    return digest.hexdigest()


def write_manifest(folder: Path, about: Mapping[str, Any], advance: Callable[[int], None] | None = None) -> None:
    """Write graph.json for the files that are in the folder; ``about`` is what it says of the graph."""
    files = {
        path.name: {"bytes": path.stat().st_size, "blake2b": checksum(path, advance)}
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST
    }
    text = json.dumps({"format": FORMAT, **about, "files": files}, indent=1, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read graph.json, and check that every file it lists is there and has its size."""
    path = folder / MANIFEST
    if not is_stored(folder):
        raise InputError(f"{folder} has no {MANIFEST}; give a folder written by mvgrl import")
    try:
        if path.stat().st_size > _LONGEST_MANIFEST:
            raise ValueError("it is too long")
        manifest = parse_json(path.read_text(encoding="utf-8"))
        if not isinstance(manifest, dict):
            raise ValueError("it is not a mapping")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged ({shown(str(error))[1:-1]}); {REMEDY}") from None
    if manifest.get("format") != FORMAT:
        found = shown(manifest.get("format"))
        raise InputError(f"{path} has the format {found}, not {FORMAT!r}; {REMEDY}, with this version of mvgrl")
    for name, entry in _entries(path, manifest).items():
        file, size = folder / name, entry["bytes"]
        there = file.stat().st_size if file.is_file() else None
        if there != size:
            state = "is missing" if there is None else f"has {there:,} bytes, but was written with {size:,}"
            raise InputError(f"{file} {state}, so the graph is incomplete; copy the folder again, or {REMEDY}")
    return manifest


def _entries(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    files = manifest.get("files")
    sound = isinstance(files, dict) and all(
        name == Path(name).name
        and isinstance(entry, dict)
        and isinstance(entry.get("bytes"), int)
        and isinstance(entry.get("blake2b"), str)
        for name, entry in files.items()
    )
    if not sound or not isinstance(files, dict):
        raise InputError(f"{path} is damaged (its list of files is not one); {REMEDY}")
    return files


def check_checksums(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Check the content of every file."""
    for name, entry in manifest["files"].items():
        if checksum(folder / name) != entry["blake2b"]:
            raise InputError(
                f"{folder / name} was changed after it was written (wrong checksum); copy the folder again, or {REMEDY}"
            )


def open_array(folder: Path, name: str, kinds: str, shape: tuple[int, ...]) -> np.ndarray:
    """Map an array of a known kind and shape into memory, read-only; pages are read when they are used."""
    path = folder / name
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError(f"{path} is not an array, or is damaged; {REMEDY}") from None
    usable = array.dtype.kind in kinds and array.dtype.isnative and array.flags.c_contiguous
    if array.shape != shape or not usable:
        found = f"{array.dtype} values of shape {array.shape}"
        raise InputError(f"{path} holds {found}, but the graph needs shape {shape}; {REMEDY}")
    return array


class ArrayWriter:
    """An ``.npy`` file written part by part, whose length need not be known before.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with ArrayWriter(Path(folder, "x.npy"), np.int32) as writer:
    ...         writer.append(np.arange(3))
    ...         writer.append(np.arange(2))
    ...     np.load(Path(folder, "x.npy")).tolist()
    [0, 1, 2, 0, 1]
    """

    def __init__(self, path: Path, dtype: Any, width: int | None = None) -> None:
        self.path, self.dtype, self.width, self.rows = path, np.dtype(dtype), width, 0
        self._file = path.open("wb")
        self._file.write(bytes(_HEADER))

    def append(self, part: np.ndarray) -> None:
        """Write more rows."""
        self._file.write(np.ascontiguousarray(part, dtype=self.dtype).data.cast("B") if part.size else b"")
        self.rows += len(part)

    def close(self) -> None:
        """Write the header, which has the number of rows."""
        shape = (self.rows,) if self.width is None else (self.rows, self.width)
        text = f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': {shape}, }}".encode("latin1")
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little"))
        self._file.write(text.ljust(_HEADER - 11) + b"\n")
        self._file.close()

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._file.close()
