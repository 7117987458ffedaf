"""Γ: samples of the same nodes from every view, and their negatives, as batches for one step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mvgrl.components import Component, Custom
from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, SparseMatrix

_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Batch:
    """The input of one step: B graphs, or B samples of one graph, side by side.

    ``rows`` gives the row of X·Θ that each node uses; the negatives are the same structure with ``negative_rows``
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
        """The graph or sample that each node belongs to."""
        return self.owners(self.sizes)

    def owners(self, counts: Sequence[int]) -> Tensor:
        """The graph that each item belongs to, given the number of items per graph."""
        graphs = torch.arange(len(counts), device=self.device)
        if len(set(counts)) == 1:  # without a wait for the GPU
            return graphs.repeat_interleave(counts[0])
        return torch.repeat_interleave(graphs, torch.tensor(counts, device=self.device))

    def counts(self, codes: Tensor) -> Tensor:
        """The number of nodes of each graph, with the type and device of the codes."""
        if len(set(self.sizes)) == 1:  # without a wait for the GPU
            return codes.new_full((len(self.sizes),), self.sizes[0])
        return codes.new_tensor(self.sizes)

    @property
    def has_negatives(self) -> bool:
        """Whether the batch contains corrupted graphs."""
        return self.negative_rows is not None or self.negative_views is not None

    def pool(self, codes: Tensor) -> Tensor:
        """The sum of node codes (nodes × …) over each graph (graphs × …)."""
        if len(set(self.sizes)) == 1:
            return codes.unflatten(0, (len(self.sizes), self.sizes[0])).sum(1)
        return codes.new_zeros(len(self.sizes), *codes.shape[1:]).index_add(0, self.owner, codes)

    def split(self, codes: Tensor) -> Sequence[Tensor]:
        """The node codes of each graph."""
        return codes.split(self.sizes)


def random_nodes(adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
    """Uniformly random nodes: the paper's sampler."""
    return torch.randperm(adjacency.shape[0], generator=generator)[:size]


def window(adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
    """Consecutive nodes from a random start, as in the authors' released code."""
    start = int(torch.randint(adjacency.shape[0] - size + 1, (), generator=generator))
    return torch.arange(start, start + size)


def walk(adjacency: SparseMatrix, size: int, generator: torch.Generator, *, length: int = 10) -> Tensor:
    """Nodes visited by random walks, which keep edges where uniform nodes of a large graph would have none.

    Walkers start at random nodes and restart elsewhere every ``length`` steps, until ``size`` distinct nodes have been
    visited. Steps ignore edge weights; a walker on a node without edges stays there.
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
        if found > nodes // 2:  # most nodes have been visited: start from an unvisited one
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


@dataclass(frozen=True)
class Sampler(Component):
    """A way to draw nodes, as a component: called with (adjacency, size, generator), it returns distinct nodes."""

    samples: ClassVar[bool] = True  # False: every step sees the whole graph

    def __call__(self, adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
        """Draw ``size`` distinct nodes."""
        raise NotImplementedError


@dataclass(frozen=True)
class Full(Sampler):
    """The whole graph in every step."""

    name: ClassVar[str] = "full"
    samples: ClassVar[bool] = False

    def __call__(self, adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
        return torch.arange(adjacency.shape[0])


@dataclass(frozen=True)
class RandomNodes(Sampler):
    """See :func:`random_nodes`."""

    name: ClassVar[str] = "nodes"

    def __call__(self, adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
        return random_nodes(adjacency, size, generator)


@dataclass(frozen=True)
class Window(Sampler):
    """See :func:`window`."""

    name: ClassVar[str] = "window"

    def __call__(self, adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
        return window(adjacency, size, generator)


@dataclass(frozen=True)
class Walk(Sampler):
    """See :func:`walk`."""

    name: ClassVar[str] = "walk"

    length: int = 10

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int) or self.length < 1:
            raise SettingsError(f"walk: length is {self.length!r}; it must be an integer, at least 1")

    def __call__(self, adjacency: SparseMatrix, size: int, generator: torch.Generator) -> Tensor:
        return walk(adjacency, size, generator, length=self.length)


@dataclass(frozen=True)
class CustomSampler(Custom, Sampler):
    """A user-defined function (adjacency, size, generator) -> distinct nodes."""


SAMPLERS: dict[str, type[Sampler]] = {"full": Full, "nodes": RandomNodes, "window": Window, "walk": Walk}


@dataclass(frozen=True)
class Negatives(Component):
    """What positives are contrasted with, as a component."""

    permutes_features: ClassVar[bool] = False  # the same structure with permuted features
    rewires_edges: ClassVar[bool] = False  # the same degrees with other neighbours
    other_graphs: ClassVar[bool] = False  # the other graphs of the batch


@dataclass(frozen=True)
class PermutedFeatures(Negatives):
    """The same structure with permuted features: the paper's choice for one graph."""

    name: ClassVar[str] = "features"
    permutes_features: ClassVar[bool] = True


@dataclass(frozen=True)
class CorruptedAdjacency(Negatives):
    """The same features on a rewired structure."""

    name: ClassVar[str] = "adjacency"
    rewires_edges: ClassVar[bool] = True
    stackable: ClassVar[bool] = False


@dataclass(frozen=True)
class Both(Negatives):
    """Permuted features on a rewired structure."""

    name: ClassVar[str] = "both"
    permutes_features: ClassVar[bool] = True
    rewires_edges: ClassVar[bool] = True
    stackable: ClassVar[bool] = False


@dataclass(frozen=True)
class OtherGraphs(Negatives):
    """The other graphs of the batch."""

    name: ClassVar[str] = "graphs"
    other_graphs: ClassVar[bool] = True
    stackable: ClassVar[bool] = False


NEGATIVES: dict[str, type[Negatives]] = {
    "features": PermutedFeatures,
    "adjacency": CorruptedAdjacency,
    "both": Both,
    "graphs": OtherGraphs,
}


def corrupt_adjacency(graph: Graph, generator: torch.Generator) -> Graph:
    """The graph with the targets of its edges shuffled: same degrees and weights, random neighbours.

    Edges that become self-loops or duplicates are dropped or merged; in a sparse graph these are few.
    """
    upper = sp.coo_array(sp.triu(graph.adjacency, k=1))
    sources, targets = (np.asarray(ends, dtype=np.int64) for ends in upper.coords)
    graph_of_edge = np.searchsorted(graph.offsets, sources, side="right") - 1
    order = np.argsort(graph_of_edge, kind="stable")
    shuffled = torch.randperm(len(order), generator=generator).numpy()
    shuffled = shuffled[np.argsort(graph_of_edge[shuffled], kind="stable")]  # within each graph
    rewired = targets.copy()
    rewired[order] = targets[shuffled]
    corrupted = Graph.from_edges(sources, rewired, upper.data, nodes=graph.nodes, offsets=graph.offsets)
    return Graph(
        corrupted.adjacency, graph.features, graph.node_labels, graph.offsets, graph.notes, graph.feature_names
    )


@dataclass(frozen=True, eq=False)
class NodeBatches:
    """One graph: an epoch is one batch of samples of it, with corrupted counterparts as negatives."""

    features: Matrix
    views: tuple[Matrix, ...]
    adjacency: SparseMatrix  # on the CPU, for walks
    sampler: Sampler = Full()
    sample_size: int = 2000
    batch_size: int = 1
    permute: bool = True  # permuted features as negatives
    corrupted_views: tuple[Matrix, ...] | None = None  # corrupted adjacency as negatives
    device: torch.device = _CPU

    @property
    def largest(self) -> int:
        """Nodes of the largest sample."""
        nodes = self.adjacency.shape[0]
        return nodes if not self.sampler.samples else min(self.sample_size, nodes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Nodes of each sample of a batch."""
        return (self.largest,) * (self.batch_size if self.sampler.samples else 1)

    def epoch(self, generator: torch.Generator) -> Iterator[Batch]:
        """The batches of one epoch: one."""
        nodes, order = (None if one is None else one.to(self.device) for one in self.draw(generator))
        if nodes is None:
            yield Batch(self.features, self.views, self.sizes, None, order, self.corrupted_views, self.device)
            return
        views = tuple(view.select(nodes, self.sizes) for view in self.views)
        corrupted = self.corrupted_views and tuple(view.select(nodes, self.sizes) for view in self.corrupted_views)
        features, rows = self.features, nodes
        if len(nodes) < self.adjacency.shape[0]:  # X·Θ of the sampled rows only
            needed, rows = nodes.unique(return_inverse=True)
            features = features.rows(needed)
        negative_rows = rows if order is None else rows[order]
        yield Batch(features, views, self.sizes, rows, negative_rows, corrupted, self.device)

    def draw(self, generator: torch.Generator) -> tuple[Tensor | None, Tensor | None]:
        """What is random in a batch, on the CPU: the nodes of the samples (None: all), the order of the negatives."""
        nodes = None
        if self.sampler.samples:
            nodes = torch.cat([self.sampler(self.adjacency, size, generator) for size in self.sizes])
        if not self.permute:
            return nodes, None
        order = [torch.randperm(size, generator=generator) + i * size for i, size in enumerate(self.sizes)]
        return nodes, torch.cat(order)

    def whole(self) -> Iterator[Batch]:
        """The whole graph, for inference."""
        yield Batch(self.features, self.views, (self.adjacency.shape[0],), device=self.device)


@dataclass(frozen=True, eq=False)
class GraphBatches:
    """Many graphs: an epoch is a shuffled pass over them; each graph's negatives are the other graphs of its batch."""

    features: Matrix
    views: tuple[Matrix, ...]
    offsets: Tensor  # graphs + 1, on the CPU
    adjacency: SparseMatrix | None = None
    sampler: Sampler = Full()
    sample_size: int = 2000
    batch_size: int = 64
    device: torch.device = _CPU

    @property
    def largest(self) -> int:
        """Nodes of the largest graph or sample."""
        largest = int((self.offsets[1:] - self.offsets[:-1]).max())
        return largest if not self.sampler.samples else min(self.sample_size, largest)

    def epoch(self, generator: torch.Generator) -> Iterator[Batch]:
        """All graphs once, in random order; a single graph left over joins the batch before it."""
        chunks = list(torch.randperm(len(self.offsets) - 1, generator=generator).split(self.batch_size))
        if len(chunks) > 1 and len(chunks[-1]) == 1:
            chunks[-2:] = [torch.cat(chunks[-2:])]
        for graphs in chunks:
            yield self._sampled(graphs, generator) if self.sampler.samples else self.of_graphs(graphs)

    def whole(self) -> Iterator[Batch]:
        """All graphs in order, all their nodes, for inference."""
        for graphs in torch.arange(len(self.offsets) - 1).split(self.batch_size):
            yield self.of_graphs(graphs)

    def of_graphs(self, graphs: Tensor) -> Batch:
        """Complete graphs; their rows and blocks are contiguous."""
        starts, sizes = self.offsets[graphs], self.offsets[graphs + 1] - self.offsets[graphs]
        nodes = torch.repeat_interleave(starts - sizes.cumsum(0) + sizes, sizes) + torch.arange(int(sizes.sum()))
        places = starts.to(self.device), sizes.to(self.device)
        views = tuple(view.diagonal_blocks(*places) for view in self.views)
        return Batch(self.features.rows(nodes.to(self.device)), views, tuple(sizes.tolist()), device=self.device)

    def _sampled(self, graphs: Tensor, generator: torch.Generator) -> Batch:
        parts = [self._sample(int(graph), generator) for graph in graphs]
        sizes = tuple(len(part) for part in parts)
        nodes = torch.cat(parts).to(self.device)
        views = tuple(view.select(nodes, sizes, disjoint=True) for view in self.views)
        return Batch(self.features.rows(nodes), views, sizes, device=self.device)

    def _sample(self, graph: int, generator: torch.Generator) -> Tensor:
        start, stop = int(self.offsets[graph]), int(self.offsets[graph + 1])
        nodes = torch.arange(start, stop)
        if self.adjacency is None or stop - start <= self.sample_size:
            return nodes
        alone = self.adjacency.select(nodes, (stop - start,))
        return nodes[self.sampler(alone, self.sample_size, generator)]
