"""Fill the marked tables of Markdown pages from the ledger.

    python tools/tables.py results/runs.jsonl README.md docs/reproducibility.md docs/ablations.md docs/arena.md

Everything between one of these marks and <!-- end --> is replaced:

    <!-- table node-classification best -->            a table under one of the named settings
    <!-- table node-classification best accuracy -->   only one of its scores
    <!-- table node-classification all accuracy -->    the three settings side by side
    <!-- table ablation-bounds best -->                rows × datasets, the paper's numbers in brackets
    <!-- conclusions -->                               whether the paper's conclusions hold
    <!-- arena -->                                     what changes when all systems are run alike
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Experiment
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.summary import Row, summarise
from mvgrl.reports.arena import ARENA, arena_sections, coverage
from mvgrl.reports.comparison import brief, compared, grid, none_yet, notes, number
from mvgrl.reports.conclusions import conclusion_sections
from mvgrl.reports.document import NONE, Cell, Part, Section, Table, parts_as_markdown
from mvgrl.reports.report import Runs

_MARKED = re.compile(r"(<!-- (?:table (\S+) (\S+)(?: (\S+))?|(conclusions|arena)) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, ledger: Ledger) -> str:
    """Return the page with all marked tables up to date."""

    def write(match: re.Match[str]) -> str:
        opened, name, setting, score, other, closed = match.groups()
        made = {"conclusions": _conclusions, "arena": _arena}
        parts = made[other](ledger) if other else _table(name, setting, score, ledger)
        return f"{opened}{parts_as_markdown(parts)}\n{closed}"

    return _MARKED.sub(write, page)


def _conclusions(ledger: Ledger) -> list[Part | Section]:
    first, *others = conclusion_sections({name: summarise(one, ledger) for name, one in EXPERIMENTS.items()})
    return [*first.parts, *others]  # the page has its own heading


def _arena(ledger: Ledger) -> list[Part | Section]:
    rows = {name: summarise(EXPERIMENTS[name], ledger) for name in ARENA}
    counts = (f"{done} of {every} in {name}" for name, (done, every) in coverage(rows).items())
    return [f"Coverage of the paper's numbers: {', '.join(counts)}.", *arena_sections(rows)]


def _table(name: str, setting: str, score: str | None, ledger: Ledger) -> Sequence[Part | Section]:
    experiment = EXPERIMENTS.get(name)
    settings = () if experiment is None else experiment.settings
    if experiment is None or setting not in (*settings, *(["all"] if len(settings) > 1 else [])):
        raise ValueError(f"the page marks a table {name} {setting}, which does not exist")

    def rows(chosen: str) -> list[Row]:
        return [row for row in summarise(experiment, ledger, setting=chosen) if score in (None, row.score.name)]

    if setting == "all":
        return [side_by_side({one: rows(one) for one in settings})]
    return (
        [with_controls(experiment, rows(setting))] if experiment.own_recipes else by_dataset(experiment, rows(setting))
    )


def with_controls(experiment: Experiment, rows: Sequence[Row]) -> Table:
    """Return a table with a line per dataset and score: the paper's number, ours, and those of the controls."""
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
    """Return the same rows under several settings, with a column per setting and the first control in brackets."""
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
    note = () if value is None else (f"{name} {number(value, row.score)}",)
    return Cell(number(row.mean, row.score, row.std), note)


def by_dataset(experiment: Experiment, rows: Sequence[Row]) -> list[Part]:
    """Return the rows with a column per dataset; below them, notes and the datasets without runs."""
    if not rows:
        return [none_yet(experiment.name)]
    there = {row.dataset for row in rows}
    missing = [dataset for dataset in experiment.datasets if dataset not in there]
    unrun = [f"There are no runs yet on {', '.join(missing)}; run mvgrl reproduce {experiment.name}."]
    return [grid(rows, compared if experiment.systems else brief), *notes(rows), *(unrun if missing else [])]


def main(words: Sequence[str]) -> None:
    """Fill the pages from the ledger: LEDGER PAGE…"""
    ledger = Runs(words[0])
    for name in words[1:]:
        path = Path(name)
        path.write_text(filled(path.read_text(encoding="utf-8"), ledger), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
