"""Accuracy with a share of the labels: how useful vectors are when few labels are known."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mvgrl.evaluation.linear_probe import DECAYS, linear_predictions, linear_probe
from mvgrl.evaluation.splits import random_splits
from mvgrl.evaluation.svm import CS, first_best, held_out_predictions, with_ones
from mvgrl.folds import FOLDS, shuffled_folds

INNER_FOLDS = 5


def node_accuracy(codes: Tensor, truth: np.ndarray, test: np.ndarray, share: float, *, seed: int) -> float:
    """Accuracy of the linear probe, in percent, trained on a random share of all nodes, outside the test nodes.

    Each class contributes the same share of its nodes, but at least one; a smaller share draws a subset of a larger
    one. The probe's weight decay is chosen by five folds of the drawn nodes: one that suits trained vectors does not
    suit features.

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
    """Return the weight decay with the best accuracy over five folds of the drawn nodes; 0 if there are too few."""
    hits, every = np.zeros(len(DECAYS)), codes.expand(len(DECAYS), *codes.shape)
    numbers = np.arange(len(truth))
    for held in np.array_split(np.random.default_rng([seed, 0]).permutation(numbers), INNER_FOLDS):
        rest = np.setdiff1d(numbers, held)
        if len(held) and len(np.unique(truth[rest])) > 1:
            found = linear_predictions(every, truth, rest, held, weight_decay=DECAYS, seed=[seed] * len(DECAYS))
            hits += (found == truth[held]).sum(axis=1)
    return DECAYS[int(hits.argmax())]


def graph_accuracy(codes: Tensor, truth: np.ndarray, share: float, *, seed: int) -> float:
    """Accuracy of the linear SVM, in percent, over ten folds, trained on a random share of each training part.

    Each class contributes the same share, but at least two graphs; a smaller share draws a subset of a larger one. C
    is chosen by inner folds of the drawn graphs: as many as the smallest class has members, at most five. With all
    labels this is the nested accuracy of :func:`mvgrl.evaluation.cross_validate`.

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
    """Draw a share of a training part, in its order."""
    chosen = []
    for label in np.unique(truth):
        members = rng.permutation(part[truth[part] == label])
        chosen.append(members[: max(2, round(share * len(members)))])
    return np.sort(np.concatenate(chosen))
