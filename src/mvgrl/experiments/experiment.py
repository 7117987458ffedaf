"""An experiment is data: its rows, datasets, protocols, number of runs and settings to start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mvgrl.errors import SettingsError
from mvgrl.evaluation.protocols import PROTOCOLS
from mvgrl.evaluation.scores import SCORES, Score
from mvgrl.experiments.changes import changed
from mvgrl.experiments.recipes import NAMED, Recipe, load_recipe
from mvgrl.methods import METHODS, Method
from mvgrl.settings import Output, Settings

NODE_DATASETS = ("cora-linqs", "cora", "citeseer", "pubmed")
GRAPH_DATASETS = ("mutag", "ptc-mr", "imdb-binary", "imdb-multi", "reddit-binary")


def task_of(dataset: str) -> str:
    """Return the task of a dataset: node or graph."""
    return "graph" if dataset in GRAPH_DATASETS else "node"


@dataclass(frozen=True)
class Variant:
    """A row of an experiment: a method with settings."""

    id: str  # in the ledger and in tables
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)  # to the initial settings
    output: Mapping[str, Any] = field(default_factory=dict, hash=False)  # changes to the initial options of the output
    method: str = "mvgrl"
    task: str = ""  # "node" or "graph" if it is only for that task
    datasets: tuple[str, ...] = ()  # if it is only for these
    value: str = ""  # on the axis of a sweep
    share: float | None = None  # of the labels used for training
    control: bool = False  # shown as a column of the other rows, not as a row
    free: bool = False  # nothing is learned, so every learned system should be better
    note: str = ""

    @property
    def how(self) -> Method:
        """The method itself."""
        return METHODS[self.method]

    def hyper_parameters(self, dataset: str) -> dict[str, Any]:
        """Return the name and hyper-parameters of a method that is a system of its own; empty for other methods."""
        parameters = self.how.for_dataset(dataset).parameters
        return {"name": self.method, **parameters} if self.how.source else {}


@dataclass(frozen=True)
class Experiment:
    """Rows × datasets × protocols.

    Settings are those of each dataset's recipe named best, with the changes of each row; those of separate recipes per
    named setting (``own_recipes``); ``start`` with the changes of each row; or, with the preset "default", what a user
    gets without any setting, resolved for each graph.

    With several random ``splits``, run r has the training seed r // splits and the split r % splits.
    """

    name: str  # as given to reproduce
    title: str
    variants: tuple[Variant, ...]
    datasets: tuple[str, ...]
    protocols: tuple[str, ...]  # names, as in PROTOCOLS
    runs: Mapping[str, int] = field(hash=False)  # by dataset or task
    shown: tuple[str, ...] = ()  # scores in tables; empty: all scores of the protocols
    group: str = ""  # heading in the report
    about: str = ""  # a remark on all rows
    axis: str = ""  # what a sweep varies; empty for other experiments
    own_recipes: bool = False
    start: Settings | None = None
    preset: str = ""
    structure_only: bool = False  # features and node labels are removed first
    splits: int = 1
    skips: Mapping[str, str] = field(default_factory=dict, hash=False)  # the protocol that a dataset is too large for
    baseline: bool = False  # rows are compared with the first
    systems: bool = False  # rows are systems, each compared with its number in the paper

    def variants_for(self, dataset: str) -> list[Variant]:
        """Return the rows that exist for a dataset, controls included."""
        task = task_of(dataset)
        here = [one for one in self.variants if not one.datasets or dataset in one.datasets]
        return [one for one in here if one.task in ("", task) and task in one.how.tasks]

    def protocols_for(self, dataset: str) -> tuple[str, ...]:
        """Return the names of the protocols of a dataset."""
        return tuple(name for name in self.protocols if name != self.skips.get(dataset))

    def scores_for(self, dataset: str) -> list[Score]:
        """Return the scores shown for a dataset."""
        chosen = (PROTOCOLS[name] for name in self.protocols_for(dataset))
        names = [name for one in chosen if one.task == task_of(dataset) for name in one.scores]
        return [SCORES[name] for name in names if not self.shown or name in self.shown]

    def runs_for(self, dataset: str) -> int:
        """Return the number of runs per row on a dataset."""
        return self.runs.get(dataset) or self.runs[task_of(dataset)]

    @property
    def controls(self) -> list[Variant]:
        """The rows shown as columns of the others."""
        return [variant for variant in self.variants if variant.control]

    @property
    def settings(self) -> tuple[str, ...]:
        """The named settings that it supports."""
        return NAMED if self.own_recipes else ("best",)

    @property
    def has_start(self) -> bool:
        """Whether it needs no recipe."""
        return self.start is not None or self.preset == "default"

    def check_setting(self, setting: str, recipes: Path | None = None) -> None:
        """Raise an error if the experiment does not support this setting, or these recipes."""
        if self.has_start and (setting != "best" or recipes is not None):
            raise SettingsError(f"{self.name} starts from the default settings; omit --setting and --recipes")
        if not self.own_recipes and setting != "best":
            raise SettingsError(f"{self.name} starts from the recipes named best; omit --setting")

    def recipes(self, dataset: str, setting: str = "best", *, folder: Path | None = None) -> dict[str, Recipe]:
        """Return the recipe of each row, by row id; ``why`` describes any other changes.

        >>> from mvgrl.experiments.catalogue import EXPERIMENTS
        >>> [recipe.settings.bound.name for recipe in EXPERIMENTS["ablation-bounds"].recipes("mutag").values()]
        ['nce', 'jsd', 'nt-xent', 'dv']
        """
        if self.preset:
            return self._from_preset(dataset)
        if self.start is not None:
            base = Recipe(dataset, "best", self.start)
        else:
            table = self.name if self.own_recipes else f"{task_of(dataset)}-classification"
            base = load_recipe(dataset, setting, table=table, folder=folder)
        if self.own_recipes:
            return dict.fromkeys((variant.id for variant in self.variants_for(dataset)), base)
        found = {}
        for variant in self.variants_for(dataset):
            settings, notes = changed(base.settings, base.output, variant.changes, dataset)
            why = "; ".join(filter(None, (variant.note, *notes)))
            found[variant.id] = replace(base, settings=settings, why=why, tables=(self.name,))
        return found

    def _from_preset(self, dataset: str) -> dict[str, Recipe]:
        """Return the settings that a user gets without any, with the changes of each row."""
        base = Recipe(dataset, "default", Settings(task=task_of(dataset)), structure_only=self.structure_only)
        return {
            one.id: replace(
                base,
                settings=replace(base.settings, **one.changes),
                output=Output(**one.output),
                why=one.note,
                tables=(self.name,),
                method=one.hyper_parameters(dataset),
            )
            for one in self.variants_for(dataset)
        }
