"""Γ: samples of the same nodes from every view, and their negatives, as batches for one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, SparseMatrix

_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Batch:
    """What one step sees: B graphs, or B samples of one graph, side by side.

    ``rows`` says which row of X·Θ each node takes; the negatives are the same structure with ``negative_rows``
    (permuted features), or with ``negative_views`` (corrupted adjacency), or with both.
    """

    features: Matrix  # X, rows × width
    views: tuple[Matrix, ...]  # V, nodes × nodes, block-diagonal
    sizes: tuple[int, ...]  # nodes of each graph or sample
    rows: Tensor | None = None  # nodes; None: row i for node i
    negative_rows: Tensor | None = None
    negative_views: tuple[Matrix, ...] | None = None
    device: torch.device = _CPU

    @cached_property
    def owner(self) -> Tensor:
        """Which graph or sample each node belongs to."""
        return self.owners(self.sizes)

    def owners(self, counts: Sequence[int]) -> Tensor:
        """Which graph each of so many things a graph belongs to."""
        graphs = torch.arange(len(counts), device=self.device)
        return torch.repeat_interleave(graphs, torch.tensor(counts, device=self.device))

    @property
    def has_negatives(self) -> bool:
        """Whether the batch brings corrupted graphs along."""
        return self.negative_rows is not None or self.negative_views is not None

    def pool(self, codes: Tensor) -> Tensor:
        """The sum of node codes (nodes × anything) over each graph (graphs × anything)."""
        if len(set(self.sizes)) == 1:
            return codes.unflatten(0, (len(self.sizes), self.sizes[0])).sum(1)
        return codes.new_zeros(len(self.sizes), *codes.shape[1:]).index_add(0, self.owner, codes)

    def split(self, codes: Tensor) -> Sequence[Tensor]:
        """The node codes of each graph."""
        return codes.split(self.sizes)


Sampler = Callable[[SparseMatrix, int, torch.Generator], Tensor]  # adjacency, how many, randomness -> distinct nodes


def random_nodes(adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
    """Uniformly random nodes: the paper's sampler."""
    return torch.randperm(adjacency.shape[0], generator=generator)[:size]


def window(adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
    """A run of consecutive nodes from a random start: what the authors' released code does."""
    start = int(torch.randint(adjacency.shape[0] - size + 1, (), generator=generator))
    return torch.arange(start, start + size)


def walk(adjacency: SparseMatrix, size: int, generator: torch.Generator, *, length: int = 10) -> Tensor:
    """Neighbourhoods of random walks, which keep edges where uniform nodes of a large graph would have none.

    Walkers start at random nodes and are restarted elsewhere every ``length`` steps, until ``size`` distinct nodes
    have been seen. Steps follow the edges whatever their weights; a walker on a node without edges stays there.
    """
    indptr, indices = adjacency.indptr, adjacency.indices
    if not len(indices):
        return random_nodes(adjacency, size, generator)
    nodes = adjacency.shape[0]
    walkers = max(1, size // length)
    seen = torch.zeros(nodes, dtype=torch.bool)
    order: list[Tensor] = []
    found = 0
    while found < size:
        position = torch.randint(nodes, (walkers,), generator=generator)
        if found > nodes // 2:  # most nodes have been seen: start where none has been
            position = (~seen).nonzero().flatten()[position % (nodes - found)]
        for _ in range(length):
            new = torch.unique(position[~seen[position]])
            seen[new] = True
            order.append(new)
            found += len(new)
            degree = indptr[position + 1] - indptr[position]
            step = (torch.rand(walkers, generator=generator) * degree).long()
            entry = (indptr[position] + step).clamp_(max=len(indices) - 1)
            position = torch.where(degree > 0, indices[entry].long(), position)
    return torch.cat(order)[:size]


SAMPLERS: dict[str, Sampler | None] = {"full": None, "nodes": random_nodes, "window": window, "walk": walk}


def corrupt_adjacency(graph: Graph, generator: torch.Generator) -> Graph:
    """The graph with its edges' ends dealt out anew: same degrees and weights, random neighbours.

    Edges that happen to become loops or to coincide are dropped or merged, a few in a sparse graph.
    """
    upper = sp.coo_array(sp.triu(graph.adjacency, k=1))
    sources, targets = (np.asarray(ends, dtype=np.int64) for ends in upper.coords)
    graph_of_edge = np.searchsorted(graph.offsets, sources, side="right") - 1
    order = np.argsort(graph_of_edge, kind="stable")
    shuffled = torch.randperm(len(order), generator=generator).numpy()
    shuffled = shuffled[np.argsort(graph_of_edge[shuffled], kind="stable")]  # within each graph
    dealt = targets.copy()
    dealt[order] = targets[shuffled]
    rewired = Graph.from_edges(sources, dealt, upper.data, nodes=graph.nodes, offsets=graph.offsets)
    return Graph(rewired.adjacency, graph.features, graph.node_labels, graph.offsets, graph.notes, graph.feature_names)


@dataclass(frozen=True, eq=False)
class NodeBatches:
    """One graph: an epoch is one batch of samples of it, with corrupted counterparts as negatives."""

    features: Matrix
    views: tuple[Matrix, ...]
    adjacency: SparseMatrix  # on the CPU, for walks
    sampler: Sampler | None = None  # None: the whole graph
    sample_size: int = 2000
    batch_size: int = 1
    permute: bool = True  # permuted features as negatives
    corrupted_views: tuple[Matrix, ...] | None = None  # corrupted adjacency as negatives
    device: torch.device = _CPU

    @property
    def largest(self) -> int:
        """Nodes of the largest sample."""
        nodes = self.adjacency.shape[0]
        return nodes if self.sampler is None else min(self.sample_size, nodes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of each sample of a batch."""
        return (self.largest,) * (1 if self.sampler is None else self.batch_size)

    def epoch(self, generator: torch.Generator) -> Iterator[Batch]:
        """The batches of one epoch: one."""
        nodes, order = self.draw(generator)
        if nodes is None:
            yield Batch(self.features, self.views, self.sizes, None, order, self.corrupted_views, self.device)
            return
        views = tuple(view.select(nodes, self.sizes) for view in self.views)
        corrupted = self.corrupted_views and tuple(view.select(nodes, self.sizes) for view in self.corrupted_views)
        features, rows = self.features, nodes
        if len(nodes) < self.adjacency.shape[0]:  # few of many: X·Θ of those alone
            needed, rows = nodes.unique(return_inverse=True)
            features = features.rows(needed)
        negative_rows = rows if order is None else rows[order]
        yield Batch(features, views, self.sizes, rows, negative_rows, corrupted, self.device)

    def draw(self, generator: torch.Generator) -> tuple[Tensor | None, Tensor | None]:
        """All that is random in a batch: the samples' nodes (none: the whole graph), and the negatives' order."""
        nodes = None
        if self.sampler is not None:
            nodes = torch.cat([self.sampler(self.adjacency, size, generator) for size in self.sizes]).to(self.device)
        if not self.permute:
            return nodes, None
        order = [torch.randperm(size, generator=generator) + i * size for i, size in enumerate(self.sizes)]
        return nodes, torch.cat(order).to(self.device)

    def whole(self) -> Iterator[Batch]:
        """The whole graph, for inference."""
        yield Batch(self.features, self.views, (self.adjacency.shape[0],), device=self.device)


@dataclass(frozen=True, eq=False)
class GraphBatches:
    """Many graphs: an epoch is a shuffled pass over them; each graph's negatives are the others of its batch."""

    features: Matrix
    views: tuple[Matrix, ...]
    offsets: Tensor  # graphs + 1, on the CPU
    adjacency: SparseMatrix | None = None
    sampler: Sampler | None = None
    sample_size: int = 2000
    batch_size: int = 64
    device: torch.device = _CPU

    @property
    def largest(self) -> int:
        """Nodes of the largest graph or sample."""
        largest = int((self.offsets[1:] - self.offsets[:-1]).max())
        return largest if self.sampler is None else min(self.sample_size, largest)

    def epoch(self, generator: torch.Generator) -> Iterator[Batch]:
        """All graphs once, in random order; a last graph that would be alone joins the batch before it."""
        chunks = list(torch.randperm(len(self.offsets) - 1, generator=generator).split(self.batch_size))
        if len(chunks) > 1 and len(chunks[-1]) == 1:
            chunks[-2:] = [torch.cat(chunks[-2:])]
        for graphs in chunks:
            yield self._of_graphs(graphs) if self.sampler is None else self._sampled(graphs, self.sampler, generator)

    def whole(self) -> Iterator[Batch]:
        """All graphs in order, all their nodes, for inference."""
        for graphs in torch.arange(len(self.offsets) - 1).split(self.batch_size):
            yield self._of_graphs(graphs)

    def _of_graphs(self, graphs: Tensor) -> Batch:
        """Whole graphs: their rows and blocks stand together already, and are copied."""
        starts, sizes = self.offsets[graphs], self.offsets[graphs + 1] - self.offsets[graphs]
        nodes = torch.repeat_interleave(starts - sizes.cumsum(0) + sizes, sizes) + torch.arange(int(sizes.sum()))
        places = starts.to(self.device), sizes.to(self.device)
        views = tuple(view.diagonal_blocks(*places) for view in self.views)
        return Batch(self.features.rows(nodes.to(self.device)), views, tuple(sizes.tolist()), device=self.device)

    def _sampled(self, graphs: Tensor, sampler: Sampler, generator: torch.Generator) -> Batch:
        parts = [self._sample(int(graph), sampler, generator) for graph in graphs]
        sizes = tuple(len(part) for part in parts)
        nodes = torch.cat(parts).to(self.device)
        views = tuple(view.select(nodes, sizes, disjoint=True) for view in self.views)
        return Batch(self.features.rows(nodes), views, sizes, device=self.device)

    def _sample(self, graph: int, sampler: Sampler, generator: torch.Generator) -> Tensor:
        start, stop = int(self.offsets[graph]), int(self.offsets[graph + 1])
        nodes = torch.arange(start, stop)
        if self.adjacency is None or stop - start <= self.sample_size:
            return nodes
        alone = self.adjacency.select(nodes, (stop - start,))
        return nodes[sampler(alone, self.sample_size, generator)]
