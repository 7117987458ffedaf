"""Any table by its name: what the ledger lacks of it is run, and its rows are returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from mvgrl.errors import SettingsError, check_name
from mvgrl.experiments import graph_tables, node_tables, slips
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.published import DATASETS, RUNS
from mvgrl.experiments.recipes import Recipe, load_recipe
from mvgrl.experiments.runs import VARIANTS, Missing, Progress, missing_seeds, table
from mvgrl.graphs import load
from mvgrl.graphs.datasets import Dataset
from mvgrl.training import resolve_device
from mvgrl.views import ViewCache

Runner = Callable[[Dataset, Recipe, Missing, Ledger, torch.device, Progress, ViewCache], None]

_RUNNERS: dict[str, Runner] = {"node": node_tables.run, "graph": graph_tables.run}


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
    tell: Progress = lambda text: None,
) -> list[dict[str, Any]]:
    """Run what the ledger lacks, and return the rows; all datasets and as many runs as usual, unless told otherwise."""
    check_name("table", experiment, DATASETS, SettingsError)
    names = _checked_datasets(experiment, datasets)
    runs = RUNS[experiment] if runs is None else runs
    if runs < 1:
        raise SettingsError(f"runs is {runs}; ask for at least one")
    plan = _plan(experiment, names, setting, recipes)
    where = resolve_device(device)
    for name, steps in groupby(plan, key=lambda step: step[0].dataset):
        dataset, cache = None, ViewCache(memory=2**33)
        for recipe, variants in steps:
            missing = {variant: missing_seeds(ledger, experiment, recipe, variant, runs) for variant in variants}
            if any(missing.values()):
                dataset = dataset or load(name, data_root)
                _RUNNERS[recipe.settings.task](dataset, recipe, missing, ledger, where, tell, cache)
    if experiment == slips.TABLE:
        return slips.table(ledger, names, runs=runs)
    return table(experiment, ledger, [recipe for recipe, _ in plan], runs=runs)


def _plan(
    experiment: str, names: Sequence[str], setting: str, recipes: Path | None
) -> list[tuple[Recipe, tuple[str, ...]]]:
    """The recipes of a table, and the variants to be run of each."""
    if experiment != slips.TABLE:
        return [(load_recipe(name, setting, table=experiment, folder=recipes), VARIANTS) for name in names]
    if setting != "best" or recipes is not None:
        raise SettingsError(f"{experiment} departs from the default settings; leave setting and recipes away")
    return [(recipe, (row,)) for name in names for row, recipe in slips.recipes(name).items()]


def _checked_datasets(experiment: str, datasets: Sequence[str] | None) -> list[str]:
    known = DATASETS[experiment]
    for name in datasets or ():
        if name not in known and any(name in others for others in DATASETS.values()):
            raise SettingsError(f"dataset {name!r} is not in {experiment}; that table has {', '.join(known)}")
        check_name("dataset", name, known, SettingsError)
    return list(datasets or known)
