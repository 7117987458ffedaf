"""Draw embeddings as a map: a point per vector, coloured by class or number, with similar vectors close together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.errors import InputError, SettingsError
from mvgrl.reports.colours import OTHER, SCALE, UNLABELLED, Colours, colours_of, short
from mvgrl.reports.point_names import write_names
from mvgrl.reports.projection import as_matrix, check_method, finite, on_cpu, project
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.paths import check_output_file

PICTURES = (".png", ".svg", ".pdf")
INK = "#333333"
WIDTH, MARGIN, DPI = 8.0, 0.2, 200  # inches, inches, dots per inch
BAR, BAR_ROOM = (0.18, 2.8), 0.8  # width and height of the colour bar; its width with its numbers
MOST_NAMES = 60  # points that have their names next to them; more would overlap


def embedding_map(
    vectors: Any,
    path: str | os.PathLike[str],
    *,
    labels: Any = None,
    names: Any = None,
    colours: str = "auto",
    method: str = "tsne",
    seed: int = 0,
    title: str | None = None,
    limit: int = 10_000,
) -> int:
    """Project vectors and draw them to a .png, .svg or .pdf file; return the number of points drawn.

    Of more than ``limit`` vectors, a random sample is drawn; a note in the corner of the picture says so. Labels, names
    and colours are those of :func:`draw_map`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     embedding_map(np.eye(4), f"{folder}/map.svg", labels=["cat", "cat", "dog", ""])
    4
    """
    check_method(method)
    check_picture(path)
    if limit < 1:
        raise SettingsError(f"limit is {limit}; draw at least 1 point")
    matrix = as_matrix(vectors, "vectors")
    count = len(matrix)
    per_point = {
        what: None if values is None else _per_point(values, count, what)
        for what, values in (("labels", labels), ("names", names))
    }
    rows: Any = slice(None)
    if count > limit:
        rows = np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))
    points = project(finite(matrix, "vectors", rows), method=method, seed=seed)
    note = f"{limit:,} of {count:,}" if count > limit else None
    drawn = {what: None if values is None else values[rows] for what, values in per_point.items()}
    draw_map(points, path, **drawn, colours=colours, title=title, note=note)
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
    points: Any,
    path: str | os.PathLike[str],
    *,
    labels: Any = None,
    names: Any = None,
    colours: str = "auto",
    title: str | None = None,
    note: str | None = None,
) -> None:
    """Draw points, n×2, coloured by label, to a .png, .svg or .pdf file, with a small ``note`` in the corner.

    Labels are numbers or text. Points with a missing label (NaN, None or empty) are light grey, behind the others.
    ``colours`` is "classes", a colour per label; "scale", a colour scale with a bar; or "auto", a scale for numbers
    with more than 12 different values that are not all integers, and otherwise classes. Up to 60 points have their
    ``names`` next to them. The same arguments give the same bytes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     draw_map([[0, 0], [1, 0], [1, 1]], f"{folder}/map.png", labels=[1, 2, 2], title="Three points")
    ...     Path(folder, "map.png").read_bytes()[1:4]
    b'PNG'
    """
    check_picture(path)
    matrix = finite(as_matrix(points, "points"), "points")
    if matrix.shape[1] != 2:
        raise InputError(f"points has {matrix.shape[1]} columns; a map has 2: project the vectors with project()")
    coloured = _coloured(labels, len(matrix), colours)
    texts = None if names is None else _per_point(names, len(matrix), "names")
    import matplotlib

    kind = Path(path).suffix.lower()[1:]
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context():  # the user's style neither changes the picture nor is changed
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mvgrl", "pdf.fonttype": 42})
        figure = _figure(matrix, coloured, texts, title, note)
        with atomic_write(path) as temporary:
            figure.savefig(temporary, format=kind, metadata=no_date)


def _coloured(labels: Any, count: int, kind: str) -> Colours:
    if labels is not None:
        return colours_of(_per_point(labels, count, "labels"), kind)
    if kind == "scale":
        raise InputError("a colour scale needs numbers as labels; give labels, or use the colours 'auto'")
    return Colours(colours_of(np.zeros(count)).points, [])


def _figure(
    points: np.ndarray, coloured: Colours, names: np.ndarray | None, title: str | None, note: str | None
) -> Any:
    """Lay out the map on the left, as high as it needs to be, and the legend on the right; all units are inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, WIDTH), dpi=DPI)
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes: Any = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    width = WIDTH - 2 * MARGIN
    if coloured.legend:
        # Beside a colour bar, which is in the middle, there is only "unlabelled", in the corner.
        width -= _legend(axes, coloured.legend, renderer, "center" if coloured.scale is None else "lower") + MARGIN
    if coloured.scale is not None:
        width = min(width, WIDTH - 3 * MARGIN - BAR_ROOM)

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
    colours, layers = coloured.points, {UNLABELLED: 0, OTHER: 1}
    ranks = np.random.default_rng(0).permutation(len(points))
    order = sorted(range(len(points)), key=lambda point: (layers.get(colours[point], 2), ranks[point]))
    size = np.clip(32_000 / len(points), 4, 60)
    axes.scatter(*placed[order].T, s=size, c=[colours[point] for point in order], alpha=0.75, linewidths=0)
    if coloured.scale is not None:
        _colour_bar(figure, coloured.scale, total)
    if names is not None and len(points) <= MOST_NAMES:
        write_names(axes, placed, [short(str(name), 20) for name in names], (MARGIN, MARGIN + width), renderer)
    if title:
        axes.text(MARGIN, total - MARGIN, short(title, 80), size=12, va="top", color=INK, parse_math=False)
    if note:
        axes.text(WIDTH - MARGIN, MARGIN, note, size=9, ha="right", color=INK, parse_math=False)
    return figure


def _legend(axes: Any, legend: list[tuple[str, str]], renderer: Any, place: str) -> float:
    """Draw a dot and a name per class at the right, and return the width that they need."""
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], lw=0, marker="o", mew=0, markersize=7, color=colour) for _, colour in legend]
    where = dict(loc=f"{place} right", bbox_to_anchor=(1 - MARGIN / WIDTH, 0.5 if place == "center" else 0.06))
    space = dict(borderpad=0, borderaxespad=0, handletextpad=0.2, labelspacing=0.6)
    key = axes.legend(dots, [name for name, _ in legend], **where, **space, frameon=False, labelcolor=INK)
    for text in key.get_texts():
        text.set_parse_math(False)  # a $ in a name is a $
    return float(key.get_window_extent(renderer).width / DPI)


def _colour_bar(figure: Any, ends: tuple[float, float], total: float) -> None:
    """Draw the colours of a scale with their numbers at the right, in the middle."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    width, height = BAR
    left, bottom = WIDTH - MARGIN - BAR_ROOM, (total - height) / 2
    place = figure.add_axes((left / WIDTH, bottom / total, width / WIDTH, height / total))
    low, high = ends
    bar = figure.colorbar(ScalarMappable(Normalize(low, high if high > low else low + 1), SCALE), cax=place)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, labelcolor=INK, color=INK)


def _per_point(values: Any, count: int, what: str) -> np.ndarray:
    found = np.asarray(on_cpu(values), dtype=object)  # as an array of text, NaN would become "nan"
    if found.shape != (count,):
        raise InputError(f"{what} has shape {found.shape}, but there are {count} points; give one per point")
    return found
