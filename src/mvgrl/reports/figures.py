"""Line charts as SVG, for a page or for a file.

Drawn from templates rather than by matplotlib: charts take their colours from CSS, so they follow dark mode, and a
report needs no optional package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from mvgrl.reports.templates import render

WIDTH, HEIGHT = 520, 230  # width of a chart, and height of its plot area, in pixels
LEFT, RIGHT, TOP, BOTTOM = 48, WIDTH - 14, 30, 30 + HEIGHT  # edges of the plot area
LEGEND, LINE = BOTTOM + 68, 22  # baseline of the legend's first line, and line height
PALETTE = render("palette.css")

Point = tuple[int, float, float]  # index into places, mean, standard deviation


def line_chart(
    series: Mapping[str, Sequence[Point]], places: Sequence[str], *, across: str, up: str, about: str
) -> str:
    """Draw a line per series over evenly spaced places, with error bars of one standard deviation.

    A series named "a, b" is dashed and has the colour of series "a". ``across`` and ``up`` name the axes; ``about`` is
    read out by screen readers.

    >>> chart = line_chart({"cora": [(0, 80.0, 1.0), (1, 82.0, 0.5)]}, ["1", "2"], across="layers", up="%", about="…")
    >>> chart.count("<circle"), chart.startswith("<svg ")
    (2, True)
    """
    points = [point for line in series.values() for point in line]
    marks = ticks(min(mean - std for _, mean, std in points), max(mean + std for _, mean, std in points))
    column = max(150, 40 + 7 * max(map(len, series)))  # width of a legend entry, at 7 pixels per letter
    columns = max(1, (WIDTH - LEFT) // column)
    colours = {base: number for number, base in enumerate(dict.fromkeys(name.partition(", ")[0] for name in series))}
    lines = [
        dict(
            name=name,
            points=line,
            colour=colours[name.partition(", ")[0]] % 8,  # of --series-0 to --series-7
            shift=5 * (number - (len(series) - 1) / 2),  # so that error bars at one place do not overlap
            left=LEFT + column * (number % columns),
            baseline=LEGEND + LINE * (number // columns),
        )
        for number, (name, line) in enumerate(series.items())
    ]
    return render(
        "chart.svg.jinja",
        **dict(lines=lines, places=places, marks=marks, across=across, up=up, about=about),
        **dict(width=WIDTH, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM),
        height=LEGEND + LINE * ((len(series) - 1) // columns) + 8,
        digits=max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9)),
        x=lambda place: LEFT + (RIGHT - LEFT) * (place + 0.5) / len(places),
        y=lambda value: TOP + HEIGHT * (marks[-1] - value) / (marks[-1] - marks[0]),
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most ``most`` round numbers that span a range, in steps of 1, 2 or 5 times a power of ten.

    >>> ticks(78.9, 84.2)
    [78.0, 80.0, 82.0, 84.0, 86.0]
    """
    if high - low < 1e-9:
        low, high = low - 1, high + 1
    scale = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (scale, 2 * scale, 5 * scale, 10 * scale, 20 * scale):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
    return [round(number * step, 10) for number in range(first, last + 1)]


def picture(title: str, charts: Sequence[str]) -> str:
    """Place charts below each other in one SVG file with its own colours.

    >>> chart = line_chart({"cora": [(0, 80.0, 1.0)]}, ["1"], across="layers", up="%", about="…")
    >>> text = picture("Layers", [chart, chart])
    >>> text.startswith('<svg xmlns="http://www.w3.org/2000/svg"'), text.count("<circle"), "--series-0: #" in text
    (True, 2, True)
    """
    placed, y = [], 36  # below the title
    for chart in charts:
        height = int(re.findall(r'viewBox="0 0 \d+ (\d+)"', chart)[0])
        placed.append(chart.replace("<svg ", f'<svg y="{y}" width="{WIDTH}" height="{height}" ', 1))
        y += height + 20
    return render("picture.svg.jinja", title=title, charts=placed, width=WIDTH, height=y)
