"""MGAE (Wang et al., 2017): stacked linear denoising autoencoders over a graph convolution, each in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize, pad

from mvgrl.datasets import Dataset
from mvgrl.matrices import DenseMatrix, Matrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import as_vectors, dominant_eigenpairs
from mvgrl.methods.graph_data import features_of
from mvgrl.settings import Output, Settings
from mvgrl.views.adjacency import normalised_adjacency

_DENSE = 5000  # nodes up to which all affinities are stored, as float64: 200 MB
_CHUNK = 2**26  # affinities of a larger graph that exist at once


@dataclass(frozen=True)
class MGAE(Method):
    """Three layers, and then the leading eigenvectors of the affinities |H Hᵀ|, as many as there are classes.

    The rows of the eigenvectors have unit length, so that K-Means on these vectors is the spectral clustering of the
    authors' code, which does not normalise the affinities. On more than 5,000 nodes, these are computed again in every
    product, a few rows at a time, and never stored.
    """

    name, label, tasks, seeded = "mgae", "MGAE", ("node",), False
    source = "Wang et al. (2017), section 4, and TrustAGI-Lab/MGAE: train.m, mDA.m, baseline_spectral_onRW.m"

    layers: int = 3
    corruption: float = 0.4
    ridge: float = 1e-5

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same vectors for all seeds."""
        features = features_of(dataset, settings, context.device, normalise="none").dense().double()
        matrix = normalised_adjacency(dataset.graph)[0]
        adjacency = SparseMatrix.from_scipy(matrix, symmetric=True, dtype=torch.float64).to(context.device)
        for _ in range(self.layers):
            features = denoised(features, adjacency, self.corruption, self.ridge)
        classes = min(len(dataset.classes), dataset.graph.nodes)
        return [Outcome(as_vectors(spectral_vectors(features, classes)))]


def denoised(features: Tensor, adjacency: Matrix, corruption: float, ridge: float) -> Tensor:
    """Return Â X W, where W undoes on average the removal of a share of the entries of X before the convolution.

    With a constant column appended to X that is never removed, and the share q kept of each column, W solves
    (Sq ∘ q qᵀ, with the diagonal q ∘ Sq, + ridge) W = (Sp ∘ q), where Sp = Xᵀ Â X and Sq = Xᵀ Â Â X.
    """
    width = features.shape[1]
    features = pad(features, (0, 1), value=1.0)
    spread = adjacency.multiply(features)
    kept = torch.full_like(features[0], 1 - corruption)
    kept[-1] = 1.0
    squares = spread.T @ spread
    noisy = squares * torch.outer(kept, kept)
    noisy.diagonal().copy_(kept * squares.diagonal())
    noisy.diagonal()[:width] += ridge
    targets = kept[:, None] * (spread.T @ features[:, :width])
    return spread @ torch.linalg.solve(noisy, targets)


def spectral_vectors(codes: Tensor, size: int) -> Tensor:
    """Return the eigenvectors of |H Hᵀ| with the largest eigenvalues in absolute value, rows scaled to unit length."""
    if len(codes) <= _DENSE:
        affinities: Matrix = DenseMatrix((codes @ codes.T).abs(), symmetric=True)
        dtype = torch.float64
    else:
        affinities, dtype = _Affinities(codes.float()), torch.float32
    return normalize(dominant_eigenpairs(affinities, size, codes.device, dtype)[1])


class _Affinities(Matrix):
    """|H Hᵀ| of some codes H, nodes × columns, computed a few rows at a time in every product."""

    def __init__(self, codes: Tensor) -> None:
        self.codes, self.shape = codes, (len(codes), len(codes))

    def multiply(self, right: Tensor) -> Tensor:
        rows = max(1, _CHUNK // len(self.codes))
        parts = [(some @ self.codes.T).abs_().to(right.dtype) @ right for some in self.codes.split(rows)]
        return torch.cat(parts)
