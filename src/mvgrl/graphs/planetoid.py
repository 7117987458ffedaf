"""The Planetoid citation graphs: Cora, CiteSeer and PubMed with their public split, from the ``ind.*`` files."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph

VALIDATION_NODES = 500


def read_planetoid(folder: Path, name: str) -> tuple[Graph, np.ndarray, dict[str, np.ndarray]]:
    """The graph, the class of each node and the public split.

    The nodes with known numbers come first (``allx``, the labelled training nodes ahead), the test nodes after them
    in the order of ``test.index``, which says where in the graph each belongs. CiteSeer's graph has test nodes that
    ``tx`` leaves out: they get no features and, as everywhere this file format is read, class 0, and are in no part
    of the split.
    """
    known, known_classes = _features(folder, name, "allx"), _load(folder, name, "ally")
    tested, tested_classes = _features(folder, name, "tx"), _load(folder, name, "ty")
    neighbours = _load(folder, name, "graph")
    test = np.loadtxt(_path(folder, name, "test.index"), dtype=np.int64)
    nodes = int(test.max()) + 1
    if test.min() != known.shape[0] or len(test) != tested.shape[0]:
        raise InputError(
            f"{folder}: test.index does not continue the {known.shape[0]} nodes of allx; a file is damaged"
        )
    classes = np.zeros((nodes, known_classes.shape[1]))
    classes[: len(known_classes)], classes[test] = known_classes, tested_classes
    first = known.shape[0]  # place: a row for each node from here on, a column for each line of tx
    place = sp.csr_array((np.ones(len(test)), (test - first, np.arange(len(test)))), shape=(nodes - first, len(test)))
    features = sp.csr_array(sp.vstack([known, place @ tested]), dtype=np.float32)
    sources = np.repeat(list(neighbours), [len(ends) for ends in neighbours.values()])
    targets = np.concatenate([np.asarray(ends, dtype=np.int64) for ends in neighbours.values()])
    graph = Graph.from_edges(sources, targets, nodes=nodes, features=features)
    train = len(_load(folder, name, "y"))
    splits = {
        "train": np.arange(train),
        "val": np.arange(train, train + VALIDATION_NODES),
        "test": np.sort(test),
    }
    return graph, classes.argmax(axis=1), splits


class _StoredMatrix:
    """Stands in for the SciPy matrix of a file: only carries the arrays, and needs no SciPy of that age."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    _shape: tuple[int, int]


class _Reader(pickle.Unpickler):
    """Reads the arrays of a Planetoid file, and nothing else.

    The sets are published as Python 2 pickles, and a pickle may name any function to be called while it is read. So
    only the six names that these files need are known here; any other ends the reading before it is looked up.
    """

    known = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],  # it has moved since
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("scipy.sparse.csr", "csr_matrix"): _StoredMatrix,
        ("collections", "defaultdict"): defaultdict,
        ("__builtin__", "list"): list,
    }

    def find_class(self, module: str, name: str) -> Any:
        """One of the known names."""
        if (module, name) not in self.known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no Planetoid file needs")
        return self.known[module, name]


def _load(folder: Path, name: str, part: str) -> Any:
    path = _path(folder, name, part)
    try:
        with path.open("rb") as file:
            return _Reader(file, encoding="latin1", fix_imports=False).load()
    except Exception as error:  # a damaged pickle may raise anything
        raise InputError(f"{path} is not a Planetoid file: {error}") from error


def _features(folder: Path, name: str, part: str) -> sp.csr_array:
    stored = _load(folder, name, part)
    return sp.csr_array((stored.data, stored.indices, stored.indptr), shape=stored._shape)


def _path(folder: Path, name: str, part: str) -> Path:
    path = folder / f"ind.{name.lower()}.{part}"
    if not path.exists():
        raise InputError(f"{path} is missing; the set needs x, y, tx, ty, allx, ally, graph and test.index")
    return path
