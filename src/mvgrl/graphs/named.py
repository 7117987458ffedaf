"""A graph with the ids of its nodes and graphs, and with labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from mvgrl.errors import InputError, shown
from mvgrl.graphs.graph import Graph
from mvgrl.tables.names import check_text

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder


@dataclass(frozen=True, eq=False, repr=False)
class NamedGraph:
    """One or many graphs with ids and labels, as arrays of numbers or text, never of Python objects.

    A node id is unique within its graph, or on its side of a bipartite graph. An unknown label is NaN among numbers
    and empty among text.

    >>> named = NamedGraph(Graph.from_edges([0, 1], [1, 2]), np.array(["ann", "bob", "cy"]))
    >>> named.node_ids[named.graph.adjacency[[1]].indices].tolist()
    ['ann', 'cy']
    >>> named
    NamedGraph(Graph(one graph, 3 nodes, 2 edges), ids 'ann', 'bob', 'cy')
    """

    graph: Graph
    node_ids: np.ndarray  # one per node
    graph_ids: np.ndarray | None = None  # one per graph; None for a single graph without an id
    labels: np.ndarray | None = None  # one per node or one per graph
    sides: np.ndarray | None = None  # of a bipartite graph, one per node: the name of the column with the node's side
    columns: TableEncoder | None = None  # how the features were made from a table of nodes

    def __post_init__(self) -> None:
        nodes, graphs = self.graph.nodes, self.graph.count
        if self.graph_ids is None and graphs > 1:
            raise InputError(f"there are {graphs} graphs but no graph_ids; give one per graph")
        allowed = (
            ("node_ids", self.node_ids, "iuU", (nodes,), "node"),
            ("graph_ids", self.graph_ids, "iuU", (graphs,), "graph"),
            ("labels", self.labels, "biufU", (nodes, graphs), "node or one per graph"),
            ("sides", self.sides, "U", (nodes,), "node"),
        )
        for name, values, kinds, lengths, each in allowed:
            if values is None and name != "node_ids":
                continue
            if not isinstance(values, np.ndarray) or values.dtype.kind not in kinds:
                held = getattr(values, "dtype", type(values).__name__)
                raise InputError(f"{name} holds {held}; it must be a NumPy array of numbers or text")
            if values.ndim != 1 or len(values) not in lengths:
                there = f"there are {nodes} nodes in {graphs} graphs"
                raise InputError(f"{name} has shape {values.shape}, but {there}; give one per {each}")
            check_text(values, name, allow_empty=name == "labels")

    def __repr__(self) -> str:
        ids = ", ".join(shown(one) for one in self.node_ids[:3].tolist())
        return f"{type(self).__name__}({self.graph!r}, ids {ids}{', …' if len(self.node_ids) > 3 else ''})"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed when the graph was read, and what its owner may not expect.

        >>> NamedGraph(Graph.from_edges([0], [0]), np.arange(1)).notes[1]
        'the graph has no edges, so the vectors depend on the features only'
        """
        notes = list(self.graph.notes)
        if self.node_ids.dtype.kind == "U":
            padded = np.flatnonzero(np.char.strip(self.node_ids) != self.node_ids)
            if len(padded):
                notes.append(f"ids are used as written, including spaces: {shown(str(self.node_ids[padded[0]]))}")
        if not self.graph.edges:
            notes.append("the graph has no edges, so the vectors depend on the features only")
        return tuple(notes)

    @property
    def keys(self) -> np.ndarray:
        """What identifies a node within a graph: its id, in a bipartite graph with its side.

        >>> sides = np.array(["user", "item"])
        >>> NamedGraph(Graph.from_edges([0], [1]), np.array([7, 7]), sides=sides).keys.tolist()
        ['user\\x1f7', 'item\\x1f7']
        """
        if self.sides is None:
            return self.node_ids
        return np.char.add(np.char.add(self.sides, "\x1f"), self.node_ids.astype(str))

    @property
    def labels_of(self) -> Literal["nodes", "graphs"] | None:
        """What the labels describe; None if there are no labels.

        >>> NamedGraph(Graph.from_edges([0], [1]), np.arange(2), labels=np.array([7])).labels_of
        'graphs'
        """
        if self.labels is None:
            return None
        return "nodes" if len(self.labels) == self.graph.nodes else "graphs"
