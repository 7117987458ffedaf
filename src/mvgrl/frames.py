"""Vectors with their ids as a pandas, polars or Arrow table."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from mvgrl.errors import InputError, SettingsError, check_name, shown
from mvgrl.graphs.named import NamedGraph
from mvgrl.neighbors import Neighbors, closest_ids

TABLES = ("pandas", "polars", "arrow")
CONTAINERS = ("default", "pandas", "polars")  # of scikit-learn's set_output


class Rows(NamedTuple):
    """The ids of vectors and, where ids may repeat, the graph or the side of each."""

    ids: np.ndarray
    groups: np.ndarray | None = None
    level: str = "graph"  # what the groups are: "graph", or "side" in a bipartite graph


def rows_of(named: NamedGraph, task: str) -> Rows:
    """Return the ids of the vectors for a task.

    >>> from mvgrl.graphs.convert import to_named
    >>> rows_of(to_named([("ann", "bob"), ("bob", "cy"), ("cy", "ann")]), "node").ids.tolist()
    ['ann', 'bob', 'cy']
    """
    if task == "graph":
        return Rows(np.arange(named.graph.count) if named.graph_ids is None else named.graph_ids)
    if named.graph_ids is None or named.graph.count == 1:
        return Rows(named.node_ids, named.sides, "side")
    return Rows(named.node_ids, np.repeat(named.graph_ids, named.graph.sizes))


def column_names(width: int) -> list[str]:
    """Return the names of a vector's components, as in the files that the command line writes.

    >>> column_names(3)
    ['e0', 'e1', 'e2']
    """
    return [f"e{i}" for i in range(width)]


def to_table(kind: str, rows: Rows, vectors: np.ndarray) -> Any:
    """Return ids and vectors as a table.

    In pandas, the ids are the index, or graphs (sides) and ids are its two levels; in polars and Arrow, which have no
    index, they are the first columns, ``graph`` (``side``) and ``id``.
    """
    check_name("table", kind, TABLES)
    names = column_names(vectors.shape[1])
    if kind == "pandas":
        pandas = _package("pandas")
        index = pandas.Index(rows.ids, name="id")
        if rows.groups is not None:
            index = pandas.MultiIndex.from_arrays([rows.groups, rows.ids], names=[rows.level, "id"])
        return pandas.DataFrame(vectors, index=index, columns=names)
    given = {"id": rows.ids} if rows.groups is None else {rows.level: rows.groups, "id": rows.ids}
    return _of_columns(kind, given | dict(zip(names, vectors.T, strict=True)))


def _of_columns(kind: str, columns: dict[str, np.ndarray]) -> Any:
    return {
        "pandas": lambda: _package("pandas").DataFrame(columns),
        "polars": lambda: _package("polars").DataFrame(columns),
        "arrow": lambda: _package("pyarrow").table(columns),
    }[kind]()


def rows_with(rows: Rows, wanted: list[Any]) -> list[int]:
    """Find the row of every id or, where ids may repeat, of every tuple (graph or side, id).

    >>> rows_with(Rows(np.array(["ann", "bob"])), ["bob"])
    [1]
    """
    ids = rows.ids.tolist()
    keys = ids if rows.groups is None else list(zip(rows.groups.tolist(), ids, strict=True))
    place = {key: row for row, key in enumerate(keys)}
    for one in wanted:
        if one not in place:
            form = "" if rows.groups is None else f"; give a tuple ({rows.level}, id)"
            closest = closest_ids(str(one), rows.ids.astype(str))
            raise InputError(f"there is no id {shown(one)}{form}; {closest}")
    return [place[one] for one in wanted]


def neighbor_table(kind: str, rows: Rows, wanted: list[Any], found: Neighbors) -> Any:
    """Return the neighbours of each id as a table: query, rank, id and cosine; and the group of the id, if any."""
    check_name("table", kind, TABLES)
    count, k = found.rows.shape
    others = found.rows.ravel()
    queries = [str(one) if isinstance(one, tuple) else one for one in wanted]
    columns = {"query": np.repeat(np.array(queries), k), "rank": np.tile(np.arange(1, k + 1), count)}
    if rows.groups is not None:
        columns[rows.level] = rows.groups[others]
    return _of_columns(kind, columns | {"id": rows.ids[others], "cosine": found.cosines.ravel()})


def contained(kind: str, rows: Rows, vectors: np.ndarray) -> Any:
    """Return vectors in a container of scikit-learn's ``set_output``.

    Every column of a container is a feature for the next step of a pipeline, so a polars table has no ids.
    """
    if kind == "default":
        return vectors
    if kind == "polars":
        return _package("polars").DataFrame(vectors, schema=column_names(vectors.shape[1]))
    return to_table(kind, rows, vectors)


def check_container(kind: Any) -> None:
    """Check the name of a container."""
    check_name("container", kind, CONTAINERS, SettingsError)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"this table needs {name}; pip install {name}, or choose another: {', '.join(TABLES)}"
        ) from None
