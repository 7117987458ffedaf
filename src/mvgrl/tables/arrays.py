"""Read NumPy arrays and SciPy matrices from ``.npy`` and ``.npz`` files, which may come from anyone.

The size of every array is compared with its file and the memory before anything is unpacked. Objects, which NumPy
stores as pickles, are never loaded.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, shown
from mvgrl.tables.budget import check_unpacked_size
from mvgrl.tables.sparse import ARRAYS, csr_from_arrays

_NUMBERS = "biuf"
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_BLOCK = 2**24  # bytes unpacked at a time


def read_array(path: Path) -> np.ndarray | sp.csr_array:
    """Read the array of a ``.npy`` file, or the only array or the SciPy matrix of a ``.npz`` file, as numbers.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.eye(2))
    ...     read_array(Path(folder, "x.npy")).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with _opened(path, "scipy.sparse.save_npz or numpy.save") as file:
        archive = file.read(4) == b"PK\x03\x04"
        file.seek(0)
        return _read_archive(path, file) if archive else _read_member(path, file, path.stat().st_size, _NUMBERS)


def read_npy(path: Path) -> np.ndarray:
    """Read the numbers of a ``.npy`` file."""
    with _opened(path, "numpy.save") as file:
        return _read_member(path, file, path.stat().st_size, _NUMBERS)


def read_npz(path: Path, kinds: Mapping[str, str], *, skip_others: bool = False) -> dict[str, np.ndarray]:
    """Read the arrays of a ``.npz`` file; ``kinds`` has the kinds of dtype that each name may have.

    An array with another name is an error, or is not read if ``skip_others`` is true. A damaged file may raise any
    exception.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/x.npz", name=np.array("cora"), size=np.array([7]))
    ...     read_npz(Path(folder, "x.npz"), {"name": "U", "size": "iu"})["size"]
    array([7])
    """
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name, member in _members(path, archive).items():
            if skip_others and name not in kinds:
                continue
            with archive.open(member) as stream:
                arrays[name] = _read_member(path, stream, member.file_size, kinds.get(name, ""), exact=True)
    return arrays


@contextmanager
def _opened(path: Path, writer: str) -> Iterator[BinaryIO]:
    """Open a file; while it is open, every error becomes an ``InputError`` that names it."""
    try:
        with path.open("rb") as file:
            yield file
        return
    except InputError as error:
        reason = str(error)
        if reason.startswith(str(InputError(path))):  # errors escape odd names of files
            raise
    except Exception as error:  # a damaged file may raise anything; NumPy's own messages recommend unsafe pickles
        reason = "it is truncated" if isinstance(error, EOFError) else f"{type(error).__name__} while reading it"
    raise InputError(f"{path} is damaged or not an array of numbers ({reason}); write it again with {writer}") from None


def _read_archive(path: Path, file: BinaryIO) -> np.ndarray | sp.csr_array:
    with zipfile.ZipFile(file) as archive:
        members = _members(path, archive)
        if len(members) == 1:
            (member,) = members.values()
            with archive.open(member) as stream:
                return _read_member(path, stream, member.file_size, _NUMBERS, exact=True)
        wanted = {"format", "shape", "data"}
        if not wanted <= set(members):
            listed = ", ".join(list(members)[:10])
            raise InputError(f"it has the arrays {shown(listed)}; keep one, or write a SciPy matrix")
        return _read_sparse(path, archive, members)


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the arrays of a ``.npz`` file by name, once their declared sizes are known to be acceptable."""
    found = archive.infolist()
    members = {member.filename.removesuffix(".npy"): member for member in found}
    if len(members) < len(found):
        raise InputError("it has two arrays of the same name")
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in found):
        raise InputError("it is compressed in a way that NumPy does not use")
    check_unpacked_size(path, sum(member.file_size for member in found))
    return members


def _read_sparse(path: Path, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> sp.csr_array:
    """Read a matrix as ``scipy.sparse.save_npz`` writes it."""

    def load(name: str, kinds: str = _NUMBERS) -> np.ndarray:
        if name not in members:
            raise InputError(f"it has no array {name!r}")
        with archive.open(members[name]) as stream:
            return _read_member(path, stream, members[name].file_size, kinds, exact=True)

    stored = load("format", "SU")
    text = stored.item() if stored.size == 1 else ""
    kind = text.decode("ascii") if isinstance(text, bytes) else text
    if kind not in ARRAYS:
        raise InputError(f"it is a matrix in the unknown format {shown(kind)}")
    shape = load("shape")
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise InputError("its shape is not two integers")
    rows, columns = (int(size) for size in shape)
    # Converting to CSR and back takes an integer per row and column, even if the file has few entries.
    check_unpacked_size(path, 8 * (abs(rows) + abs(columns)) + sum(member.file_size for member in members.values()))
    if kind == "coo" and "coords" in members:
        coords = load("coords")
        if coords.ndim != 2 or len(coords) != 2:
            raise InputError(f"coords has shape {coords.shape}, not 2 by entries")
        others = {"row": coords[0], "col": coords[1]}
    else:
        others = {name: load(name) for name in ARRAYS[kind]}
    return csr_from_arrays(kind, (rows, columns), {"data": load("data"), **others})


def _read_member(path: Path, stream: Any, size: int, kinds: str, exact: bool = False) -> np.ndarray:
    """Read an array from a stream of ``size`` bytes; ``exact`` allows no bytes after it."""
    version = np.lib.format.read_magic(stream)
    if version not in _READERS:
        raise InputError("it is not an array of numbers")
    shape, fortran_order, dtype = _READERS[version](stream)
    if dtype.kind not in kinds or dtype.hasobject or dtype.subdtype is not None:
        raise InputError(f"it holds {shown(str(dtype))} values")
    if any(isinstance(length, bool) or length < 0 for length in shape):
        raise InputError(f"its shape is {shown(shape)}")
    needed, there = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if needed > there or (exact and needed != there):
        raise InputError(f"its shape {shown(shape)} needs {needed} bytes, but there are {there}")
    check_unpacked_size(path, needed)
    flat = np.empty(math.prod(shape), dtype)
    block = flat.view(np.uint8) if flat.size else np.empty(0, np.uint8)
    for start in range(0, needed, _BLOCK):
        part = stream.read(min(_BLOCK, needed - start))
        if len(part) != min(_BLOCK, needed - start):
            raise EOFError
        block[start : start + len(part)] = np.frombuffer(part, np.uint8)
    if exact and stream.read(1):  # reading to the end also verifies the checksum
        raise InputError("there is more after the array")
    array = flat.reshape(shape, order="F" if fortran_order else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)
