"""Compare our numbers with the paper's, as cells, tables and figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from mvgrl.evaluation.scores import Score
from mvgrl.experiments.experiment import Experiment
from mvgrl.experiments.summary import Row
from mvgrl.reports.document import NONE, Cell, Figure, Table
from mvgrl.reports.figures import line_chart


def verdict(ours: float, std: float | None, paper: float, paper_std: float | None, score: Score) -> tuple[str, str]:
    """Return the difference in points, and whether it exceeds the joint spread; "" if either has no spread.

    >>> from mvgrl.evaluation.scores import SCORES
    >>> verdict(85.0, 0.3, 86.8, 0.5, SCORES["accuracy"]), verdict(0.63, 0.01, 0.629, None, SCORES["nmi"])
    (('−1.8', 'below'), ('+0.1', ''))
    """
    difference = ours - paper
    points = signed(score.points(difference))
    if std is None or paper_std is None:
        return points, ""
    if abs(difference) <= math.hypot(std, paper_std):
        return points, "within"
    return points, "above" if difference > 0 else "below"


def signed(points: float) -> str:
    """Return a difference in points as text.

    >>> signed(0.44), signed(-1.5), signed(-0.01)
    ('+0.4', '−1.5', '0.0')
    """
    text = f"{points:+.1f}".replace("-", "−")
    return "0.0" if text[1:] == "0.0" else text


def number(value: float | None, score: Score, std: float | None = None) -> str:
    """Return a number as text, or a dash if there is none."""
    return NONE if value is None else score.text(value, std)


def none_yet(*experiments: str) -> str:
    """Return the sentence for experiments without runs.

    >>> none_yet("node-slips", "ablation-views")
    'There are no runs yet of node-slips, ablation-views; run mvgrl reproduce node-slips.'
    """
    return f"There are no runs yet of {', '.join(experiments)}; run mvgrl reproduce {experiments[0]}."


def compared(row: Row, *, printed: bool = True) -> Cell:
    """Return our number, the paper's if ``printed``, and the differences to the paper and to the baseline."""
    paper = [f"paper {number(row.paper, row.score, row.paper_std)}"] if printed and row.paper is not None else []
    if row.mean is None:
        return Cell("failed", tuple(paper), "failed")
    kind, differences = "", _to_baseline(row)
    if row.paper is not None:
        points, kind = verdict(row.mean, row.std, row.paper, row.paper_std, row.score)
        differences.append(f"{points}, {kind}" if kind else points)
    return Cell(number(row.mean, row.score, row.std), (*paper, *differences), kind)


def brief(row: Row, *, spread: bool = True) -> Cell:
    """Return our number, and below it only the paper's number, or the difference to the baseline."""
    paper = [] if row.paper is None else [number(row.paper, row.score)]
    text = "failed" if row.mean is None else number(row.mean, row.score, row.std if spread else None)
    return Cell(text, (*paper, *_to_baseline(row)))


def _to_baseline(row: Row) -> list[str]:
    first = row.variant is row.experiment.variants[0]
    return [] if row.difference is None or first else [signed(row.score.points(row.difference))]


def grid(rows: Sequence[Row], cell: Callable[[Row], Cell], *, caption: str = "", runs: bool = True) -> Table:
    """Return a table with a line per variant and a column per dataset, or per score where a dataset has several."""
    experiment = rows[0].experiment
    columns = list(dict.fromkeys((row.dataset, row.score) for row in rows))
    several = Counter(dataset for dataset, _ in columns)
    heads = [f"{name}, {score.label}" if several[name] > 1 else name for name, score in columns]
    cells = {(row.id, row.dataset, row.score): cell(row) for row in rows}
    counts: dict[str, dict[str, None]] = {}  # distinct numbers of runs, in the order of the datasets
    for row in rows:
        counts.setdefault(row.id, {}).update({str(row.runs): None} if row.runs else {})
    lines = tuple(
        (
            *(Cell(one.id), *(cells.get((one.id, *column), Cell(NONE)) for column in columns)),
            *([Cell(", ".join(counts[one.id]) or NONE)] if runs else []),
        )
        for one in experiment.variants
        if one.id in counts
    )
    title = "changed" if experiment.baseline else "row"
    return Table(caption, (title, *heads, *(["runs"] if runs else [])), lines)


def notes(rows: Sequence[Row]) -> list[str]:
    """Return the notes on rows, and why some failed: each text once, with its rows and datasets."""
    ids, datasets = (list(dict.fromkeys(getattr(row, key) for row in rows)) for key in ("id", "dataset"))
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for text in filter(None, (f"failed: {row.failed}" if row.failed else None, row.note)):
            found.setdefault((row.id, text), []).append(row.dataset)
    names: dict[tuple[str, str], list[str]] = {}
    for (name, text), places in found.items():
        where = "" if places == datasets else f" ({', '.join(places)})"
        names.setdefault((where, text), []).append(name)
    return [
        f"{'all rows' if len(some) == len(ids) > 1 else '; '.join(some)}{where}: {text}."
        for (where, text), some in names.items()
    ]


def sweep_figures(experiment: Experiment, rows: Sequence[Row]) -> list[Figure]:
    """Return a line chart per score over the axis of a sweep, with a line per dataset; none without an axis."""
    done = [row for row in rows if experiment.axis and row.mean is not None]
    figures = []
    for score in dict.fromkeys(row.score for row in done):
        mine = [row for row in done if row.score == score]
        there = {row.variant.value for row in mine}
        places = list(dict.fromkeys(one.value for one in experiment.variants if one.value in there))
        series: dict[str, list[tuple[int, float, float]]] = {}
        for row in mine:
            control = "" if row.variant.method == experiment.variants[0].method else f", {row.variant.method}"
            point = (places.index(row.variant.value), row.mean or 0.0, row.std or 0.0)
            series.setdefault(f"{row.dataset}{control}", []).append(point)
        lines = {name: sorted(points) for name, points in series.items()}
        caption = f"Our {score.title} over {experiment.axis}; error bars show one standard deviation."
        about = f"{caption} Lines: {'; '.join(lines)}."
        figures.append(Figure(caption, line_chart(lines, places, across=experiment.axis, up=score.axis, about=about)))
    return figures
