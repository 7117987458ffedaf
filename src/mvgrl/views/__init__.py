"""τ: a view is a matrix of the weights with which each node aggregates others. Adjacency, ppr, heat, distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mvgrl.views.adjacency import Adjacency
from mvgrl.views.base import View
from mvgrl.views.cache import ViewCache
from mvgrl.views.distance import Distance
from mvgrl.views.heat import Heat
from mvgrl.views.ppr import PPR
from mvgrl.views.registry import VIEWS, resolve_view, view_matrix
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


def __getattr__(name: str) -> Any:
    # PyTorch Geometric takes seconds to import; and only its transform needs it.
    if name == "ViewTransform":
        from mvgrl.views.transform import ViewTransform

        return ViewTransform
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
