"""What the tables share: which runs are lacking, a run as a line of the ledger, and the rows made from its lines."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import mvgrl
from mvgrl.errors import CheckpointError, InputError, MachineError, SettingsError
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.published import METRICS, PUBLISHED
from mvgrl.experiments.recipes import Recipe
from mvgrl.views import ViewCache

VARIANTS = ("trained", "untrained", "propagated")
NO_MEMORY = "out of memory"
Missing = dict[str, list[int]]  # the seeds of each variant
Progress = Callable[[str], None]
Scores = Mapping[str, Sequence[dict[str, float]]]  # of each seed, for every table that it is a line of
Outcome = tuple[Scores, Sequence[int]]  # and the epochs that each seed took


def table(experiment: str, ledger: Ledger, recipes: Sequence[Recipe], *, runs: int) -> list[dict[str, Any]]:
    """The rows of a table from the ledger alone, the paper's numbers beside ours; a dataset without runs has none."""
    found = [run for run in ledger if run.experiment == experiment and run.seed < runs and not run.failed]
    rows = []
    for recipe in recipes:
        mine = {
            variant: [run for run in found if run.key[1:4] == (recipe.dataset, recipe.setting, variant)]
            for variant in VARIANTS
        }
        mine = {variant: [run for run in some if run.recipe == recipe.id] for variant, some in mine.items()}
        for metric in METRICS[experiment]:
            scores = {
                variant: np.array([run.scores[metric] for run in some if metric in run.scores])
                for variant, some in mine.items()
            }
            if not len(scores["trained"]):
                continue
            rows.append(
                {
                    "dataset": recipe.dataset,
                    "metric": metric,
                    "mean": float(scores["trained"].mean()),
                    "std": spread(scores["trained"]),
                    "runs": len(scores["trained"]),
                    "paper": PUBLISHED[experiment].get(recipe.dataset, {}).get(metric),
                    "untrained": float(scores["untrained"].mean()) if len(scores["untrained"]) else None,
                    "propagated": float(scores["propagated"].mean()) if len(scores["propagated"]) else None,
                    "seconds": float(np.mean([run.seconds for run in mine["trained"]])),
                }
            )
    return rows


def spread(scores: np.ndarray) -> float | None:
    """The standard deviation; one run alone has none.

    >>> spread(np.array([80.0, 82.0])), spread(np.array([80.0]))
    (1.0, None)
    """
    return float(scores.std()) if len(scores) > 1 else None


class CrowdedError(Exception):
    """A run found no memory beside others, and may find it alone."""


@dataclass(frozen=True)
class RunContext:
    """What all runs share: where their lines go, where they are computed, who is told of them, and the views."""

    ledger: Ledger
    device: torch.device
    tell: Progress
    cache: ViewCache
    crowded: bool = False  # other processes are at work beside this one

    def attempt(self, recipe: Recipe, variant: str, seeds: Sequence[int], work: Callable[[], Outcome]) -> None:
        """Do the work of some seeds and write their lines; if it fails, they say why, and no restart tries it again."""
        which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        what = f"{recipe.dataset}, {recipe.setting}, {variant}: {which}"
        self.tell(what)
        started, why = time.perf_counter(), ""
        try:
            scores, epochs = work()
        except Exception as error:
            why = reason(error)
            if self.crowded and why == NO_MEMORY:
                torch.cuda.empty_cache()
                raise CrowdedError from None
            scores, epochs = {table: [{} for _ in seeds] for table in recipe.tables}, [0 for _ in seeds]
            self.tell(f"{what} failed: {why}")
        seconds = (time.perf_counter() - started) / len(seeds)
        self.ledger.add(_lines(recipe, variant, seeds, scores, epochs, seconds, self.device, why))


def _lines(
    recipe: Recipe,
    variant: str,
    seeds: Sequence[int],
    scores: Scores,
    epochs: Sequence[int],
    seconds: float,
    device: torch.device,
    failed: str,
) -> list[Run]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    versions = {"mvgrl": mvgrl.__version__, "torch": torch.__version__, "python": platform.python_version()}
    if device.type == "cuda":
        versions["products"] = "TF32"
    after = (seconds, name, recipe.id, versions, failed)
    return [
        Run(experiment, recipe.dataset, recipe.setting, variant, seed, score, ended, *after)
        for experiment, found in scores.items()
        for seed, score, ended in zip(seeds, found, epochs, strict=True)
    ]


def reason(error: Exception) -> str:
    """Why a run failed, in a line; an error that is not the run's own, but one that all runs would meet, is raised.

    >>> reason(MemoryError())
    'out of memory'
    >>> reason(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    if isinstance(error, (InputError, SettingsError, MachineError, CheckpointError)):
        raise error
    kind, text = type(error).__name__, " ".join(str(error).split())
    if isinstance(error, MemoryError) or any(said in text for said in (NO_MEMORY, "can't allocate memory")):
        return NO_MEMORY
    return (text if kind == "MVGRLError" else f"{kind}: {text}")[:200]


def missing_seeds(
    lines: Iterable[Run], experiment: str, recipe: Recipe, variant: str, runs: int, *, retry_failed: bool = False
) -> list[int]:
    """The seeds of a variant that there are no lines of yet; failed ones only if they are to be tried again."""
    there = {run.key for run in lines if not (retry_failed and run.failed)}
    key = (experiment, recipe.dataset, recipe.setting, variant)
    return [seed for seed in range(runs) if (*key, seed, recipe.id) not in there]


def known_already(lines: Iterable[Run], experiment: str, recipe: Recipe, row: str, seeds: Sequence[int]) -> list[Run]:
    """Runs of these seeds that another table has: the same settings give the same numbers under any name."""
    score = "nested" if recipe.settings.task == "graph" else "accuracy"
    found = {
        run.seed: replace(run, experiment=experiment, setting=recipe.setting, variant=row)
        for run in lines
        if (run.dataset, run.recipe) == (recipe.dataset, recipe.id)
        and run.variant not in VARIANTS[1:]
        and not run.failed
        and score in run.scores
    }
    return [found[seed] for seed in seeds if seed in found]
