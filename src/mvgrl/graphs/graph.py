"""The graph every other part works on: checked, undirected, weighted; one graph or many side by side."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs import checks

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Graph:
    """One graph, or many as the diagonal blocks of one adjacency matrix.

    Make one with :meth:`from_edges`, :meth:`from_scipy`, :meth:`from_pyg` or :meth:`join`, which clean what they
    are given: directed edges become undirected, repeated ones are merged, self-loops are dropped (every view puts
    one of weight 1 on every node, Â = A + I). What was done is in ``notes``.

    >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 3], nodes=5)
    >>> graph.nodes, graph.edges, graph.count
    (5, 3, 1)
    """

    adjacency: sp.csr_array  # n×n, symmetric, positive weights, empty diagonal
    features: np.ndarray | sp.csr_array | None = None  # n×d
    node_labels: np.ndarray | None = None  # n categories that describe the nodes; not what is to be predicted
    offsets: np.ndarray = field(default=None)  # type: ignore[arg-type]  # graph i has nodes offsets[i]:offsets[i+1]
    notes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] | None = None  # d of them, where the columns have names

    def __post_init__(self) -> None:
        adjacency = checks.checked_adjacency(self.adjacency)
        nodes = adjacency.shape[0]
        if nodes == 0:
            raise InputError("the graph has no nodes; there is nothing to embed")
        offsets = [0, nodes] if self.offsets is None else self.offsets
        checked = {"adjacency": adjacency, "offsets": checks.checked_offsets(offsets, adjacency)}
        if self.features is not None:
            checked["features"] = checks.checked_features(self.features, nodes)
            width = checked["features"].shape[1]
            if self.feature_names is not None and len(self.feature_names) != width:
                raise InputError(f"{len(self.feature_names)} feature_names for {width} features; give one a column")
        if self.node_labels is not None:
            checked["node_labels"] = checks.checked_labels(self.node_labels, nodes)
        for name, value in checked.items():
            object.__setattr__(self, name, value)  # the way a frozen dataclass sets its own fields

    @property
    def nodes(self) -> int:
        """How many nodes, over all graphs."""
        return int(self.adjacency.shape[0])

    @property
    def edges(self) -> int:
        """How many undirected edges, over all graphs."""
        return int(self.adjacency.nnz) // 2

    @property
    def count(self) -> int:
        """How many graphs."""
        return len(self.offsets) - 1

    @property
    def size_text(self) -> str:
        """Its size for a person.

        >>> Graph.from_edges([0, 1], [1, 2]).size_text
        'one graph, 3 nodes, 2 edges'
        """
        graphs = "one graph" if self.count == 1 else f"{self.count:,} graphs"
        return f"{graphs}, {self.nodes:,} nodes, {self.edges:,} edges"

    @property
    def sizes(self) -> np.ndarray:
        """Nodes per graph."""
        return np.diff(self.offsets)

    @property
    def degrees(self) -> np.ndarray:
        """Neighbours per node, whatever the weights."""
        return np.asarray(np.diff(self.adjacency.indptr), dtype=np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the structure: equal graphs, equal fingerprints, whatever the features."""
        return _digest([self.adjacency, self.offsets])

    @cached_property
    def content_fingerprint(self) -> str:
        """A hash of everything that training sees: structure, features and node labels."""
        return _digest([self.adjacency, self.offsets, self.features, self.node_labels])

    @classmethod
    def from_edges(
        cls,
        sources: Any,
        targets: Any,
        weights: Any = None,
        *,
        nodes: int | None = None,
        features: Any = None,
        node_labels: Any = None,
        offsets: Any = None,
    ) -> Graph:
        """From end points numbered from 0; without ``nodes``, as many as features, labels or offsets tell.

        Repeated edges count once, or add up their weights where weights are given. Where both directions are given
        with different weights, the larger counts.

        >>> Graph.from_edges([0, 1, 1], [1, 0, 1], features=[[1.0], [0.0], [2.0]]).notes
        ('self-loops dropped (each view gives every node one of weight 1)',)
        """
        sources, targets = checks.checked_ends(sources, "sources"), checks.checked_ends(targets, "targets")
        if len(sources) != len(targets):
            raise InputError(f"{len(sources)} sources but {len(targets)} targets; an edge has one of each")
        highest = int(max(sources.max(initial=-1), targets.max(initial=-1)))
        per_node = {"features": features, "node_labels": node_labels}
        if offsets is not None and len(offsets):
            per_node["offsets"] = range(int(offsets[-1]))
        nodes = checks.count_nodes(nodes, per_node, highest)
        checks.check_range(sources, "sources", nodes)
        checks.check_range(targets, "targets", nodes)
        if weights is not None:
            weights = checks.checked_weights(weights, sources, targets)
        adjacency, notes = _clean(sources, targets, weights, nodes)
        return cls(adjacency, features, node_labels, offsets, notes)

    @classmethod
    def from_scipy(cls, adjacency: Any, features: Any = None, **more: Any) -> Graph:
        """From a square SciPy matrix or NumPy array; all stored values 1 means unweighted.

        >>> Graph.from_scipy(np.array([[0, 2.0], [2.0, 0]])).edges
        1
        """
        shape = np.shape(adjacency)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise InputError(f"the adjacency has shape {shape}; it must be square, one row and column a node")
        entries = sp.coo_array(checks.as_matrix(adjacency, "the adjacency"))  # CSR on the way: its repeats add up
        unweighted = bool(np.all(entries.data == 1))
        weights = None if unweighted else entries.data
        sources, targets = entries.coords
        return cls.from_edges(sources, targets, weights, nodes=shape[0], features=features, **more)

    @classmethod
    def from_pyg(cls, data: Any) -> Graph:
        """From a PyTorch Geometric ``Data``, or a list, ``Dataset`` or ``Batch`` of them; the input is not changed.

        ``x`` becomes the features; ``edge_weight``, or a single floating-point column in ``edge_attr``, the weights.
        """
        from mvgrl.graphs.pyg import graph_arguments, is_data

        if is_data(data):
            arguments, notes = graph_arguments(data)
            graph = cls.from_edges(**arguments)
            return cls(graph.adjacency, graph.features, None, graph.offsets, graph.notes + notes)
        return cls.join([cls.from_pyg(one) for one in data])

    @classmethod
    def join(cls, graphs: Sequence[Graph]) -> Graph:
        """Many graphs as one, block-diagonal, in the order given.

        >>> Graph.join([Graph.from_edges([0], [1]), Graph.from_edges([], [], nodes=3)]).sizes
        array([2, 3])
        """
        if not len(graphs):
            raise InputError("no graphs were given; there is nothing to embed")
        sizes = np.concatenate([graph.sizes for graph in graphs])
        return cls(
            sp.csr_array(sp.block_diag([graph.adjacency for graph in graphs], format="csr")),
            _stacked([graph.features for graph in graphs], "features"),
            _stacked([graph.node_labels for graph in graphs], "node_labels"),
            np.concatenate([[0], np.cumsum(sizes)]),
            tuple(dict.fromkeys(note for graph in graphs for note in graph.notes)),
            _shared([graph.feature_names for graph in graphs]),
        )

    def select(self, graphs: Sequence[int] | np.ndarray) -> Graph:
        """Some of the graphs, by number, in the order given.

        >>> Graph.from_edges([0], [1], offsets=[0, 2, 5]).select([1, 0]).sizes
        array([3, 2])
        """
        chosen = np.asarray(graphs, dtype=np.int64)
        outside = chosen[(chosen < 0) | (chosen >= self.count)]
        if len(outside):
            raise InputError(f"there is no graph {outside[0]}; graphs are numbered 0 to {self.count - 1}")
        if not len(chosen):
            raise InputError("no graphs were chosen; there is nothing to embed")
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(self.offsets[chosen] - offsets[:-1], sizes)  # from a node's new number to its old one
        nodes = np.arange(offsets[-1]) + shift
        rows = self.adjacency[nodes]
        columns = rows.indices - np.repeat(shift, np.diff(rows.indptr))  # neighbours move with their graph
        return Graph(
            sp.csr_array((rows.data, columns, rows.indptr), shape=(len(nodes), len(nodes))),
            None if self.features is None else self.features[nodes],
            None if self.node_labels is None else self.node_labels[nodes],
            offsets,
            self.notes,
            self.feature_names,
        )


def _shared(names: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The names all graphs have for their features; None where any has none, as PyG's."""
    known = set(names)
    if None in known:
        return None
    if len(known) > 1:
        one, other = (", ".join(some or ()) for some in sorted(known, key=names.index)[:2])
        raise InputError(f"graphs have different features, {one} and {other}; give all the same columns in one order")
    return names[0]


def _clean(
    sources: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, nodes: int
) -> tuple[sp.csr_array, tuple[str, ...]]:
    """The symmetric adjacency of any edge list, and what had to be done to get it."""
    notes = []
    loops = sources == targets
    if loops.any():
        notes.append("self-loops dropped (each view gives every node one of weight 1)")
        sources, targets = sources[~loops], targets[~loops]
        weights = None if weights is None else weights[~loops]
    values = np.ones(len(sources)) if weights is None else weights
    directed = sp.csr_array(sp.coo_array((values, (sources, targets)), shape=(nodes, nodes)))
    if directed.nnz < len(sources):
        notes.append("repeated edges merged" + ("" if weights is None else ", their weights added"))
    if weights is None:
        directed.data[:] = 1.0
    adjacency = sp.csr_array(directed.maximum(directed.T))
    if (adjacency != directed).nnz:
        notes.append("edges taken in both directions")
    for note in notes:
        logger.info(note)
    return adjacency, tuple(notes)


def _digest(parts: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        for array in (part.indptr, part.indices, part.data) if sp.issparse(part) else (np.asarray(part),):
            if array.dtype.kind in "OU":  # text, or nothing
                array = np.frombuffer(repr(array.tolist()).encode(), dtype=np.uint8)
            digest.update(f"{array.dtype.kind}{array.shape}".encode())
            wide = np.float64 if array.dtype.kind == "f" else np.int64  # SciPy's indices have 32 bits or 64
            digest.update(np.ascontiguousarray(array, dtype=wide).data)
    return digest.hexdigest()


def _stacked(parts: list[Any], name: str) -> Any:
    missing = [i for i, part in enumerate(parts) if part is None]
    if len(missing) == len(parts):
        return None
    if missing:
        raise InputError(f"graph {missing[0]} has no {name}, but others have; give them to all graphs or to none")
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    widths = [part.shape[1] for part in parts]
    if len(set(widths)) > 1:
        odd = next(i for i, width in enumerate(widths) if width != widths[0])
        raise InputError(f"graph {odd} has {widths[odd]} {name}, but graph 0 has {widths[0]}; all graphs need the same")
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))
    return np.concatenate(parts)
