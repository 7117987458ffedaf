"""What the server answers about single points: columns, neighbours, edges, their graphs, and a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from mvgrl.explorer.contents import MOST_DRAWN, Contents
from mvgrl.explorer.gather import NEIGHBORS
from mvgrl.neighbors import row_lengths

_MOST_HITS = 50


class Answers:
    """Points by their rows; a row outside the table is a ``LookupError``."""

    def __init__(self, contents: Contents, vectors: list[np.ndarray]) -> None:
        self.contents, self.vectors = contents, vectors
        self.lengths = [row_lengths(matrix) for matrix in vectors]
        texts = {"": contents.ids.astype(str).tolist()}
        texts |= {column.name: list(column.texts) for column in contents.columns if column.texts is not None}
        self.texts = {name: [text.lower() for text in values] for name, values in texts.items()}
        graphs = contents.graphs
        self.ends = () if graphs is None else (np.cumsum(graphs.sizes), np.cumsum(graphs.edges))  # of nodes and edges

    def row(self, row: int) -> dict[str, Any]:
        """Return the id and the texts of a point."""
        self._check(row)
        columns = [column for column in self.contents.columns if column.texts is not None]
        return {"id": self._id(row), "texts": {column.name: column.texts[row] for column in columns if column.texts}}

    def neighbors(self, number: int, row: int) -> list[dict[str, Any]]:
        """Return the nearest vectors of a point on one of the maps, by cosine."""
        self._check(row)
        matrix, lengths = self.vectors[number], self.lengths[number]
        if not lengths[row]:
            return []
        cosines = matrix @ matrix[row] / np.where(lengths > 0, lengths, 1) / lengths[row]
        cosines[(lengths == 0) | (np.arange(len(matrix)) == row)] = -np.inf
        k = min(NEIGHBORS, len(matrix) - 1)
        best = np.argpartition(-cosines, k - 1)[:k] if k else np.empty(0, np.int64)
        best = best[np.argsort(-cosines[best], kind="stable")]
        return [
            {"row": int(one), "id": self._id(one), "cosine": float(np.clip(cosines[one], -1, 1))}
            for one in best
            if np.isfinite(cosines[one])
        ]

    def edges(self, row: int) -> list[int]:
        """Return the rows of the nodes at the other ends of a node's edges."""
        self._check(row)
        edges = self.contents.edges
        return [] if edges is None else edges.indices[edges.indptr[row] : edges.indptr[row + 1]].tolist()

    def graph(self, row: int) -> dict[str, Any]:
        """Return the graph that a point stands for: its nodes and, unless they are too many to draw, all of it."""
        self._check(row)
        graphs = self.contents.graphs
        if graphs is None:
            raise LookupError
        nodes, edges = int(graphs.sizes[row]), int(graphs.edges[row])
        if nodes > MOST_DRAWN:
            return {"nodes": nodes}
        last, end = (int(one[row]) for one in self.ends)
        labels = None if graphs.labels is None else graphs.labels[last - nodes : last].tolist()
        return {"nodes": nodes, "edges": graphs.pairs[end - edges : end].tolist(), "labels": labels}

    def search(self, text: str) -> list[dict[str, Any]]:
        """Return points whose id or text contains the words; ids that are or start like them first."""
        wanted = text.lower()
        hits: dict[int, str] = {}
        for name, values in self.texts.items():
            for row, value in enumerate(values):
                if len(hits) >= _MOST_HITS:
                    break
                if wanted in value:
                    hits.setdefault(row, name)
        ids = self.texts[""]
        order = sorted(
            hits, key=lambda row: (ids[row] != wanted, not ids[row].startswith(wanted), hits[row] != "", row)
        )
        return [{"row": row, "id": self._id(row), "where": hits[row]} for row in order]

    def ids(self, rows: np.ndarray) -> list[str]:
        """Return the ids of points."""
        if len(rows) and int(rows.max()) >= len(self.contents):
            raise LookupError
        return [str(one) for one in self.contents.ids[rows].tolist()]

    def _id(self, row: Any) -> str:
        return str(self.contents.ids[row])

    def _check(self, row: int) -> None:
        if not 0 <= row < len(self.contents):
            raise LookupError
