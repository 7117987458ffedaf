"""Layers of graph classifiers with the models of all folds side by side.

The models of ten folds see the same batches; they differ in their parameters and in the graphs that count for them.
Tensors are rows × models × columns, so one product with the adjacency matrix serves all models.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

_EPSILON = 1e-5  # of the batch normalisation, as torch's


class StackedLinear(nn.Module):
    """A linear layer per model, started as torch's: rows × columns, or rows × models × columns, in."""

    def __init__(self, models: int, width: int, hidden: int, generator: torch.Generator, *, bias: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(width)
        draw = torch.rand(models, width + bias, hidden, generator=generator) * 2 * bound - bound
        self.weight = nn.Parameter(draw[:, :width].clone())
        self.bias = nn.Parameter(draw[:, width].clone()) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:  # the same input for all models
            found = (x @ self.weight.movedim(0, 1).flatten(1)).unflatten(1, (-1, self.weight.shape[2]))
        else:
            found = _Stacked.apply(x, self.weight)
        return found if self.bias is None else found + self.bias


class _Stacked(torch.autograd.Function):
    """x[:, m] @ weight[m] for every model m, with rows × models × columns contiguous, also in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _per_model(x, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return _per_model(grad, weight.transpose(1, 2)), torch.bmm(x.permute(1, 2, 0), grad.transpose(0, 1))


def _per_model(x: Tensor, weight: Tensor) -> Tensor:
    found = x.new_empty(*x.shape[:2], weight.shape[2])
    torch.bmm(x.transpose(0, 1), weight, out=found.transpose(0, 1))
    return found


class _Normalised(torch.autograd.Function):
    """Batch normalisation with weights: rows × models × hidden, and rows × models weights that sum to 1 per model.

    Returns mean and variance too. Written out, it takes half the passes over memory of torch's own derivative. Rows of
    weight 0 are normalised as the others are, and do not affect them.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean = _weighted_sum(weight, x)
        centred = x - mean
        variance = _weighted_sum(weight, centred.square())
        inverse = torch.rsqrt(variance + _EPSILON)
        ctx.save_for_backward(centred, weight, inverse, scale)
        ctx.mark_non_differentiable(mean, variance)
        return torch.addcmul(shift, centred, inverse * scale), mean, variance

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor, None, Tensor, Tensor]:
        centred, weight, inverse, scale = ctx.saved_tensors
        total, along = grad.sum(0), (grad * centred).sum(0)
        through_moments = torch.addcmul(total, centred, inverse.square() * along).mul_(weight.unsqueeze(-1))
        return (grad - through_moments).mul_(inverse * scale), None, along * inverse, total


def _weighted_sum(weight: Tensor, x: Tensor) -> Tensor:
    """Return Σ_n weight[n, m] x[n, m, :]."""
    return torch.bmm(weight.T.unsqueeze(1), x.transpose(0, 1)).squeeze(1)


class StackedBatchNorm(nn.Module):
    """Batch normalisation per model, over the rows that count for it; momentum 0.1 and ε 1e-5 as torch's."""

    mean: Tensor
    variance: Tensor

    def __init__(self, models: int, hidden: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(models, hidden)), nn.Parameter(torch.zeros(models, hidden))
        self.register_buffer("mean", torch.zeros(models, hidden))
        self.register_buffer("variance", torch.ones(models, hidden))

    def forward(self, x: Tensor, counts: Tensor | None) -> Tensor:
        """Normalise rows × models × hidden; ``counts`` is how often a row counts for a model, None to evaluate."""
        if counts is None:
            factor = torch.rsqrt(self.variance + _EPSILON) * self.scale
            return torch.addcmul(self.shift - self.mean * factor, x, factor)
        total = counts.sum(0).clamp(min=1)
        found, mean, variance = _Normalised.apply(x, counts / total, self.scale, self.shift)
        with torch.no_grad():
            self.mean.lerp_(mean, 0.1)
            self.variance.lerp_(variance * (total / (total - 1).clamp(min=1)).unsqueeze(-1), 0.1)
        return found
