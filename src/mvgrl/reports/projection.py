"""Project vectors to points on a map, and check both."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # comes with scikit-learn

from mvgrl.errors import InputError, check_name

METHODS = ("tsne", "pca", "umap")
Progress = Callable[[int, int], None]  # iterations so far, and in all
_ITERATIONS = 1000  # of t-SNE, at most


def project(vectors: Any, *, method: str = "tsne", seed: int = 0, progress: Progress | None = None) -> np.ndarray:
    """Project vectors, n×d, to points, n×2: by t-SNE or UMAP of 50 principal components, or to the first two.

    t-SNE and UMAP keep neighbours together, but distances between their clusters mean little. PCA keeps large
    distances; it is also used instead of them for fewer than five vectors. UMAP needs ``pip install 'mvgrl[umap]'``.
    ``progress`` is called during the iterations of t-SNE and UMAP.

    >>> project([[0, 0, 0], [3, 0, 4]], method="pca").round(2).tolist()
    [[-2.5, 0.0], [2.5, 0.0]]
    """
    check_method(method)
    matrix = finite(as_matrix(vectors, "vectors"), "vectors")
    if (matrix == matrix[0]).all():  # all methods need at least two different vectors
        return np.zeros((len(matrix), 2))
    plain = method == "pca" or len(matrix) < 5
    points = PCA(min(2 if plain else 50, *matrix.shape), random_state=seed).fit_transform(matrix)
    points = np.pad(points, ((0, 0), (0, max(0, 2 - points.shape[1]))))  # one column becomes two
    if plain:
        return points
    points /= np.abs(points).max()  # both compute in 32 bits, and their results do not depend on the scale
    return _umap(points, seed, progress) if method == "umap" else _tsne(points, seed, progress)


def check_method(method: str) -> None:
    """Raise an error for an unknown method, and for one whose package is missing."""
    check_name("method", method, METHODS)
    if method == "umap":
        from importlib.util import find_spec

        if find_spec("umap") is None:
            raise InputError("the layout umap needs umap-learn; pip install 'mvgrl[umap]', or use tsne")


class _Lines(io.StringIO):
    """A file that calls ``progress`` when a line with a number of iterations is written to it."""

    def __init__(self, pattern: str, progress: Progress) -> None:
        super().__init__()
        self._pattern, self._progress = re.compile(pattern), progress

    def write(self, text: str) -> int:
        if found := self._pattern.search(text):
            self._progress(int(found[1]), int(found[2]) if found.lastindex == 2 else _ITERATIONS)
        return len(text)


def _tsne(points: np.ndarray, seed: int, progress: Progress | None) -> np.ndarray:
    about = dict(init="pca", perplexity=min(30, (len(points) - 1) / 3), random_state=seed, max_iter=_ITERATIONS)
    with threadpool_limits(1 if len(points) < 2000 else None):  # with few points, more threads are slower
        if progress is None:
            return np.asarray(TSNE(**about).fit_transform(points), dtype=np.float64)
        with redirect_stdout(_Lines(r"Iteration (\d+)", progress)):  # the only sign of progress that it gives
            return np.asarray(TSNE(**about, verbose=2).fit_transform(points), dtype=np.float64)


def _umap(points: np.ndarray, seed: int, progress: Progress | None) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it uses one thread, as it does with a seed, and the like
        from umap import UMAP

        shown = {} if progress is None else {"tqdm_kwds": dict(disable=False, file=_Lines(r"(\d+)/(\d+)", progress))}
        model = UMAP(n_neighbors=min(15, len(points) - 1), init="pca", random_state=seed, n_jobs=1, **shown)
        return np.asarray(model.fit_transform(points), dtype=np.float64)


def as_matrix(values: Any, name: str) -> np.ndarray:
    """Return a table of real numbers as an array; an error message uses the name."""
    try:
        matrix = np.asarray(on_cpu(values))
    except (TypeError, ValueError) as error:  # rows of different lengths
        raise InputError(f"{name} is not a table of numbers ({error})") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"{name} has shape {matrix.shape}; give rows × columns, with a row per point")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {matrix.dtype}; give real numbers")
    return matrix


def finite(matrix: np.ndarray, name: str, rows: Any = slice(None)) -> np.ndarray:
    """Return the given rows in float64; only they are copied, as a copy of all may not fit in memory."""
    chosen = np.asarray(matrix[rows], dtype=np.float64)
    for row, column in np.argwhere(~np.isfinite(chosen))[:1]:
        place = f"row {np.arange(len(matrix))[rows][row]}, column {column}"
        raise InputError(f"{name}, {place} is {chosen[row, column]}; give finite numbers, or omit the row")
    return chosen


def on_cpu(values: Any) -> Any:
    """Return a tensor as an array, and anything else unchanged."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values
