"""K-Means with all initialisations as one batch, for GPUs.

On the CPU, :mod:`mvgrl.evaluation.clustering` uses scikit-learn instead, which is not much slower there:
``benchmarks/probes.py`` compares them on both devices.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def kmeans(
    points: Tensor, clusters: int, *, starts: int = 10, seed: int = 0, rounds: int = 300, tolerance: float = 1e-4
) -> Tensor:
    """Assign each point to a cluster (n): the result of the initialisation with the lowest inertia.

    Centres are initialised with greedy k-means++ and move until the sum of their squared moves is below ``tolerance``
    times the mean variance of a column, as in scikit-learn. Random numbers are drawn on the CPU and are the same for
    every device.

    >>> kmeans(torch.tensor([[0.0], [9.0], [0.1], [9.1]]), 2).bincount()
    tensor([2, 2])
    """
    points = points - points.mean(0)  # smaller values lose fewer digits in their differences
    generator = torch.Generator().manual_seed(seed)
    centres = _first_centres(points, clusters, starts, generator)
    threshold = tolerance * points.var(0, correction=0).mean()
    moving = torch.arange(starts, device=points.device)
    for _ in range(rounds):
        found = _distances(points, centres[moving]).argmin(1)
        moved = _means(points, found, centres[moving])
        change = (moved - centres[moving]).square().sum((1, 2))
        centres[moving] = moved
        moving = moving[change > threshold]
        if not len(moving):
            break
    distances, found = _distances(points, centres).min(1)
    best = (distances.double() + points.square().sum(1).double()).sum(1).argmin()
    return found[best]


def _first_centres(points: Tensor, clusters: int, starts: int, generator: torch.Generator) -> Tensor:
    """Greedy k-means++ (s × k × d): draw a few candidates by squared distance, keep the one with the lowest inertia."""
    candidates = 2 + int(math.log(clusters))
    squares = points.square().sum(1)
    drawn = torch.randint(len(points), (starts,), generator=generator).to(points.device)
    chosen = [drawn]
    nearest = _to_points(points, squares, drawn[:, None])[:, 0]  # starts × n
    for _ in range(1, clusters):
        sums = nearest.double().cumsum(1)
        heights = torch.rand(starts, candidates, generator=generator, dtype=torch.float64).to(points.device)
        picks = torch.searchsorted(sums, heights * sums[:, -1:]).clamp_(max=len(points) - 1)
        offered = torch.minimum(_to_points(points, squares, picks), nearest[:, None])  # starts × candidates × n
        best = offered.sum(2).argmin(1)
        row = torch.arange(starts, device=points.device)
        chosen.append(picks[row, best])
        nearest = offered[row, best]
    return points[torch.stack(chosen, dim=1)]


def _to_points(points: Tensor, squares: Tensor, centres: Tensor) -> Tensor:
    """Squared distances from points chosen as centres (s × c indices) to all points (s × c × n)."""
    return (squares[centres][..., None] - 2 * points[centres] @ points.mT + squares).clamp_(min=0)


def _distances(points: Tensor, centres: Tensor) -> Tensor:
    """Squared distances from centres to points, minus the points' squared norms (s × k × n)."""
    products = (centres.flatten(0, 1) @ points.mT).unflatten(0, centres.shape[:2])
    return torch.add(centres.square().sum(2)[..., None], products, alpha=-2)


def _means(points: Tensor, found: Tensor, centres: Tensor) -> Tensor:
    """The mean of each cluster's points; an empty cluster keeps its centre."""
    members = (found[:, None] == torch.arange(centres.shape[1], device=found.device)[:, None]).to(points.dtype)  # s×k×n
    counts = members.sum(2)[..., None]
    sums = (members.flatten(0, 1) @ points).unflatten(0, centres.shape[:2])
    return torch.where(counts > 0, sums / counts.clamp(min=1), centres)
