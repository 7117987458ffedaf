"""Report everything in the ledger with the paper's numbers, as a web page or as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mvgrl.errors import InputError
from mvgrl.experiments.catalogue import EXPERIMENTS, GROUPS
from mvgrl.experiments.experiment import Experiment
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.planner import Step, plan
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.summary import Row, summarise
from mvgrl.reports.arena import arena_sections
from mvgrl.reports.comparison import compared, grid, none_yet, notes, number, sweep_figures
from mvgrl.reports.conclusions import conclusion_sections
from mvgrl.reports.document import NONE, Cell, Document, Part, Section, Table, as_markdown
from mvgrl.reports.web_page import as_html
from mvgrl.settings import literal
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.paths import check_output_file

TYPES = (".html", ".md")
READING = (
    "Each of our numbers is followed by its difference to the paper's, in points (hundredths for NMI and ARI). Where "
    "the paper reports a standard deviation, it is marked as within, above or below the joint spread, √(s₁² + s₂²)."
)
SETTINGS = (
    "There are three settings: paper follows the text, released follows the authors' code, and best is ours. The "
    "columns after them are controls under best. For nodes, accuracy is that of the linear probe, and logistic that of "
    "a converged logistic regression. For graphs, nested chooses C within the training folds, best-C over all folds."
)


class Runs(Ledger):
    """A ledger read once: its runs, and how many of its lines are not runs or are duplicates.

    >>> Runs("nowhere.jsonl")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: there is no ledger nowhere.jsonl; create one with mvgrl reproduce node-classification
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        if not self.path.exists():
            raise InputError(f"there is no ledger {path}; create one with mvgrl reproduce node-classification")
        lines = sum(1 for line in self._lines() if line.strip())
        self.runs = list(super().__iter__())
        self.foreign = lines - len(self.runs)
        if not self.runs:
            raise InputError(f"{path} contains no runs; add some with mvgrl reproduce node-classification")

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)


def write_report(path: str | os.PathLike[str], ledger: str | os.PathLike[str]) -> dict[str, int]:
    """Write the report on a ledger, as HTML or Markdown by its suffix; return how many lines it shows and skips.

    The same ledger gives the same bytes.
    """
    check_output_file(path, TYPES, "report.html")
    runs = Runs(ledger)
    document, shown = report(runs)
    text = as_html(document) if Path(path).suffix.lower() == ".html" else as_markdown(document)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return {"runs": shown, "passed_over": runs.foreign + len(runs.runs) - shown}


def report(runs: Runs) -> tuple[Document, int]:
    """Return the report on a ledger, and how many of its runs are in it."""
    used = _used(runs)
    shown = [run for _, mine in used for run in mine]
    rows = {
        name: {setting: summarise(one, runs, setting=setting) for setting in one.settings}
        for name, one in EXPERIMENTS.items()
    }
    grouped: dict[str, list[tuple[Experiment, list[Row]]]] = {}
    for name, one in EXPERIMENTS.items():
        grouped.setdefault(one.group, []).append((one, rows[name]["best"]))
    tables = [
        _side_by_side(one, rows[one.name]) if one.own_recipes else _section(one, some)
        for one, some in grouped.pop("", [])
    ]
    sections = [
        *(_summary(runs, shown), *tables, *conclusion_sections({name: some["best"] for name, some in rows.items()})),
        *(section for group, some in grouped.items() for section in _group(group, some)),
        *_failures(shown),
        Section("Settings and machines", (*_machines(shown), *_recipes(used))),
    ]
    return Document("MVGRL: the paper's tables, reproduced", tuple(sections)), len(shown)


def _side_by_side(experiment: Experiment, found: dict[str, list[Row]]) -> Section:
    """Return a table of the named settings side by side, with a line per dataset and score."""
    title = experiment.title
    rows = {
        setting: {(row.dataset, row.score): row for row in some if row.mean is not None}
        for setting, some in found.items()
    }
    lines = []
    for key in [(name, score) for name in experiment.datasets for score in experiment.scores_for(name)]:
        there = [some.get(key) for some in rows.values()]
        if (first := next(filter(None, there), None)) is None:
            continue
        score, best = key[1], rows["best"].get(key)
        controls = [best.controls[one.id] if best else None for one in experiment.controls]
        lines.append(
            (
                *(Cell(key[0]), Cell(score.label), Cell(number(first.paper, score, first.paper_std))),
                *(compared(row, printed=False) if row else Cell(NONE) for row in there),
                *(Cell(number(value, score)) for value in controls),
                Cell(" / ".join(str(row.runs) if row else NONE for row in there)),
            )
        )
    if not lines:
        return Section(title, (none_yet(experiment.name),))
    columns = ("dataset", "metric", "printed in the paper", *found, *(one.id for one in experiment.controls), "runs")
    caption = f"{title}: mean ± standard deviation under three settings, and the runs of each."
    return Section(title, (Table(caption, columns, tuple(lines), words=2),))


def _section(experiment: Experiment, rows: Sequence[Row], *, level: int = 2) -> Section:
    """Return an experiment as a grid, with notes and figures."""
    if not rows:
        return Section(experiment.title, (none_yet(experiment.name),), level=level)
    shown = "then the difference to the first row in points" if experiment.baseline else "the paper reports none"
    if any(row.paper is not None for row in rows):
        shown = "then the paper's number and our difference to it in points"
    caption = f"{experiment.title}: ours, {shown}. {experiment.about}".rstrip()
    parts: list[Part] = [grid(rows, compared, caption=caption), *notes(rows), *sweep_figures(experiment, rows)]
    return Section(experiment.title, tuple(parts), level=level)


def _group(title: str, experiments: Sequence[tuple[Experiment, list[Row]]]) -> list[Section]:
    """Return a section per experiment that has rows, after one that names those without."""
    unrun = [experiment.name for experiment, rows in experiments if not rows]
    words = [GROUPS[title], *([none_yet(*unrun)] if unrun else [])]
    found = {experiment.name: rows for experiment, rows in experiments if experiment.systems}
    return [
        Section(title, tuple(words)),
        *(_section(one, rows, level=3) for one, rows in experiments if rows),
        *arena_sections(found),
    ]


def _failures(shown: Sequence[Run]) -> list[Section]:
    """Return the runs that failed, and why; nothing if none did."""
    seeds: dict[tuple[str, ...], list[int]] = {}
    for run in shown:
        if run.failed:
            seeds.setdefault((run.experiment, run.dataset, run.variant, run.failed), []).append(run.seed)
    if not seeds:
        return []
    lines = _cells((*key, ", ".join(map(str, sorted(some)))) for key, some in seeds.items())
    columns = ("experiment", "dataset", "row", "reason", "seeds")
    return [Section("Failed runs", (Table("Runs that failed, and the reason.", columns, lines, words=4),))]


def _summary(runs: Runs, shown: Sequence[Run]) -> Section:
    older, count = len(runs.runs) - len(shown), len({run.experiment for run in shown})
    words = [f"{len(shown):,} runs of {count} experiment{'' if count == 1 else 's'}, from the ledger {runs.path.name}."]
    if runs.foreign or older:
        words.append(
            f"Skipped: {runs.foreign:,} lines that are not runs or are duplicates, and {older:,} runs of recipes no "
            "longer in use or of more seeds than an experiment has."
        )
    return Section("Summary", (*words, *((SETTINGS, READING) if shown else ())))


def _machines(shown: Sequence[Run]) -> list[Part]:
    """Return a table with a line per experiment."""
    lines = []
    for experiment in dict.fromkeys(run.experiment for run in shown):
        mine = [run for run in shown if run.experiment == experiment]
        where = (_listed(getattr(run, name) for run in mine) for name in ("dataset", "setting", "device"))
        lines.append((experiment, *where, _listed(map(_versions, mine), "; "), f"{len(mine):,}"))
    columns = ("experiment", "datasets", "settings", "devices", "versions", "runs")
    caption = "What was run, on which machine and with which versions."
    return [Table(caption, columns, _cells(lines), words=5)] if lines else []


def _recipes(used: Sequence[tuple[Step, list[Run]]]) -> list[Part]:
    """Return a table with a line per recipe, dataset and setting, and the experiments that use it."""
    merged: dict[tuple[str, str, str], list[tuple[Step, list[Run]]]] = {}
    for step, runs in used:
        merged.setdefault((step.recipe.id, step.recipe.setting, step.recipe.dataset), []).append((step, runs))
    lines = []
    for key, some in merged.items():
        runs = [run for _, mine in some for run in mine]
        names = _listed(step.experiment.name for step, _ in some)
        machine = (_listed(run.device for run in runs), _listed(map(_versions, runs), "; "))
        lines.append((*key, names, departures(some[0][0].recipe), *machine))
    differ = "settings that differ from the defaults"
    columns = ("recipe", "setting", "dataset", "experiments", differ, "device", "versions")
    caption = "Every recipe in use: its hash, the settings that differ from the task's defaults, and its machine."
    return [Table(caption, columns, _cells(lines), words=len(columns)) if lines else "No recipe in use has runs."]


def _cells(lines: Iterable[Sequence[str]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(map(Cell, line)) for line in lines)


def departures(recipe: Recipe) -> str:
    """Return the settings of a recipe that differ from the defaults of its task, or the hyper-parameters of a system.

    >>> settings = literal({"views": ("adjacency", "heat:t=3"), "epochs": 9})
    >>> departures(Recipe("cora", "best", settings, weight_decay=0.01))
    'views=adjacency,heat:t=3.0; epochs=9; weight_decay=0.01'
    """
    if recipe.method:
        return "; ".join(f"{name}={value}" for name, value in recipe.method.items())
    values, usual = recipe.settings.to_dict(), literal({"task": recipe.settings.task}).to_dict()
    changed = {name: value for name, value in values.items() if value != usual[name]} | recipe.output.content
    if "views" in changed:
        changed["views"] = ",".join(map(str, recipe.settings.views))
    if recipe.weight_decay:
        changed["weight_decay"] = recipe.weight_decay
    return "; ".join(f"{name}={value}" for name, value in changed.items()) or "none"


def _used(runs: Runs) -> list[tuple[Step, list[Run]]]:
    """Return the rows that have runs, for every setting, each with its runs."""
    lines: dict[tuple[Any, ...], Run] = {run.key: run for run in runs}
    found = []
    for one in EXPERIMENTS.values():
        for dataset in one.datasets:
            for setting in one.settings:
                for step in plan(one, [dataset], setting=setting):
                    keys = (step.key(seed) for seed in range(step.runs))
                    if mine := [lines[key] for key in keys if key in lines]:
                        found.append((step, mine))
    return found


def _versions(run: Run) -> str:
    return ", ".join(f"{name} {version}" for name, version in run.versions.items())


def _listed(names: Iterable[str], between: str = ", ") -> str:
    return between.join(filter(None, dict.fromkeys(names))) or NONE
