"""Rows of an experiment as tables for the terminal and for Markdown pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mvgrl.experiments.experiment import Experiment
from mvgrl.experiments.summary import Row
from mvgrl.reports.comparison import brief, grid, none_yet, notes, number, signed
from mvgrl.reports.document import NONE, Cell, Part, Table


def with_controls(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """Return a line per dataset and score: the paper's number, ours, and those of the controls."""
    heads = [experiment.variants[0].how.label, *(control.how.label for control in experiment.controls)]
    lines = tuple(
        (
            *(Cell(row.dataset), Cell(row.score.label), Cell(number(row.paper, row.score))),
            Cell(number(row.mean, row.score, row.std)),
            *(Cell(number(value, row.score)) for value in row.controls.values()),
            Cell(str(row.runs)),
        )
        for row in rows
        if row.mean is not None
    )
    return Table("", ("dataset", "metric", "the paper", *heads, "runs"), lines, words=2)


def side_by_side(settings: Mapping[str, Sequence[Row]]) -> Table:
    """Return the same rows under several settings, a column each, with the first control beside each number."""
    found = {
        name: {(row.dataset, row.score): row for row in rows if row.mean is not None} for name, rows in settings.items()
    }
    lines = []
    for key in dict.fromkeys(key for rows in found.values() for key in rows):
        there = [rows[key] for rows in found.values() if key in rows]
        runs = ", ".join(dict.fromkeys(str(row.runs) for row in there))
        first = (Cell(key[0]), Cell(key[1].label), Cell(number(there[0].paper, key[1])))
        lines.append((*first, *(_with_control(rows.get(key)) for rows in found.values()), Cell(runs)))
    return Table("", ("dataset", "metric", "printed in the paper", *settings, "runs"), tuple(lines), words=2)


def _with_control(row: Row | None) -> Cell:
    if row is None:
        return Cell(NONE)
    name, value = next(iter(row.controls.items()), ("", None))
    beside = () if value is None else (f"{name} {number(value, row.score)}",)
    return Cell(number(row.mean, row.score, row.std), beside)


def page_parts(experiment: Experiment, rows: Sequence[Row]) -> list[Part]:
    """Return the rows with a column per dataset; below, notes, and what has no runs yet."""
    if not rows:
        return [none_yet(experiment.name)]
    there = {row.dataset for row in rows}
    lacking = [dataset for dataset in experiment.datasets if dataset not in there]
    unrun = [f"There are no runs yet on {', '.join(lacking)}; run mvgrl reproduce {experiment.name}."]
    return [grid(rows, brief), *notes(rows), *(unrun if lacking else [])]


def terminal_parts(experiment: Experiment, rows: Sequence[Row]) -> list[str | Table]:
    """Return the rows for the terminal: a line per row, or a grid where an experiment has many."""
    if experiment.own_recipes or experiment.baseline:
        return [_listing(experiment, rows)]
    if not rows:
        return []
    table = grid(rows, lambda row: brief(row, spread=False), runs=False)
    if experiment.axis:
        table = Table("", (experiment.axis, *table.columns[1:]), table.rows)
    else:
        columns = ("dataset", *(line[0].text for line in table.rows))
        turned = zip(map(Cell, table.columns[1:]), *(line[1:] for line in table.rows), strict=True)
        table = Table("", columns, tuple(turned))
    key = ["ours (the paper's)"] if any(row.paper is not None for row in rows) else []
    return [table, *key, *filter(None, [experiment.about]), *notes(rows)]


def _listing(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """Return a line per row with all that is known of it, but for columns that the experiment does not have."""
    columns = {
        "dataset": [row.dataset for row in rows],
        "change": [row.id for row in rows] if experiment.baseline else None,
        "metric": [row.score.label for row in rows] if experiment.own_recipes else None,
        "paper": [number(row.paper, row.score) for row in rows] if experiment.own_recipes else None,
        "ours": ["failed" if row.failed else number(row.mean, row.score, row.std) for row in rows],
        **{one.id: [number(row.controls[one.id], row.score) for row in rows] for one in experiment.controls},
        "difference": [signed(row.difference) if row.difference else "" for row in rows]
        if experiment.baseline
        else None,
        "runs": [str(row.runs) for row in rows],
        "s per run": [f"{row.seconds:.2f}" for row in rows],
    }
    shown = {name: values for name, values in columns.items() if values is not None}
    lines = tuple(tuple(map(Cell, line)) for line in zip(*shown.values(), strict=True))
    return Table("", tuple(shown), lines, words=2)
