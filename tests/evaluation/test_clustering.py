"""Clustering: the best partition, reproducible, scored only where the class is known."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation import cluster, clustering_scores


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, n_features=4, centers=3, cluster_std=0.3, random_state=0)


def inertia(points, found):
    return sum(((points[found == c] - points[found == c].mean(0)) ** 2).sum() for c in np.unique(found))


def test_cluster_finds_the_best_partition():
    points = np.random.default_rng(0).normal(size=(8, 2))
    found = cluster(points, 3)
    every = (np.array(one) for one in itertools.product(range(3), repeat=8))
    assert inertia(points, found) == pytest.approx(min(inertia(points, one) for one in every))


def test_the_seed_determines_the_clusters():
    points = np.random.default_rng(0).normal(size=(300, 8))  # without clusters, initialisations end in different places
    assert cluster(points, 9, seed=1).tolist() == cluster(torch.from_numpy(points), 9, seed=1).tolist()
    assert cluster(points, 9, seed=1).tolist() != cluster(points, 9, seed=2).tolist()


def test_clusters_do_not_depend_on_the_number_of_threads():
    points = torch.randn(3000, 40, generator=torch.Generator().manual_seed(0))
    expected = cluster(points, 12)
    assert expected.dtype == np.int64
    with threadpool_limits(8):  # enough to change the order of sums, if they were used
        assert all(np.array_equal(cluster(points, 12), expected) for _ in range(3))


def test_clusters_far_from_the_origin_are_found():
    found = cluster(np.array([[1e4], [1e4 + 1], [1e4 + 10], [1e4 + 11]], dtype=np.float32), 2).tolist()
    assert found[0] == found[1] != found[2] == found[3]


def test_more_clusters_than_distinct_points_are_accepted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cluster([[0.0], [0.0], [1.0]], 3)
    assert found[0] == found[1] != found[2]


def agreement(truth, found):
    """Both scores from the contingency table, by their definitions."""
    table = np.array([[np.sum((truth == a) & (found == b)) for b in np.unique(found)] for a in np.unique(truth)])
    n, rows, columns = table.sum(), table.sum(1), table.sum(0)
    joint, product = table / n, np.outer(rows, columns) / n**2
    mutual = sum(p * np.log(p / q) for p, q in zip(joint.ravel(), product.ravel(), strict=True) if p > 0)
    entropies = [-(counts / n * np.log(counts / n)).sum() for counts in (rows, columns)]
    pairs, in_rows, in_columns, every = ((x * (x - 1) / 2).sum() for x in (table, rows, columns, n))
    chance = in_rows * in_columns / every
    return mutual / np.mean(entropies), (pairs - chance) / ((in_rows + in_columns) / 2 - chance)


def test_scores_follow_their_definitions(blobs):
    points, truth = blobs
    wrong = np.where(np.arange(60) % 4 == 0, (truth + 1) % 3, truth)
    scores = clustering_scores(points, wrong, runs=3)
    expected = agreement(wrong, truth)  # the blobs are so far apart that every run finds them
    np.testing.assert_allclose(scores["nmi"], [expected[0]] * 3)
    np.testing.assert_allclose(scores["ari"], [expected[1]] * 3)


@pytest.mark.parametrize("kind", ["text", "float", "bool"])
def test_nodes_without_a_label_are_omitted(blobs, kind):
    points, truth = blobs
    labels = {"text": np.char.add("class ", truth.astype(str)), "float": truth / 2, "bool": truth > 0}[kind]
    if kind == "bool":
        points, labels = points[truth < 2], labels[truth < 2]
    assert clustering_scores(points, labels, runs=1)["ari"].tolist() == [1.0]
    if kind != "bool":
        nothing = "" if kind == "text" else np.nan
        more, all_labels = np.concatenate([points, 100 + points[:9]]), np.concatenate([labels, [nothing] * 9])
        assert clustering_scores(more, all_labels, runs=1)["ari"].tolist() == [1.0]


def test_runs_differ_and_do_not_depend_on_the_number_of_runs():
    points, labels = np.random.default_rng(0).normal(size=(200, 8)), np.arange(200) % 7
    few, many = (clustering_scores(points, labels, runs=runs, seed=3) for runs in (2, 4))
    assert few["nmi"].tolist() == many["nmi"][:2].tolist()
    assert len(set(many["nmi"].tolist())) == 4
    assert not set(many["nmi"].tolist()) & set(clustering_scores(points, labels, runs=2, seed=4)["nmi"].tolist())


def test_invalid_input_is_refused(blobs):
    points, truth = blobs
    with pytest.raises(SettingsError, match="61 clusters for 60 nodes; the number must be from 1 to 60"):
        cluster(points, 61)
    with pytest.raises(SettingsError, match="seed is -1; it must be an integer from 0"):
        cluster(points, 2, seed=-1)
    with pytest.raises(SettingsError, match="runs is 0; it must be at least 1"):
        clustering_scores(points, truth, runs=0)
    with pytest.raises(InputError, match=r"shape \(1, 60, 4\); it must be nodes × columns$"):
        cluster(points[None], 2)
    with pytest.raises(InputError, match="node 5, column 1 is inf"):
        clustering_scores(np.where(np.arange(240).reshape(60, 4) == 21, np.inf, points), truth)
    with pytest.raises(InputError, match=r"labels has shape \(59,\), but there are embeddings of 60 nodes"):
        clustering_scores(points, truth[1:])
    with pytest.raises(InputError, match="only the class 0; at least two classes are needed"):
        clustering_scores(points, np.zeros(60, dtype=int))
