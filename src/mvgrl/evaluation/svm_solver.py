"""Many linear support vector machines solved as one batch, with a finite Newton method on active sets.

A problem is min_w ½‖w‖² + C Σ max(0, 1 − y_i w·x_i)²: a quadratic as long as the active set, the points inside the
margin, stays the same. The Newton step goes to the minimum of the current quadratic, an exact line search makes the
objective decrease, and a step that does not change the active set ends exactly at the optimum (Keerthi and DeCoste,
2005). All problems share the points; they differ in which points are used, and in their signs.

``benchmarks/svm.py`` compares it with GridSearchCV over LinearSVC: ten times as fast and more
(``results/benchmarks/svm.json``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from mvgrl.evaluation.threads import parallel_map

_CHUNK_BYTES = {"cpu": 2**24, "cuda": 2**30}  # for one matrix per problem; on a CPU a chunk should fit in the cache
_LARGEST_GRAM = 10_000  # the largest number of points whose Gram matrix is stored
# Condition numbers above which a solution in terms of the points is refined once, or not used.
_REFINED, _TRUSTED = 1e8, 1e12


class Points:
    """The rows x_i that all problems share, in as few coordinates as they span, with their inner products."""

    def __init__(self, rows: Tensor) -> None:
        count, width = rows.shape
        # The optimum is a linear combination of the rows: an orthonormal basis of their span can replace the columns.
        self.basis: Tensor | None = None
        if count < width:
            self.basis, triangle = torch.linalg.qr(rows.mT)
            rows = triangle.mT.contiguous()
        self.rows = rows  # n×p
        self.gram = self.rows @ self.rows.mT if count <= _LARGEST_GRAM else None
        self.covariance = self.rows.mT @ self.rows
        self.squares = float(self.covariance.trace())

    def in_columns(self, weights: Tensor) -> Tensor:
        """Convert weights back to the original columns."""
        return weights if self.basis is None else weights @ self.basis.mT


class Solution(NamedTuple):
    """Weights in the points' coordinates, problems × p; the number of Newton steps, and whether they converged."""

    weights: Tensor
    steps: Tensor
    converged: Tensor


def solve_path(
    points: Points, signs: Tensor, Cs: Iterable[float], *, tol: float = 1e-8, max_iter: int = 200
) -> Iterator[Solution]:
    """Yield the optimum of every problem for each C in ascending order, each started from the previous one.

    A large C takes many steps from a distant start, but few from the optimum for a tenth of it. Values of C that are
    further apart get intermediate ones, and the first is small enough for the weights to be near 0.

    >>> points = Points(torch.tensor([[2.0], [-1.0]], dtype=torch.float64))
    >>> signs = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    >>> [round(found.weights.item(), 3) for found in solve_path(points, signs, [0.01, 100.0])]
    [0.055, 0.995]
    """
    weights, reached = None, 0.0
    steps = torch.zeros(len(signs), dtype=torch.long, device=signs.device)
    easy = 1 / max(float(points.rows.square().sum(1).max()), 1e-300)
    for C in Cs:
        decades = max(0, math.ceil(math.log10(C / (reached or easy)) - 1e-9))
        for remaining in range(max(0, decades - 1) if reached else decades, -1, -1):
            found = solve(points, signs, C / 10**remaining, weights, tol=tol, max_iter=max_iter)
            weights, steps = found.weights, steps + found.steps
        reached = C
        yield found._replace(steps=steps)


def solve(
    points: Points, signs: Tensor, C: float, start: Tensor | None = None, *, tol: float = 1e-8, max_iter: int = 200
) -> Solution:
    """Compute the optimum of every problem; ``signs`` is problems × points: 1, −1, or 0 for an unused point.

    A problem ends after a step shorter than ``tol`` relative to the weights, since points that are on the margin up to
    rounding would change sides forever. It also ends if the objective cannot decrease by more than rounding.

    >>> points = Points(torch.tensor([[2.0], [-1.0]], dtype=torch.float64))
    >>> solve(points, torch.tensor([[1.0, -1.0], [1.0, 0.0]]).double(), C=0.25).weights
    tensor([[0.4286],
            [0.3333]], dtype=torch.float64)
    """
    weights = points.rows.new_zeros(len(signs), points.rows.shape[1]) if start is None else start
    budget = _CHUNK_BYTES["cpu" if signs.device.type == "cpu" else "cuda"]
    size = max(1, budget // (8 * points.rows.shape[1] * min(len(points.rows), 2 * points.rows.shape[1])))

    def chunk(first: int) -> Solution:
        part = slice(first, first + size)
        return _solve_chunk(points, signs[part], C, weights[part], tol, max_iter)

    with parallel_map(signs.device) as each:
        parts = each(chunk, range(0, len(signs), size))
    return Solution(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _solve_chunk(points: Points, signs: Tensor, C: float, start: Tensor, tol: float, max_iter: int) -> Solution:
    rows, weights = points.rows, start.clone()
    steps = torch.zeros(len(signs), dtype=torch.long, device=rows.device)
    unfinished = torch.arange(len(signs), device=rows.device)
    for _ in range(max_iter):
        if not len(unfinished):
            break
        sign, here = signs[unfinished], weights[unfinished]
        used = sign != 0
        slack = torch.where(used, 1 - sign * (here @ rows.mT), -1.0)
        active = slack > 0
        step = _newton_step(points, here, active, sign, slack, C)
        change = sign * (step @ rows.mT)
        settled = (used & (slack > change)).eq(active).all(1)
        length, falls = _exact_length(slack, change, used, here, step, C)
        here = here + torch.where(settled, 1.0, length)[:, None] * step
        settled |= ~falls | (step.norm(dim=1) <= tol * here.norm(dim=1))
        weights[unfinished] = here
        steps[unfinished] += 1
        unfinished = unfinished[~settled]
    converged = torch.ones(len(signs), dtype=torch.bool, device=rows.device)
    converged[unfinished] = False
    return Solution(weights, steps, converged)


def _newton_step(points: Points, weights: Tensor, active: Tensor, signs: Tensor, slack: Tensor, C: float) -> Tensor:
    """Step to the minimum of the quadratic of each active set: −(I + 2C X_Aᵀ X_A)⁻¹ · gradient."""
    step = torch.empty_like(weights)
    by_points = _better_by_points(points, active.sum(1), C)
    if by_points.any():
        step[by_points] = _target_by_points(points, active[by_points], signs[by_points], C) - weights[by_points]
    if not by_points.all():
        pull = torch.where(active[~by_points], signs[~by_points] * slack[~by_points], 0.0) @ points.rows
        step[~by_points] = -_solved_by_columns(points, active[~by_points], weights[~by_points] - 2 * C * pull, C)
    return step


def _better_by_points(points: Points, counts: Tensor, C: float) -> Tensor:
    """Tell whether a system of the active points is cheaper to build and solve than one of the columns."""
    count, width = points.rows.shape
    if points.gram is None or 2 * C * points.squares > _TRUSTED:
        return torch.zeros_like(counts, dtype=torch.bool)
    products = 2.0 * counts.minimum(count - counts) * width**2
    return counts.double() ** 3 / 3 <= width**3 / 3 + products / 2  # a product is twice as fast as a factorisation


def _target_by_points(points: Points, active: Tensor, signs: Tensor, C: float) -> Tensor:
    """2C X_Aᵀ (I + 2C X_A X_Aᵀ)⁻¹ y_A, the minimum."""
    assert points.gram is not None
    place, kept = _numbers(active)
    scale = (2 * C) ** 0.5 * kept.to(signs.dtype)
    system = points.gram[place[:, :, None], place[:, None, :]]
    system.mul_(scale[:, :, None]).mul_(scale[:, None, :])
    system.diagonal(dim1=1, dim2=2).add_(1.0)
    factor = _factor(system)

    def combined(right: Tensor) -> Tensor:  # 2C X_Aᵀ (I + 2C X_A X_Aᵀ)⁻¹ · right
        solved = _solved(factor, kept * right.gather(1, place))
        return 2 * C * torch.zeros_like(signs).scatter_(1, place, solved) @ points.rows

    target = combined(signs)
    if 2 * C * points.squares > _REFINED:
        missed = torch.where(active, signs - target @ points.rows.mT, 0.0)
        gradient = target - 2 * C * missed @ points.rows
        # (I + 2C X_Aᵀ X_A)⁻¹ · gradient, by the Woodbury identity
        target = target - (gradient - combined(gradient @ points.rows.mT))
    return target


def _solved_by_columns(points: Points, active: Tensor, gradient: Tensor, C: float) -> Tensor:
    """(I + 2C X_Aᵀ X_A)⁻¹ · gradient; X_Aᵀ X_A from the active points, or all points minus the inactive ones."""
    most = 2 * int(active.sum()) > active.numel()
    place, kept = _numbers(~active if most else active)
    rows = points.rows[place].mul_(kept[:, :, None])
    if most:
        system = torch.baddbmm(points.covariance, rows.mT, rows, beta=2 * C, alpha=-2 * C)
    else:
        system = torch.bmm(rows.mT, rows).mul_(2 * C)
    system.diagonal(dim1=1, dim2=2).add_(1.0)
    return _solved(_factor(system), gradient)


def _factor(systems: Tensor) -> Tensor:
    """Cholesky factors; the diagonal of a system that rounding has made indefinite is increased slightly."""
    factor, failed = torch.linalg.cholesky_ex(systems)
    ridge = 1e-14
    while ridge < 1 and failed.any():
        ridge *= 100
        again = failed > 0
        lifted = systems[again]
        lifted.diagonal(dim1=1, dim2=2).mul_(1 + ridge)
        factor[again], failed[again] = torch.linalg.cholesky_ex(lifted)
    return factor


def _solved(factor: Tensor, right: Tensor) -> Tensor:
    half = torch.linalg.solve_triangular(factor, right[..., None], upper=False)
    return torch.linalg.solve_triangular(factor.mT, half, upper=True)[..., 0]


def _exact_length(
    slack: Tensor, change: Tensor, used: Tensor, weights: Tensor, step: Tensor, C: float
) -> tuple[Tensor, Tensor]:
    """Return the length of each step that minimises the objective, and whether it decreases by more than rounding.

    Along a step s the slacks are a − t·d, and the derivative w·s + t‖s‖² − 2C Σ_active (a − t·d)·d is piecewise linear
    and increasing, with a kink where a point crosses the margin, at t = a/d. Cumulative sums over the sorted crossings
    give every piece.
    """
    crosses = used & (slack * change > 0)
    when, order = torch.where(crosses, slack / change, torch.inf).sort(dim=1)
    begins = (slack > 0) | (used & (slack == 0) & (change < 0))
    enters = torch.where(crosses, torch.where(slack > 0, -1.0, 1.0), 0.0)
    moment, square = 2 * C * slack * change, 2 * C * change.square()
    least = step.square().sum(1, keepdim=True)  # up to rounding, the smallest slope of any piece
    terms = torch.cat([weights * step, -moment * begins], 1)
    constant = terms.sum(1, keepdim=True)  # the derivative at the start of the step
    rise = least + (square * begins).sum(1, keepdim=True)
    constants = torch.cat([constant, constant - (enters * moment).gather(1, order).cumsum(1)], 1)
    rises = torch.cat([rise, rise + (enters * square).gather(1, order).cumsum(1)], 1).maximum(least)
    ends = torch.cat([when, torch.full_like(rise, torch.inf)], 1)
    piece = (constants + rises * ends >= 0).int().argmax(1, keepdim=True)
    length = (-constants.gather(1, piece) / rises.gather(1, piece)).clamp(min=0.0).nan_to_num(0.0)
    return length[:, 0], -constant[:, 0] > 8 * torch.finfo(terms.dtype).eps * terms.abs().sum(1)


def _numbers(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of the true values in each row of a mask, padded to the longest row, and which are not padding."""
    most = int(chosen.sum(1).max())
    place = chosen.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]
    return place, chosen.gather(1, place)
