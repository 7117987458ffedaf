"""The Planetoid file format (``ind.*``): a citation graph with features, classes and the public split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, shown
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.planetoid_pickle import read_pickle, to_array, to_matrix, to_neighbours
from mvgrl.tables.budget import check_unpacked_size

VALIDATION_NODES = 500
_REMEDY = "it is damaged, download it again"


def read_planetoid(folder: Path, name: str) -> tuple[Graph, np.ndarray, dict[str, np.ndarray]]:
    """Return the graph, the class of each node and the public split.

    The nodes of ``allx`` come first, starting with the labelled training nodes. The test nodes follow; line i of
    ``test.index`` is the node number of row i of ``tx``. CiteSeer's graph has test nodes that are not in ``tx``: they
    get no features and, as in every reader of this file format, class 0, and are in no part of the split.
    """
    known, tested = _features(folder, name, "allx"), _features(folder, name, "tx")
    if known.shape[1] != tested.shape[1]:
        widths = f"has {tested.shape[1]} columns, but allx has {known.shape[1]}"
        raise InputError(f"{_path(folder, name, 'tx')} {widths}; {_REMEDY}")
    known_classes = _classes(folder, name, "ally", known.shape[0])
    tested_classes = _classes(folder, name, "ty", tested.shape[0])
    if known_classes.shape[1] != tested_classes.shape[1]:
        widths = f"has {tested_classes.shape[1]} classes, but ally has {known_classes.shape[1]}"
        raise InputError(f"{_path(folder, name, 'ty')} {widths}; {_REMEDY}")
    first = known.shape[0]
    train = len(_classes(folder, name, "y", most=first))
    test = _test_nodes(_path(folder, name, "test.index"), first, tested.shape[0])
    nodes = int(test.max()) + 1
    classes = np.zeros((nodes, known_classes.shape[1]))
    classes[:first], classes[test] = known_classes, tested_classes
    # place: a row per node after those of allx, a column per row of tx
    place = sp.csr_array((np.ones(len(test)), (test - first, np.arange(len(test)))), shape=(nodes - first, len(test)))
    features = sp.csr_array(sp.vstack([known, place @ tested]), dtype=np.float32)
    sources, targets = _ends(folder, name)
    try:
        graph = Graph.from_edges(sources, targets, nodes=nodes, features=features)
    except InputError as error:
        raise InputError(f"{_path(folder, name, 'graph')}: {error}; {_REMEDY}") from None
    splits = {
        "train": np.arange(train),
        "val": np.arange(train, min(train + VALIDATION_NODES, first)),
        "test": np.sort(test),
    }
    return graph, classes.argmax(axis=1), splits


def _load(folder: Path, name: str, part: str) -> Any:
    path = _path(folder, name, part)
    try:
        check_unpacked_size(path, path.stat().st_size)
        return read_pickle(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    except InputError:
        raise
    except Exception as error:  # a damaged pickle may raise anything
        raise InputError(f"{path} is not a Planetoid file: {_reason(error)}; {_REMEDY}") from None


def _features(folder: Path, name: str, part: str) -> sp.csr_array:
    """Read a sparse table with one row per node."""
    stored = _load(folder, name, part)
    try:
        table = to_matrix(stored)
        if table.dtype.kind not in "biuf" or not np.isfinite(table.data).all():
            raise ValueError("it contains a value that is not a finite number")
    except Exception as error:  # a pickle may hold anything instead of the arrays
        raise InputError(f"{_path(folder, name, part)} is not a Planetoid file: {_reason(error)}; {_REMEDY}") from None
    return table


def _classes(folder: Path, name: str, part: str, rows: int | None = None, most: int | None = None) -> np.ndarray:
    """Read a table with a row per node and a column per class, 1 where the node is in the class."""
    stored = _load(folder, name, part)
    path = _path(folder, name, part)
    try:
        table = to_array(stored)
    except ValueError:
        table = np.zeros(0)
    if table.ndim != 2 or not table.size:
        raise InputError(f"{path} is not a Planetoid file: it contains no table of classes; {_REMEDY}")
    if (rows is not None and len(table) != rows) or (most is not None and len(table) > most):
        wanted = f"{rows}" if most is None else f"at most {most}"
        raise InputError(f"{path} has {len(table)} rows, but the other files imply {wanted}; {_REMEDY}")
    return table


def _ends(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read the edges from the file that lists the neighbours of each node."""
    stored = _load(folder, name, "graph")
    try:
        neighbours = to_neighbours(stored, _path(folder, name, "graph").stat().st_size)
    except ValueError as error:
        raise InputError(
            f"{_path(folder, name, 'graph')} is not a Planetoid file: it must list the neighbours of each node "
            f"({error}); {_REMEDY}"
        ) from None
    counts = np.array([len(ends) for ends in neighbours.values()], dtype=np.int64)
    sources = np.repeat(np.array(list(neighbours), dtype=np.int64), counts)
    return sources, np.fromiter((end for ends in neighbours.values() for end in ends), np.int64, int(counts.sum()))


def _reason(error: Exception) -> str:
    return shown(str(error).partition("\n")[0], 200)[1:-1]


def _test_nodes(path: Path, first: int, count: int) -> np.ndarray:
    """Read the node number of each row of ``tx``, one per line; the first node after those of ``allx`` is ``first``."""
    nodes: dict[int, int] = {}
    try:
        lines = path.read_text("ascii", "replace").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    for number, line in enumerate(lines, 1):
        node = int(line) if line.strip().isdecimal() and len(line) < 20 else -1
        # No dataset omits half of its nodes; a number with an extra digit would create a graph of that size.
        if not first <= node < 2 * (first + count):
            wanted = f"not the number of a test node; they start at {first}"
            raise InputError(f"{path}, line {number}: {line[:40]!r} is {wanted}; {_REMEDY}")
        if nodes.setdefault(node, number) != number:
            raise InputError(f"{path}, line {number}: node {node} is also on line {nodes[node]}; {_REMEDY}")
    if len(nodes) != count or first not in nodes:
        problem = f"its {len(nodes)} nodes do not follow the {first} of allx, or do not match the {count} of tx"
        raise InputError(f"{path}: {problem}; {_REMEDY}")
    return np.array(list(nodes))


def _path(folder: Path, name: str, part: str) -> Path:
    path = folder / f"ind.{name.lower()}.{part}"
    if not path.exists():
        parts = "x, y, tx, ty, allx, ally, graph and test.index"
        raise InputError(f"{path} is missing; the dataset needs {parts}, download it again")
    return path
