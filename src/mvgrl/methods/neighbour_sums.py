"""Weighted sums over the neighbours of each node, differentiable with respect to the weights and to what is summed.

In ``matrices.py`` the entries of a matrix are constant. Here they are learned, one per edge and head: attention
coefficients, or kernels of the degrees.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from mvgrl.graphs import Graph
from mvgrl.runtime import compiled, use_torch_threads
from mvgrl.views.adjacency import with_self_loops


class Neighbours:
    """The edges into each node, one after the other, with a self-loop per node; the pattern is symmetric.

    >>> edges = Neighbours(Graph.from_edges([0], [1], nodes=3), torch.device("cpu"))
    >>> edges.target.tolist(), edges.origin.tolist()
    ([0, 0, 1, 1, 2], [0, 1, 0, 1, 2])
    >>> edges.sum(torch.ones(5, 1), torch.tensor([[[1.0]], [[2.0]], [[4.0]]])).flatten()
    tensor([3., 3., 4.])
    """

    def __init__(self, graph: Graph, device: torch.device) -> None:
        looped, _ = with_self_loops(graph)
        pattern = looped.tocoo()
        self.nodes, self.device = graph.nodes, device
        self.degrees = torch.from_numpy(np.diff(looped.indptr).astype(np.float32)).to(device)
        self.start = torch.from_numpy(looped.indptr.astype(np.int64)).to(device)
        self.target, self.origin = (
            torch.from_numpy(ends.astype(np.int64)).to(device) for ends in (pattern.row, pattern.col)
        )
        self.reverse = torch.argsort(self.origin, stable=True)  # the number of the edge in the other direction

    def softmax(self, scores: Tensor) -> Tensor:
        """Return exp(scores), edges × heads, divided by its sum over the edges into the same node."""
        index = self.target.unsqueeze(1).expand_as(scores)
        lowest = scores.detach().new_full((self.nodes, scores.shape[1]), -torch.inf)
        highest = lowest.scatter_reduce(0, index, scores.detach(), "amax")
        return self.normalise((scores - highest[self.target]).exp())

    def normalise(self, weights: Tensor) -> Tensor:
        """Return positive weights, edges × heads, divided by their sum over the edges into the same node."""
        index = self.target.unsqueeze(1).expand_as(weights)
        totals = weights.new_zeros(self.nodes, weights.shape[1]).scatter_add(0, index, weights)
        return weights / totals[self.target]

    def sum(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return Σ weight · value over the edges into each node: nodes × heads × width.

        Weights are edges × heads, values nodes × heads × width.
        """
        return _Sum.apply(weights, values, self)


class _Sum(torch.autograd.Function):
    """The sum, which keeps no array of edges × heads × width for its gradient."""

    @staticmethod
    def forward(weights: Tensor, values: Tensor, edges: Neighbours) -> Tensor:
        return _summed(edges, weights.contiguous(), values.contiguous())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Neighbours], output: Tensor) -> None:
        weights, values, ctx.edges = inputs
        ctx.save_for_backward(weights, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        weights, values = ctx.saved_tensors
        edges: Neighbours = ctx.edges
        return _products(edges, grad, values), _summed(edges, weights[edges.reverse], grad), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, weights: Tensor, values: Tensor, edges: Neighbours) -> tuple[Tensor, int]:
        """Fold the stack into more heads."""
        weights = _beside(weights, in_dims[0], info.batch_size)
        values = _beside(values, in_dims[1], info.batch_size)
        folded = _Sum.apply(weights.flatten(1, 2), values.flatten(1, 2), edges)
        return folded.unflatten(1, values.shape[1:3]), 1


def _beside(tensor: Tensor, dim: int | None, count: int) -> Tensor:
    """Return a tensor with the dimension of the stack next to that of the heads."""
    stacked = tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return stacked.movedim(0, 1)


def _summed(edges: Neighbours, weights: Tensor, values: Tensor) -> Tensor:
    if not _on_cpu(values):
        return torch.zeros_like(values).index_add_(0, edges.target, weights.unsqueeze(-1) * values[edges.origin])
    out = torch.empty_like(values, memory_format=torch.contiguous_format)
    arrays = (edges.start, edges.origin, weights.contiguous(), values.contiguous(), out)
    use_torch_threads()
    _add(*(array.detach().numpy() for array in arrays))
    return out


def _products(edges: Neighbours, left: Tensor, right: Tensor) -> Tensor:
    """Return the inner products of the two ends of each edge, per head."""
    if not _on_cpu(left):
        return (left[edges.target] * right[edges.origin]).sum(-1)
    out = left.new_empty(len(edges.target), left.shape[1])
    use_torch_threads()
    arrays = (edges.start, edges.origin, left.contiguous(), right.contiguous(), out)
    _multiply(*(array.detach().numpy() for array in arrays))
    return out


def _on_cpu(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu"


@compiled(parallel=True, fastmath={"contract"})
def _add(start: Any, origin: Any, weights: Any, values: Any, out: Any) -> None:
    """Write Σ weight · value over the edges into each node."""
    for i in numba.prange(out.shape[0]):
        out[i] = 0
        for edge in range(start[i], start[i + 1]):
            j = origin[edge]
            for head in range(out.shape[1]):
                weight = weights[edge, head]
                for k in range(out.shape[2]):
                    out[i, head, k] += weight * values[j, head, k]


@compiled(parallel=True, fastmath={"reassoc", "contract"})
def _multiply(start: Any, origin: Any, left: Any, right: Any, out: Any) -> None:
    """Write the inner product of the two ends of each edge, per head."""
    for i in numba.prange(left.shape[0]):
        for edge in range(start[i], start[i + 1]):
            j = origin[edge]
            for head in range(left.shape[1]):
                total = left[i, head, 0] - left[i, head, 0]
                for k in range(left.shape[2]):
                    total += left[i, head, k] * right[j, head, k]
                out[edge, head] = total
