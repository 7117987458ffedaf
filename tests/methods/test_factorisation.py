"""Principal components and eigenpairs: exact and iterated ones agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.matrices import DenseMatrix, SparseMatrix
from mvgrl.methods import factorisation
from mvgrl.methods.factorisation import dominant_eigenpairs, principal_components, top_eigenpairs

CPU = torch.device("cpu")


def decaying(rows: int, columns: int) -> np.ndarray:
    """A table with singular values 1, 0.8, 0.64, … and a mean."""
    rng = np.random.default_rng(0)
    rank = min(rows, columns)
    left, right = (np.linalg.qr(rng.standard_normal((size, rank)))[0] for size in (rows, columns))
    return (left * 0.8 ** np.arange(rank)) @ right.T + rng.standard_normal(columns)


def components(table: np.ndarray, size: int) -> np.ndarray:
    left, values, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    scores = left[:, :size] * values[:size]
    return scores * np.sign(scores[abs(scores).argmax(axis=0), range(size)])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
def test_principal_components_equal_those_of_a_dense_svd(
    shape: tuple[int, int], exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exact:
        monkeypatch.setattr(factorisation, "_EXACT", 0)
        monkeypatch.setattr(factorisation, "_EXTRA", 10)
    table = decaying(*shape)
    for matrix in (DenseMatrix(torch.from_numpy(table)), SparseMatrix.from_scipy(table, dtype=torch.float64)):
        found = principal_components(matrix, 10, CPU)
        np.testing.assert_allclose(found, components(table, 10), atol=1e-4 if exact else 2e-3)


def test_components_without_variance_are_dropped() -> None:
    table = torch.arange(30.0).reshape(10, 3)  # one direction
    assert principal_components(DenseMatrix(table), 3, CPU).shape == (10, 1)
    assert principal_components(DenseMatrix(torch.ones(4, 3)), 2, CPU).shape == (4, 1)


def test_filtered_eigenpairs_equal_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((80, 80)))[0]
    values = np.linspace(1, -1, 80)
    matrix = DenseMatrix(torch.from_numpy((basis * values) @ basis.T), symmetric=True)
    exact = top_eigenpairs(matrix, 8, CPU)
    np.testing.assert_allclose(exact[0], values[:8], atol=1e-12)
    monkeypatch.setattr(factorisation, "_EXACT", 0)
    monkeypatch.setattr(factorisation, "_EXTRA", 8)
    found = top_eigenpairs(matrix, 8, CPU)
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_dominant_eigenpairs_are_ordered_by_absolute_value(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([3.0, -8.0, 5.0, 0.1, -0.2, 0.05, 0.01, 0.0])
    matrix = SparseMatrix.from_scipy(sp.diags_array(values), dtype=torch.float64)
    for limit in (2048, 0):
        monkeypatch.setattr(factorisation, "_EXACT", limit)
        monkeypatch.setattr(factorisation, "_EXTRA", 2)
        found, vectors = dominant_eigenpairs(matrix, 3, CPU)
        np.testing.assert_allclose(found, [-8, 5, 3], atol=1e-6)
        np.testing.assert_allclose(vectors, np.eye(8)[:, [1, 2, 0]], atol=1e-6)
