"""Reproduce experiments by name: run what is missing from the ledger, and return the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.datasets import DATASETS, find
from mvgrl.errors import SettingsError, check_name
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Experiment, Variant
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.parallel import run_tasks
from mvgrl.experiments.planner import missing, plan, variant_of
from mvgrl.experiments.summary import Row, summarise
from mvgrl.runtime import resolve_device


def reproduce(
    name: str,
    ledger: Ledger,
    *,
    datasets: Sequence[str] | None = None,
    runs: int | None = None,
    setting: str = "best",
    recipes: Path | None = None,
    **options: Any,
) -> list[Row]:
    """Run what is missing from the ledger, and return the rows; by default, for all datasets and usual runs.

    Options: ``device``, ``data_root``, ``retry_failed``, ``tell`` (called with each progress message), and ``jobs``,
    the number of worker processes; None: as many as the machine has cores and memory for; or ``pool``, which runs them
    elsewhere.
    """
    check_name("experiment", name, EXPERIMENTS, SettingsError)
    experiment = EXPERIMENTS[name]
    for dataset in datasets or ():
        if dataset not in experiment.datasets and any(dataset in other.datasets for other in EXPERIMENTS.values()):
            known = ", ".join(experiment.datasets)
            raise SettingsError(f"dataset {dataset!r} is not in {name}; it has {known}")
        check_name("dataset", dataset, experiment.datasets, SettingsError)
    _check_counts(runs=runs, jobs=options.get("jobs"))
    experiment.check_setting(setting, recipes)
    ((_, rows),) = _round(
        [(experiment, datasets or experiment.datasets)], ledger, options, setting=setting, recipes=recipes, runs=runs
    )
    return rows


def reproduce_all(
    ledger: Ledger,
    *,
    datasets: Sequence[str] | None = None,
    runs: int | None = None,
    setting: str = "best",
    recipes: Path | None = None,
    **options: Any,
) -> Iterator[tuple[str, list[Row]]]:
    """Yield every experiment's name and rows: the main tables first, then all others, run together."""
    chosen = _chosen(datasets)
    _check_counts(runs=runs, jobs=options.get("jobs"))
    for experiment, _ in chosen:
        experiment.check_setting(setting)
    if datasets is None:
        chosen = _chosen(_available(options))
    for main in (True, False):
        some = [one for one in chosen if one[0].own_recipes == main]
        yield from _round(some, ledger, options, setting=setting, recipes=recipes, runs=runs)


def _round(
    chosen: Sequence[tuple[Experiment, Sequence[str]]], ledger: Ledger, options: dict[str, Any], **planned: Any
) -> Iterator[tuple[str, list[Row]]]:
    """Run what is missing from the experiments, each run only once; then yield the rows of each."""
    more = {**options}
    device, retry_failed = resolve_device(more.pop("device", "auto")), more.pop("retry_failed", False)
    steps = [step for experiment, datasets in chosen for step in plan(experiment, datasets, **planned)]
    tasks = list(missing(steps, ledger, retry_failed=retry_failed, once=True))
    if tasks:
        ledger.check_writable()
    run_tasks(tasks, ledger, device, **more)
    # Copy the new runs to other experiments; run those that cannot be copied because they failed.
    run_tasks(missing(steps, ledger), ledger, device, **more)
    for experiment, datasets in chosen:
        yield experiment.name, summarise(experiment, ledger, datasets, **planned)


def overview(
    ledger: Iterable[Run],
    *,
    datasets: Sequence[str] | None = None,
    runs: int | None = None,
    recipes: Path | None = None,
) -> list[dict[str, Any]]:
    """Return per experiment the number of runs, those done, those failed, and an estimate of the seconds left.

    The estimate uses the mean time of the dataset's runs, separately for training, controls and shares of labels; if
    there are none, "seconds_left" is None.
    """
    _check_counts(runs=runs)
    lines: dict[tuple[Any, ...], Run] = {run.key: run for run in ledger}
    spent: dict[tuple[str, str], list[float]] = {}
    for run in lines.values():
        if not run.failed:
            spent.setdefault((run.dataset, _pace(variant_of(run))), []).append(run.seconds)
    rows = []
    for experiment, names in _chosen(datasets):
        steps = plan(experiment, names, recipes=recipes, runs=runs)
        keys = {step.key(seed): step.variant for step in steps for seed in range(step.runs)}
        failed = sum(1 for key in keys if key in lines and lines[key].failed)
        left = [spent.get((key[1], _pace(variant))) for key, variant in keys.items() if key not in lines]
        seconds = float(sum(np.mean(some) for some in left if some)) if all(left) else None
        counts = {"runs": len(keys), "done": len(keys) - len(left) - failed, "failed": failed, "seconds_left": seconds}
        rows.append({"experiment": experiment.name, "datasets": names, **counts})
    return rows


def _pace(variant: Variant | None) -> str:
    """Return the kind of a row; rows of the same kind take about the same time."""
    if variant is not None and variant.share is not None:
        return "share of labels"
    return "trained" if variant is None or variant.how.trains else "control"


def _chosen(datasets: Sequence[str] | None) -> list[tuple[Experiment, list[str]]]:
    """Return the experiments that have any of the datasets (default: all), and which ones."""
    every = dict.fromkeys(name for experiment in EXPERIMENTS.values() for name in experiment.datasets)
    for name in datasets or ():
        check_name("dataset", name, every, SettingsError)
    found = [
        (experiment, [name for name in experiment.datasets if datasets is None or name in datasets])
        for experiment in EXPERIMENTS.values()
    ]
    return [(experiment, names) for experiment, names in found if names]


def _available(options: dict[str, Any]) -> list[str]:
    """Return the datasets of all experiments, except those that are not on this machine and cannot be downloaded."""
    found = []
    for name in dict.fromkeys(name for experiment in EXPERIMENTS.values() for name in experiment.datasets):
        if DATASETS[name].url is not None or find(name, options.get("data_root")) is not None:
            found.append(name)
        elif "tell" in options:
            options["tell"](f"{name} is omitted: it is not on this machine and cannot be downloaded")
    return found


def _check_counts(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise SettingsError(f"{name} is {count}; it must be at least 1")
