"""What an explorer shows: points with ids and columns, one or two maps of them, edges, small graphs, and a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import mvgrl
from mvgrl.explorer.columns import Column
from mvgrl.explorer.packing import Packer
from mvgrl.neighbors import Neighbors
from mvgrl.reports.colours import FEW, MANY, OTHER, UNLABELLED

_PRECISE_UP_TO = 50_000  # points whose coordinates are floats; those of more points are rounded to 16 bits
_ON_HOVER = 4  # columns shown at first
MOST_DRAWN = 250  # nodes of a graph that is drawn small
# Black cannot be seen on a dark page, nor can light grey be told from the classes there.
_DARK = {
    "few": ["#DDE3EA" if colour == "#000000" else colour for colour in FEW],
    "many": ["#8C90D8" if colour == "#393b79" else "#b5786a" if colour == "#8c564b" else colour for colour in MANY],
    "other": "#7d858e",
    "missing": "#4a525b",
}
PALETTE = {"light": {"few": list(FEW), "many": list(MANY), "other": OTHER, "missing": UNLABELLED}, "dark": _DARK}


@dataclass(frozen=True, eq=False)
class Map:
    """A map of the points: n×2 coordinates, and the nearest vectors of each point."""

    name: str
    points: np.ndarray
    neighbors: Neighbors | None = None


@dataclass(frozen=True, eq=False)
class SmallGraphs:
    """The graphs that points stand for, with nodes numbered from 0 in each."""

    sizes: np.ndarray  # nodes per graph
    edges: np.ndarray  # edges per graph
    pairs: np.ndarray  # m×2, all edges of the first graph, then of the second
    labels: np.ndarray | None = None  # a class number per node

    @classmethod
    def of(cls, graph: Any) -> SmallGraphs:
        """Take many graphs apart."""
        upper = sp.triu(graph.adjacency, 1).tocsr()
        starts = np.repeat(np.arange(graph.nodes), np.diff(upper.indptr))
        owner = np.repeat(np.arange(graph.count), graph.sizes)
        pairs = np.stack([starts, upper.indices], axis=1) - graph.offsets[owner[starts]][:, None]
        labels = None if graph.node_labels is None else np.unique(graph.node_labels, return_inverse=True)[1].ravel()
        return cls(graph.sizes, np.bincount(owner[starts], minlength=graph.count), pairs, labels)


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything that is shown."""

    title: str
    ids: np.ndarray
    maps: tuple[Map, ...]
    columns: tuple[Column, ...] = ()
    colour: str | None = None  # the column that points are coloured by at first
    edges: sp.csr_array | None = None
    graphs: SmallGraphs | None = None
    model: dict[str, Any] | None = None
    about: str = ""
    unit: str = "node"

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def numbered(self) -> bool:
        """Whether the ids are 0, 1, 2, …, so that they need no room."""
        return self.ids.dtype.kind in "iu" and bool((self.ids == np.arange(len(self.ids))).all())

    @property
    def header(self) -> dict[str, Any]:
        """What the page needs to know before it has any points."""
        chosen = [] if self.colour is None else [self.colour]
        hover = list(dict.fromkeys([*chosen, *(column.name for column in self.columns)]))[:_ON_HOVER]
        made = f"{self.about}, " if self.about else ""
        return {
            "title": self.title,
            "count": len(self),
            "unit": self.unit,
            "about": f"{made}mvgrl {mvgrl.__version__}",
            "colour": self.colour,
            "hover": hover,
            "palette": PALETTE,
            "model": self.model,
        }


def pack(contents: Contents) -> bytes:
    """Return the data of a page that holds all of it."""
    packer = Packer()
    header = contents.header | {
        "maps": [_pack_map(packer, one, len(contents)) for one in contents.maps],
        "columns": [pack_column(packer, column) for column in contents.columns],
        "ids": None if contents.numbered else packer.text(contents.ids.tolist()),
        "edges": None if contents.edges is None else _pack_edges(packer, contents.edges),
        "graphs": None if contents.graphs is None else _pack_graphs(packer, contents.graphs),
    }
    return packer.packed(header)


def pack_column(packer: Packer, column: Column, rows: Any = slice(None)) -> dict[str, Any]:
    """Add the values of a column for some rows; return its description."""
    about: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.codes is not None:
        return about | {
            "levels": list(column.levels),
            "codes": packer.codes(column.codes[rows], len(column.levels)),
        }
    if column.values is not None:
        return about | {"date": column.date, "values": packer.add(column.values[rows].astype(np.float32))}
    return about | {"text": packer.text(column.texts or ())}


def _pack_map(packer: Packer, one: Map, count: int) -> dict[str, Any]:
    points = one.points.astype(np.float32)
    about: dict[str, Any] = {"name": one.name, "range": [-1, 1], "neighbors": None}
    if count > _PRECISE_UP_TO:
        points = np.clip((one.points + 1) * 32767.5, 0, 65535).round().astype(np.uint16)
    about |= {"x": packer.add(points[:, 0]), "y": packer.add(points[:, 1])}
    if one.neighbors is not None and one.neighbors.rows.shape[1]:
        cosines = ((one.neighbors.cosines.astype(np.float64) + 1) * 32767.5).round().astype(np.uint16)
        about["neighbors"] = {
            "k": one.neighbors.rows.shape[1],
            "exact": one.neighbors.exact,
            "rows": packer.codes(one.neighbors.rows.ravel(), count),
            "cosines": packer.add(cosines.ravel()),
        }
    return about


def _pack_edges(packer: Packer, edges: sp.csr_array) -> list[int]:
    upper = sp.triu(edges, 1).tocsr()
    upper.sort_indices()
    return [packer.add(upper.indptr.astype(np.uint32)), packer.add(upper.indices.astype(np.uint32))]


def _pack_graphs(packer: Packer, graphs: SmallGraphs) -> dict[str, Any]:
    def ends(counts: np.ndarray) -> int:
        return packer.add(np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32))

    return {
        "most": MOST_DRAWN,
        "nodes": ends(graphs.sizes),
        "offsets": ends(graphs.edges),
        "pairs": packer.codes(graphs.pairs.ravel(), int(graphs.sizes.max())),
        "labels": None if graphs.labels is None else packer.codes(graphs.labels, int(graphs.labels.max())),
    }
