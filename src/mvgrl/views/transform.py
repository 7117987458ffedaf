"""A view as a PyTorch Geometric transform."""

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
from mvgrl.views import View, resolve_view


class ViewTransform(BaseTransform):  # type: ignore[misc]
    """Replaces the edges of a ``Data`` by a view's entries; the input is left as it is.

    Entry (i, j), the weight with which node i listens to node j, becomes an edge from j to i, the direction in which
    PyTorch Geometric passes messages. Self-loops are among the entries and the normalisation is done, so a ``GCNConv``
    after this takes ``normalize=False``. ``edge_attr`` described the old edges and is dropped.

    >>> from torch_geometric.data import Data
    >>> data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> ViewTransform("ppr")(data).edge_weight.shape
    torch.Size([4])
    """

    def __init__(self, view: str | View | Mapping[str, Any]) -> None:
        self.view = resolve_view(view)

    def forward(self, data: Any) -> Any:
        """The new ``Data``; a ``Batch`` is taken apart and put together again."""
        if isinstance(data, Batch):
            return Batch.from_data_list([self(one) for one in data.to_data_list()])
        entries = sp.coo_array(self.view(Graph.from_pyg(data)))
        listeners, heard = entries.coords
        new = copy.copy(data)  # shares the tensors, not the slots they are in
        device = data.edge_index.device
        new.edge_index = torch.from_numpy(np.stack([heard, listeners]).astype(np.int64)).to(device)
        new.edge_weight = torch.from_numpy(entries.data.astype(np.float32)).to(device)
        if "edge_attr" in new:
            del new.edge_attr
        new.num_nodes = data.num_nodes
        return new

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.view})"
