"""Vectors in shards as one Parquet file with the ids, as :mod:`mvgrl.tables.embeddings` writes those in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mvgrl.errors import InputError
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.shards import Shards
from mvgrl.tables.atomic import atomic_write

_NUMBERS = 2**22  # per row group


def check_streamable(path: Path) -> None:
    """Reject files that are not written row by row."""
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path}: vectors that do not fit into memory are written as .parquet; choose such a name")


def write_parquet(path: Path, graph: StoredGraph, vectors: Shards, columns: Sequence[str] = ()) -> None:
    """Write ids and vectors, a few rows at a time; the file appears under its name when it is complete."""
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq

    from mvgrl.tables.vector_columns import COLUMNS_KEY

    width = vectors.read(0).shape[1]
    text = graph.ids(0, 1).dtype.kind == "U"
    sides = {"side": pa.string()} if graph.sides(0, 1) is not None else {}
    kinds = {**sides, "id": pa.string() if text else pa.int64(), "embedding": pa.list_(pa.float32(), width)}
    schema = pa.schema(kinds, metadata={COLUMNS_KEY: json.dumps(list(columns))} if columns else None)
    rows = max(1, _NUMBERS // width)
    with (
        atomic_write(path) as temporary,
        temporary.open("wb") as file,
        pq.ParquetWriter(file, schema, use_dictionary=[*sides] or False) as writer,
    ):
        for shard, (start, stop) in enumerate(vectors.ranges):
            part, ids, side = vectors.read(shard), graph.ids(start, stop), graph.sides(start, stop)
            for first in range(start, stop, rows):
                here = slice(first - start, min(first + rows, stop) - start)
                values = pa.array(np.ascontiguousarray(part[here]).reshape(-1))
                found = [] if side is None else [pa.array(side[here])]
                found += [pa.array(ids[here], kinds["id"])]
                found += [pa.FixedSizeListArray.from_arrays(values, width)]
                writer.write_batch(pa.record_batch(found, schema=schema))
