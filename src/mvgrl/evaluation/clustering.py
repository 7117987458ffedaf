"""Clustering: how well K-Means finds the classes without having seen a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mvgrl.errors import SettingsError
from mvgrl.evaluation.checks import check_seed, checked_embeddings, checked_labels, classes_of, is_known
from mvgrl.evaluation.kmeans import kmeans


def cluster(embeddings: Any, clusters: int, *, seed: int = 0) -> np.ndarray:
    """The cluster of each node, numbered from 0: K-Means, the best of ten starts.

    >>> found = cluster([[0.0], [9.0], [0.1], [9.1]], 2)
    >>> (found == found[0]).tolist()
    [True, False, True, False]
    """
    points = checked_embeddings(embeddings, stacked=False)
    if not 1 <= clusters <= len(points):
        raise SettingsError(f"{clusters} clusters for {len(points)} nodes; ask for 1 to {len(points)}")
    check_seed(seed)
    return kmeans(points, clusters, seed=seed).cpu().numpy()


def clustering_scores(embeddings: Any, labels: Any, *, runs: int = 10, seed: int = 0) -> dict[str, np.ndarray]:
    """How K-Means with as many clusters as classes agrees with the classes: "nmi" and "ari", one entry a run.

    Both are 1 where the clusters are the classes; chance is near 0. Nodes whose label is not known (NaN, or an
    empty text) are left out. A run depends on the seed and on its place, not on how many there are.

    >>> points = [[0.0], [0.1], [9.0], [9.1], [4.0]]
    >>> clustering_scores(points, ["low", "low", "high", "high", ""], runs=2)["ari"].tolist()
    [1.0, 1.0]
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    if runs < 1:
        raise SettingsError(f"runs is {runs}; ask for at least one")
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
