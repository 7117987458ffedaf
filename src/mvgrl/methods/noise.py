"""Dropout from explicit generators, for one network or for many that are trained as one stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from mvgrl.matrices import DenseMatrix, Matrix, OnePerSeed, SparseMatrix


class Noise(Protocol):
    """Where the masks of a training step come from."""

    def mask(self, values: Tensor, share: float) -> Tensor:
        """Return factors of the shape of the values: 0 for a share of them, 1 / (1 - share) for the others."""

    def features(self, features: Features, share: float) -> Matrix:
        """Return the features with a share of their entries dropped."""


def dropout(values: Tensor, share: float, noise: Noise | None) -> Tensor:
    """Set a share of the values to zero and scale the others up; return them unchanged without noise."""
    return values if noise is None or not share else values * noise.mask(values, share)


class Features:
    """The features of the nodes, with dropout of single entries. Only the non-zero entries are drawn if X is sparse.

    >>> noise = Drawn(torch.Generator().manual_seed(0))
    >>> Features(DenseMatrix(torch.ones(3, 2))).dropped(0.5, noise).dense().unique()
    tensor([0., 2.])
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.width = matrix, matrix.shape[1]
        self.entries = matrix.values if isinstance(matrix, SparseMatrix) else matrix.dense()
        if isinstance(matrix, SparseMatrix):
            self._order = torch.argsort(matrix.indices, stable=True)  # of the entries in the transpose

    def dropped(self, share: float, noise: Noise | None) -> Matrix:
        """Return the features with a share of the entries dropped; all of them without noise."""
        return self.matrix if noise is None or not share else noise.features(self, share)

    def scaled(self, masks: Sequence[Tensor]) -> Matrix:
        """Return the features with their entries multiplied by each of the masks, as the blocks of one matrix."""
        values = torch.stack([self.entries * mask for mask in masks])
        if not isinstance(self.matrix, SparseMatrix):
            return DenseMatrix(values)
        matrix, across = self.matrix, self.matrix.T
        found = _repeated(matrix, values)
        found.pair_with(_repeated(across, values[:, self._order]))
        return found


def _repeated(matrix: SparseMatrix, values: Tensor) -> SparseMatrix:
    """Return a block-diagonal matrix with the pattern of a matrix in every block, and a row of values per block."""
    count, device = len(values), values.device
    if count == 1:
        return SparseMatrix(matrix.indptr, matrix.indices, values[0], matrix.shape[1])
    blocks, columns = torch.arange(count, device=device).unsqueeze(1), count * matrix.shape[1]
    indices = matrix.indices.long() + blocks * matrix.shape[1]
    starts = (matrix.indptr[:-1].long() + blocks * values.shape[1]).flatten()
    indptr = torch.cat([starts, torch.tensor([values.numel()], device=device)])
    dtype = torch.int32 if max(values.numel(), columns, len(starts)) < 2**31 else torch.int64
    return SparseMatrix(indptr.to(dtype), indices.flatten().to(dtype), values.flatten(), columns)


class Drawn:
    """Masks from a generator, on its device."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator

    def mask(self, values: Tensor, share: float) -> Tensor:
        """Return factors of the shape of the values: 0 for a share of them, 1 / (1 - share) for the others."""
        return self.drawn(values.shape, share, values.dtype)

    def features(self, features: Features, share: float) -> Matrix:
        """Return the features with a share of their entries dropped."""
        return features.scaled([self.mask(features.entries, share)])

    def drawn(self, shape: Sequence[int], share: float, dtype: torch.dtype) -> Tensor:
        """Return a mask of a shape."""
        kept = torch.rand(tuple(shape), generator=self.generator, device=self.generator.device) >= share
        return kept.to(dtype) / (1 - share)


class Recorder:
    """No noise, but a list of the masks that a network asks for: shape, share and type, and whether for features."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[int, ...], float, torch.dtype, bool]] = []

    def mask(self, values: Tensor, share: float) -> Tensor:
        """Record a mask, and return one that changes nothing."""
        self.asked.append((tuple(values.shape), share, values.dtype, False))
        return torch.ones_like(values)

    def features(self, features: Features, share: float) -> Matrix:
        """Record a mask of the features, and return them all."""
        self.asked.append((tuple(features.entries.shape), share, features.entries.dtype, True))
        return features.matrix


class Given:
    """Masks that are drawn beforehand, in the order in which a network asks for them."""

    def __init__(self, masks: Sequence[Tensor], matrices: Sequence[Matrix]) -> None:
        self._masks, self._matrices = iter(masks), iter(matrices)

    def mask(self, values: Tensor, share: float) -> Tensor:
        """Return the next mask."""
        return next(self._masks)

    def features(self, features: Features, share: float) -> Matrix:
        """Return the next matrix of features."""
        return next(self._matrices)


def drawn_for(
    asked: Sequence[tuple[tuple[int, ...], float, torch.dtype, bool]], features: Features, noises: Sequence[Drawn]
) -> tuple[list[Tensor], list[Matrix]]:
    """Return the masks that a network asks for, stacked over seeds, and its features, a different block per seed.

    Every seed draws in the order of a network of its own, so it sees the same numbers alone and among others.
    """
    drawn = [[noise.drawn(shape, share, dtype) for shape, share, dtype, _ in asked] for noise in noises]
    masks: list[Tensor] = []
    matrices: list[Matrix] = []
    for (_, _, _, of_features), each in zip(asked, zip(*drawn, strict=True), strict=True):
        if of_features:
            matrices.append(OnePerSeed(features.scaled(each), len(noises)))
        else:
            masks.append(torch.stack(each))
    return masks, matrices
