"""Views of the authors' code that differ from what the paper's text defines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.views import View
from mvgrl.views.adjacency import normalised, with_self_loops
from mvgrl.views.base import check_dense_size


@dataclass(frozen=True)
class LoopedTwice(View):
    """The adjacency of the authors' code: self-loops are added to Â, which already has them, before normalisation.

    >>> LoopedTwice()(Graph.from_edges([0], [1])).toarray().round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """

    name: ClassVar[str] = "adjacency-looped-twice"

    def __call__(self, graph: Graph) -> sp.csr_array:
        looped, degrees = with_self_loops(graph)
        again = sp.csr_array(looped + sp.eye_array(graph.nodes, format="csr"))
        return normalised(again, degrees + 1)

    @property
    def symmetric(self) -> bool:
        """Always true."""
        return True


@dataclass(frozen=True)
class HeatByEntry(View):
    """The heat kernel of the authors' code: the exponential of each entry of t·ÂD̂⁻¹ − t, not of the matrix.

    >>> HeatByEntry(t=1.0)(Graph.from_edges([0], [1], nodes=3)).round(3)
    array([[0.607, 0.607, 0.368],
           [0.607, 0.607, 0.368],
           [0.368, 0.368, 1.   ]])
    """

    name: ClassVar[str] = "heat-by-entry"

    t: float = 5.0

    def __call__(self, graph: Graph) -> np.ndarray:
        check_dense_size(self.name, graph.nodes)
        looped, degrees = with_self_loops(graph)
        moved: np.ndarray = np.exp(self.t * (looped.toarray() / degrees[None, :] - 1))
        return moved

    @property
    def symmetric(self) -> bool:
        """Always false: each column is divided by a different degree."""
        return False


AUTHORS_VIEWS: dict[str, View] = {view.name: view for view in (LoopedTwice(), HeatByEntry())}
