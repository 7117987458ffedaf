"""Line charts as SVG, in the colours of the page that they stand in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, PLOT = 520, 230  # of the whole, and of the axes' height
LEFT, RIGHT, TOP = 48, 14, 30
TICK, LINE, COLUMN = 18, 22, 150  # below the axis; a line of the legend, and an entry's width
COLOURS = 8  # --series-0 to --series-7 of the page

Point = tuple[int, float, float]  # the place on the horizontal axis, the mean, the standard deviation


def line_chart(
    series: Mapping[str, Sequence[Point]], places: Sequence[str], *, across: str, up: str, about: str
) -> str:
    """A line a series, its points at evenly spaced places, with a bar of one standard deviation either way.

    >>> chart = line_chart({"cora": [(0, 80.0, 1.0), (1, 82.0, 0.5)]}, ["1", "2"], across="layers", up="%", about="…")
    >>> chart.count("<circle"), chart.startswith("<svg ")
    (2, True)
    """
    low = min(mean - std for points in series.values() for _, mean, std in points)
    high = max(mean + std for points in series.values() for _, mean, std in points)
    marks = ticks(low, high)
    bottom, top = min(low, marks[0]), max(high, marks[-1])

    def x(place: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (place + 0.5) / len(places)

    def y(value: float) -> float:
        return TOP + PLOT * (top - value) / (top - bottom)

    ground = TOP + PLOT
    digits = max(0, -math.floor(math.log10(marks[1] - marks[0]) + 1e-9))
    parts = [f'<text class="unit" x="{LEFT}" y="{TOP - 14}">{escape(up)}</text>']
    for mark in marks:
        parts.append(f'<path class="grid" d="M{LEFT} {y(mark):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="end" x="{LEFT - 8}" y="{y(mark) + 4:.1f}">{mark:.{digits}f}</text>')
    for place, name in enumerate(places):
        parts.append(f'<text class="middle" x="{x(place):.1f}" y="{ground + TICK}">{escape(name)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="middle unit" x="{middle:.1f}" y="{ground + TICK + LINE}">{escape(across)}</text>')

    columns = max(1, (WIDTH - LEFT) // COLUMN)
    legend = ground + TICK + 2 * LINE + 6
    for number, (name, points) in enumerate(series.items()):
        shift = 5 * (number - (len(series) - 1) / 2)  # so that bars at one place do not hide each other
        spots = [(x(place) + shift, y(mean), y(mean + std), y(mean - std)) for place, mean, std in points]
        at, down = LEFT + COLUMN * (number % columns), legend + LINE * (number // columns)
        parts += [
            f'<g style="--ink: var(--series-{number % COLOURS})">',
            f"<title>{escape(name)}</title>",
            f'<path class="line" d="M{"L".join(f"{right:.1f} {mean:.1f}" for right, mean, _, _ in spots)}"/>',
            *(f'<path class="bar" d="M{right:.1f} {most:.1f}V{least:.1f}"/>' for right, _, most, least in spots),
            *(f'<circle cx="{right:.1f}" cy="{mean:.1f}" r="4"/>' for right, mean, _, _ in spots),
            f'<path class="line" d="M{at} {down - 4}h18"/>',
            f'<text x="{at + 26}" y="{down}">{escape(name)}</text>',
            "</g>",
        ]
    height = legend + LINE * ((len(series) - 1) // columns) + 8
    opened = f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(about)}">'
    return "\n".join([opened, *parts, "</svg>"])


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers around a range: steps of 1, 2 or 5, at most so many.

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
