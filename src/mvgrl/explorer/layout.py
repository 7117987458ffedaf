"""Place points on the map by projection; of very many points, a sample, with the others next to their neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mvgrl.explorer.similar import all_nearest
from mvgrl.reports.projection import check_method, finite, project

SAMPLE = 100_000  # points that t-SNE and UMAP place
_BESIDE = 5  # neighbours that the others are placed by

Progress = Callable[[str, int, int], None]  # what is done, how much of it, and how much there is


def no_progress(what: str, done: int, total: int) -> None:
    """Show nothing."""


def layout(
    vectors: np.ndarray, method: str, *, seed: int = 0, sample: int = SAMPLE, progress: Progress = no_progress
) -> np.ndarray:
    """Return points, n×2, in a square around 0 with sides of 2.

    Beyond ``sample`` vectors, t-SNE and UMAP place a random sample, and each other point is placed at the mean of the
    five nearest sampled ones, weighted by similarity.

    >>> layout(np.array([[0.0, 0.0], [3.0, 4.0]]), "pca")[:, 0].round(2).tolist()
    [-1.0, 1.0]
    """
    check_method(method)
    count = len(vectors)
    if method == "pca" or count <= sample:
        what = f"projecting ({method})"
        return in_square(project(vectors, method=method, seed=seed, progress=partial(progress, what)))
    chosen = np.sort(np.random.default_rng(seed).choice(count, sample, replace=False))
    what = f"projecting {sample:,} points ({method})"
    some = finite(vectors, "vectors", chosen)
    placed = project(some, method=method, seed=seed, progress=partial(progress, what))
    points = np.empty((count, 2))
    points[chosen] = placed
    others = np.setdiff1d(np.arange(count), chosen, assume_unique=True)
    placing = partial(progress, "placing the others")
    found = all_nearest(vectors[chosen], _BESIDE, queries=vectors[others], progress=placing)
    weights = np.clip(found.cosines, 0, None) ** 4 + 1e-6  # the nearest count most
    weights /= weights.sum(axis=1, keepdims=True)
    points[others] = (placed[found.rows] * weights[:, :, None]).sum(axis=1)
    return in_square(points)


def in_square(points: np.ndarray) -> np.ndarray:
    """Move and scale points to fill [−1, 1] in their longer direction; both directions have one scale.

    >>> in_square(np.array([[0.0, 0.0], [4.0, 2.0]])).tolist()
    [[-1.0, -0.5], [1.0, 0.5]]
    """
    low, high = points.min(axis=0), points.max(axis=0)
    side = float((high - low).max()) or 1.0
    return np.asarray((points - (low + high) / 2) * (2 / side))
