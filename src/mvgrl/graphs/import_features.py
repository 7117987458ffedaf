"""From the columns of a node table larger than memory to the features and classes of a stored graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from mvgrl.errors import SettingsError
from mvgrl.graphs.import_ids import Report, batches_of
from mvgrl.graphs.node_columns import NodeColumns, parse_features
from mvgrl.graphs.stored import PART
from mvgrl.graphs.stored_files import ArrayWriter
from mvgrl.tables.batch_encoders import BYTES_PER_ROW, fit_batches
from mvgrl.tables.budget import as_size
from mvgrl.tables.columns import check_not_unnamed, to_labels, to_text
from mvgrl.tables.encoders import TableEncoder, Tally
from mvgrl.tables.streams import TableStream


@dataclass
class NodeTable:
    """A table of nodes: its stream, and which of its columns are what."""

    stream: TableStream
    id_name: str
    label: str | None
    columns: NodeColumns

    def feature_columns(self) -> list[str]:
        """Return the columns that become features."""
        taken = {self.id_name, "graph", *(() if self.label is None else (self.label,))}
        names, place = self.stream.names, self.stream.place
        if self.columns.encoder is not None:
            self.columns.encoder.check_columns(names, place, taken)
            return list(self.columns.encoder.columns)
        found = self.columns.feature_columns(names, place, taken, self.label) or []
        check_not_unnamed(found, place)
        return found


class FeatureWriter:
    """Writes features, batch by batch: dense or, from the first batch on, sparse."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kind, self.width = folder, "none", 0
        self._files: list[ArrayWriter] = []
        self._entries = 0

    def append(self, block: Any) -> None:
        """Add the features of more nodes, an array or a CSR array."""
        sparse = sp.issparse(block)
        if self.kind == "none":
            self.kind, self.width = "sparse" if sparse else "dense", int(block.shape[1])
            names = ("features-indptr", "features-indices", "features-values") if sparse else ("features",)
            types = (np.int64, np.int32, np.float32) if sparse else (np.float32,)
            width = None if sparse else self.width
            self._files = [
                ArrayWriter(self.folder / f"{name}.npy", dtype, width) for name, dtype in zip(names, types, strict=True)
            ]
            if sparse:
                self._files[0].append(np.zeros(1, np.int64))
        if not sparse:
            self._files[0].append(np.asarray(block))
            return
        self._files[0].append(block.indptr[1:].astype(np.int64) + self._entries)
        self._files[1].append(block.indices)
        self._files[2].append(block.data)
        self._entries += block.nnz

    def __enter__(self) -> FeatureWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            file.__exit__(kind, error, trace)


class LabelWriter:
    """Writes the classes of the nodes; numbers stay numbers, and everything else becomes text."""

    def __init__(self, path: Path, name: str, missing: bool) -> None:
        self.path, self.name, self.missing = path, name, missing
        self._writer: Any = None

    def append(self, place: Any, column: Any) -> None:
        """Add the classes of more nodes; a type that has no missing values is the same in every batch."""
        dtype = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if self.missing and pa.types.is_boolean(dtype):
            labels = to_text(place, self.name, column, "labels are numbers or text")
        else:
            labels = to_labels(place, self.name, column)
        if self.missing and pa.types.is_integer(dtype):
            labels = labels.astype(np.float64)
        is_text = labels.dtype.kind == "U"
        table = pa.table({"label": pa.array(labels.tolist(), pa.large_string()) if is_text else pa.array(labels)})
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.path, table.schema, compression="zstd")
        self._writer.write_table(table, row_group_size=PART)

    def __enter__(self) -> LabelWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()


def write_features(
    nodes: NodeTable, names: Sequence[str], folder: Path, scratch: Path, limit: int, report: Report
) -> tuple[TableEncoder | None, FeatureWriter, tuple[str, ...]]:
    """Encode the columns of a node table and write them with the classes; return the encoder, the file, and notes."""
    stream, tally, missing = nodes.stream, Tally(), False
    encoder, notes = nodes.columns.encoder, tuple[str, ...]()
    if encoder is None and names:
        if BYTES_PER_ROW * stream.rows > limit:
            needed = as_size(BYTES_PER_ROW * stream.rows)
            raise SettingsError(f"a column of {stream.rows:,} numbers needs {needed} to be encoded; use --memory with "
                                f"{needed} more, or --features degree")  # fmt: skip
        encoder, notes = fit_batches(
            lambda: batches_of(stream, names, "looking at columns", report), names, stream.place, scratch, limit,
            text=nodes.columns.text, chosen=parse_features(nodes.columns.features)[1] is not None
        )  # fmt: skip
    elif encoder is not None:
        others = {nodes.id_name, "graph", *(() if nodes.label is None else (nodes.label,))}
        notes = encoder.notes_on_columns(stream.names, others)
    if nodes.label is not None:
        missing = any(batch[0].null_count for _, batch in batches_of(stream, [nodes.label], "reading labels", report))
    with ExitStack() as stack:
        writer = stack.enter_context(FeatureWriter(folder))
        labels = None
        if nodes.label is not None:
            labels = stack.enter_context(LabelWriter(folder / "columns.parquet", nodes.label, missing))
        used = [*(() if encoder is None else encoder.columns), *(() if nodes.label is None else (nodes.label,))]
        for start, batch in batches_of(stream, used, "writing features", report) if used else ():
            place = stream.place.after(start)
            if encoder is not None:
                writer.append(encoder.encode(batch, place, tally, mostly=False))
            if labels is not None and nodes.label is not None:
                labels.append(place, batch[nodes.label])
    if nodes.columns.encoder is not None and encoder is not None:
        notes = (*notes, *tally.notes(encoder))
    return encoder, writer, notes
