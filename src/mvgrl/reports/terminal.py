"""Format the rows of an experiment for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from mvgrl.experiments.experiment import Experiment
from mvgrl.experiments.summary import Row
from mvgrl.reports.comparison import brief, grid, notes, number, signed, verdict
from mvgrl.reports.document import Cell, Table


def as_text(experiment: Experiment, rows: Sequence[Row]) -> str:
    """Return a line per row, or for an ablation or sweep a grid with notes below."""
    if experiment.own_recipes or experiment.baseline:
        return aligned(_listing(experiment, rows))
    if not rows:
        return ""
    if experiment.systems:
        return "\n".join([aligned(_systems(rows)), *notes(rows)])
    table = grid(rows, lambda row: brief(row, spread=False), runs=False)
    if experiment.axis:
        table = Table("", (experiment.axis, *table.columns[1:]), table.rows)
    else:
        columns = ("dataset", *(line[0].text for line in table.rows))
        turned = zip(map(Cell, table.columns[1:]), *(line[1:] for line in table.rows), strict=True)
        table = Table("", columns, tuple(turned))
    key = ["ours (the paper's)"] if any(row.paper is not None for row in rows) else []
    return "\n".join([aligned(table), *key, *filter(None, [experiment.about]), *notes(rows)])


def _listing(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """Return a table with a line per row, and the columns that the experiment has."""
    columns = [("dataset", [row.dataset for row in rows])]
    if experiment.baseline:
        columns.append(("change", [row.id for row in rows]))
    else:
        columns.append(("metric", [row.score.label for row in rows]))
        columns.append(("paper", [number(row.paper, row.score) for row in rows]))
    columns.append(("ours", ["failed" if row.failed else number(row.mean, row.score, row.std) for row in rows]))
    for one in experiment.controls:
        columns.append((one.id, [number(row.controls[one.id], row.score) for row in rows]))
    if experiment.baseline:
        columns.append(("difference", [signed(row.difference) if row.difference else "" for row in rows]))
    columns += [("runs", [str(row.runs) for row in rows]), ("s per run", [f"{row.seconds:.2f}" for row in rows])]
    lines = zip(*(values for _, values in columns), strict=True)
    return Table("", tuple(name for name, _ in columns), tuple(tuple(map(Cell, line)) for line in lines), words=2)


def _systems(rows: Sequence[Row]) -> Table:
    """Return a table with a line per system, dataset and score: the paper's number, ours, and the difference."""
    lines = []
    for row in rows:
        difference = kind = ""
        if row.paper is not None and row.mean is not None:
            difference, kind = verdict(row.mean, row.std, row.paper, row.paper_std, row.score)
        ours = "failed" if row.failed else number(row.mean, row.score, row.std)
        about = (row.dataset, row.id, row.score.label, kind, number(row.paper, row.score, row.paper_std), ours)
        lines.append(tuple(map(Cell, (*about, difference, str(row.runs), f"{row.seconds:.2f}"))))
    columns = ("dataset", "system", "metric", "joint spread", "paper", "ours", "difference", "runs", "s per run")
    return Table("", columns, tuple(lines), words=4)


def aligned(table: Table) -> str:
    """Return the table as text: columns as wide as needed, with words aligned left and numbers right.

    >>> print(aligned(Table("", ("name", "runs"), ((Cell("a"), Cell("10")),))))
    name  runs
    a       10
    """
    cells = [
        [f"{cell.text} ({'; '.join(cell.notes)})" if cell.notes else cell.text for cell in row] for row in table.rows
    ]
    lines = [table.columns, *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if place < table.words else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
