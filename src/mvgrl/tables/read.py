"""Embeddings from a file: our own, or any table of numbers with an id a row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mvgrl.errors import InputError
from mvgrl.tables.columns import Place, has_lists, numbers
from mvgrl.tables.inputs import checked_file
from mvgrl.tables.keyed import Keyed, read_keyed
from mvgrl.tables.vectors import ENDINGS, Embeddings, ids_beside

ASIDE = ("label", "class", "split")  # what is known of a row besides its vector


def read_embeddings(path: str | os.PathLike[str], *, id_column: str | None = None) -> Embeddings:
    """The embeddings of a table, or of a NumPy file with its ids beside it.

    A table has an id (``id``, ``node``, ``node_id`` or the column given), and a list of numbers (``embedding``, or the
    only list) or a column a number. Rows without ids are numbered from 0.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "z.csv").write_text("node,x,y,label\\nann,1,2,good\\nbob,0.5,3,bad\\n")
    ...     embeddings = read_embeddings(f"{folder}/z.csv")
    >>> embeddings.ids.tolist(), embeddings.vectors.tolist()
    (['ann', 'bob'], [[1.0, 2.0], [0.5, 3.0]])
    """
    path = Path(path)
    if checked_file(path, ENDINGS) == ".npy":
        vectors = _read_numpy(path)
        rows = _read_ids(path, len(vectors), id_column)
    else:
        table, rows = read_keyed(path, id_column, numbered=True)
        vectors = _vectors(table, rows.place)
    return Embeddings(rows.ids, vectors, rows.graph_ids)


def _vectors(table: Any, place: Place) -> np.ndarray:
    lists = [name for name in table.column_names if has_lists(table[name])]
    if lists:
        if len(lists) > 1 and "embedding" not in lists:
            named = ", ".join(map(repr, lists))
            raise InputError(f"{place.name} has several columns of lists, {named}; name the one to use 'embedding'")
        name = "embedding" if "embedding" in lists else lists[0]
        return numbers(place, name, table[name]).reshape(table.num_rows, -1)
    names = [name for name in table.column_names if name not in ASIDE]
    if "" in names:
        raise InputError(f"{place.name} has a column without a name; name or drop it (pandas: to_csv(index=False))")
    if not names:
        raise InputError(f"{place.name} has no columns of numbers besides the ids; add the embeddings")
    single = all(table.schema.field(name).type == pa.float32() for name in names)
    vectors = np.empty((table.num_rows, len(names)), np.float32 if single else np.float64)
    for i, name in enumerate(names):
        vectors[:, i] = numbers(place, name, table[name], "give each number a column of its own")
    return vectors


def _read_numpy(path: Path) -> np.ndarray:
    try:
        loaded = np.load(path, allow_pickle=False)
    except Exception:  # a damaged file may raise anything; NumPy's advice on pickles would be unsafe to pass on
        loaded = None
    if not isinstance(loaded, np.ndarray) or loaded.dtype.kind not in "fiub":
        if loaded is not None and not isinstance(loaded, np.ndarray):
            loaded.close()
        raise InputError(f"{path} is damaged or holds no array of numbers; write it again with numpy.save")
    if loaded.ndim != 2 or not loaded.size:
        raise InputError(f"{path} holds an array of shape {loaded.shape}; give one row an id, and a column a number")
    single = loaded.dtype.kind == "f" and loaded.dtype.itemsize <= 4
    vectors = np.ascontiguousarray(loaded, dtype=np.float32 if single else np.float64)
    finite = np.isfinite(vectors)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise Place(str(path)).error(
            row, f"column {column} is {vectors[row, column]}; give a finite number or drop the row"
        )
    return vectors


def _read_ids(path: Path, count: int, id_column: str | None) -> Keyed:
    """The ids of a NumPy file's rows: from the table beside it where there is one."""
    beside = ids_beside(path)
    if not beside.exists():
        if id_column is not None:
            raise InputError(f"there is no {beside} to find the column {id_column!r} in; write it, or leave that out")
        return Keyed(np.arange(count))
    checked_file(beside, (".csv",))
    _, rows = read_keyed(beside, id_column)
    if len(rows.ids) != count:
        raise InputError(f"{beside} has {len(rows.ids)} ids, but {path} has {count} rows; write both again")
    return rows
