"""Collect what is shown from vectors, a table of nodes, a graph, other vectors and a model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mvgrl.errors import InputError
from mvgrl.explorer.columns import Column, category, column_of, columns_of
from mvgrl.explorer.contents import Contents, Map, SmallGraphs
from mvgrl.explorer.layout import Progress, in_square, layout, no_progress
from mvgrl.explorer.similar import all_nearest, common_share
from mvgrl.neighbors import Neighbors

if TYPE_CHECKING:
    from mvgrl.graphs.named import NamedGraph
    from mvgrl.tables.embeddings import Embeddings

COMMON = "common neighbours"  # the column of a comparison
_MANY = 100_000  # points with half as many neighbours in the page
NEIGHBORS = 10


@dataclass
class Gathered:
    """What is known about points before they have places on a map."""

    embeddings: Embeddings
    columns: list[Column] = field(default_factory=list)
    places: np.ndarray | None = None  # n×2, if they were brought along
    edges: Any = None
    graphs: SmallGraphs | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, values in self.embeddings.rows.groups.items():
            self.columns.append(category(name, values))

    def add(self, column: Column) -> None:
        """Add a column; one of the same name is replaced."""
        self.columns = [one for one in self.columns if one.name != column.name] + [column]

    def add_table(self, table: Any, known: Any) -> np.ndarray:
        """Add the columns of a table; return its row of every point, −1 where there is none."""
        rows = matched(self.embeddings, known)
        found, left = columns_of(table, known.place, rows)
        for column in found:
            self.add(column)
        if left:
            self.notes.append(f"not shown, as they hold lists or nothing: {', '.join(left[:5])}")
        return rows

    def add_graph(self, named: NamedGraph) -> None:
        """Add the edges and degrees of nodes or, if the points are graphs, the graphs themselves."""
        from mvgrl.tables.columns import Place
        from mvgrl.tables.ids import Keyed, align

        graph, place = named.graph, Place("the graph")
        if named.graph_ids is not None and self.embeddings.graph_ids is None:
            rows = align(self.embeddings.rows, Keyed(named.graph_ids, place=place))
            if (rows >= 0).all():
                small = SmallGraphs.of(graph)
                self.graphs = _reordered(small, rows)
                self.add(column_of("nodes", small.sizes[rows]))
                self.add(column_of("edges", small.edges[rows]))
                if named.labels_of == "graphs":
                    self._add_labels(named.labels, rows)
                return
        groups = None
        if named.graph_ids is not None and graph.count > 1:
            groups = np.repeat(named.graph_ids, graph.sizes)
        rows = matched(self.embeddings, Keyed(named.node_ids, groups, place, sides=named.sides))
        there = np.flatnonzero(rows >= 0)
        small = graph.adjacency[rows[there]][:, rows[there]].tocoo()
        from scipy.sparse import csr_array

        shape = (len(rows), len(rows))
        self.edges = csr_array((small.data, (there[small.row], there[small.col])), shape=shape)
        degrees = np.full(len(rows), np.nan)
        degrees[there] = graph.degrees[rows[there]]
        self.add(Column("degree", "number", values=degrees))
        if named.labels_of == "nodes":
            self._add_labels(named.labels, rows)

    def _add_labels(self, labels: Any, rows: np.ndarray) -> None:
        if not any(column.name == "label" for column in self.columns) and (rows >= 0).all():
            self.add(column_of("label", labels[rows]))

    def numbers(self, name: str) -> np.ndarray:
        """Return the values of a column of numbers, such as a coordinate."""
        for column in self.columns:
            if column.name == name and column.values is not None:
                return column.values
            if column.name == name and column.codes is not None:
                try:
                    return np.array([np.nan, *map(float, column.levels)])[column.codes]
                except ValueError:
                    break
        raise InputError(
            f"there is no column {name!r} of numbers; name one of the columns of --labels or of the vectors"
        )


def matched(embeddings: Embeddings, known: Any) -> np.ndarray:
    """Return the row of a table for every vector, −1 where there is none; at least one must be there."""
    from mvgrl.tables.ids import align

    rows = align(embeddings.rows, known)
    if (rows < 0).all():
        raise InputError(
            f"{known.place.name} has none of the ids of the embeddings: it has {known.describe(0)}, they have "
            f"{embeddings.rows.describe(0)}; choose another file or another id column"
        )
    return rows


def arranged(
    gathered: Gathered,
    *,
    title: str,
    names: tuple[str, str] = ("", ""),
    other: np.ndarray | None = None,
    method: str = "tsne",
    colour: str | None = None,
    neighbors: int | None = None,
    model: dict[str, Any] | None = None,
    seed: int = 0,
    sample: int | None = None,
    progress: Progress = no_progress,
) -> Contents:
    """Place the points on one map, or on two for ``other`` vectors of the same points, and find their neighbours."""
    vectors = gathered.embeddings.vectors
    count = len(vectors)
    k = neighbors if neighbors is not None else NEIGHBORS if count <= _MANY else NEIGHBORS // 2
    options: dict[str, Any] = dict(seed=seed, progress=progress) | ({} if sample is None else {"sample": sample})
    maps: list[Map] = []
    for name, matrix in zip(names, (vectors, other), strict=True):
        if matrix is None:
            continue
        brought = gathered.places if not maps else None
        points = layout(matrix, method, **options) if brought is None else in_square(brought)
        found = all_nearest(matrix, k, progress=partial(progress, "finding neighbours")) if k and count > 1 else None
        maps.append(Map(name, points, found))
    if len(maps) == 2 and k:
        gathered.add(Column(COMMON, "number", values=_common(maps[0].neighbors, maps[1].neighbors, count)))
    chosen = colour or _first_colour(gathered.columns)
    return Contents(
        title=title,
        ids=gathered.embeddings.ids,
        maps=tuple(maps),
        columns=tuple(gathered.columns),
        colour=chosen,
        edges=gathered.edges,
        graphs=gathered.graphs,
        model=model,
        about=_about(vectors, None if gathered.places is not None else method, maps, k),
        unit="graph" if gathered.graphs is not None else "point" if gathered.edges is None else "node",
    )


def _common(ours: Neighbors | None, theirs: Neighbors | None, count: int) -> np.ndarray:
    assert ours is not None
    assert theirs is not None
    return common_share(ours.rows, np.where(theirs.rows == count, count + 1, theirs.rows))  # nothing is not shared


def _first_colour(columns: list[Column]) -> str | None:
    named = [column.name for column in columns if column.name in ("label", "class")]
    classes = [column.name for column in columns if column.kind == "category" and 1 < len(column.levels) <= 20]
    others = [column.name for column in columns if column.kind != "text"]
    return next(iter([*named, *classes, *others]), None)


def _about(vectors: np.ndarray, method: str | None, maps: list[Map], k: int) -> str:
    names = {"tsne": ", placed by t-SNE", "umap": ", placed by UMAP", "pca": ", placed by PCA"}
    close = "" if not k else f", {k} neighbours by cosine"
    if k and any(one.neighbors is not None and not one.neighbors.exact for one in maps):
        close += " (approximate)"
    return f"Vectors of {vectors.shape[1]}{names.get(method or '', '')}{close}"


def _reordered(graphs: SmallGraphs, rows: np.ndarray) -> SmallGraphs:
    """Return the graphs in the order of the points."""

    def parts(counts: np.ndarray) -> np.ndarray:
        ends = np.cumsum(counts)
        pieces = [np.arange(ends[row] - counts[row], ends[row]) for row in rows]
        return np.concatenate(pieces) if pieces else np.empty(0, np.int64)

    labels = None if graphs.labels is None else graphs.labels[parts(graphs.sizes)]
    found = replace(graphs, sizes=graphs.sizes[rows], pairs=graphs.pairs[parts(graphs.edges)], labels=labels)
    return replace(found, edges=graphs.edges[rows])
