"""A cache of views, in memory or in a folder: each view of a graph is computed once."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zipfile
import zlib
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.tables.atomic import atomic_write
from mvgrl.views.base import View

logger = logging.getLogger(__name__)

FORMAT = 1  # part of every key; increase it when a view's values or the file layout change, to ignore older files

ViewArray: TypeAlias = "sp.csr_array | np.ndarray"


class ViewCache:
    """Stores views by graph and parameters, in memory or in a folder that any number of processes may share.

    At most ``memory`` bytes are kept in memory. The default is 2 GiB without a folder and 0 with one; pass more to read
    each file only once. The arrays it returns are shared and therefore read-only.

    Files hold plain arrays, never pickled objects, and name the graph and the view they belong to. A file that is
    damaged or belongs to something else is ignored, and the view is recomputed.

    >>> from mvgrl.views import PPR
    >>> cache, graph = ViewCache(), Graph.from_edges([0], [1])
    >>> cache.get(PPR(), graph) is cache.get(PPR(), graph)
    True
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, memory: int | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.memory = (2**31 if folder is None else 0) if memory is None else memory
        self._in_memory: OrderedDict[str, ViewArray] = OrderedDict()  # the most recently used last

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
        matrix = _read(path, key, graph)
        if matrix is not None:
            return matrix
        folder.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(f".{path.stem}.lock")
        with FileLock(lock):
            try:
                matrix = _read(path, key, graph) if path.exists() else None  # computed while this process waited?
                if matrix is None:
                    matrix = view(graph)
                    _write(path, key, matrix)
            finally:
                with suppress(OSError):  # Windows does not delete open files
                    lock.unlink()  # waiting processes find the view; later ones create a new lock file
        return matrix

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


def _read(path: Path, key: str, graph: Graph) -> ViewArray | None:
    """Read a view, or return None if there is no file or it cannot be used."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            if str(stored["key"]) != key:
                raise ValueError("it belongs to another graph or view")
            matrix = _restore({name: stored[name] for name in stored.files if name != "key"}, graph.nodes)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        logger.warning("cannot use the cached view %s (%s); recomputing it", path, error)
        return None
    logger.debug("read a view from %s", path)
    return matrix


def _restore(arrays: dict[str, np.ndarray], nodes: int) -> ViewArray:
    if "dense" in arrays:
        if arrays["dense"].shape != (nodes, nodes):
            raise ValueError(f"its shape is {arrays['dense'].shape}")
        return arrays["dense"]
    matrix = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(nodes, nodes))
    matrix.check_format(full_check=True)
    return matrix


def _write(path: Path, key: str, matrix: ViewArray) -> None:
    with atomic_write(path) as temporary:
        np.savez(temporary, key=np.array(key), **_arrays(matrix))  # type: ignore[arg-type]
