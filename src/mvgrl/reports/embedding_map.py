"""A map of embeddings: a point for each vector, coloured by class, near the points of similar vectors."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

from mvgrl.errors import InputError, SettingsError, check_name
from mvgrl.tables.atomic import atomic_write, check_writable

METHODS = ("tsne", "pca")
PICTURES = (".png", ".svg", ".pdf")

# Okabe and Ito's colours, which the colour-blind can tell apart; yellow, faint on white, comes last.
FEW = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
# Past eight, no colours are safe for all eyes: Tableau's without its greys, the strong before the pale.
MANY = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#393b79"),
    *("#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#f7b6d2", "#dbdb8d", "#9edae5", "#637939"),
)
OTHER, UNLABELLED, INK = "#999999", "#d9d9d9", "#333333"
NO_LABEL = ("None", "nan", "<NA>", "NaT")  # how Python, NumPy and pandas write that there is none

WIDTH, MARGIN, TITLE, NOTE = 8.0, 0.2, 0.3, 0.2  # inches
PIXELS = 200  # to the inch


def project(vectors: Any, *, method: str = "tsne", seed: int = 0) -> np.ndarray:
    """Points in the plane, n×2, for vectors, n×d: t-SNE of 50 principal components, or the first two components.

    t-SNE keeps neighbours together, but how far apart its groups lie says little; PCA keeps the large distances, and
    stands in for t-SNE where there are fewer than five vectors.

    >>> project([[0, 0, 0], [3, 0, 4]], method="pca").round(2).tolist()
    [[-2.5, 0.0], [2.5, 0.0]]
    """
    check_name("method", method, METHODS)
    return _project(_table(vectors, "vectors"), method, seed)


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
    """Project vectors and draw them to ``path``, a .png, .svg or .pdf; returns how many were drawn.

    Of more than ``limit`` vectors a random sample is drawn, and a note in the picture's corner says so.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     embedding_map(np.eye(4), f"{folder}/map.svg", labels=["cat", "cat", "dog", ""])
    4
    """
    check_name("method", method, METHODS)
    check_picture(path)
    if limit < 1:
        raise SettingsError(f"limit is {limit}; draw at least 1 point")
    vectors = _array(vectors, "vectors")
    count = len(vectors)
    names = None if labels is None else _labels(labels, count)
    rows = np.arange(count)
    if count > limit:  # before anything is copied: all of them may be too many for this machine's memory
        rows = np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))
        vectors, names = vectors[rows], None if names is None else names[rows]
    points = _project(_table(vectors, "vectors", rows), method, seed)
    draw_map(points, path, labels=names, title=title, note=f"{limit:,} of {count:,}" if count > limit else None)
    return len(points)


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a picture that could not be drawn, before the work is done that it is to show.

    >>> check_picture("map.gif")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: map.gif is of no kind that can be drawn; give one of .png, .svg, .pdf
    """
    if Path(path).suffix.lower() not in PICTURES:
        raise InputError(f"{path} is of no kind that can be drawn; give one of {', '.join(PICTURES)}")
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputError(f"drawing {path} needs matplotlib; pip install 'mvgrl[plot]'") from None
    check_writable(path)


def draw_map(
    points: Any, path: str | os.PathLike[str], *, labels: Any = None, title: str | None = None, note: str | None = None
) -> None:
    """Draw points, n×2, coloured by their labels, to a .png, .svg or .pdf; ``note`` stands small in a corner.

    Labels are numbers or text. Where one is NaN, None or empty the point has none, and lies light grey behind the
    others. The same points and labels give the same bytes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     draw_map([[0, 0], [1, 0], [1, 1]], f"{folder}/map.png", labels=[1, 2, 2], title="Three points")
    ...     Path(folder, "map.png").read_bytes()[1:4]
    b'PNG'
    """
    check_picture(path)
    table = _table(points, "points")
    if table.shape[1] != 2:
        raise InputError(f"points has {table.shape[1]} columns; a map has 2, which project() makes of vectors")
    colours, legend = _coloured(np.full(len(table), 0) if labels is None else _labels(labels, len(table)))
    import matplotlib

    kind = Path(path).suffix.lower()[1:]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context():  # the caller's style is put aside, and given back
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mvgrl", "pdf.fonttype": 42})
        figure = _figure(table, colours, [] if labels is None else legend, title, note)
        with atomic_write(path) as temporary:
            figure.savefig(temporary, format=kind, metadata=undated)


def _project(table: np.ndarray, method: str, seed: int) -> np.ndarray:
    points = np.zeros((len(table), 2))
    if (table == table[0]).all():  # one vector, or one many times: there is no direction to spread along
        return points
    only_pca = method == "pca" or len(table) < 5
    kept = min(2 if only_pca else 50, *table.shape)
    components = PCA(kept, random_state=seed).fit_transform(table)
    if only_pca:
        points[:, :kept] = components
        return points
    components /= np.abs(components).max()  # only ratios of distances matter, and so they fit t-SNE's 32 bits
    if kept == 1:
        components = np.pad(components, ((0, 0), (0, 1)))  # t-SNE starts from two
    tsne = TSNE(init="pca", perplexity=min(30, (len(table) - 1) / 3), random_state=seed)
    with threadpool_limits(1 if len(table) < 2000 else None):  # threads mostly wait for each other on so few points
        return np.asarray(tsne.fit_transform(components), dtype=np.float64)


def _figure(
    points: np.ndarray, colours: list[str], legend: list[tuple[str, str]], title: str | None, note: str | None
) -> Any:
    """The map at the left, as high as its points ask for, and what the colours mean at the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(WIDTH, WIDTH), dpi=PIXELS)
    canvas = FigureCanvasAgg(figure)
    width, least = WIDTH - 2 * MARGIN, 0.6 * WIDTH  # at least as high as the longest legend
    if legend:
        dots = [Line2D([], [], linestyle="", marker="o", markeredgewidth=0, markersize=7, color=c) for _, c in legend]
        key = figure.legend(
            dots,
            [name for name, _ in legend],
            loc="center right",
            bbox_to_anchor=(1 - MARGIN / WIDTH, 0.5),
            **dict(frameon=False, borderpad=0, borderaxespad=0, handletextpad=0.2, labelspacing=0.6, labelcolor=INK),
        )
        for text in key.get_texts():
            text.set_parse_math(False)  # a $ in a name is a $
        width -= key.get_window_extent(canvas.get_renderer()).width / PIXELS + MARGIN

    low, high = points.min(axis=0), points.max(axis=0)
    across, along = high - low
    height = max(least, width * min(along / across, 1.0) if across else 0.0)
    top, bottom = MARGIN + (TITLE if title else 0), MARGIN + (NOTE if note else 0)
    total = bottom + height + top
    figure.set_size_inches(WIDTH, total)
    axes = figure.add_axes((MARGIN / WIDTH, bottom / total, width / WIDTH, height / total))
    axes.set_axis_off()
    inch = max(across / (width - MARGIN), along / (height - MARGIN)) or 1.0  # the same for both: distances are true
    reach = inch * np.array([width, height]) / 2
    (left, down), (right, up) = (low + high) / 2 - reach, (low + high) / 2 + reach
    axes.set_xlim(left, right), axes.set_ylim(down, up)
    # Grey behind, and the classes mixed at random: drawn one by one, the last would hide the others.
    layer = np.array([0 if colour == UNLABELLED else 1 if colour == OTHER else 2 for colour in colours])
    order = np.lexsort((np.random.default_rng(0).permutation(len(points)), layer))
    size = float(np.clip(32_000 / len(points), 4, 60))
    drawn = [colours[i] for i in order]
    axes.scatter(points[order, 0], points[order, 1], size, drawn, alpha=0.75, linewidths=0, clip_on=False)
    plain: dict[str, Any] = dict(color=INK, parse_math=False)
    if title:
        figure.text(MARGIN / WIDTH, 1 - MARGIN / total, _shown(title, 80), fontsize=12, va="top", **plain)
    if note:
        figure.text(1 - MARGIN / WIDTH, MARGIN / total, note, fontsize=9, ha="right", **plain)
    return figure


def _coloured(labels: np.ndarray) -> tuple[list[str], list[tuple[str, str]]]:
    """Each point's colour, and the legend: names and colours of the classes in order, then of what has no class."""
    keys = [_key(label) for label in labels]
    counts = Counter(key for key in keys if key is not None)
    classes = sorted(counts, key=lambda key: (isinstance(key, str), key))  # numbers before text
    palette = FEW if len(classes) <= len(FEW) else MANY
    shown = classes
    if len(classes) > len(MANY):
        largest = {key for key, _ in counts.most_common(len(MANY) - 1)}
        shown = [key for key in classes if key in largest]
    colour = dict(zip(shown, palette, strict=False))
    legend = [(_shown(str(key).replace("_", " "), 30), colour[key]) for key in shown]
    if len(shown) < len(classes):
        legend.append((f"other ({len(classes) - len(shown)} classes)", OTHER))
    if counts.total() < len(keys):
        legend.append(("unlabelled", UNLABELLED))
    return [UNLABELLED if key is None else colour.get(key, OTHER) for key in keys], legend


def _key(label: Any) -> Any:
    """What a class is told by: its number, else its text; None where there is no label."""
    if isinstance(label, (int, float, np.integer, np.floating)) and not isinstance(label, bool) and label == label:
        return int(label) if label == label // 1 else label  # integers with a gap among them are floats in pandas
    text = str(label)
    return None if not text.strip() or (text in NO_LABEL and not isinstance(label, str)) else text


def _shown(text: str, most: int) -> str:
    """A text on one line, without what a picture cannot hold, and not too long."""
    words = " ".join(text.split())
    words = "".join(letter for letter in words if letter.isprintable())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def _labels(labels: Any, count: int) -> np.ndarray:
    values = labels.detach().cpu().numpy() if hasattr(labels, "detach") else labels
    names = np.asarray(values, dtype=object)  # as text, a NaN among words would become one
    if names.shape != (count,):
        raise InputError(f"labels has shape {names.shape}, but there are {count} points; give one a point")
    return names


def _array(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values)
    except (TypeError, ValueError) as error:  # rows of different lengths
        raise InputError(f"{name} is not a table of numbers ({error})") from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape}; give rows × columns, a row for each point")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {array.dtype}; give real numbers")
    return array


def _table(values: Any, name: str, rows: np.ndarray | None = None) -> np.ndarray:
    """Finite numbers, n×d; ``rows`` are the numbers the user knows the rows by."""
    table = _array(values, name).astype(np.float64)
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = bad[0]
        place = f"row {row if rows is None else rows[row]}, column {column}"
        raise InputError(f"{name}, {place} is {table[row, column]}; give finite numbers, or leave the row out")
    return table
