"""Run tasks: compute outcomes and scores, and add a line per seed to the ledger as soon as it is done."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

import mvgrl
from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset
from mvgrl.errors import CheckpointError, InputError, MachineError, SettingsError
from mvgrl.evaluation.protocols import PROTOCOLS, Evaluation, measure
from mvgrl.evaluation.splits import random_splits
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.planner import Task
from mvgrl.experiments.recipes import Recipe
from mvgrl.graphs import Graph
from mvgrl.methods import METHODS, Method, Outcome
from mvgrl.settings import AUTO, Settings
from mvgrl.views import ViewCache

NO_MEMORY = "out of memory"
Progress = Callable[[str], None]
Result = tuple[Mapping[str, Sequence[dict[str, float]]], Sequence[int]]  # scores per seed, by experiment; epochs


class CrowdedError(Exception):
    """A run ran out of memory while others were running, and may succeed by itself."""


@dataclass
class RunContext:
    """What all runs share: the ledger, the device, views, and values that several runs need."""

    ledger: Ledger
    device: torch.device
    tell: Progress
    cache: ViewCache
    crowded: bool = False  # other processes run at the same time
    _kept: dict[str, tuple[object, Any]] = field(default_factory=dict, repr=False)

    def shared(self, slot: str, key: object, make: Callable[[], Any], *, failures: bool = False) -> Any:
        """Return ``make()``, computed once per key; a slot holds one value at a time.

        With ``failures``, an exception is kept too, and raised again.
        """
        if slot not in self._kept or self._kept[slot][0] != key:
            self._kept.pop(slot, None)  # freed before the next is computed
            try:
                self._kept[slot] = key, make()
            except Exception as error:
                if failures:
                    self._kept[slot] = key, error.with_traceback(None)  # it would keep the run's memory alive
                raise
        found = self._kept[slot][1]
        if isinstance(found, Exception):
            raise found
        return found

    def attempt(self, task: Task, seeds: Sequence[int], work: Callable[[], Result]) -> None:
        """Run some seeds and add their lines; a failure is recorded with its reason, and not retried."""
        recipe = task.recipe
        which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        what = f"{recipe.dataset}, {recipe.setting}, {task.variant}: {which}"
        self.tell(what)
        started, why = time.perf_counter(), ""
        try:
            scores, epochs = work()
        except Exception as error:
            why = reason(error)
            if self.crowded and why == NO_MEMORY:
                self._kept.clear()
                torch.cuda.empty_cache()
                raise CrowdedError from None
            scores, epochs = {name: [{} for _ in seeds] for name in task.protocols}, [0 for _ in seeds]
            self.tell(f"{what} failed: {why}")
        seconds = (time.perf_counter() - started) / len(seeds)
        device, versions = machine(self.device)
        self.ledger.add(
            Run(name, recipe.dataset, recipe.setting, task.variant, *one, seconds, device, recipe.id, versions, why)
            for name, found in scores.items()
            for one in zip(seeds, found, epochs, strict=True)
        )


def run(tasks: Sequence[Task], dataset: Dataset, context: RunContext) -> None:
    """Run tasks of one recipe; those of the same method share its outcomes, computed by the first of them."""
    recipe = tasks[0].recipe
    if recipe.structure_only:
        dataset = context.shared("structure", dataset.name, partial(structure_of, dataset))
    settings = _resolved(dataset, recipe, context)
    methods: dict[str, list[Task]] = {}
    for task in tasks:
        methods.setdefault(task.method, []).append(task)
    for name, some in methods.items():
        used = {protocol for task in some for names in task.protocols.values() for protocol in names}
        method, size = METHODS[name].for_dataset(dataset.name), 1
        if method.supervised or all(PROTOCOLS[one].stacks for one in used if PROTOCOLS[one].task == dataset.task):
            size = method.seeds_together(dataset, settings, context.device)
        trainings = sorted({seed // task.splits for task in some for seed in task.seeds})
        for start in range(0, len(trainings), size):
            together = trainings[start : start + size]
            for task in some:
                if mine := sorted(seed for seed in task.seeds if seed // task.splits in together):
                    context.attempt(task, mine, partial(_result, task, mine, dataset, settings, context))


def structure_of(dataset: Dataset) -> Dataset:
    """Return the dataset without features and node labels, under another name."""
    graph = Graph(dataset.graph.adjacency, offsets=dataset.graph.offsets)
    return replace(dataset, graph=graph, name=f"{dataset.name}, structure only")


def _resolved(dataset: Dataset, recipe: Recipe, context: RunContext) -> Settings:
    """Return the settings with every automatic choice made for the dataset's graph; literal ones are unchanged."""
    settings, preset = recipe.settings, recipe.output.preset
    if AUTO not in (settings.sampler, settings.normalise):
        return settings
    choose = partial(resolve, dataset.graph, settings, device=context.device, preset=preset)
    return context.shared("resolved", (dataset.name, settings.id, preset), choose).settings


def _result(task: Task, seeds: Sequence[int], dataset: Dataset, settings: Settings, context: RunContext) -> Result:
    recipe, every = task.recipe, _outcomes(task, seeds, dataset, settings, context)
    evaluation = Evaluation(dataset, every, seeds, context.device, recipe.weight_decay, task.share, task.splits)
    scores = {name: measure(protocols, evaluation) for name, protocols in task.protocols.items()}
    return scores, [outcome.epochs for outcome in every]


def _outcomes(
    task: Task, seeds: Sequence[int], dataset: Dataset, settings: Settings, context: RunContext
) -> list[Outcome]:
    method = METHODS[task.method].for_dataset(dataset.name)
    return outcomes_of(method, seeds, dataset, settings, context, recipe=task.recipe, splits=task.splits)


def outcomes_of(
    method: Method,
    seeds: Sequence[int],
    dataset: Dataset,
    settings: Settings,
    context: RunContext,
    *,
    recipe: Recipe,
    splits: int = 1,
    given: Sequence[Mapping[str, np.ndarray]] = (),
) -> list[Outcome]:
    """Return an outcome per seed: of the training that several splits share, or of each split if supervised.

    The splits are random ones, unless they are given.
    """
    if method.supervised and splits > 1:
        drawn = given or random_splits(dataset.labels, count=max(seed % splits for seed in seeds) + 1)
        return [
            method.outcomes(
                replace(dataset, splits=dict(drawn[seed % splits])),
                *(settings, recipe.output, [seed // splits], context),
            )[0]
            for seed in seeds
        ]
    trainings = sorted({seed // splits for seed in seeds})
    key = (dataset.name, recipe.id, method.name, tuple(trainings) if method.seeded else ())
    outcomes = context.shared(
        "outcomes", key, lambda: method.outcomes(dataset, settings, recipe.output, trainings, context), failures=True
    )
    return [outcomes[trainings.index(seed // splits) if method.seeded else 0] for seed in seeds]


def machine(device: torch.device) -> tuple[str, dict[str, str]]:
    """Return what a line of the ledger says about the device and the versions."""
    versions = {"mvgrl": mvgrl.__version__, "torch": torch.__version__, "python": platform.python_version()}
    if device.type == "cuda":
        return torch.cuda.get_device_name(device), {**versions, "products": "TF32"}
    return platform.machine(), versions


def reason(error: Exception) -> str:
    """Return on one line why a run failed; errors that would affect every run are raised instead.

    >>> reason(MemoryError())
    'out of memory'
    >>> reason(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    if isinstance(error, (InputError, SettingsError, MachineError, CheckpointError)):
        raise error
    kind, text = type(error).__name__, " ".join(str(error).split())
    if isinstance(error, MemoryError) or any(phrase in text for phrase in (NO_MEMORY, "can't allocate memory")):
        return NO_MEMORY
    return (text if kind == "MVGRLError" else f"{kind}: {text}")[:200]
