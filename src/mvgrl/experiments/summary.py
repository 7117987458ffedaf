"""Summarise the ledger: a row per dataset, variant and score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mvgrl.evaluation.scores import Score
from mvgrl.experiments.catalogue import published
from mvgrl.experiments.experiment import Experiment, Variant
from mvgrl.experiments.ledger import Run
from mvgrl.experiments.planner import Step, plan


@dataclass(frozen=True)
class Row:
    """One score of a variant on a dataset, with the paper's number and those of the controls."""

    experiment: Experiment
    dataset: str
    variant: Variant
    score: Score
    mean: float | None  # None where all runs failed
    std: float | None = None  # None for a single run
    runs: int = 0
    paper: float | None = None
    paper_std: float | None = None
    seconds: float = 0.0  # per run
    failed: str | None = None  # why all runs failed
    note: str | None = None
    controls: dict[str, float | None] = field(default_factory=dict)  # means, by variant id
    difference: float | None = None  # to the experiment's baseline

    @property
    def id(self) -> str:
        """The id of the variant."""
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
    ledger: Iterable[Run],
    datasets: Sequence[str] | None = None,
    *,
    setting: str = "best",
    runs: int | None = None,
    recipes: Path | None = None,
) -> list[Row]:
    """Return the rows of an experiment from the ledger only; rows without runs are omitted.

    If all runs of a row failed, "failed" is the reason and there is no mean; if only some did, the note says so.
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
                    means = {one.id: _mean(found.get(one.id, []), score) for one in experiment.controls}
                    row = _row(step, score, found[step.variant.id])
                    some += [] if row is None else [replace(row, controls=means)]
        first = {row.score: row.mean for row in some if experiment.baseline and row.variant is experiment.variants[0]}
        for row in some:
            base = first.get(row.score)
            compared = row.mean is not None and base is not None
            rows.append(replace(row, difference=row.mean - base) if compared else row)  # type: ignore[operator]
    return rows


def _row(step: Step, score: Score, mine: Sequence[Run]) -> Row | None:
    """Return the row of a score; None if no run has the score or failed."""
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
