"""Clusters of vectors by K-Means, with their silhouettes; on request, these also choose the number of clusters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mvgrl.errors import SettingsError
from mvgrl.evaluation.checks import check_seed, checked_embeddings
from mvgrl.evaluation.clustering import cluster
from mvgrl.evaluation.threads import one_thread

SAMPLE = 5_000  # vectors that a silhouette is computed of, and that the number of clusters is chosen with
ALL_STARTS = 20_000  # vectors up to which K-Means tries ten initialisations on all of them
MOST = 20  # clusters that "auto" tries
MOST_PASSES = 30  # of K-Means over vectors that are not in memory


@dataclass(frozen=True, eq=False)
class Clusters:
    """A cluster per vector, numbered from the largest, and the silhouettes: from −1 to 1, high if well separated."""

    labels: np.ndarray
    silhouette: float | None  # the mean over the sample; None with a single cluster, or one vector per cluster
    per_cluster: tuple[float | None, ...]
    sample: int  # vectors that the silhouettes are computed of
    tried: dict[int, float] = field(default_factory=dict)  # silhouette by number of clusters; empty unless "auto"

    @property
    def sizes(self) -> np.ndarray:
        """The number of vectors in each cluster."""
        return np.bincount(self.labels)


def find_clusters(
    vectors: Any, k: int | str = "auto", *, most: int = MOST, seed: int = 0, block: int | None = None
) -> Clusters:
    """Cluster vectors with K-Means into ``k`` clusters.

    "auto" chooses the number from 2 to ``most`` with the highest silhouette of K-Means on a random sample of at most
    5,000 vectors; ties go to the smaller number. Silhouettes are computed on that sample. Beyond 20,000 vectors,
    K-Means tries its ten initialisations on a random sample of as many, and continues on all vectors from the best.
    With ``block``, it processes that many vectors at a time, for vectors that are mapped into memory.

    >>> found = find_clusters(np.array([[0.0], [9.0], [0.1], [9.1], [0.2]]))
    >>> found.labels.tolist(), found.sizes.tolist()
    ([0, 1, 0, 1, 0], [3, 2])
    """
    check_seed(seed)
    points = vectors if block else checked_embeddings(vectors, stacked=False).cpu().numpy()
    rows = _sample(len(points), SAMPLE, seed)
    sample, tried = points[rows], {}
    if k == "auto":
        tried = _silhouettes(sample, most, seed)
        k = max(tried, key=lambda one: (tried[one], -one)) if tried else 1
    if isinstance(k, str):
        raise SettingsError(f"k is {k!r}; give a number, or 'auto'")
    if not 1 <= k <= len(points):
        raise SettingsError(f"{k} clusters for {len(points):,} vectors; the number must be from 1 to {len(points):,}")
    labels = _by_size(_kmeans_in_blocks(points, k, seed, block) if block else _kmeans(points, k, seed))
    per_row = _row_silhouettes(sample, labels[rows])
    if per_row is None:
        return Clusters(labels, None, (None,) * (int(labels.max()) + 1), len(rows), tried)
    means = tuple(
        float(per_row[labels[rows] == one].mean()) if (labels[rows] == one).any() else None
        for one in range(labels.max() + 1)
    )
    return Clusters(labels, float(per_row.mean()), means, len(rows), tried)


def _sample(count: int, most: int, seed: int) -> np.ndarray:
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def _silhouettes(sample: np.ndarray, most: int, seed: int) -> dict[int, float]:
    """Return the mean silhouette of K-Means on the sample by number of clusters, where it is defined."""
    if most < 2:
        raise SettingsError(f"most is {most}; the smallest number of clusters to try is 2, so it must be at least 2")
    distinct = len(np.unique(sample, axis=0))
    found = {}
    for k in range(2, min(most, distinct, len(sample) - 1) + 1):
        values = _row_silhouettes(sample, cluster(sample, k, seed=seed))
        if values is not None:
            found[k] = round(float(values.mean()), 9)  # so that rounding errors decide nothing
    return found


def _row_silhouettes(points: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    from sklearn.metrics import silhouette_samples

    if not 2 <= len(np.unique(labels)) < len(points):
        return None
    with one_thread():
        return np.asarray(silhouette_samples(points, labels), dtype=np.float64)


def _kmeans(points: np.ndarray, k: int, seed: int) -> np.ndarray:
    if len(points) <= ALL_STARTS or k > ALL_STARTS:
        return cluster(points, k, seed=seed)
    from sklearn.cluster import KMeans

    centres = _first_centres(points, k, seed)
    with one_thread(), warnings.catch_warnings():  # one thread: the bits do not depend on the number of cores
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(len(centres), init=centres, n_init=1, random_state=seed)
        return np.asarray(model.fit_predict(points), dtype=np.int64)


def _first_centres(points: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the centres of K-Means on a random sample."""
    sample = points[_sample(len(points), ALL_STARTS, seed)]
    labels = cluster(sample, k, seed=seed)
    return np.stack([sample[labels == one].mean(axis=0) for one in np.unique(labels)])


def _kmeans_in_blocks(points: np.ndarray, k: int, seed: int, block: int) -> np.ndarray:
    """Run Lloyd's algorithm from the centres of a sample, with a block of the vectors in memory at a time.

    It ends as scikit-learn's does, when the centres hardly move, or after 30 passes.
    """
    from sklearn.metrics import pairwise_distances_argmin

    if k > ALL_STARTS:
        raise SettingsError(f"{k:,} clusters of vectors larger than memory; use at most {ALL_STARTS:,}, or more memory")
    centres = _first_centres(points, k, seed).astype(np.float64)
    labels, spread = np.empty(len(points), np.int64), 0.0
    for turn in range(MOST_PASSES):
        sums, counts = np.zeros_like(centres), np.zeros(len(centres), np.int64)
        squares, total = np.zeros(centres.shape[1]), np.zeros(centres.shape[1])
        for start in range(0, len(points), block):
            some = np.asarray(points[start : start + block], dtype=np.float64)
            with one_thread():
                found = pairwise_distances_argmin(some, centres)
            labels[start : start + block] = found
            np.add.at(sums, found, some)
            counts += np.bincount(found, minlength=len(centres))
            if not turn:
                squares += np.square(some).sum(axis=0)
                total += some.sum(axis=0)
        if not turn:
            spread = float((squares / len(points) - np.square(total / len(points))).mean())
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        shift, centres = float(np.square(moved - centres).sum()), moved
        if shift <= 1e-4 * spread:
            break
    return labels


def _by_size(labels: np.ndarray) -> np.ndarray:
    """Renumber clusters from the largest to the smallest; ties are in the order of their first vectors."""
    found, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    ranks = np.empty(len(found), np.int64)
    ranks[np.lexsort((first, -counts))] = np.arange(len(found))
    return ranks[inverse]


def central_rows(
    vectors: np.ndarray, labels: np.ndarray, count: int, most: int | None = None, seed: int = 0
) -> list[np.ndarray]:
    """Return, for each cluster, the rows of the ``count`` vectors nearest to its mean, nearest first.

    In a cluster with more than ``most`` vectors, a random sample of that size is compared.

    >>> [rows.tolist() for rows in central_rows(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]), 1)]
    [[0], [2]]
    """
    found = []
    for one in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == one)
        rows = rows if most is None else rows[_sample(len(rows), most, seed)]
        members = vectors[rows]
        distances = np.square(members - members.mean(axis=0)).sum(axis=1)
        found.append(rows[np.argsort(distances, kind="stable")[:count]])
    return found
