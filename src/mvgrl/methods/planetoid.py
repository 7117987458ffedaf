"""Planetoid-T and Planetoid-I: classes from features and from learned codes (Yang, Cohen & Salakhutdinov, ICML 2016).

The codes predict their context: the nodes near them on random walks, and nodes with the same label. In Planetoid-T each
node has a code of its own; in Planetoid-I a code is a function of the features, and training sees no test nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mvgrl.datasets import Dataset
from mvgrl.encoders import xavier
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.node_classifier import Layer, Network, NodeData, train
from mvgrl.methods.noise import Noise
from mvgrl.optimizers import SGD
from mvgrl.runtime import generator_for, kept_between_steps
from mvgrl.settings import Output, Settings


class Codes(nn.Module):
    """The codes of nodes; one free vector per node."""

    def __init__(self, data: NodeData, size: int, generator: torch.Generator) -> None:
        super().__init__()
        self.table = nn.Parameter(0.01 * torch.randn(data.graph.nodes, size, generator=generator))

    def forward(self, nodes: Tensor | None = None) -> Tensor:
        """Return the codes of some nodes, or of all."""
        return self.table if nodes is None else self.table[nodes]


class CodesOfFeatures(nn.Module):
    """The codes of nodes as a function of their features: relu(X·Θ + b)."""

    def __init__(self, data: NodeData, size: int, generator: torch.Generator) -> None:
        super().__init__()
        self.features = data.features.matrix
        self.layer = Layer(data.features.width, size, generator)

    def forward(self, nodes: Tensor | None = None) -> Tensor:
        """Return the codes of some nodes, or of all."""
        return self.layer(self.features if nodes is None else self.features.rows(nodes)).relu()


class PlanetoidNetwork(Network):
    """Classes from softmax([softmax(head(x)), softmax(head(e))]), and contexts from the codes e.

    As in the authors' code, each of the two heads has a cross-entropy of its own too.
    """

    def __init__(self, data: NodeData, codes: nn.Module, size: int, generator: torch.Generator) -> None:
        super().__init__(data)
        self.codes = codes
        self.of_features = Layer(data.features.width, data.classes, generator)
        self.of_codes = Layer(size, data.classes, generator)
        self.both = Layer(2 * data.classes, data.classes, generator)
        self.contexts = nn.Parameter(xavier(size, data.graph.nodes, generator=generator))
        self.frequency = nn.Parameter(torch.zeros(data.graph.nodes))
        self._train_features = data.features.matrix.rows(data.train)

    def classifier(self) -> list[nn.Parameter]:
        """Return all parameters but those of the contexts."""
        return [value for name, value in self.named_parameters() if name not in ("contexts", "frequency")]

    def forward(self, noise: Noise | None = None) -> Tensor:
        return self._logits(self.of_features(self.data.features.matrix), self.of_codes(self.codes()))

    def _logits(self, *heads: Tensor) -> Tensor:
        return self.both(torch.cat([head.softmax(1) for head in heads], dim=1))

    def loss(self, noise: Noise | None = None) -> Tensor:
        known = self.data.labels[self.data.train]
        heads = self.of_features(self._train_features), self.of_codes(self.codes(self.data.train))
        losses = [cross_entropy(logits, known) for logits in (self._logits(*heads), *heads)]
        return losses[0] + losses[1] + losses[2]

    def context_loss(self, nodes: np.ndarray, contexts: np.ndarray) -> Tensor:
        """Return the sum of -log p(context | node) over pairs, with the softmax over all nodes.

        The softmax depends on the node alone, so it is computed once per node however many pairs it is in.
        """
        some, row, count = np.unique(nodes, return_inverse=True, return_counts=True)
        place, rows, counts, columns = (
            torch.from_numpy(array.astype(np.int64)).to(self.data.device) for array in (some, row, count, contexts)
        )
        logits = self.codes(place) @ self.contexts + self.frequency
        return (counts * logits.logsumexp(1)).sum() - logits[rows, columns].sum()


def walk(graph: Graph, starts: np.ndarray, steps: int, generator: np.random.Generator) -> np.ndarray:
    """Return one walk per start, steps + 1 nodes long, each step to any neighbour; no start may be isolated."""
    indptr, indices, degrees = graph.adjacency.indptr, graph.adjacency.indices, graph.degrees
    path = [starts]
    for _ in range(steps):
        here = path[-1]
        path.append(indices[indptr[here] + (generator.random(len(here)) * degrees[here]).astype(np.int64)])
    return np.stack(path, axis=1)


def window_pairs(paths: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of nodes at most ``window`` steps apart on a path, each with itself too, as the authors do.

    >>> [ends.tolist() for ends in window_pairs(np.array([[5, 7, 9]]), 1)]
    [[5, 7, 9, 5, 7, 7, 9], [5, 7, 9, 7, 9, 5, 7]]
    """
    first, second = [paths.reshape(-1)], [paths.reshape(-1)]
    for shift in range(1, min(window, paths.shape[1] - 1) + 1):
        before, after = paths[:, :-shift].reshape(-1), paths[:, shift:].reshape(-1)
        first += [before, after]
        second += [after, before]
    return np.concatenate(first), np.concatenate(second)


@dataclass(frozen=True)
class Planetoid(Method):
    """The training that both variants share: label contexts, then walks, then classes, by plain gradient descent."""

    tasks: ClassVar[tuple[str, ...]] = ("node",)
    trains: ClassVar[bool] = True
    supervised: ClassVar[bool] = True
    inductive: ClassVar[bool]
    size: int = 50  # of the codes
    window: int = 3
    length: int = 10  # steps of a walk
    batch: int = 200  # walks per step
    label_batch: int = 100  # pairs of nodes with the same label per step
    label_steps: int = 2000
    graph_steps: int = 70
    context_rate: float = 0.01  # learning rate of the contexts
    graph_share: float = 0.0  # steps on walks per epoch
    learning_rate: float = 0.1
    epochs: int = 1000
    patience: int = 1000

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train one network per seed."""
        data = NodeData.of(dataset, settings, context.device, normalise="none")
        seen = np.ones(dataset.graph.nodes, dtype=bool)
        if self.inductive and dataset.splits is not None:
            seen[dataset.splits["test"]] = False
        with kept_between_steps():
            return [self._trained(data, seen, seed) for seed in seeds]

    def _trained(self, data: NodeData, seen: np.ndarray, seed: int) -> Outcome:
        generator, draws = generator_for(seed, "weights"), np.random.default_rng(seed)
        codes = (CodesOfFeatures if self.inductive else Codes)(data, self.size, generator)
        network = PlanetoidNetwork(data, codes, self.size, generator).to(data.device)
        learned = [*codes.parameters(), network.contexts, network.frequency]
        contexts = SGD(learned, lr=self.context_rate)
        walks = self._walks(data.graph, seen, draws)
        for pairs, steps in ((self._same_label(data, draws), self.label_steps), (walks, self.graph_steps)):
            for _ in range(steps):
                _step(network, contexts, *next(pairs))

        def loss() -> Tensor:
            if self.graph_share and draws.random() < self.graph_share:
                _step(network, contexts, *next(walks))
                optimizer.zero_grad(set_to_none=True)
            return network.loss()

        optimizer = SGD(network.classifier(), lr=self.learning_rate)
        return train(network, optimizer, loss, epochs=self.epochs, patience=self.patience).outcome()

    def _same_label(self, data: NodeData, draws: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield pairs of train nodes with the same label: any node, then any node of its class."""
        nodes = data.train.cpu().numpy()
        order = np.argsort(labels := data.labels.cpu().numpy()[nodes], kind="stable")
        counts = np.bincount(labels)
        starts = np.cumsum(counts) - counts
        while True:
            first = draws.integers(len(nodes), size=self.label_batch)
            label = labels[first]
            second = order[starts[label] + (draws.random(len(first)) * counts[label]).astype(np.int64)]
            yield nodes[first], nodes[second]

    def _walks(
        self, graph: Graph, seen: np.ndarray, draws: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the pairs of seen nodes near each other on walks; every node starts one before any starts another."""
        usable = np.flatnonzero(seen & (graph.degrees > 0))
        while True:
            order = draws.permutation(usable)
            for begin in range(0, max(len(order), 1), self.batch):
                paths = walk(graph, order[begin : begin + self.batch], self.length, draws)
                first, second = window_pairs(paths, self.window)
                kept = seen[first] & seen[second]
                yield first[kept], second[kept]


def _step(network: PlanetoidNetwork, optimizer: torch.optim.Optimizer, nodes: np.ndarray, contexts: np.ndarray) -> None:
    if not len(nodes):
        return
    optimizer.zero_grad(set_to_none=True)
    network.context_loss(nodes, contexts).backward()
    optimizer.step()


@dataclass(frozen=True)
class PlanetoidT(Planetoid):
    """The transductive variant: a free code per node."""

    name: ClassVar[str] = "planetoid-t"
    label: ClassVar[str] = "Planetoid-T"
    source: ClassVar[str] = (
        "Yang, Cohen & Salakhutdinov (ICML 2016) and test_trans.py of github.com/kimiyoung/planetoid"
    )
    inductive: ClassVar[bool] = False


@dataclass(frozen=True)
class PlanetoidI(Planetoid):
    """The inductive variant: a code is a function of the features, and test nodes are in no context."""

    name: ClassVar[str] = "planetoid-i"
    label: ClassVar[str] = "Planetoid-I"
    source: ClassVar[str] = "Yang, Cohen & Salakhutdinov (ICML 2016) and test_ind.py of github.com/kimiyoung/planetoid"
    inductive: ClassVar[bool] = True
    batch: int = 20
    label_batch: int = 20
    label_steps: int = 10_000
    graph_steps: int = 400
    context_rate: float = 0.001
    graph_share: float = 0.1
