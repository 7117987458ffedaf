"""Labels and splits of embeddings, read from tables and matched by id."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.errors import InputError, shown
from mvgrl.tables.columns import find_label, to_labels, to_text
from mvgrl.tables.embeddings import Embeddings
from mvgrl.tables.ids import Keyed, align, read_keyed
from mvgrl.tables.paths import TABLE_EXTENSIONS, check_input_file

PART_SPELLINGS = {"train": ("train",), "val": ("val", "valid", "validation"), "test": ("test",)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Labels(Keyed):
    """A label per id; an unknown label is NaN among numbers and empty among text."""

    labels: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Split(Keyed):
    """The part of each id: train, val or test, or empty for none."""

    parts: np.ndarray


def read_labels(
    path: str | os.PathLike[str], *, id_column: str | None = None, label_column: str | None = None
) -> Labels:
    """Read the labels of a table: the column given, else ``label``, else the only column besides the ids.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "kinds.csv").write_text("id,kind\\n7,cat\\n9,dog\\n")
    ...     read_labels(f"{folder}/kinds.csv").labels.tolist()
    ['cat', 'dog']
    """
    table, rows = _read(path, id_column, label_column)
    name = find_label(table.column_names, label_column, rows.place)
    name = name if name is not None else _only_column(table, rows, "label", "choose one with label_column")
    values = to_labels(rows.place, name, table[name])
    return Labels(rows.ids, rows.graph_ids, rows.place, sides=rows.sides, labels=values)


def read_split(path: str | os.PathLike[str], *, id_column: str | None = None) -> Split:
    """Read the split of a table: the column ``split``, else the only column besides the ids.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "split.csv").write_text("id,split\\n7,train\\n8,\\n9,validation\\n")
    ...     read_split(f"{folder}/split.csv").parts.tolist()
    ['train', '', 'val']
    """
    table, rows = _read(path, id_column)
    name = "split" if "split" in table.column_names else _only_column(table, rows, "split", "name one of them 'split'")
    return _split(table, rows, name)


def read_splits(path: str | os.PathLike[str], *, id_column: str | None = None) -> dict[str, Split]:
    """Read several splits of a table: every column besides the ids or, if there is one, only the column ``split``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "splits.csv").write_text("id,a,b\\n7,train,test\\n8,val,\\n9,test,train\\n")
    ...     {name: split.parts.tolist() for name, split in read_splits(f"{folder}/splits.csv").items()}
    {'a': ['train', 'val', 'test'], 'b': ['test', '', 'train']}
    """
    table, rows = _read(path, id_column)
    names = ["split"] if "split" in table.column_names else list(table.column_names)
    if not names:
        raise InputError(f"{rows.place.name} has only ids; add a column per split")
    return {name: _split(table, rows, name) for name in names}


def _split(table: Any, rows: Keyed, name: str) -> Split:
    values = to_text(rows.place, name, table[name], "give train, val or test")
    parts = np.full(len(values), "", dtype="<U5")
    for part, spellings in PART_SPELLINGS.items():
        parts[np.isin(values, spellings)] = part
    unknown = np.flatnonzero((parts == "") & (values != ""))
    if len(unknown):
        problem = f"{shown(name)} is {shown(str(values[unknown[0]]))}; give train, val or test, or leave it empty"
        raise rows.place.error(unknown[0], problem)
    return Split(rows.ids, rows.graph_ids, rows.place, sides=rows.sides, parts=parts)


def _read(path: str | os.PathLike[str], id_column: str | None, value: str | None = None) -> tuple[Any, Keyed]:
    check_input_file(Path(path), TABLE_EXTENSIONS)
    return read_keyed(Path(path), id_column, value=value)


def _only_column(table: Any, rows: Keyed, wanted: str, remedy: str) -> str:
    names = table.column_names
    if len(names) == 1:
        return str(names[0])
    if not names:
        raise InputError(f"{rows.place.name} has only ids; add a column {wanted!r}")
    listed = ", ".join(map(shown, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    raise InputError(f"{rows.place.name} has no column {wanted!r}; besides the ids it has {listed}: {remedy}")


def labels_for(embeddings: Embeddings, known: Labels) -> np.ndarray:
    """Look up the label of every embedding; an unknown label is NaN among numbers and empty among text.

    >>> embeddings = Embeddings(np.array([7, 8, 9]), np.ones((3, 2)))
    >>> labels_for(embeddings, Labels(ids=np.array([9, 7]), labels=np.array([1, 0]))).tolist()
    [0.0, nan, 1.0]
    """
    rows = align(embeddings.rows, known)
    missing = rows < 0
    if missing.all():
        raise InputError(
            f"{known.place.name} has none of the ids of the embeddings: it has {known.describe(0)}, they have "
            f"{embeddings.rows.describe(0)}; choose another file or another id column"
        )
    values = known.labels[rows]
    if not missing.any():
        return values
    if values.dtype.kind == "U":
        values[missing] = ""
        return values
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    values[missing] = np.nan
    return values


def splits_for(
    embeddings: Embeddings, split: Split, unknown: str = "has no embedding; drop the row or embed this id too"
) -> dict[str, np.ndarray]:
    """Look up the rows of the embeddings in each part: train, val (may be empty) and test; ids must be known.

    >>> embeddings = Embeddings(np.array([7, 8, 9]), np.ones((3, 2)))
    >>> split = Split(ids=np.array([9, 7]), parts=np.array(["train", "test"]))
    >>> {part: rows.tolist() for part, rows in splits_for(embeddings, split).items()}
    {'train': [2], 'val': [], 'test': [0]}
    """
    rows = align(embeddings.rows, split)
    unmatched = split.parts != ""
    unmatched[rows[rows >= 0]] = False
    if unmatched.any():
        row = int(np.argmax(unmatched))
        raise split.place.error(row, f"{split.describe(row)} {unknown}")
    parts = np.where(rows >= 0, split.parts[rows], "")
    found = {part: np.flatnonzero(parts == part) for part in PART_SPELLINGS}
    for part in ("train", "test"):
        if not len(found[part]):
            raise InputError(f"{split.place.name} has no {part} rows; a split needs train and test")
    return found
