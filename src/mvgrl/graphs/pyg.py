"""Convert graphs of PyTorch Geometric to the arguments of :meth:`Graph.from_edges`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

from mvgrl.errors import InputError
from mvgrl.graphs.checks import sparse_entries


def is_data(value: Any) -> bool:
    """Return True for a graph or a batch and False for an iterable of graphs; raise an error for anything else."""
    from torch_geometric.data import Data, HeteroData  # here: importing it takes seconds

    if isinstance(value, Data):
        return True
    if isinstance(value, (str, bytes, dict, torch.Tensor, HeteroData)) or not hasattr(value, "__iter__"):
        raise InputError(
            f"{type(value).__name__} is not a homogeneous graph; give a Data, a Batch, or a list or Dataset of Data"
        )
    return False


def graph_arguments(data: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments of ``Graph.from_edges`` for a ``Data``, and notes about ignored attributes."""
    sources, targets, weights, notes = _edges(data)
    with warnings.catch_warnings(action="ignore"):  # that the number of nodes follows from the edges, as in from_edges
        nodes = data.num_nodes
    arguments = {"sources": sources, "targets": targets, "weights": weights, "nodes": nodes}
    return arguments | {"features": data.x, "offsets": getattr(data, "ptr", None)}, notes


def _edges(data: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    weights = getattr(data, "edge_weight", None)
    if data.edge_index is not None:
        attributes = getattr(data, "edge_attr", None)
        if weights is None and attributes is not None:
            # Integers are edge types (such as bond types), not weights.
            if attributes.is_floating_point() and attributes.numel() == data.edge_index.shape[1]:
                weights = attributes.reshape(-1)
            else:
                note = "ignored edge attributes (only a single float per edge is a weight)"
                return *_ends(data.edge_index), None, (note,)
        return *_ends(data.edge_index), weights, ()
    for name in ("adj_t", "adj"):
        adjacency = getattr(data, name, None)
        if adjacency is None:
            continue
        if hasattr(adjacency, "coo"):  # torch_sparse.SparseTensor
            return *adjacency.coo(), ()
        entries = sparse_entries(adjacency, name)
        unweighted = bool((entries.values() == 1).all())
        return *entries.indices(), None if unweighted else entries.values(), ()
    none = np.zeros(0, dtype=np.int64)
    return none, none, None, ()


def _ends(edge_index: Any) -> tuple[Any, Any]:
    if not isinstance(edge_index, torch.Tensor):
        raise InputError(f"edge_index is a {type(edge_index).__name__}; it must be a tensor, 2 × edges")
    ends = np.asarray(edge_index.detach().cpu())
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise InputError(f"edge_index has shape {ends.shape}; it must be 2 × edges: sources, then targets")
    return ends[0], ends[1]
