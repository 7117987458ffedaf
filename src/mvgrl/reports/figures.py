"""Line charts as SVG, in the colours of the page that they stand in, or alone in a file with colours of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, PLOT = 520, 230  # of the whole, and of the axes' height
LEFT, RIGHT, TOP = 48, 14, 30
HEAD, GAP = 36, 20  # of a file: for its title, and between charts
TICK, LINE, COLUMN, LETTER = 18, 22, 150, 7  # below the axis; of the legend a line, an entry at least, and a letter
COLOURS = 8  # --series-0 to --series-7
# Colours by day and by night, and what is drawn in them: for a page, and for a file of charts alone.
PALETTE = """:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1c1f23; --soft: #5b636d; --line: #d9dee4; --shade: #f5f7f9; --link: #0b5cad;
  --above: #0a6b4a; --below: #b3261e;
  --series-0: #0072b2; --series-1: #d55e00; --series-2: #00825f; --series-3: #b04f8a;
  --series-4: #8a6d00; --series-5: #2f8fc4; --series-6: #5e4fa2; --series-7: #6b6b6b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --ink: #e6e9ec; --soft: #9ca6b0; --line: #343b43; --shade: #1c2125; --link: #7db8f0;
    --above: #5fcf9f; --below: #ff8f85;
    --series-0: #56b4e9; --series-1: #ff9d5c; --series-2: #3fcf9f; --series-3: #e59ac6;
    --series-4: #f0e442; --series-5: #9ad5ff; --series-6: #b3a6f5; --series-7: #b9bfc6;
  }
}
"""
CHART = """.chart { font-size: 13px; fill: currentColor; }
.chart .unit { font-size: 12px; fill: var(--soft); }
.chart .middle { text-anchor: middle; }
.chart .end { text-anchor: end; }
.chart .grid { stroke: var(--line); }
.chart .line, .chart .bar { fill: none; stroke: var(--ink); stroke-width: 2; }
.chart .bar { stroke-width: 1.5; opacity: .7; }
.chart .dashed { stroke-dasharray: 5 4; }
.chart circle { fill: var(--ink); }
.chart g text { fill: currentColor; }
"""
ALONE = """:root {
  color: var(--ink); fill: currentColor;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
.paper { fill: var(--paper); }
.title { font-size: 15px; font-weight: 600; }
"""

Point = tuple[int, float, float]  # the place on the horizontal axis, the mean, the standard deviation


def line_chart(
    series: Mapping[str, Sequence[Point]], places: Sequence[str], *, across: str, up: str, about: str
) -> str:
    """A line a series, its points at evenly spaced places, with a bar of one standard deviation either way.

    What a name has after a comma makes a line that is dashed, in the colour of the one without.

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

    column = max(COLUMN, 40 + LETTER * max(map(len, series)))
    columns = max(1, (WIDTH - LEFT) // column)
    legend = ground + TICK + 2 * LINE + 6
    colours = {name: number for number, name in enumerate(dict.fromkeys(name.partition(", ")[0] for name in series))}
    for number, (name, points) in enumerate(series.items()):
        base, comma, _ = name.partition(", ")
        kind = "line dashed" if comma else "line"
        shift = 5 * (number - (len(series) - 1) / 2)  # so that bars at one place do not hide each other
        spots = [(x(place) + shift, y(mean), y(mean + std), y(mean - std)) for place, mean, std in points]
        at, down = LEFT + column * (number % columns), legend + LINE * (number // columns)
        parts += [
            f'<g style="--ink: var(--series-{colours[base] % COLOURS})">',
            f"<title>{escape(name)}</title>",
            f'<path class="{kind}" d="M{"L".join(f"{right:.1f} {mean:.1f}" for right, mean, _, _ in spots)}"/>',
            *(f'<path class="bar" d="M{right:.1f} {most:.1f}V{least:.1f}"/>' for right, _, most, least in spots),
            *(f'<circle cx="{right:.1f}" cy="{mean:.1f}" r="4"/>' for right, mean, _, _ in spots),
            f'<path class="{kind}" d="M{at} {down - 4}h18"/>',
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


def picture(title: str, charts: Sequence[str]) -> str:
    """Charts below each other as one file that needs no page.

    >>> chart = line_chart({"cora": [(0, 80.0, 1.0)]}, ["1"], across="layers", up="%", about="…")
    >>> text = picture("Layers", [chart, chart])
    >>> text.startswith('<svg xmlns="http://www.w3.org/2000/svg"'), text.count("<circle"), "--series-0: #" in text
    (True, 2, True)
    """
    placed, down = [], HEAD
    for chart in charts:
        height = int(chart.partition(f'viewBox="0 0 {WIDTH} ')[2].partition('"')[0])
        placed.append(chart.replace("<svg ", f'<svg y="{down}" width="{WIDTH}" height="{height}" ', 1))
        down += height + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{down}" viewBox="0 0 {WIDTH} {down}">',
            f"<style>\n{PALETTE}{CHART}{ALONE}</style>",
            f'<path class="paper" d="M0 0H{WIDTH}V{down}H0Z"/>',
            f'<text class="title" x="{LEFT}" y="{HEAD - 8}">{escape(title)}</text>',
            *placed,
            "</svg>",
            "",
        ]
    )
