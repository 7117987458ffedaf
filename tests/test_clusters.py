"""Clusters: the number with the highest silhouette, numbered by size, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

import mvgrl.clusters
from mvgrl.clusters import central_rows, find_clusters
from mvgrl.errors import SettingsError


@pytest.fixture(scope="module")
def blobs():
    """Return 90 points in four clusters of different sizes, and the cluster of each."""
    return make_blobs([40, 25, 15, 10], n_features=5, cluster_std=0.5, random_state=0)


def test_auto_finds_the_number_with_the_highest_silhouette(blobs):
    points, truth = blobs
    found = find_clusters(points)
    assert adjusted_rand_score(truth, found.labels) == 1
    assert found.sizes.tolist() == [40, 25, 15, 10]
    assert sorted(found.tried) == list(range(2, 21))
    assert max(found.tried, key=found.tried.__getitem__) == 4
    assert found.silhouette == pytest.approx(silhouette_score(points, truth))
    assert found.tried[4] == pytest.approx(found.silhouette, abs=1e-6)
    weighted = np.average(found.per_cluster, weights=found.sizes)
    assert weighted == pytest.approx(found.silhouette)


def test_auto_tries_up_to_the_given_number(blobs):
    found = find_clusters(blobs[0], most=3)
    assert sorted(found.tried) == [2, 3]
    with pytest.raises(SettingsError, match="most is 1"):
        find_clusters(blobs[0], most=1)


def test_the_same_seed_gives_the_same_clusters(blobs):
    vectors = np.random.default_rng(0).normal(size=(200, 4))
    one, two = (find_clusters(vectors, 6, seed=3) for _ in range(2))
    assert np.array_equal(one.labels, two.labels)
    assert one.silhouette == two.silhouette


def test_large_tables_use_samples_and_find_the_same_clusters(blobs, monkeypatch):
    points, truth = blobs
    monkeypatch.setattr(mvgrl.clusters, "SAMPLE", 50)
    monkeypatch.setattr(mvgrl.clusters, "ALL_STARTS", 60)
    found = find_clusters(points)
    assert adjusted_rand_score(truth, found.labels) == 1
    assert found.sample == 50
    assert found.silhouette is not None


@pytest.mark.parametrize(
    ("points", "k", "sizes"),
    [([[1.0]], 1, [1]), ([[1.0], [2.0]], 2, [1, 1]), ([[1.0]] * 5, 3, [5]), ([[1.0]] * 5, "auto", [5])],
)
def test_silhouette_is_left_out_where_it_is_not_defined(points, k, sizes):
    found = find_clusters(np.array(points), k)
    assert found.sizes.tolist() == sizes
    assert found.silhouette is None
    assert set(found.per_cluster) == {None}


@pytest.mark.parametrize(("k", "message"), [(0, "0 clusters for 3"), (4, "from 1 to 3"), ("many", "'many'")])
def test_impossible_numbers_are_rejected(k, message):
    with pytest.raises(SettingsError, match=message):
        find_clusters(np.eye(3), k)


def test_central_rows_are_nearest_to_the_mean():
    points = np.array([[0.0], [1.0], [2.2], [10.0], [12.0]])
    assert [rows.tolist() for rows in central_rows(points, np.array([0, 0, 0, 1, 1]), 2)] == [[1, 0], [3, 4]]


def test_blocks_give_the_clusters_of_all_vectors_at_once():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(9 * i, 1.0, (40 + i, 2)) for i in range(4)])[rng.permutation(166)]
    expected = find_clusters(points, 4)
    found = find_clusters(points, 4, block=7)
    assert np.array_equal(found.labels, expected.labels)
    assert found.per_cluster == expected.per_cluster
    assert find_clusters(points, "auto", block=7).tried == find_clusters(points, "auto").tried
