"""The initial node features X, the constant input of the encoders.

They are the graph's own features if it has any, else its node labels, else its degrees. The encoder is fitted on the
training graphs and applied to new ones, so a column has the same meaning in both.
"""

from __future__ import annotations

import logging
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mvgrl.errors import InputError, SettingsError, check_name, shown
from mvgrl.graphs import stored_features as stored
from mvgrl.graphs.graph import Graph
from mvgrl.matrices import DenseMatrix, Matrix, SparseMatrix
from mvgrl.tables.encoders import TableEncoder

logger = logging.getLogger(__name__)

KINDS = ("auto", "given", "labels", "degree-one-hot", "degree", "labels+degree", "position", "position+degree")
NORMALISATIONS = ("none", "row", "standard")
_SPARSE_BELOW = 0.25  # tables with a smaller share of non-zeros are stored as sparse matrices


class CentredMatrix(Matrix):
    """A matrix with the same row subtracted from each row, M − 1·o; M stays sparse: (M − 1·o)Θ = MΘ − 1·(oΘ).

    >>> CentredMatrix(DenseMatrix(torch.eye(2)), torch.tensor([1.0, 0.0])) @ torch.ones(2, 1)
    tensor([[0.],
            [0.]])
    """

    def __init__(self, matrix: Matrix, offset: Tensor) -> None:
        self.matrix, self.offset = matrix, offset
        self.shape = matrix.shape

    def __matmul__(self, right: Tensor) -> Tensor:
        return self.matrix @ right - self.offset.to(right.dtype) @ right

    def multiply(self, right: Tensor) -> Tensor:
        """Return the product without recording gradients."""
        return self.matrix.multiply(right) - self.offset.to(right.dtype) @ right

    def rows(self, nodes: Tensor) -> CentredMatrix:
        """Return the given rows, with all columns."""
        return CentredMatrix(self.matrix.rows(nodes), self.offset)

    def to(self, device: torch.device | str) -> CentredMatrix:
        """Return the matrix on another device."""
        return CentredMatrix(self.matrix.to(device), self.offset.to(device))

    def dense(self) -> Tensor:
        """Return all entries as one dense tensor."""
        return self.matrix.dense() - self.offset


class FeatureEncoder:
    """Turns a graph into its initial features X (n×width), in the same way for training graphs and new ones.

    ``kind`` is one of

    * ``given``: the features of the graph.
    * ``labels``: the node labels, one-hot encoded.
    * ``degree-one-hot``: the number of neighbours, one-hot encoded; degrees from ``degree_cap`` up share a column.
    * ``degree``: the number of neighbours in one column.
    * ``labels+degree``: ``labels`` and ``degree-one-hot`` side by side.
    * ``auto``: the first of ``given``, ``labels`` and ``degree-one-hot`` that the graph has.

    ``normalise`` scales given features: ``row`` (the absolute values of a row sum to 1), ``standard`` (subtract the
    mean of each column and divide by its standard deviation) or ``none``. ``standard`` also applies to ``degree``; the
    one-hot encodings are never scaled.

    >>> graph = Graph.from_edges([0, 1], [1, 2], nodes=4)
    >>> FeatureEncoder("degree-one-hot").fit(graph).transform(graph).dense()
    tensor([[0., 1., 0.],
            [0., 0., 1.],
            [0., 1., 0.],
            [1., 0., 0.]])
    """

    kind_: str  # the kind that auto was resolved to
    width: int  # number of columns of X
    degrees_: int = 0  # number of columns of the one-hot encoded degrees
    labels_: np.ndarray | None = None  # the sorted vocabulary
    mean_: np.ndarray | None = None  # mean per column, with normalise="standard"
    scale_: np.ndarray | None = None  # 1/standard deviation, 0 for a constant column
    names_: tuple[str, ...] | None = None  # names of the given features, if they have names
    columns_: TableEncoder | None = None  # how given features were made from a table of nodes, if they were

    def __init__(self, kind: str = "auto", normalise: str = "row", degree_cap: int = 100) -> None:
        check_name("features", kind, KINDS)
        check_name("normalise", normalise, NORMALISATIONS)
        if isinstance(degree_cap, bool) or not isinstance(degree_cap, (int, np.integer)) or not 0 < degree_cap < 2**63:
            raise SettingsError(f"degree_cap is {shown(degree_cap)}; it must be a positive integer")
        self.kind, self.normalise, self.degree_cap = kind, normalise, int(degree_cap)

    def fit(self, graph: Graph, ids: np.ndarray | None = None) -> FeatureEncoder:
        """Learn the columns from a graph: the label vocabulary, the largest degree, means and standard deviations.

        The ids of the nodes are for encoders that know the nodes one by one.
        """
        self.labels_ = self.mean_ = self.scale_ = self.names_ = self.columns_ = None
        self.degrees_ = 0
        self.kind_ = _first_available(graph) if self.kind == "auto" else self.kind
        if self.kind_ in ("labels", "labels+degree"):
            self.labels_ = np.unique(_node_labels(graph))
        if self.kind_ in ("degree-one-hot", "labels+degree"):
            self.degrees_ = min(self.degree_cap, int(graph.degrees.max())) + 1
        self.width = (0 if self.labels_ is None else len(self.labels_)) + self.degrees_
        if self.kind_ in ("given", "degree"):
            table = self._numbers(graph)
            self.width = int(table.shape[1])
            if self.normalise == "standard":
                self.mean_, self.scale_ = _mean_and_scale(table)
        if self.kind_ == "given":
            self.names_ = graph.feature_names
        return self

    def transform(self, graph: Graph, dtype: torch.dtype = torch.float32, ids: np.ndarray | None = None) -> Matrix:
        """Return the features of a graph, in the columns learned by ``fit``; sparse if most of them are zero."""
        self._check_fitted()
        if self.kind_ not in ("given", "degree"):
            return SparseMatrix.from_scipy(self._one_hots(graph), dtype=dtype)
        table = self._numbers(graph)
        if table.shape[1] != self.width:
            raise InputError(
                f"the graph has {table.shape[1]} features, but the encoder was fitted on {self.width}; "
                "use the same columns in the same order"
            )
        if self.normalise == "row" and self.kind_ == "given":
            table = rows_to_one(table)
        if sp.issparse(table):
            if self.mean_ is None or self.scale_ is None:
                return SparseMatrix.from_scipy(table, dtype=dtype)
            scaled = SparseMatrix.from_scipy(table.multiply(self.scale_[None, :]), dtype=dtype)
            return CentredMatrix(scaled, torch.from_numpy(self.mean_ * self.scale_).to(dtype))
        if self.mean_ is not None:
            table = (table - self.mean_) * self.scale_
        return DenseMatrix(torch.from_numpy(np.array(table)).to(dtype))

    def is_constant(self, graph: Graph) -> bool:
        """Return whether given features are the same for every node once they are scaled and thus uninformative.

        >>> graph = Graph.from_edges([0, 1], [1, 2], features=[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
        >>> [FeatureEncoder("given", normalise).fit(graph).is_constant(graph) for normalise in ("row", "standard")]
        [True, False]
        """
        self._check_fitted()
        if self.kind_ != "given":
            return False
        table = self._numbers(graph)
        by_row = self.normalise == "row"
        highest, lowest = extremes(rows_to_one(table) if by_row else table)
        # Multiples of a row are equal only up to rounding after they are divided by their sums.
        return bool((highest <= lowest + (1e-6 if by_row else 0.0)).all())

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor, to be saved together with :meth:`to_arrays`."""
        return {"kind": self.kind, "normalise": self.normalise, "degree_cap": self.degree_cap}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted state as numeric arrays (text as UTF-8 bytes), which any tensor file can hold.

        >>> encoder = FeatureEncoder("labels").fit(Graph.from_edges([0], [1], node_labels=["C", "N"]))
        >>> FeatureEncoder.from_arrays(encoder.to_arrays(), **encoder.settings()).labels_
        array(['C', 'N'], dtype='<U1')
        """
        self._check_fitted()
        arrays = {
            "kind": stored.to_bytes(self.kind_),
            "width": np.array([self.width]),
            "degrees": np.array([self.degrees_]),
        }
        if self.labels_ is not None:
            text = self.labels_.dtype.kind not in "biuf"
            arrays |= {"label_text": stored.to_bytes(self.labels_.tolist())} if text else {"labels": self.labels_}
        if self.mean_ is not None and self.scale_ is not None:
            arrays |= {"mean": self.mean_, "scale": self.scale_}
        if self.names_ is not None:
            arrays |= {"names": stored.to_bytes(list(self.names_))}
        if self.columns_ is not None:
            state, weights = self.columns_.to_state()
            arrays |= {"columns": stored.to_bytes(state)} | ({} if weights is None else {"word_weights": weights})
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], **settings: Any) -> Self:
        """Restore a fitted encoder from the output of :meth:`to_arrays` and :meth:`settings`."""
        stored.check_names(arrays)
        encoder = cls(**settings)
        encoder.kind_ = stored.read_text(arrays, "kind")
        encoder.width = stored.read_count(arrays, "width", 1)
        encoder.degrees_ = stored.read_count(arrays, "degrees", 0)
        encoder.labels_ = stored.read_labels(arrays)
        encoder.mean_, encoder.scale_ = (stored.read_columns(arrays, name, encoder.width) for name in ("mean", "scale"))
        encoder.names_ = tuple(stored.read_texts(arrays, "names")) if "names" in arrays else None
        if "columns" in arrays:
            columns = stored.read_text(arrays, "columns")
            encoder.columns_ = TableEncoder.from_state(columns, arrays.get("word_weights"))
        encoder._check_restored()
        return encoder

    def _check_restored(self) -> None:
        """Reject a state that :meth:`fit` never leaves behind."""
        if self.kind_ == "auto" or self.kind not in ("auto", self.kind_):
            raise InputError(f"the features are fitted as {shown(self.kind_)}, but their setting is {self.kind!r}")
        check_name("features", self.kind_, KINDS, InputError)
        numbers, labels = self.kind_ in ("given", "degree"), 0 if self.labels_ is None else len(self.labels_)
        fits = (
            (labels > 0) == (self.kind_ in ("labels", "labels+degree"))
            and (self.degrees_ > 0) == (self.kind_ in ("degree-one-hot", "labels+degree"))
            and self.degrees_ <= self.degree_cap + 1
            and (self.mean_ is not None) == (numbers and self.normalise == "standard")
            and (self.scale_ is None or bool((self.scale_ >= 0).all()))
            and (self.names_ is None or (self.kind_ == "given" and len(self.names_) == self.width))
            and (self.columns_ is None or self.columns_.width == self.width)  # before names of any number are made
            and (self.columns_ is None or self.names_ == self.columns_.names)
            and (self.kind_ == "given" or self.width == (1 if numbers else labels + self.degrees_))
        )
        if not fits:
            raise InputError(f"the arrays of the features do not fit {self.kind_!r} features of {self.width} columns")

    def _check_fitted(self) -> None:
        if not hasattr(self, "kind_"):
            raise SettingsError("the feature encoder is not fitted; call fit with the training graphs first")

    def _numbers(self, graph: Graph) -> Any:
        """Return given features or degrees before scaling: as CSR if they are mostly zeros, else dense.

        Features are first rounded to single precision, and their storage does not depend on their input format. So the
        same table gives the same embeddings, whether it comes from text (doubles), from a benchmark's files (singles)
        or as a sparse matrix.
        """
        if self.kind_ == "degree":
            return graph.degrees[:, None].astype(np.float64)
        if graph.features is None:
            raise InputError("the graph has no features; provide them, or use its degrees (kind='degree-one-hot')")
        table = _in_single_precision(graph.features[:, self.columns_of(graph)])
        sparse = sp.issparse(table)
        filled = (table.nnz if sparse else np.count_nonzero(table)) / (table.shape[0] * table.shape[1])
        if filled < _SPARSE_BELOW:
            return table if sparse else sp.csr_array(table)
        return table.toarray() if sparse else table

    def columns_of(self, graph: Graph) -> Any:
        """Return which columns of a graph are the fitted ones, in their order; other names raise an error."""
        known, names = self.names_, graph.feature_names
        if known is None or names is None or names == known:
            return slice(None)
        missing = [name for name in known if name not in names]
        unknown = [name for name in names if name not in known]
        if missing or unknown:
            problem = f"the graph has no feature {missing[0]!r}" if missing else f"unknown feature {unknown[0]!r}"
            raise InputError(
                f"{problem}; use the columns the model was trained with, "
                f"{', '.join(known[:10])}{', …' if len(known) > 10 else ''}"
            )
        return [names.index(name) for name in known]

    def _one_hots(self, graph: Graph) -> sp.csr_array:
        """Return one-hot encoded labels, degrees, or both side by side."""
        parts = []
        if self.labels_ is not None:
            labels = _node_labels(graph)
            if (labels.dtype.kind in "US") != (self.labels_.dtype.kind in "US"):
                raise InputError(
                    f"node labels are {labels.dtype}, but the encoder was fitted on {self.labels_.dtype}; "
                    "give both as numbers or both as text"
                )
            column = np.searchsorted(self.labels_, labels).clip(max=len(self.labels_) - 1)
            known = self.labels_[column] == labels
            if not known.all():
                node = int(np.flatnonzero(~known)[0])
                message = "%d nodes have labels not seen in training, encoded as zeros (first: node %d, label %r)"
                logger.warning(message, int((~known).sum()), node, labels[node].item())
            parts.append(_one_hot(column, len(self.labels_), known))
        if self.degrees_:
            parts.append(_one_hot(graph.degrees.clip(max=self.degrees_ - 1), self.degrees_))
        return sp.csr_array(sp.hstack(parts, format="csr"))


def _first_available(graph: Graph) -> str:
    if graph.features is not None:
        return "given"
    return "degree-one-hot" if graph.node_labels is None else "labels"


def _node_labels(graph: Graph) -> np.ndarray:
    if graph.node_labels is None:
        raise InputError(
            "the graph has no node labels; provide node_labels, or use its degrees (kind='degree-one-hot')"
        )
    return graph.node_labels


def _one_hot(column: np.ndarray, width: int, known: np.ndarray | None = None) -> sp.csr_array:
    rows = np.arange(len(column)) if known is None else np.flatnonzero(known)
    return sp.csr_array((np.ones(len(rows)), (rows, column[rows])), shape=(len(column), width))


def _in_single_precision(features: Any) -> Any:
    """Convert a table to float32 and remove stored zeros from a sparse one; the input is not modified."""
    with np.errstate(over="ignore"):  # reported below
        table = features.astype(np.float32, copy=False)
    if table is not features:
        rows, columns = (abs(table) == np.inf).nonzero()
        if len(rows):
            raise InputError(
                f"features: row {rows[0]}, column {columns[0]} is {features[rows[0], columns[0]]}, too large for "
                "single precision (3.4e38); scale the column down"
            )
    if sp.issparse(table) and not table.data.all():
        table = table.copy()
        table.eliminate_zeros()
    return table


def rows_to_one(table: Any) -> Any:
    """Divide every row by the sum of its absolute values."""
    if sp.issparse(table):
        sums = (abs(table).astype(np.float64) @ np.ones(table.shape[1])).reshape(-1, 1)
    else:
        sums = np.zeros((table.shape[0], 1))
        for column in range(table.shape[1]):  # from left to right, like the sparse product: bit-identical sums
            sums[:, 0] += abs(table[:, column])
    factor = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)  # rows of zeros stay zero
    return sp.csr_array(table.multiply(factor)) if sp.issparse(table) else table * factor


def _mean_and_scale(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and 1/standard deviation per column in double precision; a sparse table is not densified."""
    count = table.shape[0]
    if sp.issparse(table):
        entries = sp.csc_array(table, dtype=np.float64)
        mean = np.asarray(entries.sum(axis=0)).reshape(-1) / count
        stored = np.diff(entries.indptr)
        entries.data -= np.repeat(mean, stored)
        squares = np.asarray(entries.multiply(entries).sum(axis=0)).reshape(-1) + (count - stored) * mean**2
    else:
        mean = table.mean(axis=0, dtype=np.float64)
        squares = ((table - mean) ** 2).sum(axis=0)
    highest, lowest = extremes(table)
    # Rounding may give a constant column a tiny deviation; dividing by it would only amplify the rounding errors.
    varies = (highest > lowest) & (squares > 0)
    return mean, np.divide(1.0, np.sqrt(squares / count), out=np.zeros_like(mean), where=varies)


def varying_columns(table: Any) -> int:
    """Return how many columns are not the same for all nodes; hashed text, for example, has many empty ones.

    >>> varying_columns(np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 3.0]]))
    1
    """
    highest, lowest = extremes(table)
    return int((highest > lowest).sum())


def extremes(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest and the smallest value of each column."""
    if not sp.issparse(table):
        return table.max(axis=0), table.min(axis=0)
    highest, lowest = (np.asarray(end.todense()).reshape(-1) for end in (table.max(axis=0), table.min(axis=0)))
    return highest, lowest
