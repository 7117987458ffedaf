"""Principal components and eigenvectors for the methods: matrices are only multiplied, results are ordered and fixed.

A small problem is solved exactly. A large one is solved by subspace iteration from a fixed random start, with memory
for a few arrays of as many columns as are asked for. The sign of a column is such that its largest entry is positive.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from mvgrl.matrices import Matrix
from mvgrl.runtime import generator_for
from mvgrl.vector_space import fixed_signs

VECTOR_SIZE = 512  # length of the vectors of the methods that are compared with the default vector, and its length too

_EXACT = 2048  # up to this many rows or columns, eigenvectors are computed exactly
_CHUNK = 128  # columns that are multiplied at once where all columns are needed
_EXTRA = 32  # more columns than asked for: the last ones converge slowly
_DEGREE, _ROUNDS = 12, 6  # of Chebyshev filtering
_POWERS = 6
_NO_VARIANCE = 1e-9  # components with a smaller share of the first one's variance are rounding errors


def principal_components(table: Matrix, size: int, device: torch.device) -> Tensor:
    """Return at most ``size`` principal components, largest variance first: rows × components, float32.

    >>> from mvgrl.matrices import DenseMatrix
    >>> principal_components(DenseMatrix(torch.tensor([[1.0, 1], [2, 2], [4, 4]])), 2, torch.device("cpu")).shape
    torch.Size([3, 1])
    """
    rows, columns = table.shape
    size = max(1, min(size, rows - 1, columns))
    if min(rows, columns) > _EXACT:
        scores, variances = _subspace_components(table, size, device)
    elif rows < columns:
        scores, variances = _components_by_row_products(table, device)
    else:
        scores, variances = _components_by_column_products(table, device)
    kept = max(1, int((variances[:size] > _NO_VARIANCE * variances[0]).sum()))
    return fixed_signs(scores[:, :kept]).float()


def _components_by_column_products(table: Matrix, device: torch.device) -> tuple[Tensor, Tensor]:
    rows, columns = table.shape
    mean = _mean_row(table, torch.float64, device)
    transpose = table.T
    products = torch.cat([transpose.multiply(table.multiply(some)) for some in _unit_vectors(columns, device)], dim=1)
    variances, axes = _descending(*torch.linalg.eigh(products - rows * torch.outer(mean, mean)))
    scores = torch.cat([table.multiply(some) - mean @ some for some in axes.split(_CHUNK, dim=1)], dim=1)
    return scores, variances


def _components_by_row_products(table: Matrix, device: torch.device) -> tuple[Tensor, Tensor]:
    transpose = table.T
    products = torch.cat(
        [table.multiply(transpose.multiply(some)) for some in _unit_vectors(table.shape[0], device)], dim=1
    )
    centred = products - products.mean(0) - products.mean(1, keepdim=True) + products.mean()
    variances, axes = _descending(*torch.linalg.eigh(centred))
    return axes * variances.clamp(min=0).sqrt(), variances


def _subspace_components(table: Matrix, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return components by randomised subspace iteration (Halko et al., 2011), in single precision."""
    mean, transpose = _mean_row(table, torch.float32, device), table.T
    axes = _random(table.shape[1], size + _EXTRA, device).float()
    for _ in range(_POWERS):
        scores = table.multiply(axes) - mean @ axes
        axes = torch.linalg.qr(transpose.multiply(scores) - torch.outer(mean, scores.sum(0)))[0]
    scores = table.multiply(axes) - mean @ axes
    variances, rotation = _descending(*torch.linalg.eigh((scores.T @ scores).double()))
    return scores @ rotation[:, :size].float(), variances


def top_eigenpairs(matrix: Matrix, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the largest eigenvalues of a symmetric matrix with eigenvalues in [-1, 1], and their eigenvectors.

    The subspace of a large matrix is filtered with Chebyshev polynomials, which grow beyond the smallest eigenvalue
    found so far and are small below it. Neighbouring eigenvalues may then remain mixed.
    """
    if matrix.shape[0] <= _EXACT:
        values, vectors = _exact_eigenpairs(matrix, device)
    else:
        edge, basis = 0.0, _random(matrix.shape[0], size + _EXTRA, device)
        for _ in range(_ROUNDS):
            values, vectors = _rayleigh_ritz(matrix, _chebyshev(matrix, basis, edge))
            edge, basis = min(max(float(values[-1]), 0.0), 0.999), vectors
    return values[:size], fixed_signs(vectors[:, :size])


def dominant_eigenpairs(
    matrix: Matrix, size: int, device: torch.device, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues of a symmetric matrix that are largest in absolute value, and their eigenvectors."""
    if matrix.shape[0] <= _EXACT:
        values, vectors = _exact_eigenpairs(matrix, device)
    else:
        basis = _random(matrix.shape[0], size + _EXTRA, device).to(dtype)
        for _ in range(_POWERS):
            basis = torch.linalg.qr(matrix.multiply(basis))[0]
        values, vectors = _rayleigh_ritz(matrix, basis)
    order = values.abs().argsort(descending=True, stable=True)[:size]
    return values[order], fixed_signs(vectors[:, order])


def as_vectors(columns: Tensor) -> np.ndarray:
    """Return float32 vectors on the CPU."""
    found: np.ndarray = columns.float().cpu().numpy()
    return found


def _exact_eigenpairs(matrix: Matrix, device: torch.device) -> tuple[Tensor, Tensor]:
    dense = torch.cat([matrix.multiply(some) for some in _unit_vectors(matrix.shape[0], device)], dim=1)
    return _descending(*torch.linalg.eigh((dense + dense.T) / 2))


def _rayleigh_ritz(matrix: Matrix, basis: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best eigenpairs within the span of a basis, largest first."""
    basis = torch.linalg.qr(basis)[0]
    projected = basis.T @ matrix.multiply(basis)
    values, rotation = _descending(*torch.linalg.eigh((projected + projected.T) / 2))
    return values, basis @ rotation


def _chebyshev(matrix: Matrix, basis: Tensor, edge: float) -> Tensor:
    """Return the Chebyshev polynomial of the matrix, small for eigenvalues in [-1, edge], times a basis."""
    centre, half = (edge - 1) / 2, (edge + 1) / 2

    def shifted(columns: Tensor) -> Tensor:
        return (matrix.multiply(columns) - centre * columns) / half

    before, found = basis, shifted(basis)
    for _ in range(_DEGREE - 1):
        before, found = found, 2 * shifted(found) - before
    return found


def _descending(values: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    return values.flip(0), vectors.flip(1)


def _unit_vectors(count: int, device: torch.device) -> Iterator[Tensor]:
    """Yield the columns of the identity, a few at a time: a product with them is some columns of a matrix."""
    for start in range(0, count, _CHUNK):
        columns = torch.zeros(count, min(_CHUNK, count - start), dtype=torch.float64, device=device)
        columns[start : start + _CHUNK].fill_diagonal_(1)
        yield columns


def _mean_row(table: Matrix, dtype: torch.dtype, device: torch.device) -> Tensor:
    ones = torch.ones(table.shape[0], 1, dtype=dtype, device=device)
    return table.T.multiply(ones)[:, 0] / table.shape[0]


def _random(rows: int, columns: int, device: torch.device) -> Tensor:
    start = torch.randn(rows, columns, dtype=torch.float64, generator=generator_for(0, "factorisation"))
    return start.to(device)
