"""The multiscale Laplacian graph kernel, in the low-rank form of its authors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.kernels import labels_of, offered, parts_of
from mvgrl.methods.time_limit import within
from mvgrl.settings import Output, Settings

_TOGETHER = 2**14  # matrices whose determinants are computed together


@dataclass(frozen=True)
class MultiscaleLaplacian(Method):
    """Gaussians of graph Laplacians compared on neighbourhoods of growing radius, up to ``levels``.

    A node's base features are its one-hot label, or its one-hot degree. The kernel of each level is offered.
    """

    name, label, tasks = "kernel-mlg", "multiscale Laplacian kernel", ("graph",)
    source = (
        "Kondor and Pan, 2016, algorithm 1 of the supplement, with the defaults of grakel's MultiscaleLaplacian: "
        "η = γ = 0.01, 50 sampled nodes, rank 10; the number of levels (1 to 3) is chosen inside the training folds"
    )
    levels: int = 3
    eta: float = 0.01
    gamma: float = 0.01
    rank: int = 10
    samples: int = 50
    minutes: float = 30

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Sample nodes once per seed."""
        about = (self.levels, self.eta, self.gamma, self.rank, self.samples)
        return [
            offered(within(self.minutes, multiscale_kernels, dataset.graph, *about, seed), self.levels - 1)
            for seed in seeds
        ]


def multiscale_kernels(
    graph: Graph, levels: int, eta: float, gamma: float, rank: int, samples: int, seed: int
) -> list[np.ndarray]:
    """Return the kernel of each level from 1."""
    order, nodes = np.random.RandomState(seed), list(range(graph.nodes))  # grakel's way to draw the nodes
    order.shuffle(nodes)
    features = np.eye(int(labels_of(graph).max()) + 1)[labels_of(graph)]
    similar = features @ features[nodes[:samples]].T
    features = _low_rank(similar, np.array(nodes[:samples]), rank)
    found = []
    for radius in range(1, levels + 1):
        inverse, size = _gaussians(_neighbourhoods(graph, radius), features, eta, gamma)
        order.shuffle(nodes)
        drawn = np.array(nodes[:samples])
        similar = _overlaps(inverse, size, inverse[drawn], size[drawn])
        features = _low_rank(similar, drawn, rank)
        wholes = ((np.arange(part.start, part.stop), adjacency.toarray()) for part, adjacency in parts_of(graph))
        inverse, size = _gaussians(wholes, features, eta, gamma)
        found.append(_overlaps(inverse, size, inverse, size))
    return found


def _neighbourhoods(graph: Graph, radius: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Yield the nodes within a radius of each node, and their adjacency matrix."""
    for part, adjacency in parts_of(graph):
        dense, near = adjacency.toarray(), sp.eye_array(adjacency.shape[0], format="csr")
        for _ in range(radius):
            near = near + near @ adjacency
        near.sort_indices()
        for first, last in zip(near.indptr[:-1], near.indptr[1:], strict=True):
            nodes = near.indices[first:last]
            yield part.start + nodes, dense[np.ix_(nodes, nodes)]


def _gaussians(
    parts: Iterable[tuple[np.ndarray, np.ndarray]], features: np.ndarray, eta: float, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each part the inverse of S = Uᵀ(L + ηI)⁻¹U + γI, and the logarithm of its determinant."""
    found = []
    for nodes, adjacency in parts:
        laplacian = np.diag(adjacency.sum(axis=1) + eta) - adjacency
        found.append(features[nodes].T @ np.linalg.solve(laplacian, features[nodes]))
    covariance = np.stack(found) + gamma * np.eye(features.shape[1])
    return np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]


def _overlaps(left: np.ndarray, left_size: np.ndarray, right: np.ndarray, right_size: np.ndarray) -> np.ndarray:
    """Return the overlap of every pair of Gaussians, up to a constant factor."""
    found = np.empty((len(left), len(right)))
    step = max(1, _TOGETHER // len(right))
    for first in range(0, len(left), step):
        rows = slice(first, first + step)
        joint = np.linalg.slogdet(left[rows, None] + right)[1]
        found[rows] = -(joint + 0.5 * (left_size[rows, None] + right_size)) / 2
    return np.where(found < -30, 0.0, np.exp(found))


def _low_rank(similar: np.ndarray, drawn: np.ndarray, rank: int) -> np.ndarray:
    """Return features whose inner products approximate the similarity of all nodes, from that to the drawn ones."""
    values, vectors = np.linalg.eigh(similar[drawn])
    kept = np.flatnonzero(values > 1e-6)[-rank:]
    found: np.ndarray = similar @ (vectors[:, kept] / np.sqrt(values[kept]))
    return found
