"""The views by name, and their matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from mvgrl.components import resolve
from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, Matrix, SparseMatrix
from mvgrl.views.adjacency import Adjacency
from mvgrl.views.base import View
from mvgrl.views.cache import ViewCache
from mvgrl.views.distance import Distance
from mvgrl.views.heat import Heat
from mvgrl.views.ppr import PPR

VIEWS: dict[str, type[View]] = {"adjacency": Adjacency, "ppr": PPR, "heat": Heat, "distance": Distance}


def resolve_view(choice: str | View | Mapping[str, Any]) -> View:
    """The view of a name, of a name and parameters (a mapping, or text), or the view itself.

    >>> resolve_view("heat:t=3:top_k=32")
    Heat(t=3.0, method='auto', top_k=32, threshold=None, epsilon=0.0001, scale='none')
    >>> resolve_view({"name": "ppr", "alpha": 0.1})
    PPR(alpha=0.1, method='auto', top_k=None, threshold=None, epsilon=0.0001, scale='none')
    """
    return resolve("view", View, VIEWS, choice)


def view_matrix(
    view: str | View | Mapping[str, Any],
    graph: Graph,
    *,
    cache: ViewCache | None = None,
    dtype: torch.dtype = torch.float32,
) -> Matrix:
    """The view of a graph as a matrix to multiply with parameters.

    >>> view_matrix("ppr", Graph.from_edges([0, 1], [1, 2])).shape
    (3, 3)
    """
    view = resolve_view(view)
    matrix = view(graph) if cache is None else cache.get(view, graph)
    if not isinstance(matrix, np.ndarray):
        return SparseMatrix.from_scipy(matrix, symmetric=view.symmetric, dtype=dtype)
    if not matrix.flags.writeable:  # it belongs to the cache, and a tensor must not share it
        matrix = matrix.copy()
    return DenseMatrix(torch.from_numpy(matrix).to(dtype), symmetric=view.symmetric)
