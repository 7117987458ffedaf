"""The report: all that the ledger knows, the paper's numbers beside ours, as a web page or as Markdown."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from mvgrl.errors import InputError
from mvgrl.experiments import discrepancies
from mvgrl.experiments.ablations import ABLATIONS, usual_runs
from mvgrl.experiments.ablations import recipes as ablation_recipes
from mvgrl.experiments.ablations import table as ablation_table
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.published import DATASETS, DEVIATIONS, RUNS
from mvgrl.experiments.recipes import NAMED, Recipe, load_recipe
from mvgrl.experiments.runs import VARIANTS, table
from mvgrl.reports.comparison import METRICS, ablation_sections, discrepancies_table, none_yet, number, ours
from mvgrl.reports.conclusions import conclusion_sections
from mvgrl.reports.document import NONE, Cell, Document, Part, Section, Table, as_markdown
from mvgrl.reports.web_page import as_html
from mvgrl.settings import Settings
from mvgrl.tables.atomic import atomic_write, check_writable

KINDS = (".html", ".md")
MAIN = {
    "node-classification": "Node classification",
    "node-clustering": "Node clustering",
    "graph-classification": "Graph classification",
}
READING = (
    "Beside each of our numbers stands its difference to the paper's, in points (hundredths, of NMI and ARI). Where "
    "the paper prints a deviation, it is said whether the difference is within the joint spread, √(ours² + the "
    "paper's²), above or below."
)
SETTINGS = (
    "Three settings: paper is what the text says, released what the authors' code does, best our own choice. Untrained "
    "(the same encoder before training) and propagated (features averaged over neighbours) are the controls of best. "
    "Of nodes, accuracy is the linear probe's, and logistic that of a logistic regression at its optimum; of graphs, "
    "nested chooses the SVM's C within the training folds, and best-C is the best C over all folds."
)


class Runs(Ledger):
    """A ledger read once: its runs, and how many of its lines are none, or are there twice.

    >>> Runs.read("nowhere.jsonl")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: there is no ledger nowhere.jsonl; make one with mvgrl reproduce node-classification
    """

    def __init__(self, path: str | os.PathLike[str], runs: Iterable[Run], foreign: int = 0) -> None:
        super().__init__(path)
        self.runs, self.foreign = list(runs), foreign

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Runs:
        """All of a file; one without runs is refused."""
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            raise InputError(f"there is no ledger {path}; make one with mvgrl reproduce node-classification") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}; give another ledger") from None
        runs = [run for run in Ledger(path) if _sound(run)]
        if not runs:
            raise InputError(f"{path} holds no runs; make some with mvgrl reproduce node-classification")
        return cls(path, runs, sum(1 for line in text.split("\n") if line.strip()) - len(runs))


def check_report(path: str | os.PathLike[str]) -> None:
    """Refuse a report that could not be written, before the ledger is read.

    >>> check_report("report.pdf")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: report.pdf is of no kind that a report can be; give one of .html, .md
    """
    if Path(path).suffix.lower() not in KINDS:
        raise InputError(f"{path} is of no kind that a report can be; give one of {', '.join(KINDS)}")
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    check_writable(path)


def write_report(path: str | os.PathLike[str], ledger: str | os.PathLike[str]) -> dict[str, int]:
    """Write the report on a ledger, as HTML or Markdown by its ending; returns how many lines it shows and passes over.

    The same ledger gives the same bytes.
    """
    check_report(path)
    runs = Runs.read(ledger)
    document, shown = report(runs)
    text = as_html(document) if Path(path).suffix.lower() == ".html" else as_markdown(document)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return {"runs": shown, "passed_over": runs.foreign + len(runs.runs) - shown}


def report(runs: Runs) -> tuple[Document, int]:
    """The report on a ledger, and how many of its runs are in it."""
    used = _used(runs)
    shown = [run for _, _, mine in used for run in mine]
    ablations = [(ablation, ablation_table(name, runs)) for name, ablation in ABLATIONS.items()]
    sections = [
        _summary(runs, shown),
        *(_main(experiment, title, runs) for experiment, title in MAIN.items()),
        _discrepancies(discrepancies.table(runs, runs=RUNS[discrepancies.TABLE])),
        *conclusion_sections({ablation.name: rows for ablation, rows in ablations}),
        *ablation_sections(ablations),
        *_failures(shown),
        Section("Settings and machines", (*_machines(shown), *_recipes(used))),
    ]
    return Document("MVGRL: the paper's tables, run again", tuple(sections)), len(shown)


def _main(experiment: str, title: str, runs: Ledger) -> Section:
    """The three settings side by side, a row a dataset and metric."""
    found = {
        setting: {
            (row["dataset"], row["metric"]): row
            for row in table(
                experiment,
                runs,
                [load_recipe(name, setting, table=experiment) for name in DATASETS[experiment]],
                runs=RUNS[experiment],
            )
        }
        for setting in NAMED
    }
    keys = {key for rows in found.values() for key in rows}
    order = {name: place for place, name in enumerate(DATASETS[experiment])}
    if not keys:
        return Section(title, (none_yet(experiment),))
    lines = []
    for dataset, metric in sorted(keys, key=lambda key: (order[key[0]], key[1] not in ("accuracy", "nmi", "nested"))):
        rows = [found[setting].get((dataset, metric)) for setting in NAMED]
        paper = next(row["paper"] for row in rows if row)
        spread = DEVIATIONS.get(experiment, {}).get(dataset) if paper is not None else None
        controls = [None if rows[-1] is None else rows[-1][name] for name in VARIANTS[1:]]
        lines.append(
            (
                *(Cell(dataset), Cell(METRICS.get(metric, metric)), Cell(number(paper, metric, spread))),
                *(Cell(NONE) if row is None else ours({**row, "paper_std": spread}) for row in rows),
                *(Cell(number(value, metric)) for value in controls),
                Cell(" / ".join(NONE if row is None else str(row["runs"]) for row in rows)),
            )
        )
    columns = ("dataset", "metric", "printed in the paper", *NAMED, "untrained", "propagated", "runs")
    caption = f"{title}: mean ± standard deviation under three settings, and the runs of each."
    return Section(title, (Table(caption, columns, tuple(lines), words=2),))


def _discrepancies(rows: list[dict[str, Any]]) -> Section:
    title = "What text and code do otherwise"
    caption = "Node accuracy of the default settings with one thing changed, and the difference in points it makes."
    return Section(title, (discrepancies_table(rows, caption) if rows else none_yet(discrepancies.TABLE),))


def _failures(shown: Sequence[Run]) -> list[Section]:
    """What could not be run, and why; nothing where all went well."""
    seeds: dict[tuple[str, ...], list[int]] = {}
    for run in shown:
        if run.failed:
            seeds.setdefault((run.experiment, run.dataset, run.variant, run.failed), []).append(run.seed)
    if not seeds:
        return []
    lines = tuple((*map(Cell, key), Cell(", ".join(map(str, sorted(some))))) for key, some in seeds.items())
    columns = ("table", "dataset", "row", "reason", "seeds")
    return [Section("Failed runs", (Table("What could not be run, and the reason.", columns, lines, words=4),))]


def _summary(runs: Runs, shown: Sequence[Run]) -> Section:
    older, tables = len(runs.runs) - len(shown), len({run.experiment for run in shown})
    words = [f"{len(shown):,} runs of {tables} table{'' if tables == 1 else 's'}, from the ledger {runs.path.name}."]
    if runs.foreign or older:
        words.append(
            f"Passed over: {runs.foreign:,} lines that are no runs or are there twice, and {older:,} runs of recipes "
            "no longer in use or of more seeds than a table has."
        )
    return Section("Summary", (*words, *((SETTINGS, READING) if shown else ())))


def _machines(shown: Sequence[Run]) -> list[Part]:
    """A row a table."""
    rows = []
    for experiment in dict.fromkeys(run.experiment for run in shown):
        mine = [run for run in shown if run.experiment == experiment]
        rows.append(
            (
                Cell(experiment),
                *(Cell(_listed(getattr(run, name) for run in mine)) for name in ("dataset", "setting", "device")),
                Cell(_listed(map(_versions, mine), "; ")),
                Cell(f"{len(mine):,}"),
            )
        )
    columns = ("table", "datasets", "settings", "devices", "versions", "runs")
    return [Table("What was run, where and with what.", columns, tuple(rows), words=5)] if rows else []


def _recipes(used: Sequence[tuple[str, Recipe, list[Run]]]) -> list[Part]:
    """A row a recipe, dataset and setting, whatever tables it serves."""
    merged: dict[tuple[str, str, str], tuple[Recipe, dict[str, None], list[Run]]] = {}
    for experiment, recipe, runs in used:
        _, experiments, all_runs = merged.setdefault((recipe.id, recipe.setting, recipe.dataset), (recipe, {}, []))
        experiments[experiment] = None
        all_runs += runs
    rows = tuple(
        tuple(
            Cell(text)
            for text in (
                *(recipe.id, recipe.setting, recipe.dataset, ", ".join(experiments), departures(recipe)),
                _listed(run.device for run in runs),
                _listed(map(_versions, runs), "; "),
            )
        )
        for recipe, experiments, runs in merged.values()
    )
    columns = ("recipe", "setting", "dataset", "tables", "settings that differ from the defaults", "device", "versions")
    caption = "Every recipe in use: its hash, its settings where they differ from the task's defaults, and its machine."
    return [Table(caption, columns, rows, words=len(columns)) if rows else "No recipe in use has runs."]


def departures(recipe: Recipe) -> str:
    """The settings of a recipe that are not the defaults of its task.

    >>> departures(Recipe("cora", "best", Settings(views=("adjacency", "heat:t=3"), epochs=9), weight_decay=0.01))
    'views=adjacency,heat:t=3.0; epochs=9; weight_decay=0.01'
    """
    values, usual = recipe.settings.to_dict(), Settings(task=recipe.settings.task).to_dict()
    changed = {name: value for name, value in values.items() if value != usual[name]}
    if "views" in changed:
        changed["views"] = ",".join(_view(view) for view in recipe.settings.views)
    if recipe.weight_decay:
        changed["weight_decay"] = recipe.weight_decay
    return "; ".join(f"{name}={value}" for name, value in changed.items()) or "none"


def _view(view: Any) -> str:
    """A view as mvgrl embed takes it: its name, and what differs from its own defaults."""
    changed = [f for f in fields(view) if getattr(view, f.name) != f.default]
    return ":".join([view.name, *(f"{f.name}={getattr(view, f.name)}" for f in changed)])


def _used(runs: Runs) -> list[tuple[str, Recipe, list[Run]]]:
    """The recipes that have runs in a table, each with its runs."""
    by_recipe: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        by_recipe.setdefault((run.experiment, run.dataset, run.setting, run.recipe), []).append(run)
    found = []
    for experiment, recipe, variants, count in _known():
        mine = by_recipe.get((experiment, recipe.dataset, recipe.setting, recipe.id), [])
        mine = [run for run in mine if run.variant in variants and run.seed < count]
        if mine:
            found.append((experiment, recipe, mine))
    return found


def _known() -> Iterator[tuple[str, Recipe, tuple[str, ...], int]]:
    """Every recipe of every table, with the variants that are run of it, and how often."""
    for experiment in MAIN:
        for dataset in DATASETS[experiment]:
            for setting in NAMED:
                yield experiment, load_recipe(dataset, setting, table=experiment), VARIANTS, RUNS[experiment]
    for dataset in DATASETS[discrepancies.TABLE]:
        for row, recipe in discrepancies.recipes(dataset).items():
            yield discrepancies.TABLE, recipe, (row,), RUNS[discrepancies.TABLE]
    for name, ablation in ABLATIONS.items():
        for dataset in ablation.datasets:
            for row, recipe in ablation_recipes(ablation, dataset).items():
                yield name, recipe, (row,), usual_runs(dataset)


def _versions(run: Run) -> str:
    return ", ".join(f"{name} {version}" for name, version in run.versions.items())


def _listed(names: Iterable[str], between: str = ", ") -> str:
    return between.join(filter(None, dict.fromkeys(names))) or NONE


def _sound(run: Run) -> bool:
    """Whether a line holds what it should: other programs may write lines of the same names."""
    numbers = [run.seconds, *run.scores.values()]
    return (
        bool(run.scores or run.failed)
        and isinstance(run.versions, dict)
        and all(isinstance(value, (int, float)) and math.isfinite(value) for value in numbers)
    )
