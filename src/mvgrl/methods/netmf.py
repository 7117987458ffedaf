"""NetMF: a factorisation of the matrix that DeepWalk approximates (Qiu et al., 2018), without features."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.matrices import DenseMatrix, Matrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import VECTOR_SIZE, as_vectors, dominant_eigenpairs, top_eigenpairs
from mvgrl.methods.spectral import inverse_root, plain_adjacency
from mvgrl.settings import Output, Settings

WINDOW, NEGATIVES = 10, 1
_EXACT = 5000  # nodes up to which the powers of the walk matrix are exact; dense float64 matrices of 200 MB
_RANK = 256  # eigenpairs of the normalised adjacency for a larger graph
_CHUNK = 2**26  # entries of the matrix of a larger graph that exist at once


class NetMF(Method):
    """Singular vectors of log max(M, 1), M = vol/(bT)·Σ_{r=1..T} (D⁻¹A)^r D⁻¹, times the roots of singular values.

    Window T = 10 and b = 1 negative sample. With more than 5,000 nodes, the sum of powers is that of the top 256
    eigenpairs of D^-1/2 A D^-1/2, as in the paper's version for a large window. Its logarithm is dense, so it is never
    stored: every product computes it again, a few rows at a time. That takes time quadratic in the number of nodes,
    and memory linear in it.
    """

    name, label, tasks, seeded = "netmf", "NetMF", ("node",), False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        graph, device = dataset.graph, context.device
        exact = graph.nodes <= _EXACT
        matrix = exact_matrix(graph, device) if exact else low_rank_matrix(graph, device, _RANK)
        dtype = torch.float64 if exact else torch.float32
        # The matrix is symmetric: its singular values are the absolute values of its eigenvalues.
        values, vectors = dominant_eigenpairs(matrix, min(VECTOR_SIZE, graph.nodes), device, dtype)
        return [Outcome(as_vectors(vectors * values.abs().sqrt()))]


def exact_matrix(graph: Graph, device: torch.device) -> Matrix:
    """Return log max(M, 1) with all powers of the walk matrix."""
    adjacency, degrees = plain_adjacency(graph, device)
    power = adjacency.dense()
    total = power.clone()
    for _ in range(WINDOW - 1):
        power = adjacency.multiply(power)
        total += power
    root = inverse_root(degrees)
    total *= degrees.sum() / (NEGATIVES * WINDOW) * root * root.T
    return DenseMatrix(total.clamp_(min=1).log_(), symmetric=True)


def low_rank_matrix(graph: Graph, device: torch.device, rank: int) -> Matrix:
    """Return log max(M, 1) with the powers of the top eigenpairs; negative sums of powers are taken as zero."""
    adjacency, degrees = plain_adjacency(graph, device)
    values, vectors = top_eigenpairs(adjacency, min(rank, graph.nodes), device)
    values = values.clamp(-1, 1)
    powers = torch.stack([values**step for step in range(1, WINDOW + 1)]).mean(0).clamp(min=0)
    factor = inverse_root(degrees) * vectors * (powers * degrees.sum() / NEGATIVES).sqrt()
    return _LogOfProducts(factor.float())


class _LogOfProducts(Matrix):
    """log max(F·Fᵀ, 1) of a factor F, nodes × rank, computed a few rows at a time in every product."""

    def __init__(self, factor: Tensor) -> None:
        self.factor, self.shape = factor, (len(factor), len(factor))

    def multiply(self, right: Tensor) -> Tensor:
        out = torch.empty_like(right)
        rows = max(1, _CHUNK // len(self.factor))
        for start in range(0, len(self.factor), rows):
            some = self.factor[start : start + rows] @ self.factor.T
            out[start : start + rows] = some.clamp_(min=1).log_().to(right.dtype) @ right
        return out
