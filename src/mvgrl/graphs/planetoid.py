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
_ANEW = "it is damaged, get it anew"


def read_planetoid(folder: Path, name: str) -> tuple[Graph, np.ndarray, dict[str, np.ndarray]]:
    """The graph, the class of each node and the public split.

    The nodes with known numbers come first (``allx``, the labelled training nodes ahead), the test nodes after them
    in the order of ``test.index``, which says where in the graph each belongs. CiteSeer's graph has test nodes that
    ``tx`` leaves out: they get no features and, as everywhere this file format is read, class 0, and are in no part
    of the split.
    """
    known, tested = _features(folder, name, "allx"), _features(folder, name, "tx")
    if known.shape[1] != tested.shape[1]:
        widths = f"has {tested.shape[1]} columns, but allx has {known.shape[1]}"
        raise InputError(f"{_path(folder, name, 'tx')} {widths}; {_ANEW}")
    known_classes = _classes(folder, name, "ally", known.shape[0])
    tested_classes = _classes(folder, name, "ty", tested.shape[0])
    if known_classes.shape[1] != tested_classes.shape[1]:
        widths = f"has {tested_classes.shape[1]} classes, but ally has {known_classes.shape[1]}"
        raise InputError(f"{_path(folder, name, 'ty')} {widths}; {_ANEW}")
    first = known.shape[0]
    train = len(_classes(folder, name, "y", most=first))
    test = _test_nodes(_path(folder, name, "test.index"), first, tested.shape[0])
    nodes = int(test.max()) + 1
    classes = np.zeros((nodes, known_classes.shape[1]))
    classes[:first], classes[test] = known_classes, tested_classes
    # place: a row for each node after the known ones, a column for each line of tx
    place = sp.csr_array((np.ones(len(test)), (test - first, np.arange(len(test)))), shape=(nodes - first, len(test)))
    features = sp.csr_array(sp.vstack([known, place @ tested]), dtype=np.float32)
    sources, targets = _ends(folder, name)
    try:
        graph = Graph.from_edges(sources, targets, nodes=nodes, features=features)
    except InputError as error:
        raise InputError(f"{_path(folder, name, 'graph')}: {error}; {_ANEW}") from None
    splits = {
        "train": np.arange(train),
        "val": np.arange(train, min(train + VALIDATION_NODES, first)),
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
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # a damaged pickle may raise anything
        raise InputError(f"{path} is not a Planetoid file: {error}; {_ANEW}") from None


def _features(folder: Path, name: str, part: str) -> sp.csr_array:
    """A file with a sparse table, one row a node."""
    stored = _load(folder, name, part)
    try:
        if not isinstance(stored, _StoredMatrix):
            raise TypeError(f"it holds a {type(stored).__name__}, not a table")
        table = sp.csr_array((stored.data, stored.indices, stored.indptr), shape=stored._shape)
        table.check_format(full_check=True)  # an index out of range would be followed blindly
        if table.dtype.kind not in "biuf" or not np.isfinite(table.data).all():
            raise ValueError("a value is not a finite number")
    except Exception as error:  # whatever else a pickle may have put in the arrays' place
        raise InputError(f"{_path(folder, name, part)} is not a Planetoid file: {error}; {_ANEW}") from None
    return table


def _classes(folder: Path, name: str, part: str, rows: int | None = None, most: int | None = None) -> np.ndarray:
    """A file with a row a node and a column a class, 1 where the node is of the class."""
    table = _load(folder, name, part)
    path = _path(folder, name, part)
    if not isinstance(table, np.ndarray) or table.ndim != 2 or table.dtype.kind not in "biuf" or not table.size:
        raise InputError(f"{path} is not a Planetoid file: it holds no table of classes; {_ANEW}")
    if (rows is not None and len(table) != rows) or (most is not None and len(table) > most):
        wanted = f"{rows}" if most is None else f"at most {most}"
        raise InputError(f"{path} has {len(table)} rows, but by the other files it should have {wanted}; {_ANEW}")
    return table


def _ends(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The edges of a file that lists the neighbours of each node."""
    neighbours = _load(folder, name, "graph")
    try:
        sources = np.repeat(list(neighbours), [len(ends) for ends in neighbours.values()])
        targets = np.array([end for ends in neighbours.values() for end in ends])
        if sources.dtype.kind not in "iu" or targets.dtype.kind not in "iu":
            raise TypeError("it names no edges between numbered nodes")
    except Exception as error:  # whatever else a pickle may hold
        raise InputError(
            f"{_path(folder, name, 'graph')} is not a Planetoid file: it must list the neighbours of each node "
            f"({error}); {_ANEW}"
        ) from None
    return sources, targets


def _test_nodes(path: Path, first: int, count: int) -> np.ndarray:
    """Where in the graph each row of ``tx`` belongs: a number a line, from the first unknown node on."""
    nodes: dict[int, int] = {}
    try:
        lines = path.read_text("ascii", "replace").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    for number, line in enumerate(lines, 1):
        node = int(line) if line.strip().isdecimal() and len(line) < 20 else -1
        # No set leaves out half of its nodes; a number with a digit too many would ask for a graph of that size.
        if not first <= node < 2 * (first + count):
            wanted = f"not the number of a test node, which start at {first}"
            raise InputError(f"{path}, line {number}: {line[:40]!r} is {wanted}; {_ANEW}")
        if nodes.setdefault(node, number) != number:
            raise InputError(f"{path}, line {number}: node {node} is on line {nodes[node]} too; {_ANEW}")
    if len(nodes) != count or first not in nodes:
        raise InputError(
            f"{path}: its {len(nodes)} nodes do not continue the {first} of allx, or are not the {count} of tx; {_ANEW}"
        )
    return np.array(list(nodes))


def _path(folder: Path, name: str, part: str) -> Path:
    path = folder / f"ind.{name.lower()}.{part}"
    if not path.exists():
        parts = "x, y, tx, ty, allx, ally, graph and test.index"
        raise InputError(f"{path} is missing; the set needs {parts}, get it anew")
    return path
