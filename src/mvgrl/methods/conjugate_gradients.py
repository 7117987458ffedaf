"""Conjugate gradients: solve A·x = b for a symmetric positive semi-definite A that is only known by its products."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def solve(
    product: Callable[[Tensor], Tensor], right: Tensor, *, tolerance: float = 1e-8, limit: int = 10_000
) -> Tensor:
    """Return the solution for each column of ``right``; stop at a residual of ``tolerance`` times the right side.

    >>> solve(lambda x: torch.tensor([[2.0], [4.0]]) * x, torch.tensor([[2.0], [2.0]])).flatten()
    tensor([1.0000, 0.5000])
    """
    found, residual = torch.zeros_like(right), right
    direction, squares = residual, residual.square().sum(0)
    goal = squares * tolerance**2
    for _ in range(limit):
        if bool((squares <= goal).all()):
            break
        moved = product(direction)
        curvature = (direction * moved).sum(0)
        step = torch.where(squares > goal, squares / curvature, 0.0)  # columns that are solved stay as they are
        found, residual = found + step * direction, residual - step * moved
        before, squares = squares, residual.square().sum(0)
        direction = residual + torch.where(before > goal, squares / before, 0.0) * direction
    return found
