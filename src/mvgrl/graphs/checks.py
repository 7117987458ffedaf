"""Checks of the parts of a graph. Each error names what is wrong, where it is, and how to fix it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from mvgrl.errors import InputError, shown
from mvgrl.tables.names import check_distinct, check_text, text_array
from mvgrl.tables.sparse import checked_csr


def as_matrix(values: Any, name: str = "features") -> Any:
    """Convert arrays, tensors, lists or sparse matrices to a NumPy array or, if sparse, a CSR array.

    >>> as_matrix(torch.eye(3).to_sparse()).nnz
    3
    """
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        if values.dtype == torch.bfloat16:  # NumPy has no bfloat16
            values = values.float()
        if values.layout == torch.strided:
            return values.numpy()
        if values.dim() != 2:
            raise InputError(f"{name} is a sparse tensor of shape {tuple(values.shape)}; it must be two-dimensional")
        entries = sparse_entries(values, name)
        rows, columns = entries.indices().numpy()
        return sp.csr_array((entries.values().numpy(), (rows, columns)), shape=tuple(values.shape))
    if sp.issparse(values):
        return checked_csr(values, name)
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name} is ragged; every row must have the same number of columns") from None


def sparse_entries(tensor: torch.Tensor, name: str) -> torch.Tensor:
    """Return a sparse tensor in coalesced COO format; like SciPy, torch crashes on indices out of range.

    >>> sparse_entries(torch.eye(3).to_sparse_csr(), "adj_t").values()
    tensor([1., 1., 1.])
    """
    try:
        if tensor.layout == torch.sparse_coo:
            entries, values = tensor._indices(), tensor._values()
            tensor = torch.sparse_coo_tensor(entries, values, tensor.shape, check_invariants=True)
        else:
            by_row = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
            pointers = tensor.crow_indices() if by_row else tensor.ccol_indices()
            entries = tensor.col_indices() if by_row else tensor.row_indices()
            shape = list(tensor.shape)
            torch.sparse_compressed_tensor(
                pointers, entries, tensor.values(), shape, layout=tensor.layout, check_invariants=True
            )
        return tensor.to_sparse_coo().coalesce()
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{name} is not a consistent sparse tensor ({reason}); build it again") from None


def count_nodes(nodes: Any, parts: dict[str, Any], highest: int) -> int:
    """Return the number of nodes: as given, else from the first part with one row per node, else from the edges."""
    if nodes is not None:
        try:
            number = operator.index(nodes)
        except TypeError:
            raise InputError(f"nodes is {nodes!r}; it must be an integer, the number of nodes") from None
        if number < 0:
            raise InputError(f"nodes is {number}; the number of nodes must not be negative")
        return number
    for part in parts.values():
        if part is not None:
            return int(part.shape[0]) if hasattr(part, "shape") and len(part.shape) else len(part)
    return highest + 1


def checked_ends(values: Any, name: str) -> np.ndarray:
    """Return one endpoint per edge, as node numbers."""
    ends: np.ndarray = as_matrix(values, name)
    if ends.ndim != 1:
        raise InputError(f"{name} has shape {ends.shape}; it must be one-dimensional, one node number per edge")
    if len(ends) and not np.issubdtype(ends.dtype, np.integer):
        raise InputError(f"{name} holds {ends.dtype} values; number the nodes with integers that start at 0")
    return np.asarray(ends, dtype=np.int64)


def check_range(ends: np.ndarray, name: str, nodes: int) -> None:
    """Raise an error unless every endpoint is the number of a node."""
    outside = np.flatnonzero((ends < 0) | (ends >= nodes))
    if len(outside):
        edge = int(outside[0])
        raise InputError(
            f"edge {edge}: {name} refers to node {ends[edge]}, but nodes are numbered 0 to {nodes - 1}; "
            "correct the edge or the number of nodes"
        )


def checked_weights(given: Any, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return one finite, non-negative weight per edge."""
    try:
        weights = np.asarray(as_matrix(given, "weights"), dtype=np.float64).reshape(-1)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"weights are not numbers ({_reason(error)}); give one number per edge") from None
    if len(weights) != len(sources):
        raise InputError(f"{len(weights)} weights but {len(sources)} edges; give one weight per edge, or omit weights")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        edge = int(bad[0])
        raise InputError(
            f"edge {edge} ({sources[edge]} to {targets[edge]}) has weight {weights[edge]}; weights must be finite and "
            "non-negative (random walks follow them): drop the edge or transform the weights"
        )
    return weights


def checked_adjacency(adjacency: Any) -> sp.csr_array:
    """Return a canonical CSR adjacency: square, symmetric, positive, zero diagonal. Takes time linear in the edges."""
    shape = np.shape(adjacency)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"the adjacency has shape {shape}; it must be square, one row and column per node")
    matrix = checked_csr(adjacency, "the adjacency") if sp.issparse(adjacency) else sp.csr_array(adjacency)
    if matrix.dtype != np.float64:
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format or not matrix.data.all():  # in a copy: the input is not modified
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    remedy = "Graph.from_scipy accepts any square matrix without negative values"
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data > 0)))
    if len(bad):
        i, j = _place(matrix, bad[0])
        raise InputError(
            f"the adjacency is {matrix.data[bad[0]]} at ({i}, {j}); edge weights must be finite and positive"
        )
    _check_sums(matrix)
    loops = np.flatnonzero(matrix.diagonal())
    if len(loops):
        raise InputError(f"the adjacency has a self-loop at node {loops[0]}, but views add their own; {remedy}")
    transposed = matrix.T.tocsr()
    parts = ("indptr", "indices", "data")
    if not all(np.array_equal(getattr(matrix, part), getattr(transposed, part)) for part in parts):
        difference = abs(matrix - transposed).tocoo()
        i, j = (int(axis[difference.data > 0][0]) for axis in difference.coords)
        raise InputError(
            f"the adjacency is {matrix[i, j]} at ({i}, {j}) but {matrix[j, i]} at ({j}, {i}); it must be symmetric; "
            + remedy
        )
    return matrix


def _check_sums(matrix: sp.csr_array) -> None:
    """Check that the weights can be summed: every view divides by sums of weights."""
    with np.errstate(over="ignore"):
        sums = np.asarray(matrix.sum(axis=1)).reshape(-1)
        total = sums.sum()
    if not np.isfinite(total):
        raise weights_too_large(int(np.argmax(sums)))


def check_weight_sums(sources: np.ndarray, targets: np.ndarray, weights: Any, ids: np.ndarray) -> None:
    """Check the sums before the edges lose the ids of their nodes, so that the error can name one of them.

    The two directions of an edge count once in the graph, so half of the weights must fit in any case.
    """
    try:
        half = np.asarray(weights, dtype=np.float64) / 2
    except (OverflowError, TypeError, ValueError):
        return  # not numbers: an error of Graph.from_edges
    with np.errstate(over="ignore"):
        sums = np.bincount(sources, half, len(ids)) + np.bincount(targets, half, len(ids))
        total = sums.sum()
    if not np.isfinite(total):
        raise weights_too_large(shown(ids[int(np.argmax(sums))].item()))


def weights_too_large(node: object) -> InputError:
    """Return the error for weights whose sum is infinite."""
    return InputError(
        f"the weights are too large: their sum exceeds the range of double precision, most of it at node {node}; "
        "scale all weights down"
    )


def checked_offsets(given: Any, adjacency: sp.csr_array) -> np.ndarray:
    """Return the first node of each graph and the end; no graph may be empty, no edge may join two graphs."""
    offsets = np.asarray(given, dtype=np.int64)
    nodes = adjacency.shape[0]
    if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != nodes:
        raise InputError(f"offsets must start at 0 and end at the number of nodes, {nodes}; they are {offsets}")
    empty = np.flatnonzero(np.diff(offsets) <= 0)
    if len(empty):
        raise InputError(f"graph {empty[0]} has no nodes; omit empty graphs")
    if len(offsets) > 2:
        graph_of_node = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        graph_of_row = np.repeat(graph_of_node, np.diff(adjacency.indptr))
        crossing = np.flatnonzero(graph_of_row != graph_of_node[adjacency.indices])
        if len(crossing):
            i, j = _place(adjacency, crossing[0])
            raise InputError(
                f"an edge joins node {i} of graph {graph_of_node[i]} with node {j} of graph {graph_of_node[j]}; "
                "graphs must not be connected to each other"
            )
    return offsets


def checked_features(features: Any, nodes: int) -> np.ndarray | sp.csr_array:
    """Return features as float32 or float64, dense or CSR; all values must be finite."""
    matrix = as_matrix(features)
    if matrix.ndim != 2:
        raise InputError(f"features has shape {matrix.shape}; it must be a table with one row per node")
    if matrix.shape[0] != nodes:
        raise InputError(f"features has {matrix.shape[0]} rows, but the graph has {nodes} nodes; give one row per node")
    if matrix.shape[1] == 0:
        raise InputError("features has no columns; omit features to use the structure of the graph alone")
    if np.issubdtype(matrix.dtype, np.complexfloating):
        raise InputError("features are complex numbers; give real and imaginary parts as separate columns")
    if matrix.dtype not in (np.float32, np.float64):
        try:
            matrix = matrix.astype(np.float32)
        except (OverflowError, TypeError, ValueError) as error:
            raise InputError(f"features are not numbers ({_reason(error)}); encode text and categories first") from None
    sparse = sp.issparse(matrix)
    if sparse and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    bad = np.argwhere(~np.isfinite(matrix.data if sparse else matrix))
    if len(bad):
        row, column = _place(matrix, bad[0][0]) if sparse else bad[0]
        raise InputError(f"features: row {row}, column {column} is {matrix[row, column]}; fill or drop it first")
    checked: np.ndarray | sp.csr_array = matrix
    return checked


def checked_labels(labels: Any, nodes: int) -> np.ndarray:
    """Return one category per node, numbers or text; none may be missing."""
    if isinstance(labels, (list, tuple)):
        _check_texts(labels)
    labels = as_matrix(labels, "node_labels")
    if labels.shape != (nodes,):
        raise InputError(
            f"node_labels has shape {labels.shape}, but the graph has {nodes} nodes; give one label per node"
        )
    missing = [i for i, label in enumerate(labels) if label is None] if labels.dtype == object else []
    if not missing and labels.dtype.kind in "fcO":
        missing = np.flatnonzero(labels != labels).tolist()  # only NaN differs from itself
    if missing:
        raise InputError(f"node_labels: node {missing[0]} has none ({labels[missing[0]]}); give it a label")
    # Only numbers and text: they can be compared, and saved without pickle.
    if labels.dtype.kind == "O":
        _check_texts(labels)
        if any(hasattr(label, "__len__") and not isinstance(label, (str, bytes)) for label in labels):
            raise InputError("node_labels holds lists; give one number or text per node")
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "S":
        try:
            return np.char.decode(labels, "utf-8")
        except UnicodeDecodeError:
            raise InputError("node_labels holds bytes that are not UTF-8; decode them first") from None
    labels = np.asarray(labels if labels.dtype.kind in "biufU" else labels.astype(str))
    check_text(labels, "node_labels", allow_empty=True)
    return labels


def _check_texts(labels: Any) -> None:
    """Check that NumPy, which converts mixed values to text and drops NUL characters, keeps all labels apart."""
    if str in set(map(type, labels)):
        texts = [label if isinstance(label, str) else str(label) for label in labels]
        text_array(texts, "the node label")
        check_distinct(labels, texts, "node_labels")


def _reason(error: Exception) -> str:
    return shown(str(error).partition("\n")[0])[1:-1]


def _place(matrix: sp.csr_array, entry: Any) -> tuple[int, int]:
    """Row and column of a stored entry."""
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])
