"""Protocols: the outcomes of a method in, scores per seed out.

A protocol is an entry of PROTOCOLS: the task it is for, the scores it reports, and the function that measures them.
Protocols with the same function are measured by one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn.functional import pad

from mvgrl.datasets import Dataset
from mvgrl.evaluation.clustering import clustering_scores
from mvgrl.evaluation.few_labels import graph_accuracy, node_accuracy
from mvgrl.evaluation.linear_probe import linear_predictions
from mvgrl.evaluation.logistic import logistic_probe
from mvgrl.evaluation.random_probe import random_10_accuracy, random_20_accuracy, tuning_nodes
from mvgrl.evaluation.splits import random_splits
from mvgrl.evaluation.svm import choose_and_validate
from mvgrl.folds import fold_of_each
from mvgrl.methods.base import Outcome

Scores = dict[str, float]


@dataclass(frozen=True)
class Evaluation:
    """What is scored, for which seeds, and how."""

    dataset: Dataset
    outcomes: Sequence[Outcome]  # one per seed
    seeds: Sequence[int]
    device: torch.device
    weight_decay: float = 0.0  # of the linear probe
    share: float | None = None  # of the labels used for training, for protocols that take one
    splits: int = 1  # random splits per outcome, for protocols that draw them: seed r uses split r % splits

    @property
    def predicted(self) -> bool:
        """Whether the method predicts classes itself, so that no classifier is trained on its vectors."""
        return all(outcome.predictions is not None for outcome in self.outcomes)

    def predictions(self) -> Iterable[tuple[int, np.ndarray]]:
        """Yield each seed with its predictions."""
        for seed, outcome in zip(self.seeds, self.outcomes, strict=True):
            assert outcome.predictions is not None
            yield seed, outcome.predictions

    def vectors(self) -> Iterable[tuple[int, Tensor]]:
        """Yield each seed with its vectors, on the device."""
        for seed, outcome in zip(self.seeds, self.outcomes, strict=True):
            yield seed, torch.from_numpy(outcome.points()).to(self.device)

    def split_vectors(self) -> tuple[Tensor, np.ndarray, tuple[np.ndarray, ...]]:
        """Return vectors of the nodes in the split, seeds × nodes × columns; their classes; and train, val, test.

        The number of components may differ between seeds; columns of zeros make up for it.
        """
        nodes, parts = _split(self.dataset)
        kept = [torch.from_numpy(outcome.points()[nodes]) for outcome in self.outcomes]
        widest = max(one.shape[1] for one in kept)
        padded = torch.stack([pad(one, (0, widest - one.shape[1])) for one in kept])
        return padded.to(self.device), self.dataset.target[nodes], parts


@dataclass(frozen=True)
class Protocol:
    """A way to score the outcome of a method."""

    task: str  # "node" or "graph"
    scores: tuple[str, ...]  # names, as in SCORES
    measure: Callable[[Evaluation], list[Scores]]  # may return more scores than these
    stacks: bool = False  # many seeds are scored together faster than one by one


def measure(protocols: Iterable[str], evaluation: Evaluation) -> list[Scores]:
    """Return the scores of some protocols for each seed.

    Protocols for the other task are skipped.
    """
    task = evaluation.dataset.task
    functions = dict.fromkeys(PROTOCOLS[name].measure for name in protocols if PROTOCOLS[name].task == task)
    found = [function(evaluation) for function in functions]
    return [{name: value for part in scores for name, value in part.items()} for scores in zip(*found, strict=True)]


def _linear_probe(evaluation: Evaluation) -> list[Scores]:
    """Train the linear probes of all seeds together; predictions are scored directly."""
    nodes, (train, val, test) = _split(evaluation.dataset)
    truth, scored = evaluation.dataset.target[nodes], np.concatenate([val, test])
    if evaluation.predicted:
        guesses = np.stack([classes[nodes][scored] for _, classes in evaluation.predictions()])
    else:
        codes, seeds = evaluation.split_vectors()[0], list(evaluation.seeds)
        guesses = linear_predictions(codes, truth, train, scored, weight_decay=evaluation.weight_decay, seed=seeds)
    hits = 100.0 * (guesses == truth[scored])
    return [{"accuracy": float(one[len(val) :].mean()), "validation": float(one[: len(val)].mean())} for one in hits]


def _converged_probe(evaluation: Evaluation) -> list[Scores]:
    if evaluation.predicted:
        return [{"logistic": scores["accuracy"]} for scores in _linear_probe(evaluation)]
    different = {id(outcome): outcome for outcome in evaluation.outcomes}  # a method without seeds has a single one
    codes, truth, (train, val, test) = replace(evaluation, outcomes=[*different.values()]).split_vectors()
    scores = dict(zip(different, 100.0 * logistic_probe(codes, truth, train, test, val=val), strict=True))
    return [{"logistic": float(scores[id(outcome)])} for outcome in evaluation.outcomes]


def _clustering(evaluation: Evaluation) -> list[Scores]:
    found = []
    for seed, codes in evaluation.vectors():
        scores = clustering_scores(codes, evaluation.dataset.target, runs=1, seed=seed)
        found.append({name: float(values[0]) for name, values in scores.items()})
    return found


def _svm(evaluation: Evaluation) -> list[Scores]:
    """Return the scores for both ways to choose C, from one cross-validation; predictions are scored directly.

    Where a method offers several outcomes, one of them is chosen together with C.
    """
    truth, device = evaluation.dataset.target, evaluation.device
    if evaluation.predicted:
        return [_in_folds(classes, truth, seed) for seed, classes in evaluation.predictions()]
    found = []
    for seed, outcome in zip(evaluation.seeds, evaluation.outcomes, strict=True):
        alternatives = (torch.from_numpy(one.points()).to(device) for one in outcome.choices or (outcome,))
        scores = choose_and_validate(alternatives, truth, seed=seed, device=device)
        found.append({"nested": float(scores.nested_accuracy[0]), "best_c": float(scores.best_c_accuracy[0])})
    return found


def _in_folds(predictions: np.ndarray, truth: np.ndarray, seed: int) -> Scores:
    """Return the mean accuracy over the folds of a seed; nothing is chosen on them, so it is the nested accuracy."""
    fold = fold_of_each(truth, seed)
    hits = np.bincount(fold, predictions == truth) / np.bincount(fold)
    return {"nested": 100.0 * float(hits.mean())}


def _probe_with_share(evaluation: Evaluation) -> list[Scores]:
    dataset, share = evaluation.dataset, evaluation.share
    assert dataset.splits is not None
    assert share is not None
    return [
        {"accuracy": node_accuracy(codes, dataset.target, dataset.splits["test"], share, seed=seed)}
        for seed, codes in evaluation.vectors()
    ]


def _random_10(evaluation: Evaluation) -> list[Scores]:
    return _on_random_splits(evaluation, _nodes_used_for_tuning(evaluation.dataset))


def _every_10(evaluation: Evaluation) -> list[Scores]:
    """Score all test nodes, of a graph that nothing was tuned on."""
    return _on_random_splits(evaluation, ())


def _random_20(evaluation: Evaluation) -> list[Scores]:
    if evaluation.predicted:  # supervised methods need validation nodes
        return [{} for _ in evaluation.seeds]
    return _over_splits(evaluation, "random_20", random_20_accuracy, _nodes_used_for_tuning(evaluation.dataset))


def _nodes_used_for_tuning(dataset: Dataset) -> np.ndarray:
    """Return the nodes whose labels were used to choose the default settings."""
    if dataset.splits is None:
        return tuning_nodes(len(dataset.target))
    return np.setdiff1d(np.arange(len(dataset.target)), dataset.splits["test"])


def _on_random_splits(evaluation: Evaluation, exclude: ArrayLike) -> list[Scores]:
    """Score vectors or predictions on splits 10/10/80, except on the nodes to exclude."""
    if not evaluation.predicted:
        return _over_splits(evaluation, "random_10", random_10_accuracy, exclude)
    found, truth = [], evaluation.dataset.target
    for seed, classes in evaluation.predictions():
        number = seed % evaluation.splits
        nodes = random_splits(evaluation.dataset.labels, count=number + 1)[number]["test"]
        nodes = np.setdiff1d(nodes, np.asarray(exclude, dtype=np.int64))
        found.append({"random_10": 100.0 * float((classes[nodes] == truth[nodes]).mean())})
    return found


def _over_splits(
    evaluation: Evaluation, name: str, accuracy: Callable[..., np.ndarray], exclude: ArrayLike
) -> list[Scores]:
    """Score each distinct outcome on the splits of its seeds, all splits together."""
    numbers = [seed % evaluation.splits for seed in evaluation.seeds]
    wanted: dict[int, dict[int, float]] = {}  # by outcome and number of the split
    for outcome, number in zip(evaluation.outcomes, numbers, strict=True):
        wanted.setdefault(id(outcome), {})[number] = 0.0
    for outcome in {id(one): one for one in evaluation.outcomes}.values():
        found = wanted[id(outcome)]
        codes = torch.from_numpy(outcome.points()).to(evaluation.device)
        scores = accuracy(codes, evaluation.dataset.labels, list(found), exclude)
        found.update(zip(found, scores.tolist(), strict=True))
    return [{name: wanted[id(one)][number]} for one, number in zip(evaluation.outcomes, numbers, strict=True)]


def _svm_with_share(evaluation: Evaluation) -> list[Scores]:
    share = evaluation.share
    assert share is not None
    return [
        {"nested": graph_accuracy(codes, evaluation.dataset.target, share, seed=seed)}
        for seed, codes in evaluation.vectors()
    ]


def _split(dataset: Dataset) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return the nodes of the split, and the positions of train, val and test among them."""
    assert dataset.splits is not None
    parts = [dataset.splits[part] for part in ("train", "val", "test")]
    ends = np.cumsum([len(part) for part in parts])
    return np.concatenate(parts), tuple(np.split(np.arange(ends[-1]), ends[:-1]))


PROTOCOLS = {
    "linear-probe": Protocol("node", ("accuracy",), _linear_probe, stacks=True),
    "converged-probe": Protocol("node", ("logistic",), _converged_probe, stacks=True),
    "random-10-10-80": Protocol("node", ("random_10",), _random_10, stacks=True),
    "every-10-10-80": Protocol("node", ("random_10",), _every_10, stacks=True),
    "random-20-80": Protocol("node", ("random_20",), _random_20, stacks=True),
    "clustering": Protocol("node", ("nmi", "ari"), _clustering, stacks=True),
    "nested-svm": Protocol("graph", ("nested",), _svm),
    "best-c-svm": Protocol("graph", ("best_c",), _svm),
    "linear-probe-with-share": Protocol("node", ("accuracy",), _probe_with_share),
    "nested-svm-with-share": Protocol("graph", ("nested",), _svm_with_share),
}
