"""PyTorch Geometric's graphs, taken apart into what :meth:`Graph.from_edges` takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mvgrl.errors import InputError


def is_data(value: Any) -> bool:
    """Whether this is one graph or a batch; False for a collection to be gone through, an error for the rest."""
    from torch_geometric.data import Data, HeteroData  # here: importing it takes seconds, and only its users pay

    if isinstance(value, Data):
        return True
    if isinstance(value, (str, bytes, dict, torch.Tensor, HeteroData)) or not hasattr(value, "__iter__"):
        raise InputError(
            f"{type(value).__name__} is not a graph with one kind of node; "
            "give a Data, a Batch, or a list or Dataset of Data"
        )
    return False


def graph_arguments(data: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What ``Graph.from_edges`` needs to know of a ``Data``, and notes on what was left out."""
    sources, targets, weights, notes = _edges(data)
    arguments = {"sources": sources, "targets": targets, "weights": weights, "nodes": data.num_nodes}
    return arguments | {"features": data.x, "offsets": getattr(data, "ptr", None)}, notes


def _edges(data: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    weights = getattr(data, "edge_weight", None)
    if data.edge_index is not None:
        attributes = getattr(data, "edge_attr", None)
        if weights is None and attributes is not None:
            # Integers are kinds of edge (bond types, say), not strengths.
            if attributes.is_floating_point() and attributes.numel() == data.edge_index.shape[1]:
                weights = attributes.reshape(-1)
            else:
                return *_ends(data.edge_index), None, ("edge attributes left out (only one real number is a weight)",)
        return *_ends(data.edge_index), weights, ()
    for name in ("adj_t", "adj"):
        adjacency = getattr(data, name, None)
        if adjacency is None:
            continue
        if hasattr(adjacency, "coo"):  # torch_sparse.SparseTensor
            return *adjacency.coo(), ()
        entries = adjacency.to_sparse_coo().coalesce()
        unweighted = bool((entries.values() == 1).all())
        return *entries.indices(), None if unweighted else entries.values(), ()
    none = np.zeros(0, dtype=np.int64)
    return none, none, None, ()


def _ends(edge_index: Any) -> tuple[Any, Any]:
    ends = np.asarray(edge_index.detach().cpu())
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise InputError(f"edge_index has shape {ends.shape}; it must be 2 × edges, sources over targets")
    return ends[0], ends[1]
