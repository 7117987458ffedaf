"""The input of other systems: scaled features, edges in the form of PyTorch Geometric, and the labels to learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix
from mvgrl.positions import feature_encoder

if TYPE_CHECKING:
    from mvgrl.datasets import Dataset
    from mvgrl.settings import Settings


def features_of(dataset: Dataset, settings: Settings, device: torch.device, *, normalise: str = "row") -> Matrix:
    """Return the features of the nodes, scaled; where there are none, those that the settings name, such as positions.

    ``.dense()`` makes them a tensor.
    """
    encoder = feature_encoder(settings.features, normalise, settings.degree_cap).fit(dataset.graph)
    return encoder.transform(dataset.graph).to(device)


def edge_index_of(graph: Graph, device: torch.device | str = "cpu") -> Tensor:
    """Return the edges as PyTorch Geometric has them, 2 × edges, each edge in both directions.

    >>> edge_index_of(Graph.from_edges([0], [1])).tolist()
    [[0, 1], [1, 0]]
    """
    edges = graph.adjacency.tocoo()
    return torch.from_numpy(np.stack([edges.row, edges.col]).astype(np.int64)).to(device)


def split_of(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the train and val nodes whose labels a supervised method may use."""
    if dataset.splits is None:
        raise InputError(f"{dataset.name} has no split into train, val and test nodes, which a supervised method needs")
    return dataset.splits["train"], dataset.splits["val"]
