"""A comparison as data: the graph, how it is scored, the contenders, and which runs each of them needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mvgrl.automatic import resolve
from mvgrl.datasets import DATASETS, Dataset
from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation.checks import classes_of, is_known
from mvgrl.evaluation.regression import is_continuous
from mvgrl.evaluation.scores import SCORES, Score
from mvgrl.evaluation.splits import PARTS
from mvgrl.experiments.contenders import Contender, contenders
from mvgrl.experiments.hidden_edges import link_splits
from mvgrl.experiments.ledger import Run
from mvgrl.experiments.recipes import Recipe
from mvgrl.graphs.named import NamedGraph
from mvgrl.runtime import resolve_device
from mvgrl.settings import Settings

NAME = "compare"  # of the experiment in the ledger
PUBLIC = "public"
STRIDE = 1000  # run r has the training seed r // STRIDE and the split r % STRIDE, so that more of both can be added

Kind = Literal["random", "given", "public", "folds", "links"]
Splits = Sequence[Mapping[str, np.ndarray]]  # each has node numbers under "train", "val" and "test"
# What the runs of a kind report, the first one decides; and the sizes of the two parts of a split.
_SCORES = {
    "random": ("random_10",),
    "given": ("logistic",),
    "public": ("logistic",),
    "folds": ("nested",),
    "links": ("auc", "average_precision", "stability"),
}
_PARTS = {"random": (0.1, 0.8), "public": None, "folds": (0.1, 0.9), "links": (0.1, 0.81)}
_SPLITS = {"random": 10, "public": 1, "folds": 3, "links": 3}  # unless the user says otherwise
_SEEDS = {"random": 1, "given": 1, "public": 5, "folds": 1, "links": 1}


@dataclass(frozen=True, eq=False)
class Contest:
    """What is compared, on what, and how."""

    dataset: Dataset
    kind: Kind
    splits: int
    seeds: int
    settings: Settings  # as given: what is open is chosen for the graph
    contenders: tuple[Contender, ...]
    device: str
    given: tuple[Mapping[str, np.ndarray], ...] = ()  # the user's own splits

    @property
    def scores(self) -> list[Score]:
        """What is reported; the order of the rows follows the first."""
        names = _SCORES[self.kind]
        return [SCORES[name] for name in names if name != "stability" or self.splits > 1]

    @property
    def parts(self) -> tuple[float, float] | None:
        """The sizes of the parts of a split, for the paired test."""
        if self.kind == "given":
            train, test = (float(np.mean([len(split[part]) for split in self.given])) for part in ("train", "test"))
            return train, test
        return _PARTS[self.kind]

    @property
    def protocol(self) -> str:
        """The protocol of a labelled graph, as in PROTOCOLS; nodes that settings were tuned on are not scored."""
        if self.kind == "random":
            return "random-10-10-80" if self.dataset.name in DATASETS else "every-10-10-80"
        return {"folds": "nested-svm", "links": "hidden-edges"}.get(self.kind, "converged-probe")

    @property
    def stride(self) -> int:
        """The number of run numbers that belong to a training seed."""
        return STRIDE if self.kind in ("random", "given") else 1

    def trainings(self, contender: Contender) -> list[list[int]]:
        """Return the numbers of the runs of a contender, grouped by what is trained and scored together."""
        if self.kind == "links":
            return [list(range(self.splits))]  # together: the clusters of all splits are compared
        if self.kind == "folds":
            return [[number] for number in range(self.splits)]
        seeds = self.seeds if contender.method.seeded else 1
        if self.kind == "public":
            return [[seed] for seed in range(seeds)]
        found = [[STRIDE * seed + split for split in range(self.splits)] for seed in range(seeds)]
        return [[one] for some in found for one in some] if contender.method.supervised else found

    def recipe(self, contender: Contender) -> Recipe:
        """Return how a contender is run, as the runner takes it."""
        return Recipe(
            self.dataset.name, self.protocol, self.settings, contender.output, method=dict(contender.parameters)
        )

    def key(self, contender: Contender) -> str:
        """Return a hash of everything that determines a contender's numbers: graph, labels, splits and parameters."""
        together = self.splits if self.kind == "links" else 0  # the stability of a split depends on the others
        content = json.dumps([self._data, self.recipe(contender).id, self.device.partition(":")[0], together])
        return hashlib.blake2b(content.encode(), digest_size=6).hexdigest()

    def is_of(self, run: Run, contender: Contender) -> bool:
        """Whether a line of the ledger belongs to a contender."""
        mine = (NAME, self.dataset.name, self.protocol, contender.id, self.key(contender))
        return mine == (run.experiment, run.dataset, run.setting, run.variant, run.recipe)

    @cached_property
    def _data(self) -> list[str]:
        public = self.dataset.splits if self.kind == "public" else None
        splits = self.given or (() if public is None else (public,))
        arrays = (self.dataset.target, *(split[part] for split in splits for part in PARTS))
        return [self.dataset.graph.content_fingerprint, *(hashlib.blake2b(one.tobytes()).hexdigest() for one in arrays)]

    def resolved(self, contender: Contender) -> Settings:
        """Return the settings with everything chosen for the graph and the contender's vectors."""
        preset, known = contender.output.preset, self._resolved
        if preset not in known:
            known[preset] = resolve(self.dataset.graph, self.settings, device=self.device, preset=preset).settings
        return known[preset]

    @cached_property
    def _resolved(self) -> dict[str, Settings]:
        """The settings that have been resolved, by preset."""
        return {}


def contest(
    dataset: Dataset,
    methods: Sequence[str] | None = None,
    *,
    splits: int | str | Splits | None = None,
    seeds: int | None = None,
    epochs: int | None = None,
    device: str = "auto",
) -> Contest:
    """Plan a comparison; problems with it are errors here, before anything is trained.

    ``splits`` is a number, "public" for the split of a dataset, or a list of splits, each with node numbers under
    "train", "val" and "test"; ``seeds`` is the number of training runs.
    """
    given = () if splits is None or isinstance(splits, (int, str)) else tuple(splits)
    if given:
        check_splittable(dataset)
        splits = len(given)
    if len(given) == 1:  # training runs are compared, as on a public split
        dataset, splits = replace(dataset, splits=dict(given[0])), PUBLIC
    kind: Kind = "given" if len(given) > 1 else _kind(dataset, splits)
    count = _SPLITS[kind] if splits in (None, PUBLIC) else splits
    if not isinstance(count, int):
        raise SettingsError(f"splits is {splits!r}; it must be a number, or {PUBLIC!r}")
    if seeds is not None and kind in ("folds", "links"):
        what = "folds" if kind == "folds" else "split of the edges"
        raise SettingsError(f"seeds has no effect here: every {what} has its own training run; use splits")
    runs = _SEEDS[kind] if seeds is None else seeds
    for name, value, most in (("splits", count, STRIDE), ("seeds", runs, STRIDE), ("epochs", epochs, 10**9)):
        if value is not None and not 1 <= value <= most:
            raise SettingsError(f"{name} is {value}; it must be from 1 to {most:,}")
    where = str(resolve_device(device))
    limit: dict[str, Any] = {} if epochs is None else {"epochs": epochs}
    settings = Settings(task=dataset.task, **limit)
    chosen = contenders(dataset, methods, device=where.partition(":")[0], epochs=epochs)
    found = Contest(dataset, kind, count, runs, settings, tuple(chosen), where, given)
    if kind == "links":
        link_splits(dataset.graph.adjacency, 1)  # too few edges are an error
    return found


def check_splittable(dataset: Dataset) -> None:
    """Reject splits of what is not scored by a train, validation and test part."""
    if not dataset.classes:
        raise SettingsError("without labels there is nothing to split; give labels, or a number of splits")
    if dataset.task == "graph":
        raise SettingsError(f"{dataset.name} has many graphs, which are scored by folds; give a number of splits")


def _kind(dataset: Dataset, splits: Any) -> Kind:
    if not dataset.classes:
        if dataset.task == "graph":
            raise InputError(f"{dataset.name} has many graphs and no labels; graphs are compared by how well their "
                             "vectors predict labels: give labels")  # fmt: skip
        if splits == PUBLIC:
            raise SettingsError("without labels there is no public split; give labels, or a number of splits")
        return "links"
    if dataset.task == "graph":
        if splits == PUBLIC:
            raise SettingsError(f"{dataset.name} has many graphs and no public split; give a number of splits")
        return "folds"
    if splits != PUBLIC:
        return "random"
    if dataset.splits is None:
        raise SettingsError(f"{dataset.name} has no public split; give a number of random splits")
    return "public"


def own_dataset(named: NamedGraph, labels: np.ndarray | None = None, *, name: str = "graph") -> Dataset:
    """Return a user's graph as a dataset; unknown labels are NaN or empty. Graphs without a label are left out.

    >>> from mvgrl.graphs import Graph
    >>> path = NamedGraph(Graph.from_edges([0, 1], [1, 2]), np.arange(3))
    >>> own_dataset(path, np.array(["b", "", "a"])).target.tolist()
    [1, -1, 0]
    """
    task: Literal["node", "graph"] = "node" if named.graph.count == 1 else "graph"
    name = f"./{name}" if name in DATASETS else name  # named datasets have hyper-parameters and splits of their own
    count = named.graph.nodes if task == "node" else named.graph.count
    if labels is None:
        return Dataset(name, named.graph, np.full(count, -1), task, None, (), "")
    if len(labels) != count:
        raise InputError(f"{len(labels):,} labels for {count:,} {task}s; give one per {task}")
    if is_continuous(labels):
        raise InputError(
            "the labels are numbers, not classes, and methods are compared by how well they predict classes; choose "
            "another label column, or score vectors of numbers with mvgrl evaluate --protocol regression"
        )
    classes, known = classes_of(labels), is_known(labels)
    target = np.full(count, -1)
    target[known] = np.searchsorted(classes, labels[known])
    data = Dataset(name, named.graph, target, task, None, tuple(map(str, classes.tolist())), "")
    return data if task == "node" or known.all() else _only(data, known)


def _only(dataset: Dataset, kept: np.ndarray) -> Dataset:
    """Return the graphs that are kept."""
    graph = dataset.graph
    nodes = np.flatnonzero(np.repeat(kept, graph.sizes))
    smaller = replace(
        graph,
        adjacency=graph.adjacency[nodes][:, nodes],
        features=None if graph.features is None else graph.features[nodes],
        node_labels=None if graph.node_labels is None else graph.node_labels[nodes],
        offsets=np.concatenate([[0], np.cumsum(graph.sizes[kept])]),
    )
    return replace(dataset, graph=smaller, target=dataset.target[kept])
