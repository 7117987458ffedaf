"""A score against time as SVG: a point per method, with its name next to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from mvgrl.reports.figures import BOTTOM, HEIGHT, LEFT, TOP, ticks
from mvgrl.reports.templates import render

WIDTH = 640
RIGHT = WIDTH - 14
_LETTER, _LINE = 7, 15  # width of a letter and height of a line, in pixels


class Point(NamedTuple):
    """A named point with an error bar."""

    name: str
    across: float  # above 0
    up: float
    spread: float = 0.0


def scatter_chart(points: Sequence[Point], *, across: str, up: str, about: str) -> str:
    """Draw points over a logarithmic axis; names that would overlap are moved down.

    >>> chart = scatter_chart([Point("raw", 0.2, 60.0, 1.0), Point("GCN", 9.0, 80.0)], across="s", up="%", about="…")
    >>> chart.count("<circle"), "GCN</text>" in chart
    (2, True)
    """
    marks = ticks(min(one.up - one.spread for one in points), max(one.up + one.spread for one in points))
    low = math.floor(math.log10(min(one.across for one in points)) + 1e-9)
    high = max(low + 1, math.ceil(math.log10(max(one.across for one in points)) - 1e-9))

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log10(value) - low) / (high - low)

    def y(value: float) -> float:
        return TOP + HEIGHT * (marks[-1] - value) / (marks[-1] - marks[0])

    return render(
        "scatter.svg.jinja",
        **dict(points=_with_names(points, x, y), marks=marks, across=across, up=up, about=about, x=x, y=y),
        places=[(10.0**power, f"{10.0**power:,g}") for power in range(low, high + 1)],
        digits=max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9)),
        **dict(width=WIDTH, height=BOTTOM + 52, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM),
    )


def _with_names(points: Sequence[Point], x: Any, y: Any) -> list[dict[str, Any]]:
    """Place a name to the right of its point, or to the left near the edge, and below names that are in the way."""
    found: list[dict[str, Any]] = []
    taken: list[tuple[float, float, float]] = []  # left, right and baseline of the names so far
    for place in sorted(range(len(points)), key=lambda one: y(points[one].up)):
        point, length = points[place], _LETTER * len(points[place].name)
        left_side = x(point.across) + 10 + length > RIGHT
        start = x(point.across) - 10 - length if left_side else x(point.across) + 10
        baseline = y(point.up) + 4
        for first, last, line in sorted(taken, key=lambda one: one[2]):
            if start < last and start + length > first and abs(baseline - line) < _LINE:
                baseline = line + _LINE
        taken.append((start, start + length, baseline))
        anchor = "end" if left_side else ""
        at = start + length if left_side else start
        found.append({**point._asdict(), "place": place, "x": at, "y": baseline, "anchor": anchor})
    return sorted(found, key=lambda one: one["place"])
