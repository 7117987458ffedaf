"""τ: a view is a matrix of the weights with which each node listens to others. Adjacency, ppr, heat, distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
from mvgrl.views.sparsify import sparsify

if TYPE_CHECKING:
    from mvgrl.views.transform import ViewTransform

__all__ = [
    "PPR",
    "VIEWS",
    "Adjacency",
    "Distance",
    "Heat",
    "View",
    "ViewCache",
    "ViewTransform",
    "resolve_view",
    "sparsify",
    "view_matrix",
]

VIEWS: dict[str, type[View]] = {"adjacency": Adjacency, "ppr": PPR, "heat": Heat, "distance": Distance}


def resolve_view(choice: str | View | Mapping[str, Any]) -> View:
    """A view from its name, from its name and parameters (a mapping, or text), or as it is.

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
    """The view of a graph, ready to be multiplied with what is being learned.

    >>> view_matrix("ppr", Graph.from_edges([0, 1], [1, 2])).shape
    (3, 3)
    """
    view = resolve_view(view)
    matrix = view(graph) if cache is None else cache.get(view, graph)
    if not isinstance(matrix, np.ndarray):
        return SparseMatrix.from_scipy(matrix, symmetric=view.symmetric, dtype=dtype)
    if not matrix.flags.writeable:  # a cache's, which a tensor must not share
        matrix = matrix.copy()
    return DenseMatrix(torch.from_numpy(matrix).to(dtype), symmetric=view.symmetric)


def __getattr__(name: str) -> Any:
    # PyTorch Geometric takes seconds to import; only its transform needs it.
    if name == "ViewTransform":
        from mvgrl.views.transform import ViewTransform

        return ViewTransform
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
