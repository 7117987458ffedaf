"""Training of the neural networks that classify nodes: full-batch Adam, with the epoch chosen on the val nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mvgrl.datasets import Dataset
from mvgrl.encoders import xavier
from mvgrl.graphs import Graph
from mvgrl.matrices import Matrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of, split_of
from mvgrl.methods.noise import Drawn, Features, Given, Noise, Recorder, drawn_for
from mvgrl.optimizers import Adam
from mvgrl.positions import DIMENSIONS
from mvgrl.runtime import generator_for, kept_between_steps
from mvgrl.settings import Output, Settings

_MOST_SEEDS = 25  # in a stack
_BYTES_OF_NUMBER = 100  # of a value of a node or edge, with its gradient and masks


@dataclass(frozen=True)
class NodeData:
    """A graph on a device, and the labels that may be used: those of the train and val nodes."""

    graph: Graph
    features: Features
    labels: Tensor  # a class per node
    train: Tensor  # node numbers
    val: Tensor
    classes: int
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

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

    def once(self, what: str, make: Callable[[], Any]) -> Any:
        """Return ``make()``, computed once and shared by the networks of all seeds."""
        if what not in self._kept:
            self._kept[what] = make()
        return self._kept[what]


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
    """A network that computes the logits of all nodes of its data; with noise, under dropout."""

    def __init__(self, data: NodeData) -> None:
        super().__init__()
        self.data = data

    def forward(self, noise: Noise | None = None) -> Tensor:
        raise NotImplementedError

    def loss(self, noise: Noise) -> Tensor:
        """Return the loss of a training step: the cross-entropy on the train nodes."""
        return cross_entropy(self(noise)[self.data.train], self.data.labels[self.data.train])

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
        ((accuracy, fit),) = scores(logits.unsqueeze(0), self.data)
        self.take(accuracy, fit, logits.argmax(1))

    def take(self, accuracy: float, fit: float, predictions: Tensor) -> None:
        """Compare the accuracy and the negative loss of the next epoch with those before."""
        self.epochs += 1
        if (accuracy, fit) > self.score or not len(self.data.val):
            self.score, self.predictions = (accuracy, fit), predictions
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
    hidden: int = 16
    stacks: ClassVar[bool] = True  # False: its loss draws more than masks, so seeds cannot be trained together

    @property
    def width(self) -> int:
        """The largest number of values per node or edge of a layer, to estimate the memory."""
        return self.hidden

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        """Return the network with its first weights, drawn from the generator on the CPU."""
        raise NotImplementedError

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train one network per seed."""
        data = NodeData.of(dataset, settings, context.device)
        with kept_between_steps():
            return [best.outcome() for best in self.trained(data, seeds)]

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds to train as one stack: on a GPU, as many as fit into a quarter of its free memory."""
        if device.type == "cpu" or not self.stacks:
            return 1
        graph = dataset.graph
        entries = (
            graph.nodes * DIMENSIONS if graph.features is None else getattr(graph.features, "nnz", graph.features.size)
        )
        each = _BYTES_OF_NUMBER * (entries + (graph.nodes + 2 * graph.edges) * self.width)
        return max(1, min(_MOST_SEEDS, int(torch.cuda.mem_get_info(device)[0] / 4 / each)))

    def trained(self, data: NodeData, seeds: Sequence[int]) -> list[BestEpoch]:
        """Train the networks of the seeds: together on a GPU, one after the other on a CPU, which one keeps busy."""
        if data.device.type == "cpu" or not self.stacks:
            return [self._train(data, [seed])[0] for seed in seeds]
        return self._train(data, seeds)

    def _train(self, data: NodeData, seeds: Sequence[int]) -> list[BestEpoch]:
        networks = [self.network(data, generator_for(seed, "weights")).to(data.device) for seed in seeds]
        noises = [Drawn(generator_for(seed, "dropout", data.device)) for seed in seeds]
        stack = Stack(networks) if len(networks) > 1 else None
        parameters = list(networks[0].parameters()) if stack is None else list(stack.parameters.values())
        decayed = {id(one) for one in networks[0].decayed()}
        chosen = [id(one) in decayed for one in networks[0].parameters()]
        groups: list[dict[str, Any]] = [
            {"params": [one for one, in_group in zip(parameters, chosen, strict=True) if in_group is wanted]}
            for wanted in (True, False)
        ]
        groups[0]["weight_decay"] = self.weight_decay
        optimizer = Adam([group for group in groups if group["params"]], lr=self.learning_rate)
        steps = dict(epochs=self.epochs, patience=self.patience)
        if stack is not None:
            return stack.train(optimizer, noises, **steps)
        return [train(networks[0], optimizer, lambda: networks[0].loss(noises[0]), **steps)]


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


def scores(logits: Tensor, data: NodeData) -> list[tuple[float, float]]:
    """Return the accuracy and the negative loss on the val nodes, for logits of networks × nodes × classes."""
    if not len(data.val):
        return [(0.0, 0.0)] * len(logits)
    some, truth = logits[:, data.val], data.labels[data.val].expand(len(logits), -1)
    hits = (some.argmax(2) == truth).double().mean(1)
    losses = cross_entropy(some.transpose(1, 2), truth, reduction="none").double().mean(1)
    found: list[tuple[float, float]] = [(hit, -loss) for hit, loss in torch.stack([hits, losses], dim=1).tolist()]
    return found


class Stack:
    """Networks of several seeds with their weights stacked: every step trains all of them.

    A seed that has stopped stays in the stack, since its steps cost little; its best epoch is kept as it was.
    """

    def __init__(self, networks: Sequence[Network]) -> None:
        self.network, self.data = networks[0], networks[0].data
        each = [dict(network.named_parameters()) for network in networks]
        self.parameters = {name: torch.stack([one[name].detach() for one in each]).requires_grad_() for name in each[0]}
        recorder = Recorder()
        with torch.no_grad():
            self.network(recorder)
        self.asked = recorder.asked

    def logits(self, noises: Sequence[Drawn] | None = None) -> Tensor:
        """Return the logits of all networks: seeds × nodes × classes."""
        masks, matrices = drawn_for(self.asked, self.data.features, noises) if noises else ([], [])

        def one(parameters: dict[str, Tensor], masks: list[Tensor]) -> Tensor:
            noise = Given(masks, matrices) if noises else None
            return torch.func.functional_call(self.network, parameters, (noise,))

        return torch.vmap(one, in_dims=(0, 0 if masks else None))(self.parameters, masks)

    def train(
        self, optimizer: torch.optim.Optimizer, noises: Sequence[Drawn], *, epochs: int, patience: int
    ) -> list[BestEpoch]:
        """Take one step per epoch until every seed has stopped, and return the best epoch of each."""
        bests, known = [BestEpoch(self.data) for _ in noises], self.data.labels[self.data.train]
        while any(going := [best.epochs < epochs and best.waited < patience for best in bests]):
            optimizer.zero_grad(set_to_none=True)
            logits = self.logits(noises)[:, self.data.train]
            losses = cross_entropy(logits.transpose(1, 2), known.expand(len(noises), -1), reduction="none")
            losses.mean(1).sum().backward()  # no seed's loss depends on another's weights
            optimizer.step()
            with torch.no_grad():
                found = self.logits()
            for best, goes, score, row in zip(bests, going, scores(found, self.data), found.argmax(2), strict=True):
                if goes:
                    best.take(*score, row.clone())
        return bests
