"""Tables of the ledger in Markdown, and the pages that carry them kept to it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mvgrl.experiments import discrepancies
from mvgrl.experiments.ablations import ABLATIONS
from mvgrl.experiments.ablations import table as ablation_table
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.published import DATASETS, RUNS
from mvgrl.experiments.recipes import NAMED, load_recipe
from mvgrl.experiments.runs import table
from mvgrl.reports.comparison import METRICS, discrepancies_table, grid, none_yet, notes, number, signed
from mvgrl.reports.conclusions import conclusion_sections
from mvgrl.reports.document import NONE, Cell, Part, Section, Table, parts_as_markdown

# What stands between one of these marks and <!-- end --> is written from the ledger:
#   table node-classification best             a table under one of the named settings
#   table node-classification best accuracy    one of its metrics alone
#   table node-classification all accuracy     the three settings side by side
#   table node-slips best                      what each slip changes
#   table ablation-bounds best                 an ablation, the paper's numbers in brackets
#   conclusions                                whether the paper's conclusions hold
_MARKED = re.compile(r"(<!-- (?:table (\S+) (\S+)(?: (\S+))?|conclusions) -->\n).*?(<!-- end -->)", re.DOTALL)
Row = dict[str, Any]


def printed(row: Row) -> dict[str, str]:
    """A row's cells as they are shown: percents with one digit, shares with three.

    >>> printed(dict(dataset="mutag", metric="best_c", paper=89.7, mean=90.04, std=0.5, untrained=88.0,
    ...              propagated=None, runs=5, seconds=3.2))["ours"]
    '90.0 ± 0.5'
    """
    metric: str = row["metric"]
    beside = [name for name in ("paper", "untrained", "propagated") if name in row]
    change = {"change": row["change"], "difference": _difference(row)} if "change" in row else {}
    return {
        **change,
        "dataset": row["dataset"],
        "metric": METRICS.get(metric, metric),
        "ours": number(row["mean"], metric, row["std"]),
        "runs": str(row["runs"]),
        "seconds": f"{row['seconds']:.2f}",
        **{key: number(row[key], metric) for key in beside},
    }


def _difference(row: Row) -> str:
    return signed(row["difference"]) if row["difference"] else ""


def with_controls(rows: list[Row]) -> Table:
    """A row a dataset and metric, the paper's number beside ours.

    >>> print(parts_as_markdown([with_controls([dict(dataset="cora", metric="accuracy", paper=None, mean=84.0, std=0.5,
    ...                                              untrained=75.0, propagated=76.0, runs=50, seconds=0.5)])]))
    | dataset | metric | the paper | MVGRL, trained | untrained encoder | propagated features | runs |
    |---|---|---:|---:|---:|---:|---:|
    | cora | accuracy | – | 84.0 ± 0.5 | 75.0 | 76.0 | 50 |
    """
    keys = ("dataset", "metric", "paper", "ours", "untrained", "propagated", "runs")
    heads = ("the paper", "MVGRL, trained", "untrained encoder", "propagated features")
    lines = tuple(tuple(Cell(row[key]) for key in keys) for row in map(printed, rows))
    return Table("", ("dataset", "metric", *heads, "runs"), lines, words=2)


def side_by_side(rows: dict[str, list[Row]]) -> Table:
    """The same rows under several settings, a column each, with the untrained encoder beside the trained one.

    >>> row = dict(dataset="cora", metric="accuracy", paper=None, mean=84.0, std=0.5, untrained=75.0, propagated=None,
    ...            runs=50, seconds=0.5)
    >>> print(parts_as_markdown([side_by_side({"paper": [], "best": [row]})]))
    | dataset | metric | printed in the paper | paper | best | runs |
    |---|---|---:|---:|---:|---:|
    | cora | accuracy | – | – | 84.0 ± 0.5 (untrained 75.0) | 50 |
    """
    cells = {name: {(row["dataset"], row["metric"]): printed(row) for row in some} for name, some in rows.items()}
    lines = []
    for key in dict.fromkeys(key for some in cells.values() for key in some):
        there = [some[key] for some in cells.values() if key in some]
        ours = (_beside_untrained(some[key]) if key in some else Cell(NONE) for some in cells.values())
        runs = ", ".join(dict.fromkeys(row["runs"] for row in there))
        first = (Cell(there[0][name]) for name in ("dataset", "metric", "paper"))
        lines.append((*first, *ours, Cell(runs)))
    return Table("", ("dataset", "metric", "printed in the paper", *rows, "runs"), tuple(lines), words=2)


def _beside_untrained(row: dict[str, str]) -> Cell:
    return Cell(row["ours"], () if row["untrained"] == NONE else (f"untrained {row['untrained']}",))


def ablation_parts(name: str, rows: list[Row]) -> list[Part]:
    """The rows of an ablation, a column a dataset; below, what to know of them, and what has no runs yet."""

    def cell(row: Row) -> Cell:
        paper = () if row["paper"] is None else (number(row["paper"], row["metric"]),)
        return Cell("failed" if row["failed"] else number(row["mean"], row["metric"], row["std"]), paper)

    if not rows:
        return [none_yet(name)]
    ablation = ABLATIONS[name]
    there = {row["dataset"] for row in rows}
    lacking = [dataset for dataset in ablation.datasets if dataset not in there]
    unrun = [f"There are no runs yet on {', '.join(lacking)}; mvgrl reproduce {name} makes them."] if lacking else []
    return [grid(rows, "row", "row", "", cell, order=tuple(ablation.rows)), *notes(rows), *unrun]


def filled(page: str, ledger: Ledger) -> str:
    """The page with all that is marked written anew."""

    def rows(experiment: str, setting: str, metric: str | None) -> list[Row]:
        recipes = [load_recipe(name, setting, table=experiment) for name in DATASETS[experiment]]
        found = table(experiment, ledger, recipes, runs=RUNS[experiment])
        return [row for row in found if metric in (None, row["metric"])]

    def parts(experiment: str | None, setting: str, metric: str | None) -> list[Part | Section]:
        if experiment is None:
            first, *others = conclusion_sections({name: ablation_table(name, ledger) for name in ABLATIONS})
            return [*first.parts, *others]  # the page has a heading of its own
        settings = (*NAMED, "all") if experiment in DATASETS else ("best",) if experiment in ABLATIONS else ()
        if setting not in settings:
            raise ValueError(f"the page marks a table {experiment} {setting}, which there is not")
        if experiment in ABLATIONS:
            return [*ablation_parts(experiment, ablation_table(experiment, ledger))]
        if experiment == discrepancies.TABLE:
            return [discrepancies_table(discrepancies.table(ledger, runs=RUNS[experiment]))]
        if setting == "all":
            return [side_by_side({name: rows(experiment, name, metric) for name in NAMED})]
        return [with_controls(rows(experiment, setting, metric))]

    def write(match: re.Match[str]) -> str:
        opened, experiment, setting, metric, closed = match.groups()
        return f"{opened}{parts_as_markdown(parts(experiment, setting, metric))}\n{closed}"

    return _MARKED.sub(write, page)


if __name__ == "__main__":  # python -m mvgrl.reports.tables LEDGER PAGE…
    for name in sys.argv[2:]:
        path = Path(name)
        path.write_text(filled(path.read_text(encoding="utf-8"), Ledger(sys.argv[1])), encoding="utf-8")
