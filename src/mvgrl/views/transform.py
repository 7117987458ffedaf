"""Views as PyTorch Geometric transforms."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from mvgrl.graphs import Graph
from mvgrl.views.base import View
from mvgrl.views.registry import resolve_view


class ViewTransform(BaseTransform):  # type: ignore[misc]
    """Replaces the edges of a ``Data`` object with the entries of a view; the input is not modified.

    Entry (i, j), the weight with which node i aggregates node j, becomes an edge from j to i, the direction in which
    PyTorch Geometric passes messages. The entries include self-loops and are already normalised, so use
    ``normalize=False`` in a ``GCNConv`` that follows. ``edge_attr`` describes the old edges and is dropped.

    >>> from torch_geometric.data import Data
    >>> data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> ViewTransform("ppr")(data).edge_weight.shape
    torch.Size([4])
    """

    def __init__(self, view: str | View | Mapping[str, Any]) -> None:
        self.view = resolve_view(view)

    def forward(self, data: Any) -> Any:
        """Return a new ``Data`` or, for a ``Batch``, a new ``Batch`` of transformed graphs."""
        if isinstance(data, Batch):
            return Batch.from_data_list([self(one) for one in data.to_data_list()])
        entries = sp.coo_array(self.view(Graph.from_pyg(data)))
        targets, sources = entries.coords
        new = copy.copy(data)  # a shallow copy: the tensors are shared, the attributes are not
        device = data.edge_index.device
        new.edge_index = torch.from_numpy(np.stack([sources, targets]).astype(np.int64)).to(device)
        new.edge_weight = torch.from_numpy(entries.data.astype(np.float32)).to(device)
        if "edge_attr" in new:
            del new.edge_attr
        new.num_nodes = data.num_nodes
        return new

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.view!r})"
