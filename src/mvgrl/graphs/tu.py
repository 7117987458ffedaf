"""The TU collection's text files: one folder, one line an edge, a node or a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph


def read_tu(folder: Path, name: str) -> tuple[Graph, np.ndarray, tuple[str, ...]]:
    """The graphs of a set side by side, the class of each, and the names of the classes.

    ``NAME_A.txt`` has an edge a line ("source, target", nodes numbered from 1 over all graphs),
    ``NAME_graph_indicator.txt`` the graph of each node, ``NAME_graph_labels.txt`` the label of each graph and
    ``NAME_node_labels.txt``, where there is one, the label of each node.
    """
    graph_of_node = _numbers(folder / f"{name}_graph_indicator.txt", 1)[:, 0]
    graph_labels = _numbers(folder / f"{name}_graph_labels.txt", 1)[:, 0]
    disorder = np.flatnonzero(np.diff(graph_of_node) < 0)
    if len(disorder):
        raise InputError(
            f"{folder / f'{name}_graph_indicator.txt'}, line {disorder[0] + 2}: graph {graph_of_node[disorder[0] + 1]} "
            f"after graph {graph_of_node[disorder[0]]}; the nodes of a graph must stand together, graphs in order"
        )
    numbers = np.arange(1, len(graph_labels) + 2)
    offsets = np.searchsorted(graph_of_node, numbers)
    if len(graph_of_node) and not (graph_of_node[0] >= 1 and graph_of_node[-1] <= len(graph_labels)):
        raise InputError(
            f"{folder}: nodes belong to graphs {graph_of_node[0]} to {graph_of_node[-1]}, "
            f"but {len(graph_labels)} graphs have a label"
        )
    edges = _numbers(folder / f"{name}_A.txt", 2) - 1
    label_file = folder / f"{name}_node_labels.txt"
    node_labels = _numbers(label_file, 1)[:, 0] if label_file.exists() else None
    try:
        graph = Graph.from_edges(
            edges[:, 0], edges[:, 1], nodes=len(graph_of_node), node_labels=node_labels, offsets=offsets
        )
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    classes, target = np.unique(graph_labels, return_inverse=True)
    return graph, target, tuple(str(label) for label in classes)


def _numbers(path: Path, columns: int) -> np.ndarray:
    """The whole numbers of a file, lines × columns, at some hundred megabytes a second."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(i) for i in range(columns)]
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=names),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.int64())),
        )
        if any(table[name].null_count for name in names):
            raise pa.ArrowInvalid("a value is missing")
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: every line must have {columns} whole number(s), comma between; {error}") from None
    return np.column_stack([table[name].to_numpy() for name in names])
