"""The graph that all other modules work on: validated, undirected, weighted; one graph or many."""

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

LOOPS_DROPPED = "self-loops dropped (every view adds one of weight 1 to every node)"
DUPLICATES_MERGED = "duplicate edges merged"
MADE_UNDIRECTED = "directed edges made undirected"


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """One graph, or many graphs as the diagonal blocks of one adjacency matrix.

    Create it with :meth:`from_edges`, :meth:`from_scipy`, :meth:`from_pyg` or :meth:`join`, which clean their input:
    directed edges become undirected, duplicate edges are merged, and self-loops are dropped (every view adds one of
    weight 1 to every node, Â = A + I). ``notes`` lists these changes.

    >>> graph = Graph.from_edges([0, 1, 2], [1, 2, 3], nodes=5)
    >>> graph.nodes, graph.edges, graph.count
    (5, 3, 1)
    """

    adjacency: sp.csr_array  # n×n, symmetric, positive weights, zero diagonal
    features: np.ndarray | sp.csr_array | None = None  # n×d
    node_labels: np.ndarray | None = None  # n categories, used as input; not classes to predict
    offsets: np.ndarray = field(default=None)  # type: ignore[arg-type]  # nodes of graph i: offsets[i]:offsets[i+1]
    notes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] | None = None  # d names, if the feature columns have names

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
                raise InputError(
                    f"{len(self.feature_names)} feature_names for {width} features; give one name per column"
                )
        if self.node_labels is not None:
            checked["node_labels"] = checks.checked_labels(self.node_labels, nodes)
        for name, value in checked.items():
            object.__setattr__(self, name, value)  # the dataclass is frozen

    @property
    def nodes(self) -> int:
        """Number of nodes in all graphs."""
        return int(self.adjacency.shape[0])

    @property
    def edges(self) -> int:
        """Number of undirected edges in all graphs."""
        return int(self.adjacency.nnz) // 2

    @property
    def count(self) -> int:
        """Number of graphs."""
        return len(self.offsets) - 1

    @property
    def size_text(self) -> str:
        """The numbers of graphs, nodes and edges as readable text.

        >>> Graph.from_edges([0, 1], [1, 2]).size_text
        'one graph, 3 nodes, 2 edges'
        """
        graphs = "one graph" if self.count == 1 else f"{self.count:,} graphs"
        return f"{graphs}, {self.nodes:,} nodes, {self.edges:,} edges"

    def __repr__(self) -> str:
        width = "" if self.features is None else f", {self.features.shape[1]:,} features"
        return f"{type(self).__name__}({self.size_text}{width})"

    @property
    def sizes(self) -> np.ndarray:
        """Number of nodes per graph."""
        return np.diff(self.offsets)

    @property
    def degrees(self) -> np.ndarray:
        """Number of neighbours per node, regardless of weights."""
        return np.asarray(np.diff(self.adjacency.indptr), dtype=np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the structure: equal graphs have equal fingerprints, regardless of their features."""
        return _digest([self.adjacency, self.offsets])

    @cached_property
    def content_fingerprint(self) -> str:
        """A hash of everything that training depends on: structure, features and node labels."""
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
        """Create a graph from the endpoints of its edges, node numbers that start at 0.

        Without ``nodes``, the number of nodes follows from features, labels or offsets, or else from the edges.
        Duplicate edges are merged; if there are weights, they are summed. If the two directions of an edge have
        different weights, the larger one is used.

        >>> Graph.from_edges([0, 1, 1], [1, 0, 1], features=[[1.0], [0.0], [2.0]]).notes
        ('self-loops dropped (every view adds one of weight 1 to every node)',)
        """
        sources, targets = checks.checked_ends(sources, "sources"), checks.checked_ends(targets, "targets")
        if len(sources) != len(targets):
            raise InputError(f"{len(sources)} sources but {len(targets)} targets; give one of each per edge")
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
        """Create a graph from a square SciPy matrix or NumPy array, unweighted if all stored values are 1.

        >>> Graph.from_scipy(np.array([[0, 2.0], [2.0, 0]])).edges
        1
        """
        shape = np.shape(adjacency)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise InputError(
                f"the adjacency has shape {shape}; it must be square, with one row and one column per node"
            )
        matrix = checks.as_matrix(adjacency, "the adjacency")  # sparse ones by way of CSR, which sums duplicates
        if matrix.dtype.kind not in "biuf":
            raise InputError(f"the adjacency holds {matrix.dtype} values; give edge weights, or 1 for every edge")
        # SciPy has no half precision and no foreign byte order.
        dtype = np.dtype(np.float32) if matrix.dtype.itemsize == 2 and matrix.dtype.kind == "f" else matrix.dtype
        entries = sp.coo_array(matrix.astype(dtype.newbyteorder("="), copy=False))
        unweighted = bool(np.all(entries.data == 1))
        weights = None if unweighted else entries.data
        sources, targets = entries.coords
        return cls.from_edges(sources, targets, weights, nodes=shape[0], features=features, **more)

    @classmethod
    def from_pyg(cls, data: Any) -> Graph:
        """Create a graph from a PyTorch Geometric ``Data``, or a list, ``Dataset`` or ``Batch``; it is not modified.

        ``x`` becomes the features, and ``edge_weight``, or ``edge_attr`` if it is a single floating-point column, the
        weights.
        """
        from mvgrl.graphs.pyg import graph_arguments, is_data

        if is_data(data):
            arguments, notes = graph_arguments(data)
            graph = cls.from_edges(**arguments)
            return cls(graph.adjacency, graph.features, None, graph.offsets, graph.notes + notes)
        return cls.join([cls.from_pyg(one) for one in data])

    @classmethod
    def join(cls, graphs: Sequence[Graph]) -> Graph:
        """Join graphs into one block-diagonal graph, in the given order.

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
        """Select graphs by number, in the given order.

        >>> Graph.from_edges([0], [1], offsets=[0, 2, 5]).select([1, 0]).sizes
        array([3, 2])
        """
        chosen = np.asarray(graphs, dtype=np.int64)
        outside = chosen[(chosen < 0) | (chosen >= self.count)]
        if len(outside):
            raise InputError(f"there is no graph {outside[0]}; graphs are numbered 0 to {self.count - 1}")
        if not len(chosen):
            raise InputError("no graphs were selected; there is nothing to embed")
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(self.offsets[chosen] - offsets[:-1], sizes)  # old node number minus new node number
        nodes = np.arange(offsets[-1]) + shift
        rows = self.adjacency[nodes]
        columns = rows.indices - np.repeat(shift, np.diff(rows.indptr))  # renumber the neighbours accordingly
        return Graph(
            sp.csr_array((rows.data, columns, rows.indptr), shape=(len(nodes), len(nodes))),
            None if self.features is None else self.features[nodes],
            None if self.node_labels is None else self.node_labels[nodes],
            offsets,
            self.notes,
            self.feature_names,
        )


def _shared(names: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the feature names all graphs share, or None if any graph has none, such as one from PyG."""
    known = set(names)
    if None in known:
        return None
    if len(known) > 1:
        one, other = (", ".join(some or ()) for some in sorted(known, key=names.index)[:2])
        raise InputError(f"graphs have different features, {one} and {other}; use the same columns in the same order")
    return names[0]


def _clean(
    sources: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, nodes: int
) -> tuple[sp.csr_array, tuple[str, ...]]:
    """Return the symmetric adjacency of an edge list, and notes on how the edges were changed."""
    notes = []
    loops = sources == targets
    if loops.any():
        notes.append(LOOPS_DROPPED)
        sources, targets = sources[~loops], targets[~loops]
        weights = None if weights is None else weights[~loops]
    values = np.ones(len(sources)) if weights is None else weights
    directed = sp.csr_array(sp.coo_array((values, (sources, targets)), shape=(nodes, nodes)))
    if directed.nnz < len(sources):
        notes.append(DUPLICATES_MERGED + ("" if weights is None else ", their weights summed"))
    if weights is None:
        directed.data[:] = 1.0
    adjacency = sp.csr_array(directed.maximum(directed.T))
    if (adjacency != directed).nnz:
        notes.append(MADE_UNDIRECTED)
    for note in notes:
        logger.info(note)
    return adjacency, tuple(notes)


def _digest(parts: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        for array in (part.indptr, part.indices, part.data) if sp.issparse(part) else (np.asarray(part),):
            if array.dtype.kind in "OU":  # text, or None
                array = np.frombuffer(repr(array.tolist()).encode(), dtype=np.uint8)
            digest.update(f"{array.dtype.kind}{array.shape}".encode())
            wide = np.float64 if array.dtype.kind == "f" else np.int64  # SciPy's indices are 32-bit or 64-bit
            digest.update(np.ascontiguousarray(array, dtype=wide).data)
    return digest.hexdigest()


def _stacked(parts: list[Any], name: str) -> Any:
    missing = [i for i, part in enumerate(parts) if part is None]
    if len(missing) == len(parts):
        return None
    if missing:
        raise InputError(f"graph {missing[0]} has no {name}, but others do; give {name} for all graphs or for none")
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    widths = [part.shape[1] for part in parts]
    if len(set(widths)) > 1:
        different = next(i for i, width in enumerate(widths) if width != widths[0])
        raise InputError(
            f"graph {different} has {widths[different]} {name}, but graph 0 has {widths[0]}; all need the same number"
        )
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))
    return np.concatenate(parts)
