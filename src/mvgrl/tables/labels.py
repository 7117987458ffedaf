"""What is known of those who have an embedding: their labels, and who is to learn from and who to be tested on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mvgrl.errors import InputError
from mvgrl.tables.columns import find_label, labels, to_numpy, whole
from mvgrl.tables.inputs import TABLES, checked_file
from mvgrl.tables.keyed import Keyed, align, read_keyed
from mvgrl.tables.vectors import Embeddings

PARTS = ("train", "val", "test")
SAME = {"valid": "val", "validation": "val"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Labels(Keyed):
    """A label for each id: NaN among numbers and empty among texts where it is not known."""

    labels: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Split(Keyed):
    """The part each id is in: train, val or test, or empty for none."""

    parts: np.ndarray


def read_labels(
    path: str | os.PathLike[str], *, id_column: str | None = None, label_column: str | None = None
) -> Labels:
    """The labels of a table: the column given, else ``label``, else the only one besides the ids.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "kinds.csv").write_text("id,kind\\n7,cat\\n9,dog\\n")
    ...     read_labels(f"{folder}/kinds.csv").labels.tolist()
    ['cat', 'dog']
    """
    path = Path(path)
    checked_file(path, TABLES)
    table, rows = read_keyed(path, id_column)
    name = find_label(table.column_names, label_column, rows.place)
    name = name if name is not None else _only_column(table, rows, "label", "name it as label_column")
    try:
        values = labels(table[name])
    except pa.ArrowException:
        raise InputError(f"{path}: column {name!r} holds {table[name].type}; labels are numbers or text") from None
    return Labels(ids=rows.ids, graph_ids=rows.graph_ids, place=rows.place, labels=values)


def read_split(path: str | os.PathLike[str], *, id_column: str | None = None) -> Split:
    """The split of a table: the column ``split``, else the only one besides the ids.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "split.csv").write_text("id,split\\n7,train\\n8,\\n9,validation\\n")
    ...     read_split(f"{folder}/split.csv").parts.tolist()
    ['train', '', 'val']
    """
    path = Path(path)
    checked_file(path, TABLES)
    table, rows = read_keyed(path, id_column)
    name = "split" if "split" in table.column_names else _only_column(table, rows, "split", "name it 'split'")
    try:
        parts = to_numpy(whole(table[name]).cast(pa.large_string()).fill_null(""))
    except pa.ArrowException:
        raise InputError(f"{path}: column {name!r} holds {table[name].type}; give train, val or test") from None
    for other, part in SAME.items():
        parts[parts == other] = part
    odd = np.flatnonzero(~np.isin(parts, (*PARTS, "")))
    if len(odd):
        problem = f"{name!r} is {str(parts[odd[0]])!r}; give train, val or test, or leave it empty"
        raise rows.place.error(odd[0], problem)
    return Split(ids=rows.ids, graph_ids=rows.graph_ids, place=rows.place, parts=parts)


def _only_column(table: Any, rows: Keyed, wanted: str, way_out: str) -> str:
    names = table.column_names
    if len(names) != 1:
        has = (
            f"; it has {', '.join(map(repr, names))} besides the ids: {way_out}" if names else " or any besides the ids"
        )
        raise InputError(f"{rows.place.name} has no column {wanted!r}{has}")
    return str(names[0])


def labels_for(embeddings: Embeddings, known: Labels) -> np.ndarray:
    """The label of every embedding: NaN among numbers and empty among texts where there is none.

    >>> embeddings = Embeddings(np.array([7, 8, 9]), np.ones((3, 2)))
    >>> labels_for(embeddings, Labels(ids=np.array([9, 7]), labels=np.array([1, 0]))).tolist()
    [0.0, nan, 1.0]
    """
    rows = align(embeddings, known)
    missing = rows < 0
    if missing.all():
        ours, theirs = _shown(embeddings, 0), _shown(known, 0)
        raise InputError(f"{known.place.name} has no id of the embeddings; it has {theirs}, they have {ours}: "
                         "choose another file, or another id column")  # fmt: skip
    values = known.labels[rows]
    if not missing.any():
        return values
    if values.dtype.kind == "U":
        values[missing] = ""
        return values
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    values[missing] = np.nan
    return values


def splits_for(embeddings: Embeddings, split: Split) -> dict[str, np.ndarray]:
    """The rows of the embeddings that are in each part: train, val (it may be empty) and test.

    >>> embeddings = Embeddings(np.array([7, 8, 9]), np.ones((3, 2)))
    >>> split = Split(ids=np.array([9, 7]), parts=np.array(["train", "test"]))
    >>> {part: rows.tolist() for part, rows in splits_for(embeddings, split).items()}
    {'train': [2], 'val': [], 'test': [0]}
    """
    rows = align(embeddings, split)
    unmet = split.parts != ""
    unmet[rows[rows >= 0]] = False
    if unmet.any():
        row = int(np.argmax(unmet))
        raise split.place.error(row, f"{_shown(split, row)} has no embedding; drop the row, or embed it too")
    parts = np.where(rows >= 0, split.parts[rows], "")
    found = {part: np.flatnonzero(parts == part) for part in PARTS}
    for part in ("train", "test"):
        if not len(found[part]):
            raise InputError(f"{split.place.name} puts nobody in {part}; a split needs train and test")
    return found


def _shown(rows: Embeddings | Keyed, row: int) -> str:
    graph = "" if rows.graph_ids is None else f" of graph {rows.graph_ids[row].item()!r}"
    return f"the id {rows.ids[row].item()!r}{graph}"
