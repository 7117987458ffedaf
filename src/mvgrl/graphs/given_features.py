"""Give a graph the features of a separate matrix or table, each row to its own node.

A table with an id column, or a pandas table with an index of its own, is matched by id. The rows of a matrix have no
ids, so they follow the order of the nodes where their owner knows it. Edges alone have no such order: there, a row
belongs to the node with its number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, shown
from mvgrl.graphs.checks import as_matrix
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph

BY_ID = "give features as a table with a column 'id' (a pandas table may have the ids as its index)"

_LABEL = "label"  # as in a table of nodes


def packages_of(thing: Any) -> set[str]:
    """Return the packages that define the type and its bases; checking by name avoids importing the packages."""
    return {kind.__module__.split(".")[0] for kind in type(thing).__mro__}


def is_table(thing: Any) -> bool:
    """Whether an object is a table of pandas, Arrow, polars, DuckDB or another package that exports Arrow data."""
    if "polars" in packages_of(thing) and hasattr(thing, "collect"):
        return True  # a query: even its columns are not known yet
    if "pandas" in packages_of(thing):
        return hasattr(thing, "columns")
    return hasattr(thing, "__arrow_c_stream__") and (hasattr(thing, "columns") or hasattr(thing, "read_all"))


def with_ids(table: Any, place: str = "features") -> tuple[Any, bool]:
    """Return a table of nodes as an Arrow table, and whether it has a column of ids.

    In pandas, any index but 0, 1, 2, … has the ids, unless there is a column of ids. ``place`` is what error messages
    call the table.
    """
    from mvgrl.graphs.from_pandas import to_arrow
    from mvgrl.tables.columns import ID_COLUMNS

    if "pandas" in packages_of(table) and not set(ID_COLUMNS) & {*table.columns, *table.index.names}:
        index = table.index
        counts = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
        if index.nlevels > 1:
            raise InputError(f"{place} has an index of several levels; give the ids as a column 'id'")
        if index.name is not None or not counts:
            table = table.rename_axis("id")
    made = to_arrow(table, place)
    return made, bool(set(ID_COLUMNS) & set(made.column_names))


def by_id(named: NamedGraph, rows: Any) -> NamedGraph:
    """Give every node the row with its id of an Arrow table."""
    from mvgrl.tables.columns import Place, check_unique_names, find_id, to_ids, to_numpy
    from mvgrl.tables.ids import Keyed, align, check_unique, encode

    place = Place("features")
    check_unique_names(rows.column_names, place)
    id_name = find_id(rows.column_names, None, place)
    if named.graph.count > 1:
        raise InputError("there are several graphs, so an id is not unique; give features in the order of the nodes, "
                         "as a matrix")  # fmt: skip
    (ids,) = to_ids([(place, id_name, rows[id_name])])
    given = Keyed(to_numpy(ids), None, place)
    check_unique(encode([ids])[0][0], given)
    found = align(Keyed(named.node_ids, None, Place("the graph")), given)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        node = shown(named.node_ids[missing[0]].item())
        raise InputError(
            f"features has no row for node {node}; add it, or give features in the order of the nodes, as a matrix"
        )
    if len(given.ids) > len(found):
        row = int(np.setdiff1d(np.arange(len(given.ids)), found)[0])
        raise place.error(row, f"{given.describe(row)} is not a node of the graph; drop the row")
    matrix, names = _numbers(rows.drop_columns([id_name]))
    return replace(named, graph=_with(named.graph, matrix[found], names, rows), columns=None)


def by_number(named: NamedGraph, features: Any) -> NamedGraph:
    """Give row i of a matrix to node i; nodes without edges may be rows that no edge mentions."""
    matrix, names = plain(features)
    ids, rows = named.node_ids, matrix.shape[0]
    if named.graph.count > 1:
        raise InputError(f"the edges have several graphs, so rows have no order; {BY_ID} and a column 'graph'")
    outside = np.flatnonzero((ids < 0) | (ids >= rows)) if ids.dtype.kind in "iu" else np.array([0])
    if len(outside):
        raise InputError(
            f"features has {rows} rows without ids, and the edges have the node {shown(ids[outside[0]].item())}, which "
            f"is not the number of a row; {BY_ID}"
        )
    edges = named.graph.adjacency.tocoo()
    ends = (ids[edges.coords[0]], ids[edges.coords[1]])
    adjacency = sp.csr_array((edges.data, ends), shape=(rows, rows))
    graph = Graph(adjacency, notes=named.graph.notes)
    return NamedGraph(_with(graph, matrix, names, features), np.arange(rows))


def by_order(named: NamedGraph, features: Any, *, sure: bool) -> NamedGraph:
    """Give the rows of a matrix to the nodes in their order.

    Unless their owner is ``sure`` to know that order, nodes that are numbered in another one are rejected: the rows may
    be meant by number.
    """
    ids = named.node_ids
    if not sure and ids.dtype.kind in "iu" and named.graph.count == 1:
        first = np.flatnonzero(ids != np.arange(len(ids)))
        if len(first) and np.array_equal(np.sort(ids), np.arange(len(ids))):
            raise InputError(
                f"node {ids[first[0]]} is at position {first[0]} of the graph, so row {first[0]} of features can mean "
                f"either; {BY_ID}"
            )
    matrix, names = plain(features)
    return replace(named, graph=_with(named.graph, matrix, names, features), columns=None)


def plain(features: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return features as a matrix, and the names of its columns if they have any."""
    if is_table(features):
        return _numbers(features)
    matrix = as_matrix(features)
    if matrix.ndim != 2:
        raise InputError(f"features has shape {matrix.shape}; it must be a table with one row per node")
    return matrix, None


def _with(graph: Graph, matrix: Any, names: tuple[str, ...] | None, given: Any) -> Graph:
    notes = graph.notes
    if is_table(given) and _LABEL in given.column_names:
        notes += (f"the column {_LABEL!r} of features was left out: labels are not features",)
    return replace(graph, features=matrix, feature_names=names, notes=notes)


def _numbers(table: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    from mvgrl.tables.columns import Place, to_numbers

    columns = {name: to_numbers(Place("features"), name, table[name]) for name in table.column_names if name != _LABEL}
    if not columns:
        raise InputError("features has no columns; omit features to use the structure of the graph alone")
    names = (
        [name] if values.ndim == 1 else [f"{name}[{i}]" for i in range(values.shape[1])]
        for name, values in columns.items()
    )
    return np.column_stack(list(columns.values())), tuple(name for some in names for name in some)
