"""Layers of graph classifiers with the models of all folds side by side, and batches of whole graphs.

The models of ten folds see the same batches; they differ in their parameters and in the graphs that count for them.
Tensors of nodes are nodes × models × columns, so one product with the adjacency matrix serves all models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mvgrl.graphs import Graph
from mvgrl.matrices import SparseMatrix

_EPSILON = 1e-5  # of the batch normalisation, as torch's


@dataclass(frozen=True)
class Batch:
    """Some graphs: the features of their nodes, their edges without weights, and the graph of each node."""

    features: Tensor  # n×d
    adjacency: SparseMatrix  # n×n, symmetric
    edges: Tensor  # 2 × edges, from and to, each edge in both directions
    degrees: Tensor  # n
    owner: Tensor  # n
    sizes: Tensor  # nodes per graph

    def pooled(self, nodes: Tensor) -> Tensor:
        """Return the sum over the nodes of each graph."""
        out = nodes.new_zeros(len(self.sizes), *nodes.shape[1:])
        return out.index_add(0, self.owner, nodes)


class GraphBatches:
    """All graphs of a dataset, from which batches are taken."""

    def __init__(self, graph: Graph, features: np.ndarray, device: torch.device) -> None:
        self.graph, self.device = graph, device
        self.features = torch.from_numpy(features.astype(np.float32)).to(device)

    def take(self, numbers: np.ndarray) -> Batch:
        """Return the given graphs as a batch."""
        graph, adjacency = self.graph, self.graph.adjacency
        sizes = graph.sizes[numbers]
        nodes = _ranges(graph.offsets[numbers], sizes)
        degrees = graph.degrees[nodes]
        entries = _ranges(adjacency.indptr[nodes].astype(np.int64), degrees)
        shift = np.repeat(np.cumsum(sizes) - sizes - graph.offsets[numbers], sizes)  # old to new number of a node
        columns = adjacency.indices[entries] + np.repeat(shift, degrees)
        rows = np.repeat(np.arange(len(nodes)), degrees)
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        device = self.device
        starts, ends = (torch.from_numpy(one.astype(np.int32)).to(device) for one in (indptr, columns))
        matrix = SparseMatrix(starts, ends, torch.ones(len(columns), device=device), len(nodes), symmetric=True)
        found = (np.stack([columns, rows]), degrees, np.repeat(np.arange(len(numbers)), sizes), sizes)
        edges, *others = (torch.from_numpy(one.astype(np.int64)).to(device) for one in found)
        return Batch(self.features[torch.from_numpy(nodes).to(device)], matrix, edges, *others)


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return start, start + 1, … of each range, one range after the other.

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - ends + counts, counts)


class StackedLinear(nn.Module):
    """A linear layer per model, started as torch's: n×d or n×models×d in, n×models×hidden out."""

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
            found = torch.bmm(x.transpose(0, 1), self.weight).transpose(0, 1)
        return found if self.bias is None else found + self.bias


class _Normalised(torch.autograd.Function):
    """Batch normalisation with weights: n×models×hidden, and n×models weights that sum to 1 per model.

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
        """Normalise n×models×hidden; ``counts`` is 1 where a row counts for a model, else 0; None to evaluate."""
        if counts is None:
            factor = torch.rsqrt(self.variance + _EPSILON) * self.scale
            return torch.addcmul(self.shift - self.mean * factor, x, factor)
        total = counts.sum(0).clamp(min=1)
        found, mean, variance = _Normalised.apply(x, counts / total, self.scale, self.shift)
        with torch.no_grad():
            self.mean.lerp_(mean, 0.1)
            self.variance.lerp_(variance * (total / (total - 1).clamp(min=1)).unsqueeze(-1), 0.1)
        return found


def sum_of_neighbours(batch: Batch, x: Tensor) -> Tensor:
    """Return A·x for nodes × anything."""
    return (batch.adjacency @ x.flatten(1)).unflatten(1, x.shape[1:])


def mean_with_self(batch: Batch, x: Tensor) -> Tensor:
    """Return the mean over each node and its neighbours."""
    count = (batch.degrees + 1).to(x.dtype).view(-1, *[1] * (x.dim() - 1))
    return (x + sum_of_neighbours(batch, x)) / count


def max_with_self(batch: Batch, x: Tensor) -> Tensor:
    """Return the largest value over each node and its neighbours."""
    flat = x.flatten(1)
    source, target = batch.edges
    where = target[:, None].expand(-1, flat.shape[1])
    return flat.scatter_reduce(0, where, flat[source], "amax", include_self=True).view_as(x)


def attention(batch: Batch, x: Tensor, towards: Tensor, away: Tensor) -> Tensor:
    """Return the mean over each node and its neighbours, weighted by attention: n×models×heads×columns in and out.

    The weight of an edge is the softmax over the edges to a node of LeakyReLU(towards·x_target + away·x_source).
    """
    own = torch.arange(len(x), device=x.device)
    source, target = (torch.cat([ends, own]) for ends in batch.edges)
    scores = nn.functional.leaky_relu((x * away).sum(-1)[source] + (x * towards).sum(-1)[target], 0.2)
    where = target.view(-1, 1, 1).expand_as(scores)
    highest = scores.new_full(x.shape[:3], -torch.inf).scatter_reduce(0, where, scores.detach(), "amax")
    weights = (scores - highest[target]).exp()
    total = torch.zeros_like(highest).index_add(0, target, weights)
    found = torch.zeros_like(x).index_add(0, target, weights.unsqueeze(-1) * x[source])
    return found / total.unsqueeze(-1)
