"""Tables with one row per id: find the id column, check that ids are unique, and match rows by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import Place, check_unique_names, find_id, is_pandas_index, match_id, to_ids, to_numpy
from mvgrl.tables.files import read_rows

_UNNAMED = Place("the table")


@dataclass(frozen=True, eq=False)
class Keyed:
    """The ids of a table's rows, and how error messages refer to them."""

    ids: np.ndarray
    graph_ids: np.ndarray | None = None
    place: Place = _UNNAMED
    sides: np.ndarray | None = field(default=None, kw_only=True)  # of a bipartite graph

    def describe(self, row: int) -> str:
        """Describe a row by its id, for error messages.

        >>> Keyed(np.array([7]), np.array(["g"])).describe(0)
        "the id 7 of graph 'g'"
        """
        more = "".join(f" of {name} {shown(values[row].item())}" for name, values in self.groups.items())
        return f"the id {shown(self.ids[row].item())}{more}"

    @property
    def groups(self) -> dict[str, np.ndarray]:
        """The columns that, with the id, identify a row."""
        given = {"graph": self.graph_ids, "side": self.sides}
        return {name: values for name, values in given.items() if values is not None}


def read_keyed(
    path: Path, id_column: str | None, *, number_rows: bool = False, value: str | None = None
) -> tuple[Any, Keyed]:
    """Read a table; return its other columns and the ids. ``number_rows`` uses 0, 1, … if there is no id column.

    A column ``side`` that names one or two sides is a part of the id, as in the vectors of a bipartite graph, unless it
    is the column with the ``value``.
    """
    table, place = read_rows(path, id_column)
    return keyed(table, place, id_column, number_rows=number_rows, value=value)


def keyed(
    table: Any, place: Place, id_column: str | None = None, *, number_rows: bool = False, value: str | None = None
) -> tuple[Any, Keyed]:
    """Return the other columns of a table, and its ids, as :func:`read_keyed` does."""
    names = table.column_names
    check_unique_names(names, place)
    if not table.num_rows:
        raise InputError(f"{place.name} has no rows; write it again")
    id_name = _find_id(names, id_column, place, number_rows)
    (ids,) = to_ids([(place, id_name, table[id_name])]) if id_name is not None else [pa.array(range(table.num_rows))]
    graphs = None
    if id_name not in (None, "graph") and "graph" in names:
        (graphs,) = to_ids([(place, "graph", table["graph"])])
    sides = None
    if "side" not in (id_name, value) and "side" in names and _are_sides(table["side"]):
        (sides,) = to_ids([(place, "side", table["side"])])
    groups = [None if group is None else to_numpy(group) for group in (graphs, sides)]
    rows = Keyed(to_numpy(ids), groups[0], place, sides=groups[1])
    codes = ids
    for group in (graphs, sides):
        codes = codes if group is None else pa.array(_encode_pairs([(codes, group)])[0])
    check_unique(encode([codes])[0][0], rows)
    keys = (id_name, "graph", None if sides is None else "side")
    return table.drop_columns([name for name in names if name in keys or is_pandas_index(name)]), rows


def _are_sides(column: Any) -> bool:
    """Return whether a column holds one or two different texts."""
    dtype = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(dtype) or pa.types.is_large_string(dtype)
    return is_text and not column.null_count and 1 <= len(column.unique()) <= 2


def _find_id(names: Sequence[str], given: str | None, place: Place, number_rows: bool) -> str | None:
    """Find the id column: the one given, a usual name, ``graph``, or an unnamed pandas index; None to number rows.

    An unnamed index is the first column without a name in a text file, and has a generated name in Parquet.
    """
    if given is None and match_id(names, None) is None:
        index = [name for i, name in enumerate(names) if is_pandas_index(name) or (name == "" and i == 0)]
        found = ["graph"] if "graph" in names else index
        if found or number_rows:
            return found[0] if found else None
    return find_id(names, given, place)


def encode(arrays: Sequence[Any]) -> tuple[list[np.ndarray], Any]:
    """Number the values of all arrays in order of first appearance; return the numbers and the distinct values.

    >>> codes, distinct = encode([pa.array(["b", "a"]), pa.array(["a"])])
    >>> [code.tolist() for code in codes], distinct.to_pylist()
    ([[0, 1], [1]], ['b', 'a'])
    """
    encoded = pc.dictionary_encode(pa.concat_arrays(arrays))
    codes = encoded.indices.to_numpy().astype(np.int64)
    return np.split(codes, np.cumsum([len(array) for array in arrays])[:-1]), encoded.dictionary


def _encode_pairs(sides: Sequence[tuple[Any, Any]]) -> list[np.ndarray]:
    """Number pairs of an id and its graph; the same pair has the same number on all sides."""
    ids, graphs = (encode(arrays)[0] for arrays in zip(*sides, strict=True))
    count = 1 + max(int(codes.max()) for codes in ids)
    return [graph * count + one for one, graph in zip(ids, graphs, strict=True)]


def first_duplicate(codes: np.ndarray) -> tuple[int, int] | None:
    """Find the first row that repeats an earlier one; return the earlier row and the repeated one.

    >>> first_duplicate(np.array([4, 7, 9, 7, 4]))
    (1, 3)
    """
    order = np.argsort(codes, kind="stable")
    repeats = order[1:][np.diff(codes[order]) == 0]
    if not len(repeats):
        return None
    second = int(repeats.min())
    return int(np.argmax(codes == codes[second])), second


def check_unique(codes: np.ndarray, rows: Keyed) -> None:
    """Check that every id is unique, within its graph if there are graphs; ``codes`` numbers the ids of the rows."""
    duplicate = first_duplicate(codes)
    if duplicate is not None:
        first, second = duplicate
        problem = f"{rows.describe(second)} is also on {rows.place.row(first)}"
        raise rows.place.error(second, f"{problem}; ids must be unique")


def align(rows: Keyed, table: Keyed) -> np.ndarray:
    """Find the row of ``table`` with the same id for each of ``rows``; −1 if there is none.

    Ids are the same if they are written the same: 7 is "7", but not "007". If only one of the two has graph ids or
    sides, its ids must be unique across them.

    >>> align(Keyed(np.array([7, 8, 9])), Keyed(np.array(["9", "x", "7"]))).tolist()
    [2, -1, 0]
    """
    ours, theirs = _same_type("id", (rows.place, rows.ids), (table.place, table.ids))
    for name in ("graph", "side"):
        mine, other = rows.groups.get(name), table.groups.get(name)
        if mine is not None and other is not None:
            groups = _same_type(name, (rows.place, mine), (table.place, other))
            ours, theirs = map(pa.array, _encode_pairs([(ours, groups[0]), (theirs, groups[1])]))
        elif mine is not None:
            _check_unique_across(name, ours, rows, table)
        elif other is not None:
            _check_unique_across(name, theirs, table, rows)
    return pc.index_in(ours, value_set=theirs).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _same_type(name: str, *sides: tuple[Place, np.ndarray]) -> list[Any]:
    return to_ids([(place, name, pa.chunked_array([pa.array(values)])) for place, values in sides])


def _check_unique_across(name: str, codes: Any, rows: Keyed, other: Keyed) -> None:
    duplicate = first_duplicate(encode([codes])[0][0])
    if duplicate is not None:
        raise InputError(
            f"the id {shown(rows.ids[duplicate[0]].item())} is in several {name}s of {rows.place.name}, and "
            f"{other.place.name} does not say which one is meant; add a column {name!r} to it"
        )
