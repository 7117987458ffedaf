"""Light edges between nodes with similar features, which diffusions follow in addition to the graph's own edges.

A node with few neighbours then also learns from nodes like it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix
from mvgrl.settings import PROPAGATED
from mvgrl.vector_space import leading_directions

_WEIGHT = 0.1  # of such an edge, relative to the mean weight of the graph's edges
_BLOCK = 2**21  # cosines in memory at a time


def join_similar(graph: Graph, features: Matrix, count: int, device: torch.device) -> Graph:
    """Return the graph with light edges between nodes that are each among the ``count`` most similar to the other.

    Similarity is the cosine of the leading 256 components of the features, and must be positive. It must be mutual,
    because some nodes are among the most similar ones of hundreds of others. Nodes of different graphs are not joined.

    >>> from mvgrl.matrices import DenseMatrix
    >>> features = DenseMatrix(torch.tensor([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0], [0.0, 0.0]]))
    >>> join_similar(Graph.from_edges([0], [2], nodes=4), features, 1, torch.device("cpu")).adjacency.toarray()
    array([[0. , 0.1, 1. , 0. ],
           [0.1, 0. , 0. , 0. ],
           [1. , 0. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    rows = _components(features, device)
    found = [_most_similar(rows[start:stop], count) + start for start, stop in pairwise(graph.offsets.tolist())]
    sources, targets = torch.cat(found, dim=1).cpu().numpy()
    weights = np.full(len(sources), _WEIGHT * (graph.adjacency.data.mean() if graph.edges else 1.0))
    joined = sp.csr_array((weights, (sources, targets)), shape=graph.adjacency.shape)
    return Graph(sp.csr_array(graph.adjacency + joined.minimum(joined.T)), offsets=graph.offsets)


def _components(features: Matrix, device: torch.device) -> Tensor:
    """Return the leading components of the features, at unit length."""
    if features.shape[1] > PROPAGATED:
        directions = leading_directions(lambda some: features @ some, features.shape, PROPAGATED, device)
    else:
        directions = torch.eye(features.shape[1], device=device)
    with torch.no_grad():
        return normalize(features @ directions)


def _most_similar(rows: Tensor, count: int) -> Tensor:
    """Return the pairs of rows, 2 × pairs: each row, and those with the highest positive cosine.

    For all rows at once, on their device; :mod:`mvgrl.neighbors` answers single queries.
    """
    count = min(count, len(rows) - 1)
    pairs = [torch.empty(2, 0, dtype=torch.int64, device=rows.device)]
    step = max(1, _BLOCK // max(len(rows), 1))
    for start in range(0, len(rows), step):
        cosines = rows[start : start + step] @ rows.T
        own = torch.arange(len(cosines), device=rows.device)
        cosines[own, own + start] = -1.0
        values, nearest = cosines.topk(count)
        near = values > 0
        pairs.append(torch.stack([(own[:, None] + start).expand_as(nearest)[near], nearest[near]]))
    return torch.cat(pairs, dim=1)
