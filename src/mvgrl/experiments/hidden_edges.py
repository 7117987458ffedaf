"""Score vectors without labels: how well they predict hidden edges, and how stable their clusters are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from mvgrl.clusters import find_clusters
from mvgrl.evaluation.link_split import LinkSplit, split_edges
from mvgrl.evaluation.links import score_split

CLUSTERS = 10  # of K-Means; on a small graph, one per four nodes
TEST_FRACTION, VAL_FRACTION = 0.1, 0.1  # of the edges; of the edges that are left


def link_splits(adjacency: sp.csr_array, count: int) -> list[LinkSplit]:
    """Return numbered splits of the edges, which are those of ``mvgrl links`` with seed 0."""
    return [
        split_edges(adjacency, test_fraction=TEST_FRACTION, val_fraction=VAL_FRACTION, seed=split_seed(number))
        for number in range(count)
    ]


def split_seed(number: int) -> int:
    """Return the seed of a numbered split."""
    return int(np.random.SeedSequence([0, number]).generate_state(1)[0])


def hidden_edge_scores(
    splits: Sequence[LinkSplit], embed: Callable[[int, sp.csr_array], np.ndarray]
) -> list[dict[str, float]]:
    """Return the scores of every split; ``embed`` makes vectors from its number and the graph without its hidden edges.

    "auc" and "average_precision" are those of the logistic model of products, as in ``mvgrl links``. "stability" is the
    mean adjusted Rand index between the K-Means clusters of this split's vectors and of the vectors of every other
    split: 1 if training without other edges changes no cluster, near 0 if it changes all of them. With a single split
    there is none.

    >>> blocks = sp.csr_array(np.kron(np.eye(2), np.ones((12, 12))) - np.eye(24))
    >>> vectors = np.repeat(np.eye(2), 12, axis=0)
    >>> hidden_edge_scores(link_splits(blocks, 2), lambda number, adjacency: vectors)[0]["auc"]
    1.0
    """
    from sklearn.metrics import adjusted_rand_score

    found, clusters = [], []
    for number, split in enumerate(splits):
        vectors = embed(number, split.adjacency)
        test = score_split(split, vectors, seed=split_seed(number)).test["logistic"]
        found.append({name: test[name] for name in ("auc", "average_precision")})
        clusters.append(find_clusters(vectors, max(2, min(CLUSTERS, len(vectors) // 4)), seed=number).labels)
    if len(splits) > 1:
        for number, (scores, own) in enumerate(zip(found, clusters, strict=True)):
            others = [other for place, other in enumerate(clusters) if place != number]
            scores["stability"] = float(np.mean([adjusted_rand_score(own, other) for other in others]))
    return found
