"""What a search maximises: a score of the vectors that settings give on a graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mvgrl.automatic import resolve
from mvgrl.errors import InputError
from mvgrl.evaluation.checks import is_known
from mvgrl.evaluation.links import score_split
from mvgrl.evaluation.logistic import logistic_probe
from mvgrl.experiments.hidden_edges import link_splits, split_seed
from mvgrl.folds import shuffled_folds
from mvgrl.graphs import Graph
from mvgrl.settings import Output, Settings
from mvgrl.training import fit

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph, the labels that may be used, and the settings that stay as they are.

    >>> ring = Graph.from_edges(range(30), [*range(1, 30), 0])
    >>> Problem(ring, fixed={"hidden": 8}).criterion, Problem(ring, np.arange(30) % 2).criterion
    ('hidden-edges', 'labels')
    """

    graph: Graph
    labels: np.ndarray | None = None  # of nodes or graphs; unknown ones are NaN or empty
    fixed: Mapping[str, Any] = field(default_factory=dict)
    output: Output = field(default_factory=Output)
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.labels is None and self.task == "graph":
            raise InputError("settings for many graphs are chosen by how well labels are predicted; give labels")
        if self.labels is None:
            link_splits(self.graph.adjacency, 1)  # too few edges are an error
            return
        known = is_known(self.labels)
        counts = np.unique(self.labels[known], return_counts=True)[1]
        if len(counts) < 2 or int((counts >= FOLDS).sum()) < 2:
            raise InputError(
                f"{int(known.sum())} labels in {len(counts)} classes are too few; a search needs two classes with at "
                f"least {FOLDS} labels each: give more labels, or none"
            )

    @property
    def task(self) -> str:
        """Whether nodes or graphs get vectors."""
        return "node" if self.graph.count == 1 else "graph"

    @property
    def criterion(self) -> str:
        """The name of what is maximised."""
        return "hidden-edges" if self.labels is None else "labels"

    @property
    def key(self) -> str:
        """A hash of everything that determines the scores of trials."""
        labels = "" if self.labels is None else hashlib.blake2b(repr(self.labels.tolist()).encode()).hexdigest()
        parts = [self.graph.content_fingerprint, labels, self.output.content, self.seed, self.device.partition(":")[0]]
        content = json.dumps([*parts, {name: str(value) for name, value in sorted(self.fixed.items())}])
        return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()

    def settings(self, tuned: Mapping[str, Any]) -> Settings:
        """Return the settings of a trial."""
        return Settings.from_dict({"task": self.task, **tuned, **self.fixed})

    def score(self, tuned: Mapping[str, Any]) -> float:
        """Train with the settings of a trial, and return its score in percent."""
        return CRITERIA[self.criterion](self, self.settings(tuned))


def _vectors(problem: Problem, graph: Graph, settings: Settings) -> np.ndarray:
    resolved = resolve(graph, settings, device=problem.device, preset=problem.output.preset)
    return fit(graph, resolved, seed=problem.seed, device=problem.device).vectors(output=problem.output)


def _by_labels(problem: Problem, settings: Settings) -> float:
    """The accuracy of a logistic regression in five folds of the labels, each at its best strength.

    Classes with fewer labels than folds are left out. The strength is chosen on the fold that is scored, which favours
    no trial.
    """
    assert problem.labels is not None
    vectors = _vectors(problem, problem.graph, settings)
    known = np.flatnonzero(is_known(problem.labels))
    truth, counts = np.unique(problem.labels[known], return_inverse=True, return_counts=True)[1:]
    frequent = counts[truth] >= FOLDS
    known, truth = known[frequent], truth[frequent]
    right = 0.0
    for rest, held in shuffled_folds(FOLDS, problem.seed, 0).split(truth, truth):
        accuracy = logistic_probe(vectors[known], truth, rest, held, val=held, device=problem.device)
        right += float(accuracy) * len(held)
    return 100 * right / len(known)


def _by_hidden_edges(problem: Problem, settings: Settings) -> float:
    """The area under the curve with which hidden edges are told from pairs without an edge."""
    (split,) = link_splits(problem.graph.adjacency, 1)
    seen = replace(problem.graph, adjacency=split.adjacency)
    vectors = _vectors(problem, seen, settings)
    return 100 * score_split(split, vectors, seed=split_seed(0)).test["logistic"]["auc"]


CRITERIA: dict[str, Callable[[Problem, Settings], float]] = {
    "labels": _by_labels,
    "hidden-edges": _by_hidden_edges,
}
