"""Views kept: computed once for a graph and a view, in memory or in a folder."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.tables.atomic import locked
from mvgrl.views.base import View

logger = logging.getLogger(__name__)

FORMAT = 1  # raise it when a view's values or the file's layout change: older files are then not found any more

ViewArray: TypeAlias = "sp.csr_array | np.ndarray"


class ViewCache:
    """Views by graph and parameters: in files of a folder, which any number of processes may share, or in memory.

    In memory are kept up to ``memory`` bytes: 2 GiB where there is no folder, none where there is one, unless more is
    asked for; then its files are read once. What it returns is shared and therefore read-only. Files hold plain arrays,
    never pickled objects, and name the graph and the view they belong to; one that is damaged or belongs elsewhere is
    computed anew.

    >>> from mvgrl.views import PPR
    >>> cache, graph = ViewCache(), Graph.from_edges([0], [1])
    >>> cache.get(PPR(), graph) is cache.get(PPR(), graph)
    True
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, memory: int | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.memory = (2**31 if folder is None else 0) if memory is None else memory
        self._kept: OrderedDict[str, ViewArray] = OrderedDict()

    def get(self, view: View, graph: Graph) -> ViewArray:
        """The view of the graph, computed only if it is not there yet."""
        key = self._key(view, graph)
        matrix = self._recall(key)
        if matrix is None:
            matrix = (
                view(graph) if self.folder is None else self._filed(self.folder / _file_name(key), key, view, graph)
            )
            for array in _arrays(matrix).values():
                array.flags.writeable = False
            self._remember(key, matrix)
        return matrix

    def path(self, view: View, graph: Graph) -> Path | None:
        """The file this view of this graph is kept in; None in memory."""
        return None if self.folder is None else self.folder / _file_name(self._key(view, graph))

    def _filed(self, path: Path, key: str, view: View, graph: Graph) -> ViewArray:
        """From its file; where there is none, one process computes it while those that want the same wait for it."""
        matrix = self._read(path, key, graph)
        if matrix is not None:
            return matrix
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting = path.with_name(f".{path.stem}.lock")
        with waiting.open("w") as file, locked(file.fileno()):
            try:
                matrix = self._read(path, key, graph) if path.exists() else None  # another may have made it meanwhile
                if matrix is None:
                    matrix = view(graph)
                    _write(path, key, matrix)
            finally:
                waiting.unlink(missing_ok=True)  # whoever waited for it finds the view; a later one makes a new lock
        return matrix

    @staticmethod
    def _key(view: View, graph: Graph) -> str:
        return json.dumps({"format": FORMAT, "graph": graph.fingerprint, "view": view.to_dict()}, sort_keys=True)

    def _recall(self, key: str) -> ViewArray | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def _remember(self, key: str, matrix: ViewArray) -> None:
        if not self.memory:
            return
        self._kept[key] = matrix
        # The least recently used go first; the newest stays even if it alone is too large.
        while len(self._kept) > 1 and sum(map(_size, self._kept.values())) > self.memory:
            self._kept.popitem(last=False)

    @staticmethod
    def _read(path: Path, key: str, graph: Graph) -> ViewArray | None:
        try:
            with np.load(path, allow_pickle=False) as stored:
                if str(stored["key"]) != key:
                    raise ValueError("it belongs to another graph or view")
                matrix = _restore({name: stored[name] for name in stored.files if name != "key"}, graph.nodes)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            logger.warning("the stored view %s cannot be used (%s); computing it again", path, error)
            return None
        logger.debug("read a view from %s", path)
        return matrix


def _file_name(key: str) -> str:
    fields = json.loads(key)
    return f"{fields['view']['name']}-{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.npz"


def _arrays(matrix: ViewArray) -> dict[str, np.ndarray]:
    if isinstance(matrix, np.ndarray):
        return {"dense": matrix}
    return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}


def _size(matrix: ViewArray) -> int:
    return sum(array.nbytes for array in _arrays(matrix).values())


def _restore(arrays: dict[str, np.ndarray], nodes: int) -> ViewArray:
    if "dense" in arrays:
        if arrays["dense"].shape != (nodes, nodes):
            raise ValueError(f"it has shape {arrays['dense'].shape}")
        return arrays["dense"]
    matrix = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(nodes, nodes))
    matrix.check_format(full_check=True)
    return matrix


def _write(path: Path, key: str, matrix: ViewArray) -> None:
    """To a temporary name first, so that a reader never meets half a file."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".view-", suffix=".tmp", delete=False) as file:
        temporary = Path(file.name)
        try:
            np.savez(file, key=np.array(key), **_arrays(matrix))  # type: ignore[arg-type]
            file.close()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
