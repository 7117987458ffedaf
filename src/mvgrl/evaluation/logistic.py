"""Logistic regression at its optimum, as strong as the validation nodes like it best.

Beside the linear probe, which stops after so many steps of Adam, this has no step size, no first weights and no seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from mvgrl.errors import SettingsError
from mvgrl.evaluation.checks import check_known, check_scorable, checked_embeddings, checked_labels, node_numbers
from mvgrl.evaluation.svm_solver import side_by_side

# Points are scaled to a mean square of 1: below these C every direction is held to next to nothing, and only the
# class means are read; above them train nodes that can be told apart are told apart almost surely.
STRENGTHS = tuple(10.0**power for power in range(-3, 4))

_TOLERANCE = 1e-12  # of the gradient, against C·n, the most it can be
_MOST_STEPS, _MOST_DIRECTIONS = 200, 500  # Newton's, and the conjugate directions of each
_LENGTHS = (0.25, 0.5, 1.0)  # shares of Newton's step, tried from the shortest
_CHUNK_BYTES = {"cpu": 2**26, "cuda": 2**30}  # for the points of the entries of a stack that are solved at once


class LogisticFit(NamedTuple):
    """What the regression says of the nodes, and the C it was given; ... are the leading dimensions of a stack."""

    predictions: np.ndarray  # ... × nodes, labels
    probabilities: np.ndarray  # ... × nodes × classes
    classes: np.ndarray  # the labels of the train nodes, sorted
    strengths: np.ndarray  # ..., the chosen C


def logistic_probe(
    embeddings: Any,
    labels: Any,
    train: Any,
    test: Any,
    *,
    val: Any = None,
    strengths: Sequence[float] = STRENGTHS,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """Accuracy on the test nodes of the logistic regression of :func:`logistic_fit`, tuned on the val nodes.

    ``embeddings`` is n×d, or a stack ...×n×d whose regressions are all solved at once; the scores have the leading
    dimensions. ``train``, ``test`` and ``val`` are node numbers or masks.

    >>> points = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]])
    >>> float(logistic_probe(points, ["low", "low", "high", "high", "high"], train=[0, 4], test=[1, 3], val=[2]))
    1.0
    """
    codes = checked_embeddings(embeddings)
    names = checked_labels(labels, codes.shape[-2])
    train, test = node_numbers(train, len(names), "train"), node_numbers(test, len(names), "test")
    check_scorable(names, train, test, "test")
    predicted = logistic_predictions(codes, names, train, test, val=val, strengths=strengths, device=device)
    return np.asarray((predicted == names[test]).mean(axis=-1))


def logistic_predictions(
    embeddings: Any,
    labels: Any,
    train: Any,
    nodes: Any,
    *,
    val: Any = None,
    strengths: Sequence[float] = STRENGTHS,
    device: torch.device | str | None = None,
) -> np.ndarray:
    """The labels that the regression of :func:`logistic_fit` gives the nodes, ... × as many as they are.

    >>> points = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]])
    >>> logistic_predictions(points, ["low", "", "high", "", "high"], train=[0, 4], nodes=[1, 3], val=[2]).tolist()
    ['low', 'high']
    """
    return logistic_fit(embeddings, labels, train, nodes, val=val, strengths=strengths, device=device).predictions


def logistic_fit(
    embeddings: Any,
    labels: Any,
    train: Any,
    nodes: Any,
    *,
    val: Any = None,
    strengths: Sequence[float] = STRENGTHS,
    device: torch.device | str | None = None,
) -> LogisticFit:
    """Predictions for the nodes, by the one of the strengths with the best accuracy on the val nodes.

    A strength is the C of scikit-learn's ``LogisticRegression``, the optimum is its optimum: least ½‖w‖² + C·Σ loss,
    the intercept free. So that C means the same whatever the scale of the embeddings, those of each entry of a stack
    are first divided by one number, the root of the mean squared distance of its train nodes from their mean. Among
    equals the smallest C is chosen, for each entry by itself; a single strength needs no val nodes. The labels of the
    val nodes serve that choice alone, those of the nodes to predict are not looked at.

    >>> points = np.array([[-2.0], [-1.0], [0.5], [1.0], [2.0]])
    >>> fit = logistic_fit(points, ["low", "", "high", "", "high"], train=[0, 4], nodes=[1, 3], val=[2])
    >>> float(fit.strengths), fit.classes.tolist()
    (0.001, ['high', 'low'])
    """
    codes = checked_embeddings(embeddings)
    *leading, count, _ = codes.shape
    names = checked_labels(labels, count)
    train, nodes = node_numbers(train, count, "train"), node_numbers(nodes, count, "nodes")
    check_known(names, train, "train")
    grid = _checked_strengths(strengths)
    if val is None and len(grid) > 1:
        raise SettingsError(
            f"there are {len(grid)} strengths to choose from but no val; give val nodes or one strength"
        )
    val = node_numbers(() if val is None else val, count, "val", empty=val is None)
    check_scorable(names, train, val, "val")
    classes, truth = np.unique(names[train], return_inverse=True)
    wanted = np.searchsorted(classes, names[val])
    device = codes.device if device is None else torch.device(device)
    stack, asked = codes.reshape(-1, *codes.shape[-2:]), np.concatenate([val, nodes])
    size = _entries_at_once(len(stack), (len(train) + len(asked)) * stack.shape[-1], device)
    numbers, Cs = torch.from_numpy(truth).to(device), torch.from_numpy(grid).to(device)

    def tuned(first: int) -> tuple[np.ndarray, np.ndarray]:
        points, others = _coordinates(stack[first : first + size], train, asked, device)
        logits = _product(_solve(points, numbers, len(classes), Cs), others).cpu()
        hits = (logits[..., : len(val)].argmax(2).numpy() == wanted).sum(-1)
        best = hits.argmax(1)  # the first, so the smallest C, of the best
        return best, logits[torch.arange(len(best)), torch.from_numpy(best), :, len(val) :].softmax(1).mT.numpy()

    with side_by_side(device) as each:
        parts = each(tuned, range(0, len(stack), size))
    best, probabilities = (np.concatenate(column) for column in zip(*parts, strict=True))
    probabilities = probabilities.reshape(*leading, len(nodes), len(classes))
    predictions = classes[probabilities.argmax(-1)]
    return LogisticFit(predictions, probabilities, classes, grid[best].reshape(leading))


def _checked_strengths(strengths: Sequence[float]) -> np.ndarray:
    """In rising order."""
    try:
        grid = np.asarray(strengths, dtype=np.float64)
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or not len(grid) or not (np.isfinite(grid) & (grid > 0)).all():
        raise SettingsError(f"strengths is {strengths}; give a list of at least one C, each positive and finite")
    return np.sort(grid)


def _entries_at_once(entries: int, numbers: int, device: torch.device) -> int:
    """How many entries of a stack, each of so many numbers, are solved as one; on a CPU every thread gets some."""
    if device.type == "cpu":
        return max(1, min(_CHUNK_BYTES["cpu"] // (8 * numbers), -(-entries // torch.get_num_threads())))
    return max(1, _CHUNK_BYTES["cuda"] // (8 * numbers))


def _coordinates(codes: Tensor, train: np.ndarray, asked: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
    """The train and the asked nodes in coordinates that suit the solver, entries × nodes × coordinates.

    The optimum is a combination of the train nodes, so their principal axes serve as well as the columns, and there
    are no more of them than train nodes; along them the systems to be solved are nearly diagonal. The last coordinate
    is 1: its weight is the intercept.
    """
    trained, others = (
        codes[:, torch.from_numpy(part).to(codes.device)].to(device, torch.float64) for part in (train, asked)
    )
    middle = trained.mean(1, keepdim=True)
    trained, others = trained - middle, others - middle
    spread = trained.square().sum(2).mean(1)[:, None, None].sqrt()
    scale = torch.where(spread > 0, 1 / spread, 0.0)  # 0 where the train nodes are all the same
    axes = torch.linalg.svd(trained, full_matrices=False).Vh.mT
    return _with_ones(scale * trained @ axes), _with_ones(scale * others @ axes)


def _with_ones(points: Tensor) -> Tensor:
    return torch.cat([points, torch.ones_like(points[..., :1])], dim=-1)


def _product(left: Tensor, points: Tensor) -> Tensor:
    """Each row times each point, entries × strengths × classes × points; with weights for rows, the logits."""
    return torch.bmm(left.flatten(1, 2), points.mT).unflatten(1, left.shape[1:3])


def _solve(points: Tensor, truth: Tensor, classes: int, grid: Tensor) -> Tensor:
    """The optimum for each entry and strength by Newton's method, entries × strengths × classes × coordinates.

    Finished problems stay as they are: their step is 0.
    """
    entries, count, width = points.shape
    # Two classes have one set of weights at scikit-learn, here w/2 and −w/2 with half its square.
    strengths = (grid / 2 if classes == 2 else grid)[None, :, None, None]
    held = points.new_ones(width)
    held[-1] = 0.0  # the intercept is free
    target = torch.nn.functional.one_hot(truth, classes).T.to(points)
    squares = points.square()
    weights = points.new_zeros(entries, len(grid), classes, width)
    left = torch.arange(len(grid), device=points.device)  # the strengths at which some entry is not there yet
    for _ in range(_MOST_STEPS):
        here, strength = weights[:, left], strengths[:, left]
        shares = _product(here, points).softmax(2)
        gradient = strength * _product(shares - target, points.mT) + held * here
        gradient = gradient - gradient.mean(2, keepdim=True)  # the classes' sum is 0, but for rounding
        size = _norm(gradient) / (strength * count)
        live = size > _TOLERANCE
        if not live.any():
            return weights
        # The same for all classes, for their sum to stay 0: the free intercepts have no optimum but up to that.
        diagonal = strength * _product(shares * (1 - shares), squares.mT).mean(2, keepdim=True) + held
        curved = partial(_curved, points=points, shares=shares, strength=strength, held=held)
        # The nearer the optimum, the closer to Newton's step it pays to come.
        step = _conjugate(curved, -gradient, diagonal, live, size.sqrt().clamp(max=0.1))
        weights[:, left] = here + _length(here, step, points, target, strength, held) * step
        left = left[live.any(0).flatten()]
    warnings.warn(
        f"{int(live.sum())} of {entries * len(grid)} logistic regressions have not converged in {_MOST_STEPS} steps; "
        "use a smaller C",
        ConvergenceWarning,
        stacklevel=2,
    )
    return weights


def _length(here: Tensor, step: Tensor, points: Tensor, target: Tensor, strength: Tensor, held: Tensor) -> Tensor:
    """How far to go along each step for the objective to fall.

    Where no point's logits change by more than r against each other, the third derivative of the objective along the
    step is at most r times the second (Bach, 2010), so that it falls up to log(1 + r)/r of Newton's step at least.
    A longer way is as safe if it still leads down at its end, for the objective is convex.
    """
    logits, change = _product(here, points), _product(step, points)
    most = (change.amax(2) - change.amin(2)).amax(2)[..., None, None]
    length = torch.log1p(most) / most.clamp(min=1e-300)
    for longer in _LENGTHS:
        slope = strength * _dot((logits + longer * change).softmax(2) - target, change)
        slope = slope + _dot(held * (here + longer * step), step)
        length = torch.where(slope <= 0, length.clamp(min=longer), length)
    return length


def _curved(step: Tensor, *, points: Tensor, shares: Tensor, strength: Tensor, held: Tensor) -> Tensor:
    """The second derivative of the objective times a step."""
    change = shares * _product(step, points)
    change = change - shares * change.sum(2, keepdim=True)
    return strength * _product(change, points.mT) + held * step


def _conjugate(
    curved: Callable[[Tensor], Tensor], right: Tensor, diagonal: Tensor, live: Tensor, tolerance: Tensor
) -> Tensor:
    """Conjugate gradients for curved(step) = right, each problem until its residual is a share of what it was."""
    step, residual, direction = torch.zeros_like(right), right, right / diagonal
    enough, power = tolerance * _norm(right), _dot(right, direction)
    for _ in range(_MOST_DIRECTIONS):
        bent = curved(direction)
        length = torch.where(live, power / _dot(direction, bent), 0.0)
        step, residual = step + length * direction, residual - length * bent
        live = live & (_norm(residual) > enough)
        if not live.any():
            break
        eased = residual / diagonal
        before, power = power, _dot(residual, eased)
        direction = torch.where(live, eased + power / before * direction, 0.0)
    return step


def _dot(left: Tensor, right: Tensor) -> Tensor:
    """Of each problem, entries × strengths × 1 × 1."""
    return (left * right).sum((2, 3), keepdim=True)


def _norm(values: Tensor) -> Tensor:
    return values.square().sum((2, 3), keepdim=True).sqrt()
