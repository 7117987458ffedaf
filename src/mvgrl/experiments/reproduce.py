"""Any table by its name: what the ledger lacks of it is run, and its rows are returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvgrl.errors import SettingsError, check_name
from mvgrl.experiments import ablations, discrepancies
from mvgrl.experiments.ablations import ABLATIONS, LABELS
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.parallel import work_off
from mvgrl.experiments.published import DATASETS, PUBLISHED, RUNS
from mvgrl.experiments.recipes import Recipe, load_recipe
from mvgrl.experiments.runs import VARIANTS, Missing, Progress, known_already, missing_seeds, table
from mvgrl.runtime import resolve_device

Rows = list[dict[str, Any]]


class Step(NamedTuple):
    """Of a table a recipe, the variants to be run of it, and how often."""

    experiment: str
    recipe: Recipe
    variants: tuple[str, ...]
    runs: int


def experiments() -> dict[str, tuple[str, ...]]:
    """All that can be reproduced, and the datasets of each.

    >>> experiments()["ablation-negatives"]
    ('cora-linqs', 'citeseer', 'pubmed')
    """
    return {**DATASETS, **{name: ablation.datasets for name, ablation in ABLATIONS.items()}}


def reproduce(
    experiment: str,
    ledger: Ledger,
    *,
    datasets: Sequence[str] | None = None,
    runs: int | None = None,
    setting: str = "best",
    device: str = "auto",
    data_root: Path | None = None,
    recipes: Path | None = None,
    retry_failed: bool = False,
    jobs: int | None = 1,
    tell: Progress = lambda text: None,
) -> Rows:
    """Run what the ledger lacks, and return the rows; all datasets and as many runs as usual, unless told otherwise.

    ``jobs`` runs at once, in processes of their own; None: as many as the machine is good for.
    """
    check_name("table", experiment, experiments(), SettingsError)
    names = _checked_datasets(experiment, datasets)
    _check_counts(runs=runs, jobs=jobs)
    plan = _plan(experiment, names, setting, recipes, runs)
    _work_off(plan, ledger, device=device, data_root=data_root, retry_failed=retry_failed, jobs=jobs, tell=tell)
    return _rows(experiment, names, plan, ledger, recipes, runs)


def reproduce_all(
    ledger: Ledger,
    *,
    datasets: Sequence[str] | None = None,
    runs: int | None = None,
    setting: str = "best",
    recipes: Path | None = None,
    **options: Any,
) -> Iterator[tuple[str, Rows]]:
    """Every table, its name and its rows; of some datasets, the tables that have them.

    First the paper's main tables, whose runs serve the others too, then all others, as if they were one.
    """
    chosen = _tables_of(datasets)
    _check_counts(runs=runs, jobs=options.get("jobs"))
    plans = {name: _plan(name, sets, setting, _folder(name, recipes), runs) for name, sets in chosen.items()}
    for some in ([name for name in plans if name in PUBLISHED], [name for name in plans if name not in PUBLISHED]):
        _work_off([step for name in some for step in plans[name]], ledger, **options)
        for name in some:
            yield name, _rows(name, chosen[name], plans[name], ledger, _folder(name, recipes), runs)


def _work_off(
    plan: Sequence[Step], ledger: Ledger, *, device: str = "auto", retry_failed: bool = False, **options: Any
) -> None:
    """Run what the ledger lacks; where two steps lack the same, once for both."""
    where = resolve_device(device)
    work_off(_lacking(plan, ledger, retry_failed=retry_failed, once=True), ledger, where, **options)
    # Copies that stand for runs just made, and what could not be copied, as the run had failed.
    work_off(_lacking(plan, ledger), ledger, where, **options)


def _lacking(
    plan: Iterable[Step], ledger: Ledger, *, retry_failed: bool = False, once: bool = False
) -> list[tuple[Recipe, Missing]]:
    """The seeds to be run of each variant, nodes before graphs.

    Rows of an ablation that another table has are written down as they are. With ``once``, a run that several steps
    lack is in the first of them alone.
    """
    lines: dict[tuple[str, str], list[Run]] = {}
    for line in ledger:
        lines.setdefault((line.dataset, line.recipe), []).append(line)
    steps, known = [], []
    taken: set[tuple[Any, ...]] = set()
    for experiment, recipe, variants, runs in plan:
        mine, missing = lines.get((recipe.dataset, recipe.id), []), {}
        for variant in variants:
            seeds = missing_seeds(mine, experiment, recipe, variant, runs, retry_failed=retry_failed)
            kind: Any = (recipe.tables, recipe.setting, variant)
            if experiment not in (*PUBLISHED, LABELS):
                usual = [line for line in mine if line.experiment != LABELS]
                served = known_already(usual, experiment, recipe, variant, seeds)
                known += served
                seeds = sorted(set(seeds) - {run.seed for run in served})
                kind = "a row"
            keys = {seed: (recipe.dataset, recipe.id, kind, seed) for seed in seeds}
            missing[variant] = [seed for seed in seeds if not (once and keys[seed] in taken)]
            taken.update(keys.values())
        steps.append((recipe, missing))
    if known:
        ledger.add(known)
    return sorted(steps, key=lambda step: step[0].settings.task != "node")


def _rows(
    experiment: str, names: Sequence[str], plan: Sequence[Step], ledger: Ledger, recipes: Path | None, runs: int | None
) -> Rows:
    if experiment in ABLATIONS:
        return ablations.table(experiment, ledger, names, runs=runs, folder=recipes)
    most = RUNS[experiment] if runs is None else runs
    if experiment == discrepancies.TABLE:
        return discrepancies.table(ledger, names, runs=most)
    return table(experiment, ledger, [step.recipe for step in plan], runs=most)


def overview(
    ledger: Ledger, *, datasets: Sequence[str] | None = None, runs: int | None = None, recipes: Path | None = None
) -> list[dict[str, Any]]:
    """A dict a table: the runs it takes, those in the ledger, those that failed, and the seconds that the rest takes.

    A run is taken to last as long as the mean of its dataset's lines, controls, rows of the sweep of labels and others
    apart; where there is none, "seconds_left" is None.
    """
    _check_counts(runs=runs)
    lines = {run.key: run for run in ledger}
    spent: dict[tuple[str, str], list[float]] = {}
    for run in lines.values():
        if not run.failed:
            spent.setdefault((run.dataset, _kind(run.experiment, run.variant)), []).append(run.seconds)
    each = {kind: float(np.mean(some)) for kind, some in spent.items()}
    rows = []
    for experiment, names in _tables_of(datasets).items():
        keys = [
            (experiment, recipe.dataset, recipe.setting, variant, seed, recipe.id)
            for _, recipe, variants, count in _plan(experiment, names, "best", _folder(experiment, recipes), runs)
            for variant in variants
            for seed in range(count)
        ]
        failed = sum(1 for key in keys if key in lines and lines[key].failed)
        left = [each.get((key[1], _kind(key[0], key[3]))) for key in keys if key not in lines]
        known = [seconds for seconds in left if seconds is not None]
        rows.append(
            {
                "experiment": experiment,
                "datasets": names,
                "runs": len(keys),
                "done": len(keys) - len(left) - failed,
                "failed": failed,
                "seconds_left": sum(known) if len(known) == len(left) else None,
            }
        )
    return rows


def _kind(experiment: str, variant: str) -> str:
    """Of which kind a run is as to its time."""
    return LABELS if experiment == LABELS else "control" if variant in VARIANTS[1:] else "trained"


def _tables_of(datasets: Sequence[str] | None) -> dict[str, list[str]]:
    """The tables that have some of the datasets (all), and which."""
    known = experiments()
    for name in datasets or ():
        check_name("dataset", name, dict.fromkeys(one for names in known.values() for one in names), SettingsError)
    chosen = {table: [name for name in names if datasets is None or name in datasets] for table, names in known.items()}
    return {table: names for table, names in chosen.items() if names}


def _folder(experiment: str, recipes: Path | None) -> Path | None:
    return None if experiment == discrepancies.TABLE else recipes  # it departs from the defaults, not from a recipe


def _check_counts(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise SettingsError(f"{name} is {count}; ask for at least one")


def _plan(experiment: str, names: Sequence[str], setting: str, recipes: Path | None, runs: int | None) -> list[Step]:
    """The recipes of a table, the variants to be run of each, and how often."""
    if experiment in ABLATIONS:
        if setting != "best":
            raise SettingsError(f"{experiment} departs from the recipes named best; leave setting away")
        found = [ablations.recipes(ABLATIONS[experiment], name, folder=recipes) for name in names]
        if experiment == LABELS:
            plan = [(next(iter(rows.values())), tuple(rows)) for rows in found]  # which are the same in all rows
        else:
            plan = [(recipe, (row,)) for rows in found for row, recipe in rows.items()]
    elif experiment == discrepancies.TABLE:
        if setting != "best" or recipes is not None:
            raise SettingsError(f"{experiment} departs from the default settings; leave setting and recipes away")
        plan = [(recipe, (row,)) for name in names for row, recipe in discrepancies.recipes(name).items()]
    else:
        plan = [(load_recipe(name, setting, table=experiment, folder=recipes), VARIANTS) for name in names]
    return [Step(experiment, recipe, variants, runs or _usual_runs(experiment, recipe)) for recipe, variants in plan]


def _usual_runs(experiment: str, recipe: Recipe) -> int:
    return ablations.usual_runs(recipe.dataset) if experiment in ABLATIONS else RUNS[experiment]


def _checked_datasets(experiment: str, datasets: Sequence[str] | None) -> list[str]:
    every = experiments()
    known = every[experiment]
    for name in datasets or ():
        if name not in known and any(name in others for others in every.values()):
            raise SettingsError(f"dataset {name!r} is not in {experiment}; that table has {', '.join(known)}")
        check_name("dataset", name, known, SettingsError)
    return list(datasets or known)
