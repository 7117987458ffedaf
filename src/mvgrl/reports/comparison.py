"""Our numbers beside the paper's: cells, tables and figures of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from mvgrl.experiments import discrepancies
from mvgrl.experiments.ablations import Ablation
from mvgrl.reports.document import NONE, Cell, Figure, Part, Section, Table
from mvgrl.reports.figures import line_chart

METRICS = {"nmi": "NMI", "ari": "ARI", "best_c": "best-C"}
AXES = {"nmi": "NMI", "ari": "ARI", "nested": "accuracy (nested), %", "best_c": "accuracy (best-C), %"}
SHARES = ("nmi", "ari")
Row = dict[str, Any]  # of a table of the ledger


def verdict(ours: float, std: float | None, paper: float, paper_std: float | None, metric: str) -> tuple[str, str]:
    """The difference in points, and whether it is outside of the joint spread; nothing where one of the two has none.

    >>> verdict(85.0, 0.3, 86.8, 0.5, "accuracy"), verdict(0.63, 0.01, 0.629, None, "nmi")
    (('−1.8', 'below'), ('+0.1', ''))
    """
    difference = ours - paper
    points = signed(difference * (100 if metric in SHARES else 1))
    if std is None or paper_std is None:
        return points, ""
    if abs(difference) <= math.hypot(std, paper_std):
        return points, "within"
    return points, "above" if difference > 0 else "below"


def signed(points: float) -> str:
    """A difference in points as it is shown.

    >>> signed(0.44), signed(-1.5), signed(-0.01)
    ('+0.4', '−1.5', '0.0')
    """
    text = f"{points:+.1f}".replace("-", "−")
    return "0.0" if text[1:] == "0.0" else text


def none_yet(*experiments: str) -> str:
    """What is said of tables without runs.

    >>> none_yet("node-slips", "ablation-views")
    'There are no runs yet of node-slips, ablation-views; mvgrl reproduce node-slips makes them.'
    """
    return f"There are no runs yet of {', '.join(experiments)}; mvgrl reproduce {experiments[0]} makes them."


def ablation_sections(ablations: Sequence[tuple[Ablation, list[Row]]]) -> list[Section]:
    """A section for each ablation that has rows, and the names of those without."""
    words = ["The recipe best of each dataset with one thing changed."]
    if lacking := [ablation.name for ablation, rows in ablations if not rows]:
        words.append(none_yet(*lacking))
    sections = [Section("Ablations", tuple(words))]
    first = next((ablation for ablation, rows in ablations if rows and ablation.name.startswith("sweep-")), None)
    for ablation, rows in ablations:
        if ablation is first:
            sections.append(Section("Sweeps beyond the paper", ("The same recipes with one number changed.",)))
        if rows:
            printed = any(row["paper"] is not None for row in rows)
            beside = (
                "then the paper's number and our difference to it in points" if printed else "the paper prints none"
            )
            caption = f"{ablation.title}: ours, {beside}. {ablation.about}".rstrip()
            found = grid(rows, "row", "row", caption, _ablated, order=tuple(ablation.rows))
            parts: tuple[Part, ...] = (found, *notes(rows), *sweep_figures(ablation, rows))
            sections.append(Section(ablation.title, parts, level=3))
    return sections


def notes(rows: Sequence[Row]) -> list[str]:
    """What is to be said of rows, and why some failed: each thing once, with the rows and datasets it holds for.

    >>> rows = [dict(row=row, dataset="mutag", failed=None, note="sampled" if row == "b" else None) for row in "ab"]
    >>> notes(rows)
    ['b: sampled.']
    """
    every = {key: list(dict.fromkeys(row[key] for row in rows)) for key in ("row", "dataset")}
    said: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        failed = f"failed: {row['failed']}" if row["failed"] else None
        for text in filter(None, (failed, row["note"])):
            said.setdefault((row["row"], text), []).append(row["dataset"])
    names: dict[tuple[str, str], list[str]] = {}
    for (name, text), places in said.items():
        where = "" if places == every["dataset"] else f" ({', '.join(places)})"
        names.setdefault((where, text), []).append(name)
    return [
        f"{'all rows' if len(some) == len(every['row']) > 1 else '; '.join(some)}{where}: {text}."
        for (where, text), some in names.items()
    ]


def sweep_figures(sweep: Ablation, rows: Sequence[Row]) -> list[Figure]:
    """A line chart a metric over the axis of a sweep, with a line a dataset; none for rows that have no axis.

    >>> rows = [dict(row=str(size), dataset="mutag", metric="nested", mean=88.0, std=1.0) for size in (8, 16, 32)]
    >>> sizes = Ablation("sweep-size", "Sizes", {"8": {}, "16": {}, "32": {}}, axis="size")
    >>> [figure.caption for figure in sweep_figures(sizes, rows)]
    ['Our accuracy (nested) over size, with one standard deviation either way.']
    """
    done = [row for row in rows if sweep.axis and row["mean"] is not None]
    figures = []
    for metric in dict.fromkeys(row["metric"] for row in done):
        mine = [(*row["row"].partition(", "), row) for row in done if row["metric"] == metric]
        there = {value for value, *_ in mine}
        places = [value for value in sweep.rows if value in there]
        series: dict[str, list[tuple[int, float, float]]] = {}
        for value, comma, control, row in mine:
            line = series.setdefault(f"{row['dataset']}{comma}{control}", [])
            line.append((places.index(value), row["mean"], row["std"] or 0.0))
        lines = {name: sorted(points) for name, points in series.items()}
        shown = AXES.get(metric, f"{metric}, %")
        caption = f"Our {shown.removesuffix(', %')} over {sweep.axis}, with one standard deviation either way."
        about = f"{caption} Lines: {'; '.join(lines)}."
        figures.append(Figure(caption, line_chart(lines, places, across=sweep.axis, up=shown, about=about)))
    return figures


def grid(
    rows: Sequence[Row], key: str, title: str, caption: str, cell: Callable[[Row], Cell], *, order: Sequence[str]
) -> Table:
    """A row a name, a column a dataset, and the runs; where a dataset has several metrics, a column each."""
    several = Counter(name for name, _ in {(row["dataset"], row["metric"]) for row in rows})
    columns = list(dict.fromkeys((row["dataset"], row["metric"]) for row in rows))
    heads = [f"{name}, {METRICS.get(metric, metric)}" if several[name] > 1 else name for name, metric in columns]
    cells = {(row[key], row["dataset"], row["metric"]): cell(row) for row in rows}
    counts: dict[str, dict[str, None]] = {}  # as many as there are different ones, in the order of the datasets
    for row in rows:
        counts.setdefault(row[key], {}).update({str(row["runs"]): None} if row["runs"] else {})
    lines = (
        (
            *(Cell(name), *(cells.get((name, *column), Cell(NONE)) for column in columns)),
            Cell(", ".join(counts[name]) or NONE),
        )
        for name in order
        if name in counts
    )
    return Table(caption, (title, *heads, "runs"), tuple(lines))


def discrepancies_table(rows: Sequence[Row], caption: str = "") -> Table:
    """The rows of what text and code do otherwise: the mean of each, and the difference in points that it makes."""

    def cell(row: Row) -> Cell:
        changed = row["difference"] is not None and discrepancies.ROWS[row["change"]]
        return Cell(number(row["mean"], row["metric"], row["std"]), (signed(row["difference"]),) if changed else ())

    return grid(rows, "change", "changed", caption, cell, order=tuple(discrepancies.ROWS))


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
