"""The adjacency view: D̂^-1/2 Â D̂^-1/2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.views.base import View


def with_self_loops(graph: Graph) -> tuple[sp.csr_array, np.ndarray]:
    """Return Â = A + I and its degrees d̂, both float64.

    >>> with_self_loops(Graph.from_edges([0], [1], nodes=3))[1]
    array([2., 2., 1.])
    """
    looped = sp.csr_array(graph.adjacency.astype(np.float64) + sp.eye_array(graph.nodes, format="csr"))
    looped.sort_indices()
    return looped, np.asarray(looped.sum(axis=1), dtype=np.float64).reshape(-1)


def normalised_adjacency(graph: Graph) -> tuple[sp.csr_array, np.ndarray]:
    """Return M = D̂^-1/2 Â D̂^-1/2, symmetric to the last bit, and the degrees d̂."""
    looped, degrees = with_self_loops(graph)
    return normalised(looped, degrees), degrees


def normalised(looped: sp.csr_array, degrees: np.ndarray) -> sp.csr_array:
    """Return D^-1/2 A D^-1/2 of a symmetric matrix, which stays exactly symmetric."""
    root = 1.0 / np.sqrt(degrees)
    # Multiply the two roots first: rounding makes a product of three factors depend on their order, and so on (i, j)
    # or (j, i).
    factors = np.repeat(root, np.diff(looped.indptr)) * root[looped.indices]
    return sp.csr_array((looped.data * factors, looped.indices, looped.indptr), shape=looped.shape)


@dataclass(frozen=True)
class Adjacency(View):
    """The normalised adjacency matrix with self-loops, D̂^-1/2 Â D̂^-1/2, as float64 in CSR format.

    >>> Adjacency()(Graph.from_edges([0], [1], [3.0])).toarray()
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """

    name: ClassVar[str] = "adjacency"
    steps: ClassVar[int] = 8  # a diffusion reaches far in one

    def __call__(self, graph: Graph) -> sp.csr_array:
        return normalised_adjacency(graph)[0]

    @property
    def symmetric(self) -> bool:
        """Always True."""
        return True
