"""The batched K-Means for GPUs finds what scikit-learn's finds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mvgrl.evaluation.kmeans import kmeans


def inertia(points: np.ndarray, found: np.ndarray) -> float:
    return sum(float(((points[found == k] - points[found == k].mean(0)) ** 2).sum()) for k in np.unique(found))


@pytest.mark.parametrize(("clusters", "spread"), [(2, 0.3), (3, 1.0), (7, 0.6), (7, 2.0)])
def test_inertia_is_as_low_as_scikit_learns(clusters: int, spread: float) -> None:
    generator = np.random.default_rng(clusters)
    truth = generator.integers(0, clusters, 600)
    points = generator.normal(size=(clusters, 20))[truth] + spread * generator.normal(size=(600, 20))
    theirs = KMeans(clusters, n_init=10, random_state=0).fit(points)
    found = kmeans(torch.from_numpy(points), clusters).numpy()
    assert inertia(points, found) <= 1.005 * theirs.inertia_
    if spread < 1:
        assert adjusted_rand_score(theirs.labels_, found) > 0.99


def test_clusters_far_from_the_origin_are_found() -> None:
    points = torch.tensor([[1e4], [1e4 + 1], [1e4 + 10], [1e4 + 11]])
    found = kmeans(points, 2).tolist()
    assert found[0] == found[1] != found[2] == found[3]


def test_the_seed_determines_the_clusters_and_more_starts_are_not_worse() -> None:
    points = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 5)))
    assert kmeans(points, 6, seed=1).tolist() == kmeans(points, 6, seed=1).tolist()
    one, ten = (inertia(points.numpy(), kmeans(points, 6, starts=starts).numpy()) for starts in (1, 20))
    assert ten <= one


def test_more_clusters_than_distinct_points_are_accepted() -> None:
    found = kmeans(torch.tensor([[0.0], [0.0], [1.0]]), 3)
    assert found[0] == found[1] != found[2]
