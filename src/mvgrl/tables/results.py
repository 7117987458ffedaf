"""Write the results of a verb, columns of equal length, as CSV, TSV or Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.paths import SEPARATORS, check_not_input, check_output_file

_EXTENSIONS = (*SEPARATORS, ".parquet")


def check_table_output(
    path: str | os.PathLike[str], example: str, inputs: Iterable[str | os.PathLike[str] | None] = ()
) -> Path:
    """Check that a table can be written to a file that is none of the inputs, before spending time on its content.

    >>> check_table_output("clusters.xlsx", "clusters.csv")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: clusters.xlsx: unsupported file type; use one of .csv, .tsv, .parquet
    """
    path = check_output_file(path, _EXTENSIONS, example)
    check_not_input(path, inputs)
    return path


def write_table(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns to a .csv, .tsv or .parquet file; the write is atomic.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_table(f"{folder}/clusters.csv", {"id": np.array(["ann", "bob"]), "cluster": np.array([1, 0])})
    ...     print(Path(folder, "clusters.csv").read_text())
    id,cluster
    "ann",1
    "bob",0
    """
    path = Path(path)
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        if path.suffix.lower() == ".parquet":
            pq.write_table(table, file)
            return
        separator = SEPARATORS[path.suffix.lower()]
        file.write(f"{separator.join(table.column_names)}\n".encode())  # Arrow would quote the names
        options = csv.WriteOptions(include_header=False, delimiter=separator)
        csv.write_csv(table, file, write_options=options)
