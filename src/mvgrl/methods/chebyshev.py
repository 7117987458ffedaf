"""Chebyshev: convolutions with polynomials of the Laplacian (Defferrard et al., NeurIPS 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import eigsh
from torch import Tensor, nn

from mvgrl.encoders import xavier
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.methods.node_classifier import Network, NodeClassifier, NodeData
from mvgrl.methods.noise import Noise, dropout

_SMALL = 64  # nodes, below which all eigenvalues are computed


def scaled_laplacian(graph: Graph) -> sp.csr_array:
    """Return 2·L/λ - I with L = I - D^-1/2 A D^-1/2 and its largest eigenvalue λ; an isolated node has L = 1.

    >>> scaled_laplacian(Graph.from_edges([0], [1])).toarray()
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    degrees = np.asarray(graph.adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
    around = sp.diags_array(root) @ graph.adjacency.astype(np.float64) @ sp.diags_array(root)
    unit = sp.eye_array(graph.nodes, format="csr")
    laplacian = sp.csr_array(unit - around)
    if graph.nodes < _SMALL:
        highest = np.linalg.eigvalsh(laplacian.toarray())[-1]
    else:
        start = np.random.default_rng(0).normal(size=graph.nodes)
        highest = eigsh(laplacian, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0]
    return sp.csr_array(laplacian * (2.0 / highest) - unit)


def polynomial(matrix: Matrix, terms: Tensor) -> Tensor:
    """Return Σ T_k(matrix)·terms[k] by Clenshaw's recurrence, for terms of orders × nodes × width."""
    after = later = torch.zeros_like(terms[0])
    for term in terms[1:].flip(0):
        after, later = term + 2 * (matrix @ after) - later, after
    return terms[0] + matrix @ after - later


class Filter(nn.Module):
    """A layer: Σ T_k(L)·X·Θ_k + b."""

    def __init__(self, width: int, out: int, order: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.stack([xavier(width, out, generator=generator) for _ in range(order + 1)]))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x: Matrix | Tensor, laplacian: Matrix) -> Tensor:
        orders, width, _ = self.weights.shape
        terms = x @ self.weights.movedim(0, 1).reshape(width, -1)  # all orders in one product
        return polynomial(laplacian, terms.unflatten(1, (orders, -1)).movedim(1, 0)) + self.bias


class Filters(Network):
    """Two layers of Σ T_k(L)·X·Θ_k + b, with relu between them."""

    def __init__(self, data: NodeData, hidden: int, order: int, share: float, generator: torch.Generator) -> None:
        super().__init__(data)
        self.laplacian = data.once(
            "laplacian",
            lambda: SparseMatrix.from_scipy(scaled_laplacian(data.graph), symmetric=True).to(data.device),
        )
        self.first = Filter(data.features.width, hidden, order, generator)
        self.second = Filter(hidden, data.classes, order, generator)
        self.share = share

    def forward(self, noise: Noise | None = None) -> Tensor:
        x = self.data.features.dropped(self.share, noise)
        hidden = dropout(self.first(x, self.laplacian).relu(), self.share, noise)
        return self.second(hidden, self.laplacian)

    def decayed(self) -> list[nn.Parameter]:
        return list(self.first.parameters())


@dataclass(frozen=True)
class Chebyshev(NodeClassifier):
    """Two layers of Chebyshev filters of order 3, trained like GCN."""

    name: ClassVar[str] = "chebyshev"
    label: ClassVar[str] = "Chebyshev"
    source: ClassVar[str] = "Kipf & Welling (ICLR 2017), Table 3 (K = 3), and 'gcn_cheby' of github.com/tkipf/gcn"
    order: int = 3

    @property
    def width(self) -> int:
        """The terms of all orders."""
        return self.hidden * (self.order + 1)

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        return Filters(data, self.hidden, self.order, self.dropout, generator)
