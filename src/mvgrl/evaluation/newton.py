"""Many logistic regressions solved together with Newton's method, for GPUs.

One regression with a few hundred train nodes leaves a GPU mostly idle; here all seeds and all values of C advance in
the same batched products. On the CPU, :mod:`mvgrl.evaluation.logistic` uses scikit-learn instead, which is not much
slower there: ``benchmarks/probes.py`` compares them on both devices.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

TOLERANCE = 1e-12  # of the gradient's norm, relative to C·n, its upper bound
_MAX_STEPS, _MAX_CG_STEPS = 200, 500  # Newton steps, and conjugate-gradient steps within each
_STEP_LENGTHS = (0.25, 0.5, 1.0)  # fractions of the Newton step, tried from the shortest


def batched_product(left: Tensor, points: Tensor) -> Tensor:
    """Every row times every point, entries × strengths × classes × points; if the rows are weights, the logits."""
    return torch.bmm(left.flatten(1, 2), points.mT).unflatten(1, left.shape[1:3])


def solve(points: Tensor, truth: Tensor, classes: int, grid: Tensor, *, tolerance: float = TOLERANCE) -> Tensor:
    """Compute the optimum for each entry and each C, entries × strengths × classes × coordinates.

    ``points`` is entries × train nodes × coordinates, the last coordinate being 1: its weight is the intercept, which
    is not regularised. ``truth`` has a class number per train node, ``grid`` the values of C. A problem that has
    converged takes steps of length 0 until all have.

    >>> points = torch.tensor([[[-1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    >>> weights = solve(points, torch.tensor([0, 1]), 2, torch.tensor([1.0, 100.0], dtype=torch.float64))
    >>> batched_product(weights, points).softmax(2)[0, :, 0, 0]  # the first point's probability of the first class
    tensor([0.6626, 0.9804], dtype=torch.float64)
    """
    entries, count, width = points.shape
    # For two classes scikit-learn has one weight vector w; here it is (−w/2, w/2), with half its squared norm.
    strengths = (grid / 2 if classes == 2 else grid)[None, :, None, None]
    penalised = points.new_ones(width)
    penalised[-1] = 0.0
    target = torch.nn.functional.one_hot(truth, classes).T.to(points)
    squares = points.square()
    weights = points.new_zeros(entries, len(grid), classes, width)
    active = torch.arange(len(grid), device=points.device)  # the strengths at which some entry has not converged
    for _ in range(_MAX_STEPS):
        current, strength = weights[:, active], strengths[:, active]
        probabilities = batched_product(current, points).softmax(2)
        gradient = strength * batched_product(probabilities - target, points.mT) + penalised * current
        gradient = gradient - gradient.mean(2, keepdim=True)  # sums to 0 over the classes, up to rounding
        size = _norm(gradient) / (strength * count)
        unfinished = size > tolerance
        if not unfinished.any():
            return weights
        # Equal for all classes, to keep their sum at 0: the intercepts are determined only up to a common constant.
        variances = probabilities * (1 - probabilities)
        diagonal = strength * batched_product(variances, squares.mT).mean(2, keepdim=True) + penalised
        hessian = partial(
            _hessian_product, points=points, probabilities=probabilities, strength=strength, penalised=penalised
        )
        # The closer to the optimum, the more it pays to solve for the Newton step accurately.
        step = _conjugate_gradients(hessian, -gradient, diagonal, unfinished, size.sqrt().clamp(max=0.1))
        weights[:, active] = current + _step_length(current, step, points, target, strength, penalised) * step
        active = active[unfinished.any(0).flatten()]
    warnings.warn(
        f"{int(unfinished.sum())} of {entries * len(grid)} logistic regressions did not converge in {_MAX_STEPS} "
        "steps; use a smaller C",
        ConvergenceWarning,
        stacklevel=2,
    )
    return weights


def _step_length(
    current: Tensor, step: Tensor, points: Tensor, target: Tensor, strength: Tensor, penalised: Tensor
) -> Tensor:
    """Choose a length for each step at which the objective decreases.

    If no point's logits change by more than r relative to each other, the third derivative of the objective along the
    step is at most r times the second (Bach, 2010), so the objective decreases up to at least log(1 + r)/r of the
    Newton step. A longer step is safe if the slope at its end is still negative, because the objective is convex.
    """
    logits, change = batched_product(current, points), batched_product(step, points)
    largest = (change.amax(2) - change.amin(2)).amax(2)[..., None, None]
    length = torch.log1p(largest) / largest.clamp(min=1e-300)
    for longer in _STEP_LENGTHS:
        slope = strength * _dot((logits + longer * change).softmax(2) - target, change)
        slope = slope + _dot(penalised * (current + longer * step), step)
        length = torch.where(slope <= 0, length.clamp(min=longer), length)
    return length


def _hessian_product(
    step: Tensor, *, points: Tensor, probabilities: Tensor, strength: Tensor, penalised: Tensor
) -> Tensor:
    """Multiply the Hessian of the objective by a step."""
    change = probabilities * batched_product(step, points)
    change = change - probabilities * change.sum(2, keepdim=True)
    return strength * batched_product(change, points.mT) + penalised * step


def _conjugate_gradients(
    product: Callable[[Tensor], Tensor], right: Tensor, diagonal: Tensor, active: Tensor, tolerance: Tensor
) -> Tensor:
    """Solve product(step) = right, each problem until its residual is ``tolerance`` times the initial one."""
    step, residual, direction = torch.zeros_like(right), right, right / diagonal
    threshold, power = tolerance * _norm(right), _dot(right, direction)
    for _ in range(_MAX_CG_STEPS):
        image = product(direction)
        length = torch.where(active, power / _dot(direction, image), 0.0)
        step, residual = step + length * direction, residual - length * image
        active = active & (_norm(residual) > threshold)
        if not active.any():
            break
        preconditioned = residual / diagonal
        previous, power = power, _dot(residual, preconditioned)
        direction = torch.where(active, preconditioned + power / previous * direction, 0.0)
    return step


def _dot(left: Tensor, right: Tensor) -> Tensor:
    """Inner product per problem, entries × strengths × 1 × 1."""
    return (left * right).sum((2, 3), keepdim=True)


def _norm(values: Tensor) -> Tensor:
    return values.square().sum((2, 3), keepdim=True).sqrt()
