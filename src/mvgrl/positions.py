"""Positional features: where a node is in its graph, for graphs whose nodes have no features.

A position is the node's row of log-transformed personalised PageRank, reduced to its leading components, so nodes with
similar neighbourhoods have similar positions. Random-walk embeddings factorise such a matrix implicitly (Qiu et al.,
"Network Embedding as Matrix Factorization", WSDM 2018). Here PageRank replaces a window of steps, and the
matrix is sparse, so time and memory are linear in the edges.
"""

from __future__ import annotations

import logging
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch

from mvgrl.errors import InputError, shown
from mvgrl.graphs import Graph
from mvgrl.graphs import stored_features as stored
from mvgrl.graphs.features import FeatureEncoder
from mvgrl.matrices import DenseMatrix, Matrix, SparseMatrix
from mvgrl.tables.names import text_array
from mvgrl.vector_space import leading_directions
from mvgrl.views import PPR
from mvgrl.views.adjacency import with_self_loops

logger = logging.getLogger(__name__)

KINDS = ("position", "position+degree")
DIMENSIONS, COARSE_DIMENSIONS = 512, 256
_ALPHA = 0.1
_ENTRIES = 2**26  # of the whole matrix, at most: smaller graphs have longer rows; but at least _FEWEST per row
_FEWEST, _MOST = 128, 512  # entries per row
_BYTES_PER_NODE, _BYTES_PER_ENTRY = 5_000, 30  # measured at 100,000 nodes (512 entries) and 1,000,000 (128)
_STORED = ("positions", "factors", "likeness", "degree_scale")
_ROUNDS = 10  # of averaging over neighbours, to place new nodes that have no known neighbour
_RELATED = 0.5  # least likeness of neighbours, relative to the training graph, for positions to be meaningful
_NOISE = 0.05  # in a tiny graph, positions are nearly orthogonal and uninformative


class PositionEncoder(FeatureEncoder):
    """Positions of the nodes, with their degrees as one more column for ``position+degree``.

    Positions belong to the training graph: on a changed or grown graph, the nodes known by their ids keep theirs, and a
    new node is placed at the average of its neighbours. If known neighbours do not have similar positions, the graph is
    a different one and is rejected.

    >>> graph = Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
    >>> encoder = PositionEncoder("position").fit(graph)
    >>> x = encoder.transform(graph).dense()
    >>> bool((x[0] - x[1]).norm() < (x[0] - x[5]).norm())
    True
    """

    ids_: np.ndarray  # of the nodes of the training graph
    positions_: np.ndarray  # nodes × dimensions
    factors_: np.ndarray  # per dimension: a position divided by the average of its neighbours', by least squares
    likeness_: float  # mean cosine of the positions of neighbours in the training graph
    degree_scale_: np.ndarray  # mean of log(1 + degree), and the factor that gives it the spread of one position

    def fit(self, graph: Graph, ids: np.ndarray | None = None, *, coarse: bool = False) -> Self:
        """Compute the positions of the nodes of one graph; coarse ones take less time and memory."""
        if graph.count > 1:
            raise InputError(
                f"positions are relative to one graph, but {graph.count} were given; use the features 'degree-one-hot'"
            )
        self.kind_ = self.kind
        self.ids_ = np.arange(graph.nodes) if ids is None else ids
        self.positions_ = positions(graph, coarse=coarse)
        averages = _neighbour_average(graph) @ self.positions_
        both, own = ((averages * other).sum(axis=0, dtype=np.float64) for other in (self.positions_, averages))
        self.factors_ = np.divide(both, own, out=np.ones(len(own)), where=own > 0).astype(np.float32)
        self.likeness_ = _likeness(graph, self.positions_)
        self.width = self.positions_.shape[1] + (self.kind == "position+degree")
        logs = np.log1p(graph.degrees)
        spread = np.sqrt((self.positions_**2).mean(dtype=np.float64))
        self.degree_scale_ = np.array([logs.mean(), spread / logs.std() if logs.std() > 0 else 0.0])
        return self

    def transform(self, graph: Graph, dtype: torch.dtype = torch.float32, ids: np.ndarray | None = None) -> Matrix:
        """Return the positions of the nodes of a graph; known nodes keep those from the training graph."""
        self._check_fitted()
        found, known = self._known(graph, ids)
        if (reason := self._unrelated(graph, found, known)) is not None:
            raise InputError(
                f"{reason}; positions are only meaningful in the training graph: to embed others, train with features "
                "'degree-one-hot'"
            )
        found = self._placed(graph, found, known)
        if self.kind == "position+degree":
            centre, factor = self.degree_scale_
            degree = (np.log1p(graph.degrees) - centre) * factor
            found = np.hstack([found, degree[:, None].astype(np.float32)])
        return DenseMatrix(torch.from_numpy(found).to(dtype))

    def positions_if_related(self, graph: Graph, ids: np.ndarray | None = None) -> np.ndarray | None:
        """Return the positions of the nodes of a graph; None, with a warning, if they are not meaningful there."""
        self._check_fitted()
        found, known = self._known(graph, ids)
        if (reason := self._unrelated(graph, found, known)) is not None:
            logger.warning(
                "%s; positions are unknown, and the vectors come from the features alone (train with beside "
                "'propagated' to omit positions)", reason,
            )  # fmt: skip
            return None
        return self._placed(graph, found, known)

    def _known(self, graph: Graph, ids: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the nodes of the training graph, zeros for others, and which nodes are known.

        Nodes without ids are numbered as in the training graph.
        """
        if ids is None:
            ids = np.arange(graph.nodes)
            if self.ids_.dtype.kind in "US" and graph.nodes <= len(self.ids_):
                ids = self.ids_[: graph.nodes]
        order = np.argsort(self.ids_, kind="stable")
        comparable = (ids.dtype.kind in "US") == (self.ids_.dtype.kind in "US")
        place = np.searchsorted(self.ids_, ids, sorter=order).clip(max=len(order) - 1) if comparable else 0
        known = self.ids_[order[place]] == ids if comparable else np.zeros(len(ids), dtype=bool)
        found = np.zeros((graph.nodes, self.positions_.shape[1]), np.float32)
        if comparable:
            found[known] = self.positions_[order[place]][known]
        return found, known

    def _placed(self, graph: Graph, found: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Fill in the positions of new nodes."""
        if not known.all():
            _place_new(graph, found, known, self.factors_)
            logger.warning(
                "%d of %d nodes are not in the training graph; they are placed at the average of their neighbours",
                int((~known).sum()), graph.nodes,
            )  # fmt: skip
        return found

    def _unrelated(self, graph: Graph, found: np.ndarray, known: np.ndarray) -> str | None:
        """Return why the positions are not meaningful in a graph, or None if they are."""
        if graph.count > 1 or not known.any():
            return "the graph has no node of the training graph"
        if known.all() and len(known) == len(self.ids_) and not graph.edges:
            return None
        alike = _likeness(graph, found, known)
        if alike >= _RELATED * self.likeness_ - _NOISE:
            return None
        return (
            f"neighbours have unrelated positions (mean cosine {alike:.2f}, {self.likeness_:.2f} in the training "
            "graph), so this is another graph"
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted state as numeric arrays."""
        text = self.ids_.dtype.kind not in "biuf"
        ids = {"id_text": stored.to_bytes(self.ids_.tolist())} if text else {"ids": self.ids_}
        more = {name: np.atleast_1d(getattr(self, f"{name}_")) for name in _STORED}
        return super().to_arrays() | ids | more

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], **settings: Any) -> Self:
        """Restore a fitted encoder from the output of :meth:`to_arrays` and :meth:`settings`."""
        arrays = dict(arrays)
        own = {name: arrays.pop(name) for name in (*_STORED, "ids", "id_text") if name in arrays}
        encoder = super().from_arrays(arrays, **settings)
        if "id_text" in own:
            encoder.ids_ = text_array(stored.read_texts(own, "id_text"), "features/id_text")
        else:
            encoder.ids_ = own["ids"]
        nodes, width = len(encoder.ids_), encoder.width - (encoder.kind == "position+degree")
        shapes = {"positions": (nodes, width), "factors": (width,), "likeness": (1,), "degree_scale": (2,)}
        for name, shape in shapes.items():
            if own[name].shape != shape or own[name].dtype.kind != "f" or not np.isfinite(own[name]).all():
                raise InputError(f"features/{name} is not {shape} finite numbers")
            setattr(encoder, f"{name}_", float(own[name][0]) if name == "likeness" else own[name])
        if encoder.ids_.ndim != 1 or encoder.ids_.dtype.kind not in "biufU" or len(np.unique(encoder.ids_)) < nodes:
            raise InputError("features/ids are not different ids")
        return encoder

    def _check_restored(self) -> None:
        if self.kind_ != self.kind or self.kind_ not in KINDS or self.width < 1 or self.degrees_:
            raise InputError(f"the features are fitted as {shown(self.kind_)}, but their setting is {self.kind!r}")


def are_positions(features: str) -> bool:
    """Whether a kind of features is positions in the graph, which are smooth by construction and so free of noise."""
    return features in KINDS


def positions(graph: Graph, *, coarse: bool = False) -> np.ndarray:
    """Return the positions of the nodes of a graph, nodes × dimensions; fewer dimensions for a small graph.

    Coarse positions have half as many dimensions, from 128 entries per row of the matrix.
    """
    matrix = SparseMatrix.from_scipy(log_similarity(graph, coarse=coarse), symmetric=True)
    multiply, device = matrix.multiply, torch.device("cpu")
    dimensions = COARSE_DIMENSIONS if coarse else DIMENSIONS
    found = leading_directions(multiply, matrix.shape, dimensions, device, symmetric=True)
    found *= multiply(found).norm(dim=0)
    size = found.norm() / graph.nodes**0.5
    return np.asarray(found.div_(size) if size > 0 else found)


def log_similarity(graph: Graph, *, coarse: bool = False) -> sp.csr_array:
    """Return log max(1, vol·S_ij / sqrt(d̂_i d̂_j)), symmetric and sparse, where S is personalised PageRank.

    vol·S_ij / sqrt(d̂_i d̂_j) is how much more often a random walk from i ends at j than a stationary random walk.
    """
    found = sp.csr_array(PPR(alpha=_ALPHA, top_k=row_entries(graph.nodes, coarse=coarse))(graph))
    logs = sp.csr_array((found.data, found.indices, found.indptr), shape=found.shape)  # 32-bit indices where they fit
    del found
    degrees = with_self_loops(graph)[1]
    factors = (degrees.sum() ** 0.5 / np.sqrt(degrees)).astype(np.float32)
    logs.data *= factors[logs.indices]
    logs.data *= np.repeat(factors, np.diff(logs.indptr))
    np.log(np.maximum(logs.data, 1, out=logs.data), out=logs.data)
    logs.eliminate_zeros()
    return sp.csr_array(logs.maximum(logs.T))  # S is symmetric: an entry missing in one row is known from the other


def row_entries(nodes: int, *, coarse: bool = False) -> int:
    """Return the number of PageRank entries to keep per row, for a graph with this many nodes.

    >>> [row_entries(nodes) for nodes in (3_000, 200_000, 1_000_000)]
    [512, 335, 128]
    """
    return _FEWEST if coarse else min(max(_ENTRIES // max(nodes, 1), _FEWEST), _MOST)


def bytes_needed(nodes: int, *, coarse: bool = False) -> int:
    """Return roughly how many bytes it takes to compute the positions of this many nodes."""
    share = COARSE_DIMENSIONS / DIMENSIONS if coarse else 1
    return int(nodes * (share * _BYTES_PER_NODE + _BYTES_PER_ENTRY * row_entries(nodes, coarse=coarse)))


def _neighbour_average(graph: Graph) -> sp.csr_array:
    """Return the matrix that averages over the neighbours of a node, weighted by their edges."""
    strengths = np.asarray(graph.adjacency.sum(axis=1)).reshape(-1)
    factors = np.divide(1.0, strengths, out=np.zeros(len(strengths)), where=strengths > 0)
    return sp.csr_array(sp.diags_array(factors) @ graph.adjacency).astype(np.float32)


def _place_new(graph: Graph, found: np.ndarray, known: np.ndarray, factors: np.ndarray) -> None:
    """Fill in the positions of unknown nodes: averages over neighbours, which spread from the known nodes."""
    average = _neighbour_average(graph)[~known]
    for _ in range(_ROUNDS):
        found[~known] = average @ found
    found[~known] *= factors


def _likeness(graph: Graph, found: np.ndarray, known: np.ndarray | None = None) -> float:
    """Return the mean cosine of the positions of neighbours, among known nodes; 1 if no edge joins them."""
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    directions = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    edges = sp.triu(graph.adjacency, k=1, format="coo")
    rows, columns = edges.coords
    if known is not None:
        both = known[rows] & known[columns]
        rows, columns = rows[both], columns[both]
    if not len(rows):
        return 1.0
    total = 0.0
    for some in np.array_split(np.arange(len(rows)), 1 + len(rows) // 2**18):
        total += float((directions[rows[some]] * directions[columns[some]]).sum(dtype=np.float64))
    return total / len(rows)


def feature_encoder(kind: str, normalise: str = "row", degree_cap: int = 100) -> FeatureEncoder:
    """Return the encoder for a kind of features."""
    encoder: Any = PositionEncoder if kind in KINDS else FeatureEncoder
    made: FeatureEncoder = encoder(kind, normalise, degree_cap)
    return made
