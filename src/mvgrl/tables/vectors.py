"""Vectors, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mvgrl.errors import InputError

ENDINGS = (".parquet", ".csv", ".tsv", ".npy")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A vector (n×d, single or double precision) for each id.

    >>> embeddings = Embeddings(np.array(["ann", "bob"]), np.eye(2, dtype=np.float32))
    >>> embeddings.vectors[embeddings.ids == "bob"].tolist()
    [[0.0, 1.0]]
    """

    ids: np.ndarray  # integers or text, one a row
    vectors: np.ndarray
    graph_ids: np.ndarray | None = None  # one a row; only where nodes of several graphs are in one table

    def __post_init__(self) -> None:
        if not isinstance(self.vectors, np.ndarray) or self.vectors.dtype not in (np.float32, np.float64):
            raise InputError(f"vectors holds {_held(self.vectors)}; it must be a NumPy array of float32 or float64")
        if self.vectors.ndim != 2 or not self.vectors.size:
            raise InputError(f"vectors has shape {self.vectors.shape}; give one row an id, with at least one number")
        for name, values in (("ids", self.ids), ("graph_ids", self.graph_ids)):
            if values is None and name == "graph_ids":
                continue
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuU":
                raise InputError(f"{name} holds {_held(values)}; it must be a NumPy array of integers or of text")
            if values.shape != (len(self.vectors),):
                raise InputError(f"{name} has shape {values.shape}, but there are {len(self.vectors)} vectors; "
                                 "give one a row")  # fmt: skip


def ids_beside(path: Path) -> Path:
    """The table with the ids of a NumPy file, which has no room for them.

    >>> ids_beside(Path("cora.npy")).name
    'cora.ids.csv'
    """
    return path.with_suffix(".ids.csv")


def _held(values: object) -> object:
    return getattr(values, "dtype", type(values).__name__)
