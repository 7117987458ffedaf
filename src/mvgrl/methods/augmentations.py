"""Random copies of a graph for self-supervised methods: edges are dropped, and columns of the features masked.

Nothing is copied. A dropped edge is a zero in the values of the matrix, which keeps its pattern, and a masked column of
X is a masked row of Θ: (X·diag(m))·Θ = X·(diag(m)·Θ), so that sparse features stay as they are.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, OnePerSeed, SparseMatrix
from mvgrl.views.adjacency import with_self_loops


class EdgeDropper:
    """Draws which edges of a graph are kept, and makes the normalised adjacency of what is left.

    Each direction of an edge is dropped by itself, as in the authors' code of GRACE, BGRL and CCA-SSG. Self-loops are
    added afterwards, and entry (i, j) is divided by the roots of the sums of row i and of column j.

    >>> dropper = EdgeDropper(Graph.from_edges([0], [1]), torch.device("cpu"))
    >>> dropper.matrix(torch.tensor([True, False, True, True])).dense()
    tensor([[0.7071, 0.0000],
            [0.5000, 0.7071]])
    """

    def __init__(self, graph: Graph, device: torch.device) -> None:
        looped = SparseMatrix.from_scipy(with_self_loops(graph)[0])
        self.nodes, self.entries, self.device = graph.nodes, len(looped.indices), device
        counts = looped.indptr.diff()
        rows = torch.repeat_interleave(torch.arange(self.nodes), counts.long())
        self.loops = rows == looped.indices
        pattern = (looped.indptr, looped.indices, looped.values, rows, looped.indices.long())
        self.indptr, self.indices, self.weights, self.rows, self.columns = (part.to(device) for part in pattern)
        # The pattern is symmetric, so the transpose has the same one; its values are these, in another order.
        self.reverse = torch.argsort(looped.indices, stable=True).to(device)
        self._tiled: tuple[int, Tensor, Tensor] = (1, self.indptr, self.indices)

    def draw(self, rate: float, generator: torch.Generator) -> Tensor:
        """Return for each entry of A + I whether it is kept; drawn on the CPU, so that every device sees the same."""
        return (torch.rand(self.entries, generator=generator) >= rate) | self.loops

    def matrix(self, kept: Tensor) -> Matrix:
        """Return the normalised adjacency of the kept entries; given seeds × entries, one matrix per seed."""
        values = kept.to(self.device) * self.weights
        stack = values.unsqueeze(0) if values.dim() == 1 else values
        roots = [
            stack.new_zeros(len(stack), self.nodes).index_add_(1, ends, stack).rsqrt_()
            for ends in (self.rows, self.columns)
        ]
        stack = stack * roots[0][:, self.rows] * roots[1][:, self.columns]
        indptr, indices = self._pattern(len(stack))
        made, transpose = (
            SparseMatrix(indptr, indices, part.flatten(), len(stack) * self.nodes)
            for part in (stack, stack[:, self.reverse])
        )
        made.pair_with(transpose)
        return made if kept.dim() == 1 else OnePerSeed(made, len(stack))

    def _pattern(self, count: int) -> tuple[Tensor, Tensor]:
        """Return the pattern repeated along the diagonal, which is kept for the next step."""
        if self._tiled[0] != count:
            block = torch.arange(count, device=self.device, dtype=self.indptr.dtype)[:, None]
            starts = (self.indptr[:-1] + block * self.entries).flatten()
            indptr = torch.cat([starts, starts.new_tensor([count * self.entries])])
            self._tiled = (count, indptr, (self.indices + block * self.nodes).flatten())
        return self._tiled[1:]


def draw_columns(width: int, rate: float, generator: torch.Generator) -> Tensor:
    """Return 1 for each column of the features that is kept, and 0 for one that is masked."""
    return (torch.rand(width, generator=generator) >= rate).float()
