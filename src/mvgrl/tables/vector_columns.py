"""Which columns of a table are vectors, and what they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from mvgrl.errors import InputError, shown
from mvgrl.parsing import parse_json
from mvgrl.tables.columns import Place, check_not_unnamed, has_lists, to_numbers

COLUMNS_KEY = b"mvgrl.columns"  # in the metadata of a Parquet file
_NOT_FEATURES = ("label", "class", "split")  # columns of a table that are not part of the vectors


def columns_used(schema: Any) -> tuple[str, ...]:
    """Return the columns of a node table that the vectors of a Parquet file were made from; none if unknown."""
    try:
        names = parse_json((schema.metadata or {}).get(COLUMNS_KEY, b"[]").decode())
    except ValueError:  # metadata of something else
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def vector_columns(schema: Any, place: Place) -> tuple[list[str], bool]:
    """Return the columns with the vectors among those that are not ids, and whether it is one column of lists."""
    lists = [one.name for one in schema if has_lists(one)]
    if lists:
        if len(lists) > 1 and "embedding" not in lists:
            listed = ", ".join(map(shown, lists[:10]))
            raise InputError(f"{place.name} has several columns of lists, {listed}; name the one to use 'embedding'")
        return ["embedding" if "embedding" in lists else lists[0]], True
    names = [name for name in schema.names if name not in _NOT_FEATURES]
    check_not_unnamed(names, place)
    if not names:
        raise InputError(f"{place.name} has no numeric columns besides the ids; add the embeddings")
    return names, False


def table_vectors(table: Any, place: Place) -> np.ndarray:
    """Return the vectors of a table, rows × dimensions."""
    names, is_list = vector_columns(table.schema, place)
    if is_list:
        return to_numbers(place, names[0], table[names[0]]).reshape(table.num_rows, -1)
    single = all(table.schema.field(name).type == pa.float32() for name in names)
    vectors = np.empty((table.num_rows, len(names)), np.float32 if single else np.float64)
    for i, name in enumerate(names):
        vectors[:, i] = to_numbers(place, name, table[name], "use one column per number")
    return vectors
