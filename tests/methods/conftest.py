"""What runs share, for the tests of methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.views import ViewCache


class Context:
    """A run context that counts computed values."""

    def __init__(self) -> None:
        self.device, self.cache, self.made = torch.device("cpu"), ViewCache(), []
        self.kept: dict[tuple[str, object], Any] = {}

    def shared(self, slot: str, key: object, make: Callable[[], Any]) -> Any:
        if (slot, key) not in self.kept:
            self.made.append(slot)
            self.kept[slot, key] = make()
        return self.kept[slot, key]


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture(scope="session")
def planted() -> Dataset:
    """Three groups of 20 nodes, with many edges and similar features inside, and one isolated node at the end."""
    generator = np.random.default_rng(0)
    target = np.append(np.repeat([0, 1, 2], 20), 0)
    near = np.where(target[:, None] == target, 0.3, 0.02)
    near[-1] = near[:, -1] = 0
    sources, targets = np.nonzero(np.triu(generator.random(near.shape) < near, 1))
    means = np.hstack([np.repeat(np.eye(3), 4, axis=1), np.zeros((3, 12))])  # four columns per group, twelve of none
    features = (generator.random((len(target), 24)) < 0.1 + 0.5 * means[target]).astype(float)
    order = generator.permutation(len(target))
    split = {"train": order[:15], "val": order[15:30], "test": order[30:]}
    graph = Graph.from_edges(sources, targets, nodes=len(target), features=sp.csr_array(features))
    return Dataset("planted", graph, target, "node", split, ("a", "b", "c"), "")
