"""The random-walk kernel: walks that two graphs have in common, the longer ones weighing less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.kernels import labels_of, offered, owners_of
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class RandomWalk(Method):
    """Σ_k λ^k × the number of pairs of walks of length k, over the same labels if there are labels.

    λ is chosen inside the training folds among those values for which the sum converges fast, λρ² ≤ ``furthest`` with
    the largest eigenvalue ρ of all graphs; for these the kernel is positive definite.
    """

    name, label, tasks, seeded = "kernel-rw", "random-walk kernel", ("graph",), False
    source = (
        "Gärtner et al., 2003, and Vishwanathan et al., 2010: the geometric kernel with uniform starts, as in grakel's "
        "RandomWalk and RandomWalkLabeled; λ from 1e-6 to 0.1 as in Niepert et al., 2016, section 5.2"
    )
    lambdas: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    furthest: float = 0.9

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return the same kernels for all seeds, one per λ."""
        graph = dataset.graph
        radius = largest_eigenvalue(graph)
        fitting = [one for one in self.lambdas if one * radius**2 <= self.furthest]
        fitting = fitting or [self.furthest / max(radius, 1e-12) ** 2]
        return [offered(random_walk_kernels(graph, fitting, radius), default=len(fitting) - 1)]


def largest_eigenvalue(graph: Graph) -> float:
    """Return the largest eigenvalue of the adjacency matrix without weights.

    >>> round(largest_eigenvalue(Graph.from_edges([0, 1, 2], [1, 2, 0])), 6)
    2.0
    """
    plain = _unweighted(graph).astype(np.float64)
    if graph.nodes < 3 or not plain.nnz:
        return float(np.linalg.eigvalsh(plain.toarray()).max()) if graph.nodes < 3 else 0.0
    start = np.ones(graph.nodes)
    return float(sp.linalg.eigsh(plain, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def random_walk_kernels(graph: Graph, lambdas: Sequence[float], radius: float) -> list[np.ndarray]:
    """Return the kernel before normalisation for each λ: the first terms of the sum, up to relative 1e-12.

    >>> edge = Graph.from_edges([0], [1])  # two walks of each length, four pairs: 4 Σ λ^k
    >>> random_walk_kernels(edge, [0.5], radius=1.0)[0].round(6).tolist()
    [[8.0]]
    """
    terms = [1 + int(np.ceil(np.log(1e-12) / np.log(max(one * radius**2, 1e-12)))) for one in lambdas]
    found = [np.zeros((graph.count, graph.count)) for _ in lambdas]
    for length, pairs in enumerate(_common_walks(graph, max(terms))):
        for kernel, one, last in zip(found, lambdas, terms, strict=True):
            if length <= last:
                kernel += one**length * pairs
    return found


def _common_walks(graph: Graph, longest: int) -> Iterator[np.ndarray]:
    """Yield the number of pairs of walks of each length from 0 for all pairs of graphs."""
    adjacency, owner = _unweighted(graph).astype(np.float64), owners_of(graph)
    sums = sp.csr_array((np.ones(graph.nodes), (owner, np.arange(graph.nodes))), shape=(graph.count, graph.nodes))
    if graph.node_labels is None:  # a pair of walks is one walk in each graph, whatever the other one is
        walks = np.ones(graph.nodes)
        for _ in range(longest + 1):
            count = sums @ walks
            yield np.outer(count, count)
            walks = adjacency @ walks
        return
    labels = labels_of(graph)
    same = (labels[:, None] == labels).astype(np.float64)  # nodes of the product graph, which walks on A X A
    walks = same
    for _ in range(longest + 1):
        yield sums @ (sums @ walks).T
        walks = same * (adjacency @ (adjacency @ walks).T)


def _unweighted(graph: Graph) -> sp.csr_array:
    plain = graph.adjacency.copy()
    plain.data = np.ones_like(plain.data)
    return plain
