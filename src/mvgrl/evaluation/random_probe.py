"""The converged probe over random splits, for datasets without a published one: 10/10/80 and 20/80.

The splits are stratified, so all have the same number of nodes per class in each part. With the nodes of a part sorted
by class, the regressions of many splits are one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from mvgrl.evaluation import newton
from mvgrl.evaluation.checks import is_known
from mvgrl.evaluation.logistic import STRENGTHS, principal_axes, solve_with_sklearn
from mvgrl.evaluation.splits import PARTS, random_splits
from mvgrl.evaluation.threads import one_thread

FOLDS = 5
# Of the gradient. Enough for predictions: on splits of Amazon Photo, 1e-12 gives the same accuracies.
TOLERANCE = 1e-8
_GROUP_BYTES = {"cpu": 0, "cuda": 2**30}  # for the points of the splits that are solved together


def tuning_nodes(nodes: int) -> np.ndarray:
    """Return the fifth of a graph's nodes whose labels were used to choose the default settings.

    They are never scored: the choice has seen their labels, so their accuracy would be too high. They may be train or
    val nodes, whose labels every method sees. On a graph with a public split, all but its test nodes were used.

    >>> len(tuning_nodes(100)), tuning_nodes(100)[:3].tolist() == tuning_nodes(100)[:3].tolist()
    (20, True)
    """
    return np.random.default_rng(12345).permutation(nodes)[: nodes // 5]


def random_10_accuracy(
    codes: Tensor, labels: np.ndarray, numbers: Sequence[int], exclude: ArrayLike = ()
) -> np.ndarray:
    """Compute the test accuracy, in percent, on each numbered split into 10 % train, 10 % val and 80 % test nodes.

    The strength is chosen on the val nodes. Test nodes in ``exclude`` are not scored. Nodes with an unknown label (NaN)
    are in no split.

    >>> codes, labels = torch.tensor([[-1.0], [1.0]] * 50), np.array([0, 1] * 50)
    >>> random_10_accuracy(codes, labels, [0, 7]).tolist()
    [100.0, 100.0]
    """
    scored, known = _scored_nodes(len(labels), exclude), is_known(labels)
    if not known.all():
        codes, labels, scored = codes[torch.from_numpy(known).to(codes.device)], labels[known], scored[known]
    truth, found = np.unique(labels, return_inverse=True)[1], []
    for stack, orders, (trained, validated) in _stacks(codes, truth, numbers, 0.1, 0.1):
        classes = truth[orders[0]]
        points, others = principal_axes(stack, np.arange(trained), np.arange(trained, len(truth)), stack.device)
        weights = _solved(points, classes[:trained], STRENGTHS)
        hits = _hits(weights, others[:, :validated], classes[trained : trained + validated])
        best = torch.from_numpy(hits.argmax(1)).to(weights.device)  # the first, so the smallest C, of the best
        chosen = weights[torch.arange(len(best), device=best.device), best][:, None]
        found.append(_scores(chosen, others[:, validated:], truth, orders[:, trained + validated :], scored))
    return np.concatenate(found)


def random_20_accuracy(
    codes: Tensor, labels: np.ndarray, numbers: Sequence[int], exclude: ArrayLike = ()
) -> np.ndarray:
    """Compute the test accuracy, in percent, on each numbered split into 20 % train and 80 % test nodes.

    The strength is chosen by five folds of the train nodes. Test nodes in ``exclude`` are not scored.

    >>> codes, labels = torch.tensor([[-1.0], [1.0]] * 50), np.array([0, 1] * 50)
    >>> random_20_accuracy(codes, labels, [0, 7]).tolist()
    [100.0, 100.0]
    """
    truth, found, scored = np.unique(labels, return_inverse=True)[1], [], _scored_nodes(len(labels), exclude)
    for stack, orders, (trained, _) in _stacks(codes, truth, numbers, 0.2, 0.0):
        classes = truth[orders[0]][:trained]
        points, others = principal_axes(stack, np.arange(trained), np.arange(trained, len(truth)), stack.device)
        fold = _folds(classes)
        hits = np.zeros((len(orders), len(STRENGTHS)))
        for number in range(FOLDS):
            held, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            if len(held):
                weights = _solved(points[:, rest], classes[rest], STRENGTHS)
                hits += _hits(weights, points[:, held], classes[held])
        best, scores = hits.argmax(1), np.empty(len(orders))
        for place in np.unique(best):
            mine = np.flatnonzero(best == place)
            chosen = _solved(points[mine], classes, STRENGTHS[place : place + 1])
            scores[mine] = _scores(chosen, others[mine], truth, orders[mine, trained:], scored)
        found.append(scores)
    return np.concatenate(found)


def _stacks(
    codes: Tensor, truth: np.ndarray, numbers: Sequence[int], train_fraction: float, val_fraction: float
) -> Iterator[tuple[Tensor, np.ndarray, tuple[int, int]]]:
    """Yield groups of splits: vectors of the nodes of each split; these nodes; the numbers of train and val nodes.

    Each split lists its train nodes, then val, then test, sorted by class, and at random within a class.
    """
    splits = random_splits(truth, train_fraction=train_fraction, val_fraction=val_fraction, count=max(numbers) + 1)
    limit = _GROUP_BYTES["cpu" if codes.device.type == "cpu" else "cuda"]
    size = max(1, limit // (8 * codes.numel()))
    for start in range(0, len(numbers), size):
        orders = []
        for number in numbers[start : start + size]:
            rng = np.random.default_rng([number, 1])
            nodes = [rng.permutation(splits[number][part]) for part in PARTS]
            orders.append(np.concatenate([part[np.argsort(truth[part], kind="stable")] for part in nodes]))
        counts = len(splits[0]["train"]), len(splits[0]["val"])
        every = np.stack(orders)
        yield codes[torch.from_numpy(every).to(codes.device)], every, counts


def _scored_nodes(count: int, exclude: ArrayLike) -> np.ndarray:
    """Return a mask of the nodes that are scored."""
    mask = np.ones(count, dtype=bool)
    mask[np.asarray(exclude, dtype=np.int64)] = False
    return mask


def _folds(classes: np.ndarray) -> np.ndarray:
    """Assign sorted classes to folds, each class evenly; a class with one member is in no fold, so always trained on.

    >>> _folds(np.array([0, 0, 0, 0, 0, 0, 1, 2, 2])).tolist()
    [0, 1, 2, 3, 4, 0, -1, 0, 1]
    """
    _, starts, place, counts = np.unique(classes, return_index=True, return_inverse=True, return_counts=True)
    return np.where(counts[place] > 1, (np.arange(len(classes)) - starts[place]) % FOLDS, -1)


def _solved(points: Tensor, classes: np.ndarray, strengths: Sequence[float]) -> Tensor:
    """Return the weights for each strength, splits × strengths × classes × coordinates."""
    device, count = points.device, int(classes.max()) + 1
    grid, truth = torch.tensor(strengths, dtype=torch.float64, device=device), torch.from_numpy(classes).to(device)
    with one_thread():
        solve = solve_with_sklearn if device.type == "cpu" else newton.solve
        return solve(points, truth, count, grid, tolerance=TOLERANCE)


def _hits(weights: Tensor, points: Tensor, wanted: np.ndarray) -> np.ndarray:
    """Return how many predictions are right, splits × strengths."""
    right = newton.batched_product(weights, points).argmax(2) == torch.from_numpy(wanted).to(points.device)
    return right.sum(-1).cpu().numpy()


def _scores(weights: Tensor, points: Tensor, truth: np.ndarray, nodes: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """Return the accuracy of each split in percent, on scored nodes; nodes is splits × test nodes."""
    right = newton.batched_product(weights, points)[:, 0].argmax(1).cpu().numpy() == truth[nodes]
    counts = scored[nodes]
    found: np.ndarray = 100.0 * (right & counts).sum(1) / counts.sum(1)
    return found
