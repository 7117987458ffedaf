"""Graph kernels with explicit features: shortest paths, Weisfeiler–Lehman subtrees and random walks.

Their values equal those of grakel. Written as products of feature counts, they take seconds where a loop over the
pairs of graphs takes hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.graphs.refinement import wl_colours
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.runtime import compiled, use_torch_threads
from mvgrl.settings import Output, Settings


def labels_of(graph: Graph) -> np.ndarray:
    """Return a label per node as a number from 0: of its label, or of its degree if there are no labels."""
    values = graph.degrees if graph.node_labels is None else graph.node_labels
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def owners_of(graph: Graph) -> np.ndarray:
    """Return the graph that each node is in."""
    return np.repeat(np.arange(graph.count), graph.sizes)


def parts_of(graph: Graph) -> Iterable[tuple[slice, sp.csr_array]]:
    """Yield the nodes of each graph and their adjacency matrix, without weights."""
    plain = graph.adjacency.copy()
    plain.data = np.ones_like(plain.data)
    for first, last in zip(graph.offsets[:-1], graph.offsets[1:], strict=True):
        nodes = slice(int(first), int(last))
        yield nodes, plain[nodes, nodes]


def normalised(kernel: np.ndarray) -> np.ndarray:
    """Return k(x, y) / √(k(x, x) k(y, y)), symmetric; a graph without features has similarity 0 to all others.

    >>> normalised(np.array([[4.0, 3.0], [3.0, 9.0]])).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    size = np.sqrt(np.clip(np.diag(kernel), 0, None))
    scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    found: np.ndarray = kernel * scale[:, None] * scale
    return (found + found.T) / 2


def offered(kernels: Sequence[np.ndarray], default: int = 0) -> Outcome:
    """Return an outcome with one of the kernels, normalised, to be chosen inside the training folds."""
    choices = tuple(Outcome(kernel=normalised(kernel)) for kernel in kernels)
    return Outcome(kernel=choices[default].kernel, choices=choices if len(choices) > 1 else ())


def counts_kernel(rows: np.ndarray, features: np.ndarray, graphs: int, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the inner products of how often each feature occurs in each graph, from the occurrences.

    >>> counts_kernel(np.array([0, 0, 1]), np.array([7, 9, 7]), 2).tolist()
    [[2.0, 1.0], [1.0, 1.0]]
    """
    columns = np.unique(features, return_inverse=True)[1]
    values = np.ones(len(rows)) if counts is None else counts.astype(np.float64)
    table = sp.csr_array((values, (rows, columns)), shape=(graphs, int(columns.max(initial=0)) + 1))
    return (table @ table.T).toarray()


@dataclass(frozen=True)
class ShortestPaths(Method):
    """How many pairs of nodes have the same labels at both ends and the same distance; unreachable pairs count not."""

    name, label, tasks, seeded = "kernel-sp", "shortest-path kernel", ("graph",), False
    source = (
        "Borgwardt and Kriegel, 2005, with the delta kernel on labels and lengths, as in grakel's ShortestPath; labels "
        "are degrees where there are none; normalised as in Yanardag and Vishwanathan, 2015"
    )

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same kernel for all seeds."""
        return [offered([shortest_path_kernel(dataset.graph)])]


def shortest_path_kernel(graph: Graph) -> np.ndarray:
    """Return the kernel before normalisation: over ordered pairs of different nodes, as in grakel.

    >>> path, edge = (Graph.from_edges(range(n - 1), range(1, n), node_labels=[1] * n) for n in (3, 2))
    >>> shortest_path_kernel(Graph.join([path, edge])).tolist()  # 4 pairs at distance 1 and 2 at distance 2; 2 pairs
    [[20.0, 8.0], [8.0, 4.0]]
    """
    labels = labels_of(graph)
    found = []
    for number, (nodes, adjacency) in enumerate(parts_of(graph)):
        for triples, counts in _path_counts(adjacency, labels[nodes], int(labels.max()) + 1, int(graph.sizes.max())):
            found.append((np.full(len(triples), number), triples, counts))
    rows, triples, counts = (np.concatenate(column) for column in zip(*found, strict=True))
    return counts_kernel(rows, triples, graph.count, counts)


def _path_counts(
    adjacency: sp.csr_array, labels: np.ndarray, kinds: int, longest: int, chunk: int = 512
) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Yield triples (label, label, distance) as numbers, and how often each occurs, for some starts at a time."""
    used, own = np.unique(labels, return_inverse=True)  # few in one graph, even where there are many degrees
    use_torch_threads()
    for first in range(0, len(labels), chunk):  # all distances of REDDIT-BINARY's largest graph are 14 million
        distance = np.zeros((min(chunk, len(labels) - first), len(labels)), dtype=np.int32)
        _distances(adjacency.indptr, adjacency.indices, first, distance)
        size = int(distance.max()) + 1
        pair = own[first : first + chunk, None] * len(used) + own
        counts = np.bincount((pair * size + distance).reshape(-1), minlength=len(used) ** 2 * size)
        counts[::size] = 0  # a node and itself, or one that cannot be reached
        present = np.flatnonzero(counts)
        pair, length = np.divmod(present, size)
        yield (used[pair // len(used)] * kinds + used[pair % len(used)]) * longest + length, counts[present]


@compiled(parallel=True)
def _distances(indptr: Any, indices: Any, first: int, distance: Any) -> None:
    """Breadth-first search from each of some nodes: 0 for the node itself and for what it cannot reach."""
    for row in numba.prange(distance.shape[0]):
        queue = np.empty(distance.shape[1], dtype=np.int32)
        start = first + row
        queue[0], head, tail = start, 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for at in range(indptr[node], indptr[node + 1]):
                other = indices[at]
                if distance[row, other] == 0 and other != start:
                    distance[row, other] = distance[row, node] + 1
                    queue[tail] = other
                    tail += 1


@dataclass(frozen=True)
class WeisfeilerLehman(Method):
    """Common Weisfeiler–Lehman colours of rounds 0 to h; h is chosen inside the training folds."""

    name, label, tasks, seeded = "kernel-wl", "Weisfeiler–Lehman kernel", ("graph",), False
    source = (
        "Shervashidze et al., 2011: the subtree kernel, h from 0 to 10 chosen by cross-validation on training data "
        "(here from 0 to 5: further rounds hardly change the kernel of these graphs); labels are degrees where there "
        "are none"
    )
    rounds: int = 5

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same kernels for all seeds, one per number of rounds."""
        graph, kernels = dataset.graph, []
        owner, total = owners_of(graph), np.zeros((graph.count, graph.count))
        for colours in wl_colours(graph, rounds=self.rounds).T:
            total = total + counts_kernel(owner, colours, graph.count)
            kernels.append(total)
        return [offered(kernels, default=min(3, self.rounds))]
