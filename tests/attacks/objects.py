"""Odd objects in memory: sparse matrices that contradict themselves, and tables and graphs of unusual values."""

from __future__ import annotations

import datetime
import random
import warnings
from contextlib import suppress
from decimal import Decimal
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
import torch
from tests.attacks.arrays import odd_array
from tests.attacks.bytes_and_text import NUMBERS, WORDS
from tests.attacks.seeds import adjacency
from torch_geometric.data import Data

VALUES: tuple[Any, ...] = (
    *(None, float("nan"), float("inf"), pd.NA, pd.NaT, True, False, 1.5, -0.0, 1e308, Decimal("1.5"), 1 + 2j),
    *(b"x", b"\xff", (1, 2), [1], {"a": 1}, frozenset({1}), datetime.date(2020, 1, 1), np.float32(2), np.int8(-1)),
    *("1", 1, "a", "a\0", "\ud800", 10**30, -(10**30), np.datetime64("NaT"), object, len, np.ones(2), range(3)),
)
PARTS = ("data", "indices", "indptr", "row", "col", "offsets", "coords")


def odd_value(rng: random.Random) -> Any:
    return rng.choice(rng.choice((VALUES, NUMBERS, WORDS)))


def odd_matrix(rng: random.Random) -> Any:
    """A sparse matrix of any format with one or two of its arrays changed behind its back."""
    make = rng.choice(
        (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.bsr_array, sp.dia_array, sp.lil_array)
    )
    matrix = make(adjacency())
    for _ in range(rng.choice((1, 1, 2))):
        part = rng.choice([name for name in PARTS if isinstance(getattr(matrix, name, None), np.ndarray)] or ["data"])
        with suppress(AttributeError, TypeError, ValueError), warnings.catch_warnings(action="ignore"):
            setattr(matrix, part, odd_array(rng, getattr(matrix, part)))
    if rng.random() < 0.1:
        matrix._shape = rng.choice(((8, 9), (4, 4), (0, 0), (10**6, 10**6), (-1, -1)))
    return matrix


def _table(rng: random.Random) -> pd.DataFrame:
    rows = rng.choice((0, 1, 3, 5))
    names = rng.choice((["source", "target"], ["u", "v", "weight"], ["source", "target", "graph"], [0, 1], ["source"]))
    plain = [f"n{i}" for i in range(rows)] if rng.random() < 0.5 else list(range(rows))
    columns = {name: pd.Series(plain[::-1] if i else plain, dtype=object) for i, name in enumerate(names)}
    if "weight" in columns:
        columns["weight"] = pd.Series([1.0] * rows, dtype=object)
    for _ in range(rng.choice((1, 2)) if rows else 0):
        column = columns[rng.choice(names)]
        column[rng.randrange(rows)] = odd_value(rng)
    table = pd.DataFrame(columns)
    kinds = ("object", "string", "category", "Int64", "float32", "bool", "datetime64[ns]", "complex128", "Sparse[int]")
    if rng.random() < 0.3:
        try:
            name = rng.choice(names)
            table[name] = table[name].astype(rng.choice(kinds))
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            pass
    if rng.random() < 0.1:
        table.index.name = rng.choice(("id", "source", odd_value(rng)))
    if rng.random() < 0.1:
        table.columns = [odd_value(rng) for _ in table.columns]
    return table


def _nodes(rng: random.Random) -> pd.DataFrame:
    table = pd.DataFrame({"id": pd.Series([0, 1, 2], dtype=object), "x": pd.Series([1.0, 2.0, 3.0], dtype=object)})
    table.iloc[rng.randrange(3), rng.randrange(2)] = rng.choice(("n1", 1, 1.5, odd_value(rng)))
    return table


def _networkx(rng: random.Random) -> Any:
    made = rng.choice((nx.Graph, nx.DiGraph, nx.MultiGraph))([(0, 1), (1, 2), (2, 3)])
    for _ in range(rng.choice((1, 2))):
        change = rng.choice(("node", "weight", "attribute", "name"))
        value = odd_value(rng)
        if change == "node":
            try:
                made.add_edge(value, rng.choice((0, value, "0")))
            except (TypeError, ValueError):
                continue
        elif change == "weight":
            made.add_edge(0, 1, weight=value)
        elif change == "attribute":
            nx.set_node_attributes(
                made, {node: value for node in made if rng.random() < 0.9}, rng.choice(("x", "label"))
            )
        else:
            made.graph["name"] = value
    return made


def _pyg(rng: random.Random) -> Any:
    ends = torch.tensor([[0, 1, 2], [1, 2, 0]])
    odd = (ends, ends.float(), ends - 1, ends[:1], ends.T, ends + 2**40, None, [[0], [1]], torch.empty(2, 0).long())
    x = (
        None,
        torch.ones(3, 2),
        torch.full((3, 2), float("nan")),
        torch.ones(2, 2),
        torch.ones(3),
        "x",
        torch.ones(3, 0),
    )
    return Data(x=rng.choice(x), edge_index=rng.choice(odd), num_nodes=rng.choice((None, 3, 0, -1, 2, 10**6)))


def odd_object(rng: random.Random) -> Any:
    """An object that a user may give as a graph, with something wrong in it."""
    kind = rng.choice(("pandas", "pandas", "pair", "networkx", "networkx", "list", "pyg", "arrow", "numpy", "other"))
    if kind == "pandas":
        return _table(rng)
    if kind == "pair":
        return _table(rng), rng.choice((_nodes(rng), None, odd_value(rng)))
    if kind == "networkx":
        return _networkx(rng)
    if kind == "list":
        return [rng.choice((_networkx, _pyg, odd_value))(rng) for _ in range(rng.choice((0, 1, 2)))]
    if kind == "pyg":
        return _pyg(rng)
    if kind == "arrow":
        from tests.attacks.tensors_and_tables import odd_column

        return pa.table({"source": odd_column(rng, 3), "target": rng.choice((odd_column(rng, 3), pa.array([0, 1, 2])))})
    if kind == "numpy":
        return odd_array(rng, adjacency().toarray())
    return odd_value(rng)
