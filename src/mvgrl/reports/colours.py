"""Colours of the points of a map: one per class, or a scale for numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvgrl.errors import InputError, check_name
from mvgrl.reports.document import plain

# Okabe and Ito's colours, which are safe for colour-blind readers; yellow, faint on white, comes last.
FEW = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
# No palette of more than eight colours is safe for everyone: Tableau's without its greys, strong colours first.
MANY = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#393b79"),
    *("#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#f7b6d2", "#dbdb8d", "#9edae5", "#637939"),
)
OTHER, UNLABELLED = "#999999", "#d9d9d9"
MISSING = ("None", "nan", "<NA>", "NaT")  # how Python, NumPy and pandas print a missing value
KINDS = ("auto", "classes", "scale")
SCALE = "viridis"  # matplotlib's: ordered by lightness, and safe for colour-blind readers
MOST_CLASSES = 12  # different numbers that are classes even if some are not integers


@dataclass(frozen=True)
class Colours:
    """The colour of each point, and what explains them: a legend of classes, or the ends of a scale."""

    points: list[str]
    legend: list[tuple[str, str]]
    scale: tuple[float, float] | None = None


def colours_of(labels: np.ndarray, kind: str = "auto") -> Colours:
    """Return colours by class or, for numbers, on a scale.

    "auto" is a scale for numbers with more than 12 different values of which at least one is not an integer; integers
    are classes.

    >>> colours_of(np.linspace(0.5, 3, 20)).scale, colours_of(np.arange(20)).scale
    ((0.5, 3.0), None)
    """
    check_name("colours", kind, KINDS)
    keys = [_key(label) for label in labels]
    known = {key for key in keys if key is not None}
    numbers = all(isinstance(key, (int, float, np.floating)) for key in known)
    if kind == "scale" and (not numbers or not known):
        odd = next((key for key in keys if isinstance(key, str)), None)
        problem = "there are no labels" if odd is None else f"{plain(str(odd))[:30]!r} is not a number"
        raise InputError(f"a colour scale needs numbers as labels, but {problem}; use the colours 'classes'")
    fractions = any(not isinstance(key, int) for key in known)
    if kind == "scale" or (kind == "auto" and numbers and fractions and len(known) > MOST_CLASSES):
        return _on_scale(keys)
    return Colours(*_by_class(keys))


def _on_scale(keys: list[Any]) -> Colours:
    """Spread a colour map evenly from the lowest to the highest number."""
    import matplotlib
    from matplotlib.colors import to_hex

    numbers = np.array([np.nan if key is None else float(key) for key in keys])
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    if not np.isfinite([low, high]).all():
        raise InputError("a colour scale needs finite numbers, but a label is infinite; use the colours 'classes'")
    places = (numbers - low) / (high - low or 1.0)
    colours = matplotlib.colormaps[SCALE](np.nan_to_num(places))
    missing = np.isnan(numbers)
    points = [UNLABELLED if none else to_hex(colour) for none, colour in zip(missing, colours, strict=True)]
    return Colours(points, [("unlabelled", UNLABELLED)] if missing.any() else [], (low, high))


def _by_class(keys: list[Any]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return each point's colour, and the legend: class names in order, with their colours."""
    counts = Counter(key for key in keys if key is not None)
    classes = sorted(counts, key=lambda key: (isinstance(key, str), key))  # numbers before text
    shown = classes
    if len(classes) > len(MANY):
        largest = {key for key, _ in counts.most_common(len(MANY) - 1)}
        shown = [key for key in classes if key in largest]
    colours = dict(zip(shown, FEW if len(classes) <= len(FEW) else MANY, strict=False))
    legend = [(short(str(key).replace("_", " "), 30), colours[key]) for key in shown]
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


def short(text: str, most: int) -> str:
    """Return a text on one line, without its end if it is long."""
    text = plain(text)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
