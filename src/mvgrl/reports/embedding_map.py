"""Draw embeddings as a map: a point per vector, coloured by class, with similar vectors close together."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # comes with scikit-learn

from mvgrl.errors import InputError, SettingsError, check_name
from mvgrl.reports.document import plain
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.paths import check_output_file

METHODS = ("tsne", "pca")
PICTURES = (".png", ".svg", ".pdf")

# Okabe and Ito's colours, which are safe for colour-blind readers; yellow, faint on white, comes last.
FEW = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
# No palette of more than eight colours is safe for everyone: Tableau's without its greys, strong colours first.
MANY = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#393b79"),
    *("#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#f7b6d2", "#dbdb8d", "#9edae5", "#637939"),
)
OTHER, UNLABELLED, INK = "#999999", "#d9d9d9", "#333333"
MISSING = ("None", "nan", "<NA>", "NaT")  # how Python, NumPy and pandas print a missing value
WIDTH, MARGIN, DPI = 8.0, 0.2, 200  # inches, inches, dots per inch


def project(vectors: Any, *, method: str = "tsne", seed: int = 0) -> np.ndarray:
    """Project vectors, n×d, to points, n×2: by t-SNE of 50 principal components, or to the first two components.

    t-SNE keeps neighbours together, but distances between its clusters mean little. PCA keeps large distances; it is
    also used in place of t-SNE for fewer than five vectors.

    >>> project([[0, 0, 0], [3, 0, 4]], method="pca").round(2).tolist()
    [[-2.5, 0.0], [2.5, 0.0]]
    """
    check_name("method", method, METHODS)
    matrix = _finite(_matrix(vectors, "vectors"), "vectors")
    if (matrix == matrix[0]).all():  # PCA and t-SNE need at least two different vectors
        return np.zeros((len(matrix), 2))
    tsne = method == "tsne" and len(matrix) >= 5
    points = PCA(min(50 if tsne else 2, *matrix.shape), random_state=seed).fit_transform(matrix)
    points = np.pad(points, ((0, 0), (0, max(0, 2 - points.shape[1]))))  # one column becomes two
    if not tsne:
        return points
    points /= np.abs(points).max()  # t-SNE computes in 32 bits, and its result does not depend on the scale
    model = TSNE(init="pca", perplexity=min(30, (len(points) - 1) / 3), random_state=seed)
    with threadpool_limits(1 if len(points) < 2000 else None):  # with few points, more threads are slower
        return np.asarray(model.fit_transform(points), dtype=np.float64)


def embedding_map(
    vectors: Any,
    path: str | os.PathLike[str],
    *,
    labels: Any = None,
    method: str = "tsne",
    seed: int = 0,
    title: str | None = None,
    limit: int = 10_000,
) -> int:
    """Project vectors and draw them to a .png, .svg or .pdf file; return the number of points drawn.

    Of more than ``limit`` vectors, a random sample is drawn; a note in the corner of the picture says so.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     embedding_map(np.eye(4), f"{folder}/map.svg", labels=["cat", "cat", "dog", ""])
    4
    """
    check_name("method", method, METHODS)
    check_picture(path)
    if limit < 1:
        raise SettingsError(f"limit is {limit}; draw at least 1 point")
    matrix = _matrix(vectors, "vectors")
    count = len(matrix)
    names = None if labels is None else _labels(labels, count)
    rows: Any = slice(None)
    if count > limit:
        rows = np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))
    points = project(_finite(matrix, "vectors", rows), method=method, seed=seed)
    note = f"{limit:,} of {count:,}" if count > limit else None
    draw_map(points, path, labels=None if names is None else names[rows], title=title, note=note)
    return len(points)


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise an error if a picture cannot be written to this path; call it before a long computation.

    >>> check_picture("map.gif")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: map.gif: unsupported file type; use one of .png, .svg, .pdf
    """
    check_output_file(path, PICTURES, "map.png")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputError(f"drawing {path} needs matplotlib; pip install 'mvgrl[plot]'") from None


def draw_map(
    points: Any, path: str | os.PathLike[str], *, labels: Any = None, title: str | None = None, note: str | None = None
) -> None:
    """Draw points, n×2, coloured by label, to a .png, .svg or .pdf file, with a small ``note`` in the corner.

    Labels are numbers or text. Points with a missing label (NaN, None or empty) are light grey, behind the others.
    The same points and labels give the same bytes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     draw_map([[0, 0], [1, 0], [1, 1]], f"{folder}/map.png", labels=[1, 2, 2], title="Three points")
    ...     Path(folder, "map.png").read_bytes()[1:4]
    b'PNG'
    """
    check_picture(path)
    matrix = _finite(_matrix(points, "points"), "points")
    if matrix.shape[1] != 2:
        raise InputError(f"points has {matrix.shape[1]} columns; a map has 2: project the vectors with project()")
    colours, legend = _colours(np.zeros(len(matrix)) if labels is None else _labels(labels, len(matrix)))
    import matplotlib

    kind = Path(path).suffix.lower()[1:]
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context():  # the user's style neither changes the picture nor is changed
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mvgrl", "pdf.fonttype": 42})
        figure = _figure(matrix, colours, [] if labels is None else legend, title, note)
        with atomic_write(path) as temporary:
            figure.savefig(temporary, format=kind, metadata=no_date)


def _figure(
    points: np.ndarray, colours: list[str], legend: list[tuple[str, str]], title: str | None, note: str | None
) -> Any:
    """Lay out the map on the left, as high as it needs to be, and the legend on the right; all units are inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(WIDTH, WIDTH), dpi=DPI)
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes: Any = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    width = WIDTH - 2 * MARGIN
    if legend:
        dots = [Line2D([], [], lw=0, marker="o", mew=0, markersize=7, color=colour) for _, colour in legend]
        place = dict(loc="center right", bbox_to_anchor=(1 - MARGIN / WIDTH, 0.5))
        space = dict(borderpad=0, borderaxespad=0, handletextpad=0.2, labelspacing=0.6)
        key = axes.legend(dots, [name for name, _ in legend], **place, **space, frameon=False, labelcolor=INK)
        for text in key.get_texts():
            text.set_parse_math(False)  # a $ in a name is a $
        width -= key.get_window_extent(renderer).width / DPI + MARGIN

    low, high = points.min(axis=0), points.max(axis=0)
    across, along = high - low
    height = max(0.6 * WIDTH, width * min(along / across, 1.0) if across else 0.0)  # room for the longest legend
    bottom = MARGIN + (0.2 if note else 0)
    total = bottom + height + MARGIN + (0.3 if title else 0)
    figure.set_size_inches(WIDTH, total)
    axes.set(xlim=(0, WIDTH), ylim=(0, total))
    scale = max(across / (width - MARGIN), along / (height - MARGIN)) or 1.0  # the same in both directions
    placed = (points - (low + high) / 2) / scale + [MARGIN + width / 2, bottom + height / 2]
    # Grey points first, then the classes in random order: drawn class by class, the last would hide the others.
    layers, ranks = {UNLABELLED: 0, OTHER: 1}, np.random.default_rng(0).permutation(len(points))
    order = sorted(range(len(points)), key=lambda point: (layers.get(colours[point], 2), ranks[point]))
    size = np.clip(32_000 / len(points), 4, 60)
    axes.scatter(*placed[order].T, s=size, c=[colours[point] for point in order], alpha=0.75, linewidths=0)
    if title:
        axes.text(MARGIN, total - MARGIN, _short(title, 80), size=12, va="top", color=INK, parse_math=False)
    if note:
        axes.text(WIDTH - MARGIN, MARGIN, note, size=9, ha="right", color=INK, parse_math=False)
    return figure


def _colours(labels: np.ndarray) -> tuple[list[str], list[tuple[str, str]]]:
    """Return each point's colour, and the legend: class names in order, with their colours."""
    keys = [_key(label) for label in labels]
    counts = Counter(key for key in keys if key is not None)
    classes = sorted(counts, key=lambda key: (isinstance(key, str), key))  # numbers before text
    shown = classes
    if len(classes) > len(MANY):
        largest = {key for key, _ in counts.most_common(len(MANY) - 1)}
        shown = [key for key in classes if key in largest]
    colours = dict(zip(shown, FEW if len(classes) <= len(FEW) else MANY, strict=False))
    legend = [(_short(str(key).replace("_", " "), 30), colours[key]) for key in shown]
    if len(shown) < len(classes):
        legend.append((f"other ({len(classes) - len(shown)} classes)", OTHER))
    if counts.total() < len(keys):
        legend.append(("unlabelled", UNLABELLED))
    return [UNLABELLED if key is None else colours.get(key, OTHER) for key in keys], legend


def _key(label: Any) -> Any:
    """Return the class of a label, an integer where a float is one; None if the label is missing."""
    if isinstance(label, (int, float, np.integer, np.floating)) and not isinstance(label, bool) and label == label:
        return int(label) if label == label // 1 else label  # pandas turns integers with gaps into floats
    text = str(label)
    return None if not text.strip() or (text in MISSING and not isinstance(label, str)) else text


def _short(text: str, most: int) -> str:
    text = plain(text)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _labels(labels: Any, count: int) -> np.ndarray:
    names = np.asarray(_on_cpu(labels), dtype=object)  # as an array of text, NaN would become "nan"
    if names.shape != (count,):
        raise InputError(f"labels has shape {names.shape}, but there are {count} points; give one label per point")
    return names


def _matrix(values: Any, name: str) -> np.ndarray:
    try:
        matrix = np.asarray(_on_cpu(values))
    except (TypeError, ValueError) as error:  # rows of different lengths
        raise InputError(f"{name} is not a table of numbers ({error})") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"{name} has shape {matrix.shape}; give rows × columns, with a row per point")
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {matrix.dtype}; give real numbers")
    return matrix


def _finite(matrix: np.ndarray, name: str, rows: Any = slice(None)) -> np.ndarray:
    """Return the given rows in float64; only they are copied, as a copy of all may not fit in memory."""
    chosen = np.asarray(matrix[rows], dtype=np.float64)
    for row, column in np.argwhere(~np.isfinite(chosen))[:1]:
        place = f"row {np.arange(len(matrix))[rows][row]}, column {column}"
        raise InputError(f"{name}, {place} is {chosen[row, column]}; give finite numbers, or omit the row")
    return chosen


def _on_cpu(values: Any) -> Any:
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values
