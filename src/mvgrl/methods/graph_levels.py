"""Batches of whole graphs in which nodes that a network cannot distinguish share a row.

After l layers, a network gives the same codes to nodes of the same Weisfeiler–Lehman colour after l rounds. Such nodes
of a graph share a row, which remembers how many they are: the same sums, means and gradients from fewer rows. On
REDDIT-BINARY, four layers have a quarter of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from mvgrl.graphs import Graph
from mvgrl.graphs.refinement import refined
from mvgrl.matrices import SparseMatrix


@dataclass(frozen=True)
class Level:
    """The rows after some layers: the graph of each row, and how many nodes it stands for."""

    owner: Tensor
    nodes: Tensor
    per_graph: SparseMatrix  # graphs × rows: the nodes of each row

    def summed(self, x: Tensor) -> Tensor:
        """Return the sum over the nodes of each graph."""
        return _product(self.per_graph, x)


@dataclass(frozen=True)
class Step:
    """From the rows of one level to those of the next."""

    own: Tensor  # for each new row, the old row of the same nodes
    neighbours: SparseMatrix  # new × old rows: the number of a node's neighbours in each old row
    target: Tensor  # the new row of each entry of ``neighbours``

    def kept(self, x: Tensor) -> Tensor:
        """Return the old code of every new row."""
        return x.index_select(0, self.own)

    def summed(self, x: Tensor) -> Tensor:
        """Return the sum over the neighbours."""
        return _product(self.neighbours, x)

    def mean_with_self(self, x: Tensor) -> Tensor:
        """Return the mean over each node and its neighbours."""
        degrees = _product(self.neighbours, x.new_ones(self.neighbours.shape[1], 1))
        return (self.kept(x) + self.summed(x)) / (degrees + 1).view(-1, *[1] * (x.dim() - 1))

    def max_with_self(self, x: Tensor) -> Tensor:
        """Return the largest value over each node and its neighbours."""
        flat = x.flatten(1)
        others = flat.index_select(0, self.neighbours.indices)
        where = self.target[:, None].expand_as(others)
        found = self.kept(flat).scatter_reduce(0, where, others, "amax", include_self=True)
        return found.unflatten(1, x.shape[1:])

    def attention(self, x: Tensor, towards: Tensor, away: Tensor) -> Tensor:
        """Return the mean over each node and its neighbours, weighted by attention: rows × models × heads × columns.

        The weight of a neighbour is the softmax over those of a node, and itself, of
        LeakyReLU(towards·x_target + away·x_source).
        """
        source, target = self.neighbours.indices, self.target
        at_target, at_source = self.kept((x * towards).sum(-1)), (x * away).sum(-1)
        own = nn.functional.leaky_relu(at_target + self.kept(at_source), 0.2)
        scores = nn.functional.leaky_relu(at_target.index_select(0, target) + at_source.index_select(0, source), 0.2)
        where = target.view(-1, 1, 1).expand_as(scores)
        highest = own.detach().scatter_reduce(0, where, scores.detach(), "amax", include_self=True)
        own = (own - highest).exp()
        weights = (scores - highest.index_select(0, target)).exp() * self.neighbours.values.view(-1, 1, 1)
        total = own.index_add(0, target, weights)
        others = weights.unsqueeze(-1) * x.index_select(0, source)
        return (own.unsqueeze(-1) * self.kept(x)).index_add(0, target, others) / total.unsqueeze(-1)


@dataclass(frozen=True)
class Batch:
    """Some graphs: the features of the first level's rows, all levels, the steps between them, and nodes per graph."""

    features: Tensor
    levels: list[Level]
    steps: list[Step]
    sizes: Tensor


class GraphBatches:
    """All graphs of a dataset, from which batches are taken.

    ``kinds`` holds a number from 0 on per node, which is one-hot in the features; edges have no weights. Networks of
    ``layers`` layers can be applied to the batches, or only those that take an average or a maximum over each node
    and its neighbours, if ``averages``.
    """

    def __init__(
        self, graph: Graph, kinds: np.ndarray, layers: int, device: torch.device, *, averages: bool = False
    ) -> None:
        self.device, self.width = device, int(kinds.max()) + 1
        self.sizes = graph.sizes
        partitions = [_Partition(graph, colours) for colours in _colours(graph, kinds, layers, averages)]
        self._levels = [_AllRows(one, device) for one in partitions]
        self._steps = [_AllSteps(graph, *pair, device) for pair in pairwise(partitions)]
        self._kinds = torch.from_numpy(kinds[partitions[0].first].astype(np.int64)).to(device)

    def take(self, numbers: np.ndarray) -> Batch:
        """Return the given graphs as a batch."""
        ranges = [level.ranges(numbers) for level in self._levels]
        levels = [all_rows.take(rows) for all_rows, rows in zip(self._levels, ranges, strict=True)]
        steps = [step.take(numbers, *ranges[at : at + 2]) for at, step in enumerate(self._steps)]
        kinds = self._kinds[ranges[0].chosen]
        features = nn.functional.one_hot(kinds, self.width).float()
        return Batch(features, levels, steps, torch.from_numpy(self.sizes[numbers]).to(self.device))


def _colours(graph: Graph, kinds: np.ndarray, rounds: int, averages: bool) -> Iterator[np.ndarray]:
    """Yield the colour of every node after 0, 1, … rounds.

    An average over equal codes does not depend on how many they are, so that a node whose neighbours all have its
    colour is then coloured as if it had none.
    """
    adjacency, colours = graph.adjacency, kinds.astype(np.uint64)
    yield colours
    for number in range(1, rounds + 1):
        before, colours = colours, refined(adjacency, colours, number)
        if averages:
            differs = np.repeat(before, np.diff(adjacency.indptr)) != before[adjacency.indices]
            total = np.concatenate([[0], np.cumsum(differs)])
            alone = total[adjacency.indptr[1:]] == total[adjacency.indptr[:-1]]
            colours = np.where(alone, refined(sp.csr_array(adjacency.shape), before, number), colours)
        yield colours


class _Partition:
    """The nodes of every graph by colour: a row for each, in the order of their first nodes."""

    def __init__(self, graph: Graph, colours: np.ndarray) -> None:
        owner = np.repeat(np.arange(graph.count), graph.sizes)
        rank = np.unique(colours, return_inverse=True)[1].reshape(-1)
        _, first, found, nodes = np.unique(
            owner * (rank.max() + 1) + rank, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        self.first, self.nodes = first[order], nodes[order]
        self.row_of_node = np.argsort(order)[found]
        self.offsets = np.searchsorted(self.first, graph.offsets)  # of the rows of each graph


class _Ranges:
    """Rows of some graphs, one range per graph: their old numbers, and how far each graph's numbers move."""

    def __init__(self, offsets: np.ndarray, numbers: np.ndarray, device: torch.device) -> None:
        starts, counts = offsets[numbers], offsets[numbers + 1] - offsets[numbers]
        self.total = int(counts.sum())
        ends = np.cumsum(counts)
        packed = np.stack([ends - counts - starts, counts, ends])
        self.moved, self.counts, self.ends = torch.from_numpy(packed).to(device)
        self.chosen = torch.arange(self.total, device=device) - self.repeated(self.moved)

    def repeated(self, per_graph: Tensor) -> Tensor:
        """Return a value per graph for each row."""
        return torch.repeat_interleave(per_graph, self.counts, output_size=self.total)


class _AllRows:
    """A level of all graphs."""

    def __init__(self, partition: _Partition, device: torch.device) -> None:
        self.offsets, self.device = partition.offsets, device
        self.nodes = torch.from_numpy(partition.nodes.astype(np.float32)).to(device)

    def ranges(self, numbers: np.ndarray) -> _Ranges:
        return _Ranges(self.offsets, numbers, self.device)

    def take(self, rows: _Ranges) -> Level:
        graphs = len(rows.counts)
        owner = rows.repeated(torch.arange(graphs, device=self.device))
        nodes, every = self.nodes[rows.chosen], torch.arange(rows.total + 1, device=self.device)
        indptr = nn.functional.pad(rows.ends, (1, 0))
        per_graph = SparseMatrix(indptr.int(), every[:-1].int(), nodes, rows.total)
        per_graph.pair_with(SparseMatrix(every.int(), owner.int(), nodes, graphs))
        return Level(owner, nodes, per_graph)


class _AllSteps:
    """A step of all graphs; matrices are block-diagonal, a block per graph."""

    def __init__(self, graph: Graph, before: _Partition, after: _Partition, device: torch.device) -> None:
        around = graph.adjacency[after.first]
        counted = sp.csr_array(
            (np.ones(around.nnz, dtype=np.float32), before.row_of_node[around.indices], around.indptr),
            shape=(len(after.first), len(before.first)),
        )
        counted.sum_duplicates()
        self.own = torch.from_numpy(before.row_of_node[after.first]).to(device)
        self.forward = _Blocks(counted, after.offsets, device)
        self.backward = _Blocks(sp.csr_array(counted.T), before.offsets, device)

    def take(self, numbers: np.ndarray, before: _Ranges, after: _Ranges) -> Step:
        own = self.own[after.chosen] + after.repeated(before.moved)
        neighbours, target = self.forward.take(numbers, after, before)
        neighbours.pair_with(self.backward.take(numbers, before, after)[0])
        return Step(own, neighbours, target)


class _Blocks:
    """A block-diagonal matrix, of which some blocks are taken."""

    def __init__(self, matrix: sp.csr_array, offsets: np.ndarray, device: torch.device) -> None:
        self.offsets = matrix.indptr[offsets].astype(np.int64)  # entries of each block
        arrays = (np.diff(matrix.indptr).astype(np.int64), matrix.indices.astype(np.int64), matrix.data)
        self.counts, self.columns, self.values = (torch.from_numpy(one).to(device) for one in arrays)

    def take(self, numbers: np.ndarray, rows: _Ranges, columns: _Ranges) -> tuple[SparseMatrix, Tensor]:
        """Return the blocks of some graphs as one matrix, and the row of each of its entries."""
        entries = _Ranges(self.offsets, numbers, self.counts.device)
        counts = self.counts[rows.chosen]
        indptr = nn.functional.pad(counts.cumsum(0), (1, 0))
        found = self.columns[entries.chosen] + entries.repeated(columns.moved)
        every = torch.arange(rows.total, device=counts.device)
        row_of_entry = torch.repeat_interleave(every, counts, output_size=entries.total)
        matrix = SparseMatrix(indptr.int(), found.int(), self.values[entries.chosen], columns.total)
        return matrix, row_of_entry


def _product(matrix: SparseMatrix, x: Tensor) -> Tensor:
    """Return the product with rows × anything."""
    return (matrix @ x.flatten(1)).unflatten(1, x.shape[1:])
