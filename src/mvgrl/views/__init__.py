"""τ: a view is a matrix that says whom each node listens to. Adjacency, ppr, heat, distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mvgrl.errors import SettingsError, check_name
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
    if isinstance(choice, View):
        return choice
    if isinstance(choice, str):
        choice = _parsed(choice)
    if not isinstance(choice, Mapping):
        raise SettingsError(
            f"a view is a name, a View or a mapping such as {{'name': 'ppr', 'alpha': 0.1}}, "
            f"not {choice!r} ({type(choice).__name__})"
        )
    settings = dict(choice)
    if "name" not in settings:
        raise SettingsError(f"the view {settings!r} has no 'name'; give one of {', '.join(VIEWS)}")
    name = settings.pop("name")
    check_name("view", name, VIEWS)
    kind = VIEWS[name]
    for key in settings:
        check_name(f"parameter of view {name!r}:", key, [field.name for field in fields(kind)])
    return kind(**settings)


def _parsed(text: str) -> dict[str, Any]:
    """``name:parameter=value:…``, each value a number where it reads as one."""
    name, *parameters = text.split(":")
    found: dict[str, Any] = {"name": name}
    for parameter in parameters:
        key, equals, value = parameter.partition("=")
        if not equals:
            raise SettingsError(
                f"the view {text!r} has {parameter!r} where parameter=value belongs, as in {name}:top_k=32"
            )
        try:
            found[key] = int(value)
        except ValueError:
            try:
                found[key] = float(value)
            except ValueError:
                found[key] = value
    return found


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
