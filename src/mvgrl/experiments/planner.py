"""Plan experiments: find the runs that are missing from the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Experiment, Variant
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.recipes import Recipe


class Step(NamedTuple):
    """A row of an experiment on a dataset, and its number of runs."""

    experiment: Experiment
    variant: Variant
    recipe: Recipe
    runs: int

    def key(self, seed: int) -> tuple[str, str, str, str, int, str]:
        """The key of a run in the ledger."""
        recipe = self.recipe
        return self.experiment.name, recipe.dataset, recipe.setting, self.variant.id, seed, recipe.id


@dataclass(frozen=True)
class Task:
    """Some seeds of a row, with everything needed to run them in another process."""

    recipe: Recipe
    variant: str  # its id
    method: str
    share: float | None
    protocols: Mapping[str, tuple[str, ...]] = field(hash=False)  # by experiment; a run adds a line for each
    seeds: tuple[int, ...] = ()
    splits: int = 1  # of the same training: run r has the training seed r // splits


def plan(
    experiment: Experiment,
    datasets: Sequence[str],
    *,
    setting: str = "best",
    recipes: Path | None = None,
    runs: int | None = None,
) -> Iterator[Step]:
    """Yield every row on every dataset, whether or not it has been run."""
    for dataset in datasets:
        found = experiment.recipes(dataset, setting, folder=None if experiment.has_start else recipes)
        for variant in experiment.variants_for(dataset):
            yield Step(experiment, variant, found[variant.id], runs or experiment.runs_for(dataset))


def missing(steps: Iterable[Step], ledger: Ledger, *, retry_failed: bool = False, once: bool = False) -> list[Task]:
    """Return the runs that are missing from the ledger, nodes before graphs.

    Runs that another experiment already has are copied within the ledger. With ``once``, a run that several steps need
    is returned only for the first of them.
    """
    lines: dict[tuple[str, str], list[Run]] = {}
    for line in ledger:
        lines.setdefault((line.dataset, line.recipe), []).append(line)
    tasks, copies = [], []
    taken: set[tuple[object, ...]] = set()
    for step in steps:
        experiment, variant, recipe, _ = step
        mine = lines.get((recipe.dataset, recipe.id), [])
        there = {run.key for run in mine if not (retry_failed and run.failed)}
        seeds = [seed for seed in range(step.runs) if step.key(seed) not in there]
        reused = reused_runs(mine, step, seeds)
        copies += reused
        seeds = sorted(set(seeds) - {run.seed for run in reused})
        protocols = {name: EXPERIMENTS[name].protocols_for(recipe.dataset) for name in recipe.tables}
        about = (recipe.dataset, recipe.id, *_kind(variant), experiment.splits, *protocols.values())
        keys = {seed: (*about, seed) for seed in seeds}
        new = tuple(seed for seed in seeds if not (once and keys[seed] in taken))
        taken.update(keys.values())
        if new:
            tasks.append(Task(recipe, variant.id, variant.method, variant.share, protocols, new, experiment.splits))
    if copies:
        ledger.add(copies)
    return sorted(tasks, key=lambda task: task.recipe.settings.task != "node")


def reused_runs(lines: Iterable[Run], step: Step, seeds: Sequence[int]) -> list[Run]:
    """Return copies of the runs of these seeds that another experiment has with the same settings.

    A row can reuse a run of the same method and share of labels if the run has all scores that the row shows.
    """
    experiment, variant, recipe, _ = step
    scores = {score.name for score in experiment.scores_for(recipe.dataset)}
    found = {
        run.seed: replace(run, experiment=experiment.name, setting=recipe.setting, variant=variant.id)
        for run in lines
        if (run.dataset, run.recipe) == (recipe.dataset, recipe.id)
        and not run.failed
        and scores <= set(run.scores)
        and _kind(variant) == _kind(variant_of(run))
        and EXPERIMENTS[run.experiment].splits == experiment.splits
    }
    return [found[seed] for seed in seeds if seed in found]


def variant_of(run: Run) -> Variant | None:
    """Return the row that a run belongs to; None if the row no longer exists."""
    variants = EXPERIMENTS[run.experiment].variants if run.experiment in EXPERIMENTS else ()
    return next((one for one in variants if one.id == run.variant), None)


def _kind(variant: Variant | None) -> tuple[str, float | None]:
    """Return what, besides the recipe, two rows must have in common to share runs."""
    return (variant.method, variant.share) if variant else ("", None)
