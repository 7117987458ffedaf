"""MGAE: its layer against corrupted copies and the authors' formula, its vectors against spectral clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from tests.methods.planted import planted, vectors_of

from mvgrl.matrices import SparseMatrix
from mvgrl.methods import METHODS, mgae
from mvgrl.methods.mgae import denoised, spectral_vectors
from mvgrl.views.adjacency import normalised_adjacency


def inputs() -> tuple[torch.Tensor, SparseMatrix, np.ndarray]:
    graph = planted(2, 8).graph
    matrix = normalised_adjacency(graph)[0]
    adjacency = SparseMatrix.from_scipy(matrix, symmetric=True, dtype=torch.float64)
    return torch.from_numpy(np.random.default_rng(1).random((16, 6))), adjacency, matrix.toarray()


def test_a_layer_has_the_weights_of_the_authors_formula() -> None:
    features, adjacency, dense = inputs()
    xb = np.vstack([features.numpy().T, np.ones(16)])  # columns are nodes, as in the authors' code
    q = np.array([0.6] * 6 + [1.0])
    sp, sq = xb @ dense.T @ xb.T, xb @ dense @ dense.T @ xb.T
    noisy = sq * np.outer(q, q)
    np.fill_diagonal(noisy, q * np.diag(sq))
    weights = (sp[:-1] * q) @ np.linalg.pinv(noisy + 1e-5 * np.diag([1.0] * 6 + [0]))
    np.testing.assert_allclose(denoised(features, adjacency, 0.4, 1e-5).numpy().T, weights @ xb @ dense, atol=1e-8)


def test_the_weights_restore_corrupted_features_best_on_average() -> None:
    """The closed form is the least-squares solution over very many corrupted copies.

    Its expectation treats a column as kept or removed as a whole.
    """
    features, adjacency, dense = inputs()
    rng = np.random.default_rng(0)
    left, right = np.zeros((7, 7)), np.zeros((7, 6))
    for _ in range(8_000):
        kept = np.append(rng.random(6) < 0.6, 1.0)
        copy = dense @ (np.hstack([features.numpy(), np.ones((16, 1))]) * kept)
        left += copy.T @ copy
        right += copy.T @ features.numpy()
    spread = dense @ np.hstack([features.numpy(), np.ones((16, 1))])
    expected = spread @ np.linalg.solve(left, right)
    np.testing.assert_allclose(denoised(features, adjacency, 0.4, 0.0).numpy(), expected, atol=0.03)


@pytest.mark.parametrize("dense", [5000, 0])
def test_vectors_are_scaled_eigenvectors_of_the_affinities(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mgae, "_DENSE", dense)
    monkeypatch.setattr(mgae, "_CHUNK", 100)  # a few rows at a time
    codes = torch.randn(30, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = spectral_vectors(codes, 3).double().numpy()
    values, vectors = np.linalg.eigh(np.abs(codes.numpy() @ codes.numpy().T))
    expected = vectors[:, np.argsort(-np.abs(values))[:3]]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_kmeans_finds_planted_groups(context: Any) -> None:
    data = planted(3, 30)
    found = vectors_of(METHODS["mgae"], data, context)
    assert found.shape == (90, 3)
    clusters = KMeans(3, n_init=10, random_state=0).fit_predict(found)
    assert normalized_mutual_info_score(data.target, clusters) > 0.7
