"""Tables with one row an id: which column the id is, that none comes twice, and which rows of two tables are one's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError
from mvgrl.tables.columns import NODE_IDS, Place, check_names, find_id, is_index, keys, to_numpy
from mvgrl.tables.files import read_rows
from mvgrl.tables.vectors import Embeddings

_UNNAMED = Place("the table")


@dataclass(frozen=True, eq=False)
class Keyed:
    """Whose the rows of a table are, and what messages call it."""

    ids: np.ndarray
    graph_ids: np.ndarray | None = None
    place: Place = _UNNAMED


def read_keyed(path: Path, id_column: str | None, *, numbered: bool = False) -> tuple[Any, Keyed]:
    """A table's columns besides those that say whose a row is, and these; rows may be numbered for want of ids."""
    table, place = read_rows(path, id_column)
    names = table.column_names
    check_names(names, place)
    if not table.num_rows:
        raise InputError(f"{path} has no rows; write it again")
    id_name = _id_column(names, id_column, place, numbered)
    (ids,) = keys([(place, id_name, table[id_name])]) if id_name is not None else [pa.array(np.arange(table.num_rows))]
    graphs = None
    if id_name not in (None, "graph") and "graph" in names:
        (graphs,) = keys([(place, "graph", table["graph"])])
    _check_unique(ids, graphs, place)
    apart = [name for name in names if name in (id_name, "graph") or is_index(name)]
    return table.drop_columns(apart), Keyed(to_numpy(ids), None if graphs is None else to_numpy(graphs), place)


def _id_column(names: Sequence[str], given: str | None, place: Place, numbered: bool) -> str | None:
    """The id's column: the one given, one of the usual names, the graph, or the index of pandas; None if none need be.

    Such an index has no name in text, and one of its own making in Parquet.
    """
    if given is None and not set(names) & set(NODE_IDS):
        index = [name for i, name in enumerate(names) if is_index(name) or (name == "" and i == 0)]
        found = ["graph"] if "graph" in names else index
        if found or numbered:
            return found[0] if found else None
    return find_id(names, given, place)


def _check_unique(ids: Any, graphs: Any, place: Place) -> None:
    codes = _codes([ids])[0] if graphs is None else _paired([(ids, graphs)])[0]
    order = np.argsort(codes, kind="stable")
    repeats = order[1:][np.diff(codes[order]) == 0]
    if len(repeats):
        second = int(repeats.min())
        first = int(np.argmax(codes == codes[second]))
        graph = "" if graphs is None else f" of graph {graphs[second].as_py()!r}"
        which = f"the id {ids[second].as_py()!r}{graph}"
        raise place.error(second, f"{which} is also on {place.row(first)}; ids must be unique")


def align(embeddings: Embeddings, table: Keyed) -> np.ndarray:
    """For every embedding, its row of another table, or −1.

    Ids are the same where they are written the same: 7 is "7", but not "007". Where only one side tells graphs apart,
    its ids must mean one node each.

    >>> embeddings = Embeddings(np.array([7, 8, 9]), np.ones((3, 2)))
    >>> align(embeddings, Keyed(np.array(["9", "x", "7"]))).tolist()
    [2, -1, 0]
    """
    here = Place("the embeddings")
    ours, theirs = _same_kind("id", (here, embeddings.ids), (table.place, table.ids))
    if embeddings.graph_ids is not None and table.graph_ids is not None:
        graphs = _same_kind("graph", (here, embeddings.graph_ids), (table.place, table.graph_ids))
        ours, theirs = map(pa.array, _paired([(ours, graphs[0]), (theirs, graphs[1])]))
    elif embeddings.graph_ids is not None:
        _check_one_graph(ours, here, table.place)
    elif table.graph_ids is not None:
        _check_one_graph(theirs, table.place, here)
    return pc.index_in(ours, value_set=theirs).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _same_kind(name: str, *sides: tuple[Place, np.ndarray]) -> list[Any]:
    return keys([(place, name, pa.chunked_array([pa.array(values)])) for place, values in sides])


def _check_one_graph(ids: Any, place: Place, other: Place) -> None:
    codes = _codes([ids])[0]
    count = np.bincount(codes)
    if count.max() > 1:
        twice = ids[int(np.argmax(count[codes] > 1))].as_py()
        raise InputError(
            f"the id {twice!r} is in several graphs of {place.name}, and {other.name} does not say which is meant; "
            "add a column 'graph' to it"
        )


def _paired(sides: Sequence[tuple[Any, Any]]) -> list[np.ndarray]:
    """An id and its graph as one number, the same for the same on all sides."""
    ids, graphs = (_codes(arrays) for arrays in zip(*sides, strict=True))
    count = 1 + max(int(codes.max()) for codes in ids)
    return [graph * count + one for one, graph in zip(ids, graphs, strict=True)]


def _codes(arrays: Sequence[Any]) -> list[np.ndarray]:
    """Each array's values as numbers from 0, the same for the same in all of them."""
    codes = pc.dictionary_encode(pa.concat_arrays(arrays)).indices.to_numpy().astype(np.int64)
    return np.split(codes, np.cumsum([len(array) for array in arrays])[:-1])
