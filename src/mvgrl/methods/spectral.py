"""Spectral vectors: leading eigenvectors of the normalised adjacency, without features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import VECTOR_SIZE, as_vectors, top_eigenpairs
from mvgrl.settings import Output, Settings


class Spectral(Method):
    """Leading eigenvectors of D^-1/2 A D^-1/2 without self-loops, divided by √degree, as in SpectralEmbedding.

    As in scikit-learn, the constant eigenvector is left out. If the graph has several components, theirs all have the
    same eigenvalue and the first one found depends on rounding, so the constant is removed before the others are
    computed. Isolated nodes are at the origin; scikit-learn gives each an eigenvector of its own.
    """

    name, label, tasks, seeded = "spectral", "spectral vectors", ("node",), False

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        graph = dataset.graph
        matrix, degrees = plain_adjacency(graph, context.device)
        size = min(VECTOR_SIZE, max(graph.nodes - 1, 1))
        vectors = top_eigenpairs(_WithoutConstant(matrix, degrees), size, context.device)[1]
        # A mean square of 1, each node weighted by its degree.
        return [Outcome(as_vectors(vectors * inverse_root(degrees) * degrees.sum().sqrt()))]


class _WithoutConstant(Matrix):
    """D^-1/2 A D^-1/2 − t·tᵀ with t = √degree at unit length: the eigenvalue 1 of t becomes 0."""

    def __init__(self, matrix: Matrix, degrees: Tensor) -> None:
        self.matrix, self.shape = matrix, matrix.shape
        self.constant = normalize(degrees.sqrt(), dim=0)

    def multiply(self, right: Tensor) -> Tensor:
        return self.matrix.multiply(right) - self.constant @ (self.constant.T @ right)


def plain_adjacency(graph: Graph, device: torch.device) -> tuple[SparseMatrix, Tensor]:
    """Return D^-1/2 A D^-1/2 without self-loops, and the weighted degrees, nodes × 1; both float64.

    >>> plain_adjacency(Graph.from_edges([0], [1], nodes=3), torch.device("cpu"))[0].dense()[0]
    tensor([0., 1., 0.], dtype=torch.float64)
    """
    adjacency = graph.adjacency.astype(np.float64)
    degrees = torch.from_numpy(np.asarray(adjacency.sum(axis=1)).reshape(-1, 1))
    root = inverse_root(degrees).numpy()[:, 0]
    factors = np.repeat(root, np.diff(adjacency.indptr)) * root[adjacency.indices]
    scaled = sp.csr_array((adjacency.data * factors, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    return SparseMatrix.from_scipy(scaled, symmetric=True, dtype=torch.float64).to(device), degrees.to(device)


def inverse_root(degrees: Tensor) -> Tensor:
    """Return 1/√degree, 0 for isolated nodes."""
    return torch.where(degrees > 0, degrees.rsqrt(), 0.0)
