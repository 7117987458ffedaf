"""The sweep of labels: how far vectors go with few of them, beside propagated features, which know none either."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mvgrl.datasets import Dataset
from mvgrl.evaluation import linear_predictions, linear_probe, propagated, random_splits
from mvgrl.evaluation.linear_probe import DECAYS
from mvgrl.evaluation.svm import CS, first_best, held_out_predictions, shuffled_folds, with_ones
from mvgrl.experiments.ablations import CONTROL
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.runs import Missing, Outcome, RunContext
from mvgrl.runtime import allow_tf32
from mvgrl.training import fit

FOLDS, INNER_FOLDS = 10, 5

Vectors = Callable[[], tuple[Tensor, int]]  # and the epochs they took


def run(dataset: Dataset, recipe: Recipe, missing: Missing, bench: RunContext) -> None:
    """Vectors once a seed, and from them all rows that lack it; the first of these bears the time of the training."""
    control = _once(partial(_propagated, dataset, recipe, bench))  # the same for every seed
    for seed in sorted({seed for seeds in missing.values() for seed in seeds}):
        trained = _once(partial(_trained, dataset, recipe, seed, bench))
        for row, seeds in missing.items():
            if seed in seeds:
                vectors = control if row.endswith(CONTROL) else trained
                bench.attempt(recipe, row, [seed], partial(_scored, dataset, recipe, row, seed, vectors))


def node_accuracy(codes: Tensor, truth: np.ndarray, test: np.ndarray, share: float, *, seed: int) -> float:
    """The linear probe's, in percent, from a share of all nodes that the seed draws outside the test nodes.

    Every class gives as much of its nodes there as the others, but at least one; fewer labels are some of the more.
    The probe's decay is chosen by five folds of what was drawn: one that suits vectors does not suit features.

    >>> codes, truth = torch.tensor([[-1.0], [1.0]] * 5), np.array([0, 1] * 5)
    >>> node_accuracy(codes, truth, np.array([0, 1]), 0.2, seed=0)
    100.0
    """
    pool = np.setdiff1d(np.arange(len(truth)), test)
    drawn = random_splits(
        truth[pool], train_fraction=share * len(truth) / len(pool), val_fraction=0, count=1, seed=seed
    )
    train = pool[drawn[0]["train"]]
    decay = _decay(codes[torch.from_numpy(train).to(codes.device)], truth[train], seed)
    return 100 * float(linear_probe(codes, truth, train, test, weight_decay=decay, seed=seed))


def _decay(codes: Tensor, truth: np.ndarray, seed: int) -> float:
    """Of the nodes drawn, the decay that is best for a fifth of them at a time; 0 where these are too few."""
    hits, every = np.zeros(len(DECAYS)), codes.expand(len(DECAYS), *codes.shape)
    numbers = np.arange(len(truth))
    for held in np.array_split(np.random.default_rng([seed, 0]).permutation(numbers), INNER_FOLDS):
        rest = np.setdiff1d(numbers, held)
        if len(held) and len(np.unique(truth[rest])) > 1:
            found = linear_predictions(every, truth, rest, held, weight_decay=DECAYS, seed=[seed] * len(DECAYS))
            hits += (found == truth[held]).sum(axis=1)
    return DECAYS[int(hits.argmax())]


def graph_accuracy(codes: Tensor, truth: np.ndarray, share: float, *, seed: int) -> float:
    """The linear SVM's, in percent, over ten folds, from a share of each training part that the seed draws.

    Every class gives the same share, but at least two graphs; fewer labels are some of the more. C is chosen by as
    many inner folds of what was drawn as its smallest class has graphs, at most five; with all labels this is the
    nested accuracy of :func:`mvgrl.evaluation.cross_validate`.

    >>> codes, truth = torch.tensor([[-1.0], [1.0]] * 20), np.array([0, 1] * 20)
    >>> graph_accuracy(codes, truth, 0.1, seed=0)
    100.0
    """
    outer, inner, ends = [], [], [0]
    for number, (train, held) in enumerate(shuffled_folds(FOLDS, seed, 0).split(truth, truth)):
        drawn = _drawn(train, truth, share, np.random.default_rng([seed, number]))
        within = shuffled_folds(min(INNER_FOLDS, int(np.bincount(truth[drawn]).min())), seed, 0)
        outer.append((drawn, held))
        inner += [(drawn[a], drawn[b]) for a, b in within.split(drawn, truth[drawn])]
        ends.append(len(inner))
    parts = outer + inner
    guesses = held_out_predictions(with_ones(codes, codes.device), truth, int(truth.max()) + 1, parts, np.array(CS))
    hits = [(guess == truth[held]).mean(axis=1) for (_, held), guess in zip(parts, guesses, strict=True)]
    found = [
        hits[fold][first_best(np.mean(hits[FOLDS + ends[fold] : FOLDS + ends[fold + 1]], axis=0))]
        for fold in range(FOLDS)
    ]
    return 100 * float(np.mean(found))


def _drawn(part: np.ndarray, truth: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Some of a training part, in its order."""
    chosen = []
    for label in np.unique(truth):
        members = rng.permutation(part[truth[part] == label])
        chosen.append(members[: max(2, round(share * len(members)))])
    return np.sort(np.concatenate(chosen))


def _scored(dataset: Dataset, recipe: Recipe, row: str, seed: int, vectors: Vectors) -> Outcome:
    codes, epochs = vectors()
    share = float(row.partition(" %")[0]) / 100
    if recipe.settings.task == "graph":
        score = {"nested": graph_accuracy(codes, dataset.target, share, seed=seed)}
    else:
        assert dataset.splits is not None
        score = {"accuracy": node_accuracy(codes, dataset.target, dataset.splits["test"], share, seed=seed)}
    return {table: [score] for table in recipe.tables}, [epochs]


def _trained(dataset: Dataset, recipe: Recipe, seed: int, bench: RunContext) -> tuple[Tensor, int]:
    with allow_tf32():
        run = fit(dataset.graph, recipe.settings, seed=seed, device=bench.device, cache=bench.cache)
    nodes, graphs = run.represent()
    codes = torch.from_numpy(graphs if recipe.settings.task == "graph" else nodes)
    return codes.to(bench.device), len(run.history.losses)


def _propagated(dataset: Dataset, recipe: Recipe, bench: RunContext) -> tuple[Tensor, int]:
    codes = propagated(dataset.graph, recipe.settings, device=str(bench.device), cache=bench.cache)
    return torch.from_numpy(codes).to(bench.device), 0


def _once(make: Vectors) -> Vectors:
    """Make them when they are first asked for, and never again: not even where that failed."""
    kept: list[tuple[Tensor, int] | Exception] = []

    def vectors() -> tuple[Tensor, int]:
        if not kept:
            try:
                kept.append(make())
            except Exception as error:
                kept.append(error.with_traceback(None))  # which would keep alive what the training held
        if isinstance(kept[0], Exception):
            raise kept[0]
        return kept[0]

    return vectors
