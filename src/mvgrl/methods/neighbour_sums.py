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
        highest = scores.detach().new_full((self.nodes, scores.shape[1]), -torch.inf)
        highest.scatter_reduce_(0, index, scores.detach(), "amax")
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
        if values.device.type == "cpu":
            return _Sum.apply(weights, values, self)
        terms = weights.unsqueeze(-1) * values[self.origin]
        return torch.zeros_like(values).index_add(0, self.target, terms)


class _Sum(torch.autograd.Function):
    """The sum on a CPU, without an array of edges × heads × width."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, edges: Neighbours) -> Tensor:
        ctx.save_for_backward(weights, values)
        ctx.edges = edges
        return _summed(edges, weights.contiguous(), values.contiguous())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        weights, values = (tensor.contiguous() for tensor in ctx.saved_tensors)
        edges, grad = ctx.edges, grad.contiguous()
        products = torch.empty_like(weights)
        _multiply(edges.start.numpy(), edges.origin.numpy(), grad.numpy(), values.numpy(), products.numpy())
        return products, _summed(edges, weights[edges.reverse], grad), None


def _summed(edges: Neighbours, weights: Tensor, values: Tensor) -> Tensor:
    out = torch.empty_like(values)
    use_torch_threads()
    _add(edges.start.numpy(), edges.origin.numpy(), weights.detach().numpy(), values.detach().numpy(), out.numpy())
    return out


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
