"""Clustering: how well K-Means finds the classes without seeing any labels.

On the CPU it is scikit-learn's K-Means: with the same inertia, it takes about 1.5 times as long as our batched one on
Cora's and PubMed's size, a second or two (``benchmarks/probes.py``, recorded in ``results/benchmarks/probes.json``).
Vectors on a GPU stay there, and :mod:`mvgrl.evaluation.kmeans` clusters them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning

from mvgrl.errors import SettingsError
from mvgrl.evaluation.checks import check_seed, checked_embeddings, checked_labels, classes_of, is_known
from mvgrl.evaluation.kmeans import kmeans
from mvgrl.evaluation.threads import one_thread


def cluster(embeddings: Any, clusters: int, *, seed: int = 0) -> np.ndarray:
    """Assign each node to a cluster, numbered from 0: K-Means, the best of ten initialisations.

    >>> found = cluster([[0.0], [9.0], [0.1], [9.1]], 2)
    >>> (found == found[0]).tolist()
    [True, False, True, False]
    """
    points = checked_embeddings(embeddings, stacked=False)
    if not 1 <= clusters <= len(points):
        raise SettingsError(f"{clusters} clusters for {len(points)} nodes; the number must be from 1 to {len(points)}")
    check_seed(seed)
    if points.device.type != "cpu":
        return kmeans(points, clusters, seed=seed).cpu().numpy()
    return _sklearn_kmeans(points.numpy(), clusters, seed)


def _sklearn_kmeans(points: np.ndarray, clusters: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    # One thread: several threads add up the centres in varying order, which changes the last bits from run to run.
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        found: np.ndarray = KMeans(clusters, n_init=10, random_state=seed).fit_predict(points)
    return found.astype(np.int64)


def clustering_scores(embeddings: Any, labels: Any, *, runs: int = 10, seed: int = 0) -> dict[str, np.ndarray]:
    """Compare K-Means clusters, as many as there are classes, with the classes: "nmi" and "ari", one entry per run.

    Both are 1 if clusters and classes are the same and near 0 for random clusters. Nodes with an unknown label (NaN or
    an empty string) are omitted. A run depends on the seed and on its index, not on the number of runs.

    >>> points = [[0.0], [0.1], [9.0], [9.1], [4.0]]
    >>> clustering_scores(points, ["low", "low", "high", "high", ""], runs=2)["ari"].tolist()
    [1.0, 1.0]
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    if runs < 1:
        raise SettingsError(f"runs is {runs}; it must be at least 1")
    check_seed(seed)
    codes = checked_embeddings(embeddings, stacked=False)
    names = checked_labels(labels, len(codes))
    classes, known = classes_of(names), is_known(names)
    points, truth = codes[torch.from_numpy(known).to(codes.device)], np.searchsorted(classes, names[known])
    seeds = [int(np.random.SeedSequence([seed, run]).generate_state(1)[0]) for run in range(runs)]
    found = [cluster(points, len(classes), seed=one) for one in seeds]
    return {
        "nmi": np.array([normalized_mutual_info_score(truth, one) for one in found]),
        "ari": np.array([adjusted_rand_score(truth, one) for one in found]),
    }
