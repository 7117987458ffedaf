"""Our numbers beside the paper's: cells, tables and figures of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from mvgrl.experiments.ablations import Ablation
from mvgrl.reports.document import NONE, Cell, Figure, Part, Section, Table
from mvgrl.reports.figures import line_chart

METRICS = {"nmi": "NMI", "ari": "ARI", "best_c": "best-C"}
AXES = {"nmi": "NMI", "ari": "ARI", "nested": "accuracy (nested), %", "best_c": "accuracy (best-C), %"}
SHARES = ("nmi", "ari")
Row = dict[str, Any]  # of a table of the ledger


def verdict(ours: float, std: float, paper: float, paper_std: float | None, metric: str) -> tuple[str, str]:
    """The difference in points, and whether it is outside of the joint spread; nothing where the paper prints none.

    >>> verdict(85.0, 0.3, 86.8, 0.5, "accuracy"), verdict(0.63, 0.01, 0.629, None, "nmi")
    (('−1.8', 'below'), ('+0.1', ''))
    """
    difference = ours - paper
    points = f"{difference * (100 if metric in SHARES else 1):+.1f}".replace("-", "−")
    points = "0.0" if points[1:] == "0.0" else points
    if paper_std is None:
        return points, ""
    if abs(difference) <= math.hypot(std, paper_std):
        return points, "within"
    return points, "above" if difference > 0 else "below"


def ablation_sections(ablations: Sequence[tuple[Ablation, list[Row]]]) -> list[Section]:
    """A section for each ablation that has rows, and the names of those without."""
    words = ["The recipe best of each dataset with one thing changed."]
    if lacking := [ablation.name for ablation, rows in ablations if not rows]:
        words.append(f"There are no runs yet of {', '.join(lacking)}; mvgrl reproduce {lacking[0]} makes them.")
    sections = [Section("Ablations", tuple(words))]
    for ablation, rows in ablations:
        if rows:
            printed = any(row["paper"] is not None for row in rows)
            beside = (
                "then the paper's number and our difference to it in points" if printed else "the paper prints none"
            )
            caption = f"{ablation.title}: ours, {beside}."
            found = grid(rows, "row", "row", caption, _ablated, order=tuple(ablation.rows))
            parts: tuple[Part, ...] = (found, *_notes(rows), *sweep_figures(ablation.title, rows))
            sections.append(Section(ablation.title, parts, level=3))
    return sections


def _notes(rows: Sequence[Row]) -> list[str]:
    """What is to be said of rows, once for all rows and datasets of which it is said."""
    datasets: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["note"]:
            datasets.setdefault((row["row"], row["note"]), []).append(row["dataset"])
    every = list(dict.fromkeys(row["dataset"] for row in rows))
    names: dict[tuple[str, str], list[str]] = {}
    for (name, note), some in datasets.items():
        where = "all datasets" if some == every and len(every) > 1 else ", ".join(some)
        names.setdefault((where, note), []).append(name)
    return [f"{', '.join(some)} ({where}): {note}." for (where, note), some in names.items()]


def sweep_figures(title: str, rows: Sequence[Row]) -> list[Figure]:
    """A line chart for rows that end in a number and differ in it alone: batch 32, batch 64, …

    >>> rows = [dict(row=f"batch {size}", dataset="mutag", metric="nested", mean=88.0, std=1.0) for size in (8, 16, 32)]
    >>> [figure.caption for figure in sweep_figures("Batch size", rows)]
    ['Our accuracy (nested) over batch, with one standard deviation either way.']
    """
    groups: dict[tuple[str, str], list[tuple[float, Row]]] = {}
    for row in rows:
        match = re.fullmatch(r"(.*?)[\s=:-]*((?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)", row["row"])
        if match and row["mean"] is not None:
            groups.setdefault((match[1], row["metric"]), []).append((float(match[2].replace(",", "")), row))
    figures = []
    for (name, metric), found in groups.items():
        places = sorted({place for place, _ in found})
        if len(places) < 3:  # two are no sweep
            continue
        across, shown = name or title.lower(), AXES.get(metric, f"{metric}, %")
        series: dict[str, list[tuple[int, float, float]]] = {}
        for place, row in sorted(found, key=lambda one: one[0]):
            series.setdefault(row["dataset"], []).append((places.index(place), row["mean"], row["std"]))
        caption = f"Our {shown.removesuffix(', %')} over {across}, with one standard deviation either way."
        names = [f"{place:g}" for place in places]
        about = f"{caption} Lines: {', '.join(series)}. The table above has the numbers."
        figures.append(Figure(caption, line_chart(series, names, across=across, up=shown, about=about)))
    return figures


def grid(
    rows: Sequence[Row], key: str, title: str, caption: str, cell: Callable[[Row], Cell], *, order: Sequence[str]
) -> Table:
    """A row a name, a column a dataset; where a dataset has several metrics, a column each."""
    several = Counter(name for name, _ in {(row["dataset"], row["metric"]) for row in rows})
    columns = list(dict.fromkeys((row["dataset"], row["metric"]) for row in rows))
    heads = [f"{name}, {METRICS.get(metric, metric)}" if several[name] > 1 else name for name, metric in columns]
    cells = {(row[key], row["dataset"], row["metric"]): cell(row) for row in rows}
    there = {row[key] for row in rows}
    lines = (
        (Cell(name), *(cells.get((name, *column), Cell(NONE)) for column in columns)) for name in order if name in there
    )
    return Table(caption, (title, *heads), tuple(lines))


def ours(row: Row) -> Cell:
    """Our number, with its difference to the paper's where that has one."""
    text = number(row["mean"], row["metric"], row["std"])
    if row["paper"] is None:
        return Cell(text)
    points, kind = verdict(row["mean"], row["std"], row["paper"], row["paper_std"], row["metric"])
    return Cell(text, (f"{points}, {kind}" if kind else points,), kind)


def _ablated(row: Row) -> Cell:
    paper = () if row["paper"] is None else (f"paper {number(row['paper'], row['metric'], row['paper_std'])}",)
    if row["failed"] or row["mean"] is None:
        return Cell("failed", paper, "failed")
    cell = ours(row)
    return Cell(cell.text, (*paper, *cell.notes), cell.kind)


def number(value: float | None, metric: str, std: float | None = None) -> str:
    """A number as it is shown: percents with one digit, shares with three.

    >>> number(0.6291, "nmi"), number(86.8, "accuracy", 0.5)
    ('0.629', '86.8 ± 0.5')
    """
    if value is None:
        return NONE
    digits = 3 if metric in SHARES else 1
    return f"{value:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")
