from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mvgrl.graphs import Graph

MakeGraph = Callable[..., Graph]


def _random_graph(seed: int, nodes: int = 12, density: float = 0.25, weighted: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < density, 1)
    sources, targets = np.nonzero(upper)
    weights = rng.uniform(0.1, 5.0, len(sources)) if weighted else None
    return Graph.from_edges(sources, targets, weights, nodes=nodes)


@pytest.fixture(scope="session")
def random_graph() -> MakeGraph:
    """Makes random graphs; the sparse ones have several components. Session-scoped, as hypothesis requires."""
    return _random_graph


@pytest.fixture(scope="session")
def dense_m() -> Callable[[Graph], tuple[np.ndarray, np.ndarray]]:
    """Computes M = D̂^-1/2 Â D̂^-1/2 and d̂ in plain NumPy, as an oracle."""

    def build(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
        looped = graph.adjacency.toarray() + np.eye(graph.nodes)
        degrees = looped.sum(axis=1)
        return np.diag(degrees**-0.5) @ looped @ np.diag(degrees**-0.5), degrees

    return build
