"""What a graph is made of, checked where it comes in: each refusal names the place and the way out."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from mvgrl.errors import InputError


def as_matrix(values: Any, name: str = "features") -> Any:
    """Whatever holds numbers as a NumPy array or, where it came sparse, a CSR array.

    >>> as_matrix(torch.eye(3).to_sparse()).nnz
    3
    """
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        if values.dtype == torch.bfloat16:  # NumPy has none
            values = values.float()
        if values.layout == torch.strided:
            return values.numpy()
        if values.dim() != 2:
            raise InputError(f"{name} is a sparse tensor of shape {tuple(values.shape)}; it must have two dimensions")
        entries = values.to_sparse_coo().coalesce()
        rows, columns = entries.indices().numpy()
        return sp.csr_array((entries.values().numpy(), (rows, columns)), shape=tuple(values.shape))
    if sp.issparse(values):
        return sp.csr_array(values)
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name} is ragged; every row needs the same number of columns") from None


def count_nodes(nodes: Any, parts: dict[str, Any], highest: int) -> int:
    """The number of nodes: as given, else as many as the first part that has a row a node, else as the edges name."""
    if nodes is not None:
        try:
            number = operator.index(nodes)
        except TypeError:
            raise InputError(f"nodes is {nodes!r}; it must be a whole number, how many nodes there are") from None
        if number < 0:
            raise InputError(f"nodes is {number}; it must be a whole number, how many nodes there are")
        return number
    for part in parts.values():
        if part is not None:
            return int(part.shape[0]) if hasattr(part, "shape") and len(part.shape) else len(part)
    return highest + 1


def checked_ends(values: Any, name: str) -> np.ndarray:
    """One end of every edge, as node numbers."""
    ends: np.ndarray = as_matrix(values, name)
    if ends.ndim != 1:
        raise InputError(f"{name} has shape {ends.shape}; it must be one column of node numbers")
    if len(ends) and not np.issubdtype(ends.dtype, np.integer):
        raise InputError(f"{name} holds {ends.dtype} values; number the nodes with integers from 0")
    return np.asarray(ends, dtype=np.int64)


def check_range(ends: np.ndarray, name: str, nodes: int) -> None:
    """Every end is one of the nodes."""
    outside = np.flatnonzero((ends < 0) | (ends >= nodes))
    if len(outside):
        edge = int(outside[0])
        raise InputError(
            f"edge {edge}: {name} names node {ends[edge]}, but nodes are numbered 0 to {nodes - 1}; "
            "correct the edge or give the right number of nodes"
        )


def checked_weights(given: Any, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """One finite weight an edge, none below zero."""
    try:
        weights = np.asarray(as_matrix(given, "weights"), dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights are not numbers ({error})") from None
    if len(weights) != len(sources):
        raise InputError(f"{len(weights)} weights but {len(sources)} edges; give one weight an edge, or none at all")
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        edge = int(bad[0])
        raise InputError(
            f"edge {edge} ({sources[edge]} to {targets[edge]}) has weight {weights[edge]}; weights must be finite and "
            "not negative (a diffusion walks along them): drop the edge or transform the weights"
        )
    return weights


def checked_adjacency(adjacency: Any) -> sp.csr_array:
    """A canonical CSR adjacency: square, symmetric, positive, nothing on the diagonal; in time linear in the edges."""
    shape = np.shape(adjacency)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"the adjacency has shape {shape}; it must be square, one row and column a node")
    matrix = sp.csr_array(adjacency)
    if matrix.dtype != np.float64:
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format or not matrix.data.all():  # mended in a copy: the caller's stays as it is
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    way_out = "Graph.from_scipy makes a graph of any square matrix that is not negative"
    bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data > 0)))
    if len(bad):
        i, j = _place(matrix, bad[0])
        raise InputError(
            f"the adjacency is {matrix.data[bad[0]]} at ({i}, {j}); edge weights must be finite and positive"
        )
    loops = np.flatnonzero(matrix.diagonal())
    if len(loops):
        raise InputError(f"the adjacency has a self-loop at node {loops[0]}, but views add their own; {way_out}")
    transposed = matrix.T.tocsr()
    parts = ("indptr", "indices", "data")
    if not all(np.array_equal(getattr(matrix, part), getattr(transposed, part)) for part in parts):
        difference = abs(matrix - transposed).tocoo()
        i, j = (int(axis[difference.data > 0][0]) for axis in difference.coords)
        raise InputError(
            f"the adjacency is {matrix[i, j]} at ({i}, {j}) but {matrix[j, i]} at ({j}, {i}); it must be symmetric: "
            + way_out
        )
    return matrix


def checked_offsets(given: Any, adjacency: sp.csr_array) -> np.ndarray:
    """Where each graph starts, and the end; no graph empty, no edge between two of them."""
    offsets = np.asarray(given, dtype=np.int64)
    nodes = adjacency.shape[0]
    if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != nodes:
        raise InputError(f"offsets must start at 0 and end at the number of nodes, {nodes}; they are {offsets}")
    empty = np.flatnonzero(np.diff(offsets) <= 0)
    if len(empty):
        raise InputError(f"graph {empty[0]} has no nodes; leave empty graphs out")
    if len(offsets) > 2:
        graph_of_node = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        graph_of_row = np.repeat(graph_of_node, np.diff(adjacency.indptr))
        crossing = np.flatnonzero(graph_of_row != graph_of_node[adjacency.indices])
        if len(crossing):
            i, j = _place(adjacency, crossing[0])
            raise InputError(
                f"an edge joins node {i} of graph {graph_of_node[i]} with node {j} of graph {graph_of_node[j]}; "
                "graphs of a set must not be connected"
            )
    return offsets


def checked_features(features: Any, nodes: int) -> np.ndarray | sp.csr_array:
    """Features as float32 or float64, dense or CSR; every value finite."""
    matrix = as_matrix(features)
    if matrix.ndim != 2:
        raise InputError(f"features has shape {matrix.shape}; it must be a table, one row a node")
    if matrix.shape[0] != nodes:
        raise InputError(f"features has {matrix.shape[0]} rows, but the graph has {nodes} nodes; give one row a node")
    if matrix.shape[1] == 0:
        raise InputError("features has no columns; leave features out to use node degrees instead")
    if np.issubdtype(matrix.dtype, np.complexfloating):
        raise InputError("features are complex numbers; give real and imaginary parts as columns of their own")
    if matrix.dtype not in (np.float32, np.float64):
        try:
            matrix = matrix.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"features are not numbers ({error}); encode text and categories first") from None
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
    """One category a node, numbers or text; none missing."""
    labels = as_matrix(labels, "node_labels")
    if labels.shape != (nodes,):
        raise InputError(
            f"node_labels has shape {labels.shape}, but the graph has {nodes} nodes; give one label a node"
        )
    missing = [i for i, label in enumerate(labels) if label is None] if labels.dtype == object else []
    if not missing and labels.dtype.kind in "fcO":
        missing = np.flatnonzero(labels != labels).tolist()  # NaN is the one value that differs from itself
    if missing:
        raise InputError(f"node_labels: node {missing[0]} has none ({labels[missing[0]]}); give it a label of its own")
    # Numbers or text, nothing else: those can be compared, and saved without pickling Python objects.
    if labels.dtype.kind == "O":
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "S":
        return np.char.decode(labels, "utf-8")
    return np.asarray(labels if labels.dtype.kind in "biufU" else labels.astype(str))


def _place(matrix: sp.csr_array, entry: Any) -> tuple[int, int]:
    """Row and column of a stored entry."""
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])
