"""The TU collection's text files: one folder, one line an edge, a node or a graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph

_MEND = "mend it, or get it anew"
_WHOLE_NUMBER = re.compile(rb"\s*[+-]?\d{1,18}\s*")


def read_tu(folder: Path, name: str) -> tuple[Graph, np.ndarray, tuple[str, ...]]:
    """The graphs of a set side by side, the class of each, and the names of the classes.

    ``NAME_A.txt`` has an edge a line ("source, target", nodes numbered from 1 over all graphs),
    ``NAME_graph_indicator.txt`` the graph of each node, ``NAME_graph_labels.txt`` the label of each graph and
    ``NAME_node_labels.txt``, where there is one, the label of each node.
    """
    indicator, edge_file = folder / f"{name}_graph_indicator.txt", folder / f"{name}_A.txt"
    graph_of_node = _numbers(indicator, 1)[:, 0]
    graph_labels = _numbers(folder / f"{name}_graph_labels.txt", 1)[:, 0]
    offsets = _offsets(indicator, graph_of_node, len(graph_labels))
    edges = _numbers(edge_file, 2)
    _check_edges(edge_file, edges, graph_of_node)
    label_file = folder / f"{name}_node_labels.txt"
    node_labels = _numbers(label_file, 1)[:, 0] if label_file.exists() else None
    if node_labels is not None and len(node_labels) != len(graph_of_node):
        counts = f"has labels of {len(node_labels)} nodes, but {indicator.name} has {len(graph_of_node)} nodes"
        raise InputError(f"{label_file} {counts}; {_MEND}")
    graph = Graph.from_edges(
        edges[:, 0] - 1, edges[:, 1] - 1, nodes=len(graph_of_node), node_labels=node_labels, offsets=offsets
    )
    classes, target = np.unique(graph_labels, return_inverse=True)
    return graph, target, tuple(str(label) for label in classes)


def _offsets(path: Path, graph_of_node: np.ndarray, graphs: int) -> np.ndarray:
    """Where each graph starts, and the end, from the graph of each node, which must be 1, 1, …, 2, 2, … ."""
    disorder = np.flatnonzero(np.diff(graph_of_node) < 0)
    if len(disorder):
        before, after = graph_of_node[disorder[0] : disorder[0] + 2]
        raise InputError(
            f"{path}, line {_line(path, disorder[0] + 1)}: graph {after} after graph {before}; the nodes of a graph "
            f"must stand together, graphs in order; {_MEND}"
        )
    if not (graph_of_node[0] >= 1 and graph_of_node[-1] <= graphs):
        belong = f"nodes belong to graphs {graph_of_node[0]} to {graph_of_node[-1]}"
        raise InputError(f"{path}: {belong}, but {graphs} graphs have a label; {_MEND}")
    offsets = np.searchsorted(graph_of_node, np.arange(1, graphs + 2))
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):
        raise InputError(f"{path}: graph {empty[0] + 1} has no nodes, but a label; {_MEND}")
    return offsets


def _check_edges(path: Path, edges: np.ndarray, graph_of_node: np.ndarray) -> None:
    """Every edge joins two nodes of one graph."""
    nodes = len(graph_of_node)
    outside = np.flatnonzero(((edges < 1) | (edges > nodes)).any(axis=1))
    if len(outside):
        row = outside[0]
        unknown = next(end for end in edges[row] if not 1 <= end <= nodes)
        place = f"{path}, line {_line(path, row)}"
        raise InputError(f"{place}: it names node {unknown}, but nodes are numbered 1 to {nodes}; {_MEND}")
    graphs = graph_of_node[edges - 1]
    crossing = np.flatnonzero(graphs[:, 0] != graphs[:, 1])
    if len(crossing):
        (a, b), (of_a, of_b) = edges[crossing[0]], graphs[crossing[0]]
        raise InputError(
            f"{path}, line {_line(path, crossing[0])}: it joins node {a} of graph {of_a} with node {b} of graph "
            f"{of_b}; {_MEND}"
        )


def _numbers(path: Path, columns: int) -> np.ndarray:
    """The whole numbers of a file, lines × columns, at some hundred megabytes a second."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(i) for i in range(columns)]
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.int64())),
        )
        if any(table[name].null_count for name in names):
            raise pa.ArrowInvalid("a number is missing")
    except FileNotFoundError:
        raise InputError(f"{path} is missing; get the set's files anew") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; {_MEND}") from None
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}{_what_is_wrong(path, columns, error)}; {_MEND}") from None
    if not len(table):
        raise InputError(f"{path} is empty; {_MEND}")
    return np.column_stack([table[name].to_numpy() for name in names])


def _what_is_wrong(path: Path, columns: int, error: Any) -> str:
    """The first line that is not so many whole numbers; the fast reader does not tell which."""
    for number, line in _lines(path):
        fields = line.split(b",")
        if len(fields) != columns or not all(map(_WHOLE_NUMBER.fullmatch, fields)):
            wanted = "a whole number" if columns == 1 else f"{columns} whole numbers, comma between"
            return f", line {number}: it must have {wanted}, but has {line[:40].decode('utf-8', 'replace')!r}"
    return " is empty" if not path.stat().st_size else f" cannot be understood: {error}"


def _line(path: Path, row: int) -> int:
    """The number of the line that a row was read from: empty lines are passed over."""
    return next(number for number, _ in islice(_lines(path), int(row), None))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip(b"\r\n"):
                yield number, line.strip(b"\r\n")
