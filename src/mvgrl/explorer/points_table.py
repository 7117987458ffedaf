"""The points as a Parquet file for other viewers: coordinates, columns and neighbours."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from mvgrl.explorer.columns import Column
from mvgrl.explorer.contents import Contents
from mvgrl.neighbors import Neighbors
from mvgrl.tables.atomic import atomic_write


def write_points(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write a row per point: ``id``, ``x``, ``y``, its columns, and ``neighbors``, a list of ids with similarities.

    A second map has the columns ``x_2``, ``y_2`` and ``neighbors_2``. The write is atomic.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays: dict[str, Any] = {"id": pa.array(contents.ids)}
    for number, one in enumerate(contents.maps):
        end = "" if number == 0 else f"_{number + 1}"
        arrays |= {f"x{end}": pa.array(one.points[:, 0], pa.float32())}
        arrays |= {f"y{end}": pa.array(one.points[:, 1], pa.float32())}
        if one.neighbors is not None:
            names, cosines = _lists(contents.ids, one.neighbors)
            arrays |= {f"neighbors{end}": names, f"similarities{end}": cosines}
    for column in contents.columns:
        arrays[column.name if column.name not in arrays else f"{column.name}_column"] = _array(column)
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        pq.write_table(pa.table(arrays), file)


def _lists(ids: np.ndarray, neighbors: Neighbors) -> tuple[Any, Any]:
    import pyarrow as pa

    there = neighbors.rows < len(ids)
    ends = pa.array(np.concatenate([[0], np.cumsum(there.sum(axis=1))]), pa.int32())
    names = pa.ListArray.from_arrays(ends, pa.array(ids[neighbors.rows[there]]))
    return names, pa.ListArray.from_arrays(ends, pa.array(neighbors.cosines[there], pa.float32()))


def _array(column: Column) -> Any:
    import pyarrow as pa

    if column.codes is not None:
        codes = pa.array(np.maximum(column.codes - 1, 0), pa.int32(), mask=column.codes == 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.levels, pa.string()))
    if column.values is not None:
        numbers = pa.array(column.values, from_pandas=True)
        return numbers if not column.date else pa.array(column.values.astype("datetime64[D]"), from_pandas=True)
    return pa.array(column.texts)
