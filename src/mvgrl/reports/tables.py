"""Tables of the ledger in Markdown, and the pages that carry them kept to it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mvgrl.experiments import slips
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.published import DATASETS, RUNS
from mvgrl.experiments.recipes import NAMED, load_recipe
from mvgrl.experiments.runs import table
from mvgrl.reports.comparison import METRICS, number

# What stands between <!-- table … --> and <!-- end --> is written from the ledger:
#   table node-classification best             a table under one of the named settings
#   table node-classification best accuracy    one of its metrics alone
#   table node-classification all accuracy     the three settings side by side
#   table node-slips best                      what each slip changes
_MARKED = re.compile(r"(<!-- table (\S+) (\S+)(?: (\S+))? -->\n).*?(<!-- end -->)", re.DOTALL)


def printed(row: dict[str, Any]) -> dict[str, str]:
    """A row's cells as they are shown: percents with one digit, shares with three.

    >>> printed(dict(dataset="mutag", metric="best_c", paper=89.7, mean=90.04, std=0.5, untrained=88.0,
    ...              propagated=None, runs=5, seconds=3.2))["ours"]
    '90.0 ± 0.5'
    """
    metric = row["metric"]
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


def markdown(rows: list[dict[str, Any]]) -> str:
    """A row a dataset and metric, the paper's number beside ours.

    >>> print(markdown([dict(dataset="cora", metric="accuracy", paper=None, mean=84.0, std=0.5, untrained=75.0,
    ...                      propagated=76.0, runs=50, seconds=0.5)]))
    | dataset | metric | the paper | MVGRL, trained | untrained encoder | propagated features | runs |
    |---|---|---:|---:|---:|---:|---:|
    | cora | accuracy | – | 84.0 ± 0.5 | 75.0 | 76.0 | 50 |
    """
    lines = ["| dataset | metric | the paper | MVGRL, trained | untrained encoder | propagated features | runs |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for row in map(printed, rows):
        cells = (row[key] for key in ("dataset", "metric", "paper", "ours", "untrained", "propagated", "runs"))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def side_by_side(rows: dict[str, list[dict[str, Any]]]) -> str:
    """The same rows under several settings, a column each.

    >>> row = dict(dataset="cora", metric="accuracy", paper=None, mean=84.0, std=0.5, untrained=75.0, propagated=None,
    ...            runs=50, seconds=0.5)
    >>> print(side_by_side({"paper": [], "best": [row]}))
    | dataset | metric | printed in the paper | `paper` | `best` | runs |
    |---|---|---:|---:|---:|---:|
    | cora | accuracy | – | – | 84.0 ± 0.5 | 50 |
    """
    cells = {name: {(row["dataset"], row["metric"]): printed(row) for row in some} for name, some in rows.items()}
    first = list(dict.fromkeys(key for some in cells.values() for key in some))
    lines = [f"| dataset | metric | printed in the paper | {' | '.join(f'`{name}`' for name in rows)} | runs |"]
    lines.append(f"|---|---|---:|{'---:|' * (len(rows) + 1)}")
    for key in first:
        there = [some[key] for some in cells.values() if key in some]
        ours = [some[key]["ours"] if key in some else "–" for some in cells.values()]
        runs = ", ".join(dict.fromkeys(row["runs"] for row in there))
        lines.append(f"| {' | '.join([*(there[0][name] for name in ('dataset', 'metric', 'paper')), *ours, runs])} |")
    return "\n".join(lines)


def changes(rows: list[dict[str, Any]]) -> str:
    """A row a change, a column a dataset: its mean, and the difference in points that it makes.

    >>> print(changes([dict(dataset="cora", change="none", mean=84.0, std=0.5, difference=0.0, runs=10),
    ...                dict(dataset="cora", change="heat", mean=82.5, std=0.4, difference=-1.5, runs=10)]))
    | changed | cora | runs |
    |---|---:|---:|
    | none | 84.0 ± 0.5 | 10 |
    | heat | 82.5 ± 0.4 (−1.5) | 10 |
    """
    datasets, names = (list(dict.fromkeys(row[key] for row in rows)) for key in ("dataset", "change"))
    cells = {(row["dataset"], row["change"]): _with_difference(row) for row in rows}
    lines = [f"| changed | {' | '.join(datasets)} | runs |", f"|---|{'---:|' * (len(datasets) + 1)}"]
    for name in names:
        runs = ", ".join(dict.fromkeys(str(row["runs"]) for row in rows if row["change"] == name))
        lines.append(f"| {name} | {' | '.join(cells.get((dataset, name), '–') for dataset in datasets)} | {runs} |")
    return "\n".join(lines)


def _with_difference(row: dict[str, Any]) -> str:
    difference = _difference(row)
    return f"{row['mean']:.1f} ± {row['std']:.1f}" + (f" ({difference})" if difference else "")


def _difference(row: dict[str, Any]) -> str:
    return f"{row['difference']:+.1f}".replace("-", "−") if row["difference"] else ""


def filled(page: str, ledger: Ledger) -> str:
    """The page with every marked table written anew."""

    def rows(experiment: str, setting: str, metric: str | None) -> list[dict[str, Any]]:
        recipes = [load_recipe(name, setting, table=experiment) for name in DATASETS[experiment]]
        found = table(experiment, ledger, recipes, runs=RUNS[experiment])
        return [row for row in found if metric in (None, row["metric"])]

    def write(match: re.Match[str]) -> str:
        opened, experiment, setting, metric, closed = match.groups()
        if experiment not in DATASETS or setting not in (*NAMED, "all"):
            raise ValueError(f"the page marks a table {experiment} {setting}, which there is not")
        if experiment == slips.TABLE:
            content = changes(slips.table(ledger, runs=RUNS[experiment]))
        elif setting == "all":
            content = side_by_side({name: rows(experiment, name, metric) for name in NAMED})
        else:
            content = markdown(rows(experiment, setting, metric))
        return f"{opened}{content}\n{closed}"

    return _MARKED.sub(write, page)


if __name__ == "__main__":  # python -m mvgrl.reports.tables LEDGER PAGE…
    for name in sys.argv[2:]:
        path = Path(name)
        path.write_text(filled(path.read_text(encoding="utf-8"), Ledger(sys.argv[1])), encoding="utf-8")
