"""A cache of views, in memory or in a folder: each view of a graph is computed once."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import MVGRLError
from mvgrl.graphs import Graph
from mvgrl.tables.arrays import read_npz
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.sparse import csr_from_arrays
from mvgrl.views.base import View

logger = logging.getLogger(__name__)

FORMAT = 2  # part of every key; increase it when a view's values or the file layout change, to ignore older files

ViewArray: TypeAlias = "sp.csr_array | np.ndarray"

_KINDS = {"key": "U", "checksum": "u", "dense": "biuf", "data": "biuf", "indices": "i", "indptr": "i"}


class ViewCache:
    """Stores views by graph and parameters, in memory or in a folder that any number of processes may share.

    At most ``memory`` bytes are kept in memory. The default is 2 GiB without a folder and 0 with one; pass more to read
    each file only once. The arrays it returns are shared and therefore read-only.

    Files hold plain arrays, never pickled objects, a checksum, and the graph and the view they belong to. A file that
    is damaged, was changed or belongs to something else is ignored, and the view is recomputed. If the folder cannot be
    used, a warning says so, and views are computed without it.

    >>> from mvgrl.views import PPR
    >>> cache, graph = ViewCache(), Graph.from_edges([0], [1])
    >>> cache.get(PPR(), graph) is cache.get(PPR(), graph)
    True
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, memory: int | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.memory = (2**31 if folder is None else 0) if memory is None else memory
        self._in_memory: OrderedDict[str, ViewArray] = OrderedDict()  # the most recently used last
        self._warned = False

    def get(self, view: View, graph: Graph) -> ViewArray:
        """Return the view of the graph, computing it only if it is not cached."""
        key = self._key(view, graph)
        matrix = self._recall(key)
        if matrix is None:
            matrix = view(graph) if self.folder is None else self._from_folder(self.folder, key, view, graph)
            for array in _arrays(matrix).values():
                array.flags.writeable = False
            self._remember(key, matrix)
        return matrix

    def path(self, view: View, graph: Graph) -> Path | None:
        """Return the file for this view of this graph, or None for a cache in memory."""
        return None if self.folder is None else self.folder / _file_name(self._key(view, graph))

    def _from_folder(self, folder: Path, key: str, view: View, graph: Graph) -> ViewArray:
        """Read the view from its file. If there is none, one process computes it while the others wait."""
        from filelock import FileLock  # here: the numerical core runs without it

        path = folder / _file_name(key)
        lock = path.with_name(f".{path.stem}.mvgrl-lock")  # recognised as a leftover if this process is killed
        with ExitStack() as held:
            try:
                matrix = _read(path, key, graph)
                if matrix is None:
                    folder.mkdir(parents=True, exist_ok=True)
                    held.enter_context(FileLock(lock))
                    held.callback(_unlink, lock)  # waiting processes find the view; later ones create a new lock file
                    matrix = _read(path, key, graph) if path.exists() else None  # computed while this process waited?
            except (OSError, NotImplementedError) as error:  # the latter: no locks on this file system
                self._do_without(error)
                return view(graph)
            if matrix is None:
                matrix = view(graph)
                try:
                    _write(path, key, matrix)
                except MVGRLError as error:  # a full disk, for example
                    self._do_without(error)
        return matrix

    def _do_without(self, error: Exception) -> None:
        if not self._warned:
            reason = getattr(error, "strerror", None) or error
            logger.warning("cannot use the view cache %s (%s); computing views without it", self.folder, reason)
        self._warned = True

    @staticmethod
    def _key(view: View, graph: Graph) -> str:
        return json.dumps({"format": FORMAT, "graph": graph.fingerprint, "view": view.to_dict()}, sort_keys=True)

    def _recall(self, key: str) -> ViewArray | None:
        if key in self._in_memory:
            self._in_memory.move_to_end(key)
        return self._in_memory.get(key)

    def _remember(self, key: str, matrix: ViewArray) -> None:
        if not self.memory:
            return
        self._in_memory[key] = matrix
        # Evict the least recently used views; the newest one stays even if it exceeds the limit alone.
        while len(self._in_memory) > 1 and sum(map(_size, self._in_memory.values())) > self.memory:
            self._in_memory.popitem(last=False)


def _file_name(key: str) -> str:
    fields = json.loads(key)
    return f"{fields['view']['name']}-{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.npz"


def _arrays(matrix: ViewArray) -> dict[str, np.ndarray]:
    if isinstance(matrix, np.ndarray):
        return {"dense": matrix}
    return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}


def _size(matrix: ViewArray) -> int:
    return sum(array.nbytes for array in _arrays(matrix).values())


def _unlink(lock: Path) -> None:
    with suppress(OSError):  # Windows does not delete open files
        lock.unlink()


def _read(path: Path, key: str, graph: Graph) -> ViewArray | None:
    """Read a view; return None if there is no usable file, and raise an OSError if the folder cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block
            raise FileExistsError(f"{path} is not a file")
    except FileNotFoundError:
        return None
    try:
        matrix = _restore(read_npz(path, _KINDS), key, graph.nodes)
    except Exception as error:  # zip files and array headers can be damaged in many ways, and the view recomputed
        logger.warning("cannot use the cached view %s (%s); recomputing it", path, error)
        return None
    logger.debug("read a view from %s", path)
    return matrix


def _restore(arrays: dict[str, np.ndarray], key: str, nodes: int) -> ViewArray:
    """Build the view from the arrays of its file, once they are known to be the ones that were written."""
    if str(arrays.pop("key", None)) != key:
        raise ValueError("it belongs to another graph or view")
    if arrays.pop("checksum", np.empty(0)).tobytes() != _checksum(key, arrays):
        raise ValueError("its values have been changed")
    values = arrays["dense" if "dense" in arrays else "data"]
    matrix = values if "dense" in arrays else csr_from_arrays("csr", (nodes, nodes), arrays)
    if matrix.shape != (nodes, nodes) or matrix.size != values.size or not np.isfinite(values).all():
        raise ValueError("it is not a view of this graph")
    return matrix


def _checksum(key: str, arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return a digest of a view: its key, and the name, type, shape and values of each array."""
    digest = hashlib.blake2b(key.encode(), digest_size=32)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.digest()


def _write(path: Path, key: str, matrix: ViewArray) -> None:
    arrays = _arrays(matrix)
    checksum = np.frombuffer(_checksum(key, arrays), dtype=np.uint8)
    with atomic_write(path) as temporary:
        np.savez(temporary, key=np.array(key), checksum=checksum, **arrays)  # type: ignore[arg-type]
