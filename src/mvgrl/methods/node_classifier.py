"""Training of the neural networks that classify nodes: full-batch Adam, with the epoch chosen on the val nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mvgrl.datasets import Dataset
from mvgrl.encoders import xavier
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of, split_of
from mvgrl.runtime import generator_for, kept_between_steps
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class NodeData:
    """A graph on a device, and the labels that may be used: those of the train and val nodes."""

    graph: Graph
    features: Features
    labels: Tensor  # a class per node
    train: Tensor  # node numbers
    val: Tensor
    classes: int

    @classmethod
    def of(cls, dataset: Dataset, settings: Settings, device: torch.device, *, normalise: str = "row") -> NodeData:
        """Return the data of a dataset with a split."""
        train, val = (torch.from_numpy(np.asarray(part, dtype=np.int64)).to(device) for part in split_of(dataset))
        labels = torch.from_numpy(np.asarray(dataset.target, dtype=np.int64)).to(device)
        features = Features(features_of(dataset, settings, device, normalise=normalise))
        return cls(dataset.graph, features, labels, train, val, len(dataset.classes))

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.labels.device


class Features:
    """The features of the nodes, with dropout of single entries. Only the non-zero entries are drawn if X is sparse.

    >>> from mvgrl.matrices import DenseMatrix
    >>> Features(DenseMatrix(torch.ones(3, 2))).dropped(0.5, torch.Generator().manual_seed(0)).dense().unique()
    tensor([0., 2.])
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix, self.width = matrix, matrix.shape[1]
        if isinstance(matrix, SparseMatrix):
            self._order = torch.argsort(matrix.indices, stable=True)  # of the entries in the transpose

    def dropped(self, share: float, generator: torch.Generator | None) -> Matrix:
        """Return the features with a share of the entries dropped; all of them without a generator."""
        matrix = self.matrix
        if generator is None or not share:
            return matrix
        if not isinstance(matrix, SparseMatrix):
            return type(matrix)(dropout(matrix.dense(), share, generator))  # type: ignore[call-arg]
        values, across = dropout(matrix.values, share, generator), matrix.T
        found = SparseMatrix(matrix.indptr, matrix.indices, values, matrix.shape[1])
        found._pair_with(SparseMatrix(across.indptr, across.indices, values[self._order], matrix.shape[0]))
        return found


def dropout(values: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Set a share of the values to zero and scale the others up; return them unchanged without a generator."""
    if generator is None or not share:
        return values
    kept = torch.rand(values.shape, generator=generator, device=values.device) >= share
    return values * (kept.to(values.dtype) / (1 - share))


def generator_on(device: torch.device, seed: int, purpose: str) -> torch.Generator:
    """Return the random generator of one purpose of a run, for numbers that are drawn on a device."""
    return torch.Generator(device).manual_seed(generator_for(seed, purpose).initial_seed())


class Layer(nn.Module):
    """A linear layer by Glorot's rule: ``project`` is X·Θ, and ``bias`` is added after the propagation."""

    def __init__(self, width: int, out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(xavier(width, out, generator=generator))
        self.bias = nn.Parameter(torch.zeros(out))

    def project(self, x: Matrix | Tensor) -> Tensor:
        """Return X·Θ."""
        return x @ self.weight

    def forward(self, x: Matrix | Tensor) -> Tensor:
        return self.project(x) + self.bias


class Network(nn.Module):
    """A network that computes the logits of all nodes of its data; with a generator, with dropout."""

    def __init__(self, data: NodeData) -> None:
        super().__init__()
        self.data = data

    def forward(self, generator: torch.Generator | None = None) -> Tensor:
        raise NotImplementedError

    def loss(self, generator: torch.Generator) -> Tensor:
        """Return the loss of a training step: the cross-entropy on the train nodes."""
        return cross_entropy(self(generator)[self.data.train], self.data.labels[self.data.train])

    def decayed(self) -> list[nn.Parameter]:
        """Return the parameters with weight decay."""
        return list(self.parameters())


class BestEpoch:
    """The predictions at the epoch with the best accuracy on the val nodes, ties broken by the lower loss.

    Without val nodes, those of the last epoch.
    """

    def __init__(self, data: NodeData) -> None:
        self.data = data
        self.predictions = torch.zeros_like(data.labels)
        self.epochs = 0  # so far
        self.waited = 0  # epochs since either the accuracy or the loss was last at its best
        self.score = self._highest = -1.0, -np.inf  # accuracy and negative loss

    def look(self, logits: Tensor) -> None:
        """Compare the logits of the next epoch with those before."""
        val, labels = self.data.val, self.data.labels
        self.epochs += 1
        if not len(val):
            self.predictions = logits.argmax(1)
            return
        hits = (logits[val].argmax(1) == labels[val]).double().mean()
        accuracy, fit = torch.stack([hits, -cross_entropy(logits[val], labels[val]).double()]).tolist()
        if (accuracy, fit) > self.score:
            self.score, self.predictions = (accuracy, fit), logits.argmax(1)
        at_best = accuracy >= self._highest[0] or fit >= self._highest[1]
        self.waited = 0 if at_best else self.waited + 1
        self._highest = max(self._highest[0], accuracy), max(self._highest[1], fit)

    def outcome(self) -> Outcome:
        """Return the predictions, with the number of epochs trained."""
        return Outcome(predictions=self.predictions.cpu().numpy(), epochs=self.epochs)


@dataclass(frozen=True)
class NodeClassifier(Method):
    """A network trained on the labels of the train nodes; it stops after ``patience`` epochs without a better one."""

    tasks: ClassVar[tuple[str, ...]] = ("node",)
    trains: ClassVar[bool] = True
    supervised: ClassVar[bool] = True
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    epochs: int = 200
    patience: int = 200

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        """Return the network with its first weights, drawn from the generator on the CPU."""
        raise NotImplementedError

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train one network per seed."""
        data = NodeData.of(dataset, settings, context.device)
        with kept_between_steps():
            return [self.trained(data, seed).outcome() for seed in seeds]

    def trained(self, data: NodeData, seed: int) -> BestEpoch:
        """Train the network of a seed."""
        network = self.network(data, generator_for(seed, "weights")).to(data.device)
        decayed = network.decayed()
        others = [one for one in network.parameters() if all(one is not other for other in decayed)]
        groups = [{"params": decayed, "weight_decay": self.weight_decay}, {"params": others}]
        optimizer = torch.optim.Adam([group for group in groups if group["params"]], lr=self.learning_rate)
        noise = generator_on(data.device, seed, "dropout")
        return train(network, optimizer, lambda: network.loss(noise), epochs=self.epochs, patience=self.patience)


def train(
    network: Network, optimizer: torch.optim.Optimizer, loss: Callable[[], Tensor], *, epochs: int, patience: int
) -> BestEpoch:
    """Take one step per epoch, and return the epoch that is best on the val nodes."""
    best = BestEpoch(network.data)
    while best.epochs < epochs and best.waited < patience:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
        with torch.no_grad():
            best.look(network())
    return best
