"""Any table by its name: what the ledger lacks of it is run, and its rows are returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.errors import SettingsError, check_name
from mvgrl.experiments import ablations, slips
from mvgrl.experiments.ablations import ABLATIONS, LABELS
from mvgrl.experiments.at_once import work_off
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.published import DATASETS, PUBLISHED, RUNS
from mvgrl.experiments.recipes import Recipe, load_recipe
from mvgrl.experiments.runs import VARIANTS, Missing, Progress, known_already, missing_seeds, table
from mvgrl.training import resolve_device

Step = tuple[Recipe, tuple[str, ...]]  # a recipe, and the variants to be run of it


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
) -> list[dict[str, Any]]:
    """Run what the ledger lacks, and return the rows; all datasets and as many runs as usual, unless told otherwise.

    ``jobs`` runs at once, in processes of their own; None: as many as the machine is good for.
    """
    check_name("table", experiment, experiments(), SettingsError)
    names = _checked_datasets(experiment, datasets)
    for asked, count in {"runs": runs, "jobs": jobs}.items():
        if count is not None and count < 1:
            raise SettingsError(f"{asked} is {count}; ask for at least one")
    plan = _plan(experiment, names, setting, recipes)
    where = resolve_device(device)
    steps = [
        (recipe, _missing(ledger, experiment, recipe, variants, _runs(experiment, recipe, runs), retry_failed))
        for recipe, variants in plan
    ]
    work_off(steps, ledger, where, jobs=jobs, data_root=data_root, tell=tell)
    if experiment in ABLATIONS:
        return ablations.table(experiment, ledger, names, runs=runs, folder=recipes)
    most = RUNS[experiment] if runs is None else runs
    if experiment == slips.TABLE:
        return slips.table(ledger, names, runs=most)
    return table(experiment, ledger, [recipe for recipe, _ in plan], runs=most)


def _missing(
    ledger: Ledger, experiment: str, recipe: Recipe, variants: Sequence[str], runs: int, retry_failed: bool
) -> Missing:
    """The seeds to be run of each variant; rows of an ablation that another table has are written down as they are."""
    lines, missing = list(ledger), {}
    for variant in variants:
        missing[variant] = missing_seeds(lines, experiment, recipe, variant, runs, retry_failed=retry_failed)
        if missing[variant] and experiment not in (*PUBLISHED, LABELS):
            usual = [line for line in lines if line.experiment != LABELS]
            known = known_already(usual, experiment, recipe, variant, missing[variant])
            if known:
                ledger.add(known)
                missing[variant] = sorted(set(missing[variant]) - {run.seed for run in known})
    return missing


def reproduce_all(
    ledger: Ledger, *, datasets: Sequence[str] | None = None, recipes: Path | None = None, **options: Any
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """One table after the other, its name and its rows; of some datasets, the tables that have them."""
    chosen = _tables_of(datasets)
    for experiment, names in chosen.items():  # what is wrong with the last is said before the first is run
        _plan(experiment, names, options.get("setting", "best"), _folder(experiment, recipes))
    for experiment, names in chosen.items():
        yield experiment, reproduce(experiment, ledger, datasets=names, recipes=_folder(experiment, recipes), **options)


def overview(
    ledger: Ledger, *, datasets: Sequence[str] | None = None, runs: int | None = None, recipes: Path | None = None
) -> list[dict[str, Any]]:
    """A dict a table: the runs it takes, those in the ledger, those that failed, and the seconds that the rest takes.

    A run is taken to last as long as the mean of its dataset's lines, controls, rows of the sweep of labels and others
    apart; where there is none, "seconds_left" is None.
    """
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
            for recipe, variants in _plan(experiment, names, "best", _folder(experiment, recipes))
            for variant in variants
            for seed in range(_runs(experiment, recipe, runs))
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
    return None if experiment == slips.TABLE else recipes  # it departs from the defaults, not from a recipe


def _runs(experiment: str, recipe: Recipe, runs: int | None) -> int:
    if runs is not None:
        return runs
    return ablations.RUNS[recipe.settings.task] if experiment in ABLATIONS else RUNS[experiment]


def _plan(experiment: str, names: Sequence[str], setting: str, recipes: Path | None) -> list[Step]:
    """The recipes of a table, and the variants to be run of each."""
    if experiment in ABLATIONS:
        if setting != "best":
            raise SettingsError(f"{experiment} departs from the recipes named best; leave setting away")
        found = (ablations.recipes(ABLATIONS[experiment], name, folder=recipes) for name in names)
        if experiment == LABELS:
            return [(next(iter(rows.values())), tuple(rows)) for rows in found]  # which are the same in all rows
        return [(recipe, (row,)) for rows in found for row, recipe in rows.items()]
    if experiment != slips.TABLE:
        return [(load_recipe(name, setting, table=experiment, folder=recipes), VARIANTS) for name in names]
    if setting != "best" or recipes is not None:
        raise SettingsError(f"{experiment} departs from the default settings; leave setting and recipes away")
    return [(recipe, (row,)) for name in names for row, recipe in slips.recipes(name).items()]


def _checked_datasets(experiment: str, datasets: Sequence[str] | None) -> list[str]:
    every = experiments()
    known = every[experiment]
    for name in datasets or ():
        if name not in known and any(name in others for others in every.values()):
            raise SettingsError(f"dataset {name!r} is not in {experiment}; that table has {', '.join(known)}")
        check_name("dataset", name, known, SettingsError)
    return list(datasets or known)
