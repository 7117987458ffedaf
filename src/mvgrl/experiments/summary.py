"""The ledger summarised: a row per dataset, variant and score, and how much of each experiment is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.evaluation.scores import Score
from mvgrl.experiments.experiment import Experiment, Variant
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.planner import Step, plan, variant_of
from mvgrl.experiments.published import published


@dataclass(frozen=True)
class Row:
    """One score of a variant on a dataset, with the paper's number and those of the controls beside it."""

    experiment: Experiment
    dataset: str
    variant: Variant
    score: Score
    mean: float | None  # None where all runs failed
    std: float | None = None  # of one run alone there is none
    runs: int = 0
    paper: float | None = None
    paper_std: float | None = None
    seconds: float = 0.0  # per run
    failed: str | None = None  # why all runs failed
    note: str | None = None
    controls: dict[str, float | None] = field(default_factory=dict)  # means, by the id of the variant
    difference: float | None = None  # to the experiment's baseline

    @property
    def id(self) -> str:
        """The variant's."""
        return self.variant.id

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the keys of ``mvgrl reproduce --json``."""
        names = ("mean", "std", "runs", "paper", "paper_std", "seconds", "failed", "note")
        change = {"change": self.id, "difference": self.difference} if self.experiment.baseline else {}
        return {
            **{"dataset": self.dataset, "row": self.id, "method": self.variant.method, "metric": self.score.name},
            **{name: getattr(self, name) for name in names},
            **self.controls,
            **change,
        }


def summarise(
    experiment: Experiment,
    ledger: Ledger,
    datasets: Sequence[str] | None = None,
    *,
    setting: str = "best",
    runs: int | None = None,
    recipes: Path | None = None,
) -> list[Row]:
    """Return the rows of an experiment from the ledger alone; what was never run has none.

    A row all of whose runs failed has the reason as "failed", and no mean; one that lost some says so in its note.
    """
    lines: dict[tuple[Any, ...], Run] = {run.key: run for run in ledger if run.experiment == experiment.name}
    rows = []
    for dataset in experiment.datasets if datasets is None else datasets:
        steps = list(plan(experiment, [dataset], setting=setting, recipes=recipes, runs=runs))
        found = {
            step.variant.id: [lines[step.key(seed)] for seed in range(step.runs) if step.key(seed) in lines]
            for step in steps
        }
        some: list[Row] = []
        for step in steps:
            if not step.variant.control:
                for score in experiment.scores_for(dataset):
                    beside = {one.id: _mean(found.get(one.id, []), score) for one in experiment.controls}
                    row = _row(step, score, found[step.variant.id])
                    some += [] if row is None else [replace(row, controls=beside)]
        rows += _compared(some) if experiment.baseline else some
    return rows


def _row(step: Step, score: Score, mine: Sequence[Run]) -> Row | None:
    """Return the row of a score; None without runs that have it or failed."""
    experiment, variant, recipe, _ = step
    done, failed = ([run for run in mine if bool(run.failed) == lost] for lost in (False, True))
    values = np.array([run.scores[score.name] for run in done if score.name in run.scores])
    if not len(values) and (done or not failed):
        return None
    lost = f"{len(failed)} of {len(mine)} runs failed: {failed[0].failed}" if done and failed else ""
    notes = ("" if experiment.own_recipes else recipe.why, lost)
    return Row(
        *(experiment, recipe.dataset, variant, score, float(values.mean()) if done else None),
        float(values.std()) if len(values) > 1 else None,
        len(values),
        *published(experiment.name, variant.id, score.name, recipe.dataset),
        seconds=float(np.mean([run.seconds for run in done or failed])),
        failed=None if done else failed[0].failed,
        note="; ".join(filter(None, notes)) or None,
    )


def _mean(runs: Sequence[Run], score: Score) -> float | None:
    values = [run.scores[score.name] for run in runs if not run.failed and score.name in run.scores]
    return float(np.mean(values)) if values else None


def _compared(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a dataset with their differences to the first variant of the experiment."""
    first = {row.score.name: row.mean for row in rows if row.variant is row.experiment.variants[0]}
    bases = [first.get(row.score.name) for row in rows]
    return [
        replace(row, difference=None if base is None or row.mean is None else row.mean - base)
        for row, base in zip(rows, bases, strict=True)
    ]


def overview(
    chosen: Iterable[tuple[Experiment, Sequence[str]]],
    ledger: Ledger,
    *,
    runs: int | None = None,
    recipes: Path | None = None,
) -> list[dict[str, Any]]:
    """Return for each experiment its runs, those done, those that failed, and the seconds that the rest takes.

    A run is expected to take the mean time of its dataset's runs, separately for training, controls and shares of
    labels; where there are none, "seconds_left" is None.
    """
    lines: dict[tuple[Any, ...], Run] = {run.key: run for run in ledger}
    spent: dict[tuple[str, str], list[float]] = {}
    for run in lines.values():
        if not run.failed:
            spent.setdefault((run.dataset, _pace(variant_of(run))), []).append(run.seconds)
    rows = []
    for experiment, datasets in chosen:
        steps = list(plan(experiment, datasets, recipes=recipes, runs=runs))
        keys = {step.key(seed): step for step in steps for seed in range(step.runs)}
        failed = sum(1 for key in keys if key in lines and lines[key].failed)
        left = [spent.get((key[1], _pace(step.variant))) for key, step in keys.items() if key not in lines]
        rows.append(
            {
                "experiment": experiment.name,
                "datasets": list(datasets),
                "runs": len(keys),
                "done": len(keys) - len(left) - failed,
                "failed": failed,
                "seconds_left": float(sum(np.mean(some) for some in left if some)) if all(left) else None,
            }
        )
    return rows


def _pace(variant: Variant | None) -> str:
    """Rows of which kind take about as long."""
    if variant is not None and variant.share is not None:
        return "share of labels"
    return "trained" if variant is None or variant.how.trains else "control"
