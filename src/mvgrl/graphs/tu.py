"""The text format of the TU collection: one folder per dataset, one line per edge, node or graph."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph

_REMEDY = "fix it, or download it again"
_INTEGER = re.compile(rb"\s*[+-]?\d{1,18}\s*")


def read_tu(folder: Path, name: str) -> tuple[Graph, np.ndarray, tuple[str, ...]]:
    """Return all graphs of a dataset as one ``Graph``, the class of each, and the names of the classes.

    ``NAME_A.txt`` has an edge per line ("source, target", nodes numbered from 1 over all graphs),
    ``NAME_graph_indicator.txt`` the graph of each node, ``NAME_graph_labels.txt`` the label of each graph and
    ``NAME_node_labels.txt``, if there is one, the label of each node.
    """
    indicator, edge_file = folder / f"{name}_graph_indicator.txt", folder / f"{name}_A.txt"
    graph_of_node = _numbers(indicator, 1)[:, 0]
    graph_labels = _numbers(folder / f"{name}_graph_labels.txt", 1)[:, 0]
    offsets = _offsets(indicator, graph_of_node, len(graph_labels))
    edges = _numbers(edge_file, 2)
    _check_edges(edge_file, edges, graph_of_node)
    label_file = folder / f"{name}_node_labels.txt"
    node_labels = _numbers(label_file, 1)[:, 0] if os.path.lexists(label_file) else None
    if node_labels is not None and len(node_labels) != len(graph_of_node):
        counts = f"has labels for {len(node_labels)} nodes, but {indicator.name} has {len(graph_of_node)} nodes"
        raise InputError(f"{label_file} {counts}; {_REMEDY}")
    graph = Graph.from_edges(
        edges[:, 0] - 1, edges[:, 1] - 1, nodes=len(graph_of_node), node_labels=node_labels, offsets=offsets
    )
    classes, target = np.unique(graph_labels, return_inverse=True)
    return graph, target, tuple(str(label) for label in classes)


def _offsets(path: Path, graph_of_node: np.ndarray, graphs: int) -> np.ndarray:
    """Return the first node of each graph, and the end; the graph of each node must be 1, 1, …, 2, 2, … ."""
    unsorted = np.flatnonzero(np.diff(graph_of_node) < 0)
    if len(unsorted):
        before, after = graph_of_node[unsorted[0] : unsorted[0] + 2]
        raise InputError(
            f"{path}, line {_line(path, unsorted[0] + 1)}: graph {after} after graph {before}; nodes "
            f"must be sorted by graph; {_REMEDY}"
        )
    if not (graph_of_node[0] >= 1 and graph_of_node[-1] <= graphs):
        belong = f"nodes belong to graphs {graph_of_node[0]} to {graph_of_node[-1]}"
        raise InputError(f"{path}: {belong}, but {graphs} graphs have a label; {_REMEDY}")
    offsets = np.searchsorted(graph_of_node, np.arange(1, graphs + 2))
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):
        raise InputError(f"{path}: graph {empty[0] + 1} has a label but no nodes; {_REMEDY}")
    return offsets


def _check_edges(path: Path, edges: np.ndarray, graph_of_node: np.ndarray) -> None:
    """Check that every edge joins two nodes of one graph."""
    nodes = len(graph_of_node)
    outside = np.flatnonzero(((edges < 1) | (edges > nodes)).any(axis=1))
    if len(outside):
        row = outside[0]
        unknown = next(end for end in edges[row] if not 1 <= end <= nodes)
        place = f"{path}, line {_line(path, row)}"
        raise InputError(f"{place}: node {unknown} does not exist: nodes are numbered 1 to {nodes}; {_REMEDY}")
    graphs = graph_of_node[edges - 1]
    crossing = np.flatnonzero(graphs[:, 0] != graphs[:, 1])
    if len(crossing):
        (a, b), (of_a, of_b) = edges[crossing[0]], graphs[crossing[0]]
        raise InputError(
            f"{path}, line {_line(path, crossing[0])}: it joins node {a} of graph {of_a} to node {b} of graph "
            f"{of_b}; {_REMEDY}"
        )


def _numbers(path: Path, columns: int) -> np.ndarray:
    """Read the integers of a file, lines × columns; Arrow parses hundreds of megabytes per second."""
    import pyarrow as pa
    from pyarrow import csv

    from mvgrl.tables.text import arrow_source

    names = [str(i) for i in range(columns)]
    try:
        table = csv.read_csv(
            arrow_source(path),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.int64())),
        )
        if any(table[name].null_count for name in names):
            raise pa.ArrowInvalid("a number is missing")
    except FileNotFoundError:
        raise InputError(f"{path} is missing; download the dataset's files again") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; {_REMEDY}") from None
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}{_first_problem(path, columns, error)}; {_REMEDY}") from None
    if not len(table):
        raise InputError(f"{path} is empty; {_REMEDY}")
    return np.column_stack([table[name].to_numpy() for name in names])


def _first_problem(path: Path, columns: int, error: Any) -> str:
    """Find the first line that does not have this many integers; Arrow does not name it."""
    for number, line in _lines(path):
        fields = line.split(b",")
        if len(fields) != columns or not all(map(_INTEGER.fullmatch, fields)):
            wanted = "an integer" if columns == 1 else f"{columns} integers separated by a comma"
            return f", line {number}: expected {wanted}, found {line[:40].decode('utf-8', 'replace')!r}"
    return " is empty" if not path.stat().st_size else f" cannot be parsed: {error}"


def _line(path: Path, row: int) -> int:
    """Return the number of the line that a row was read from; empty lines are skipped."""
    return next(number for number, _ in islice(_lines(path), int(row), None))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip(b"\r\n"):
                yield number, line.strip(b"\r\n")
