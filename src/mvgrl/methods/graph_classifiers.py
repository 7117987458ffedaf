"""Supervised graph classifiers in the frame of GIN: GIN-0, GIN-ε, GCN, GraphSAGE and GAT (Xu et al., 2019).

Each of the ten folds of a seed is predicted by a model trained on eight others; the ninth, the fold after the one that
is predicted, chooses its epoch. All ten models are trained together, on a GPU those of several seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mvgrl.datasets import Dataset
from mvgrl.folds import FOLDS, fold_of_each
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_levels import Batch, GraphBatches, Step
from mvgrl.methods.graph_stack import StackedBatchNorm, StackedLinear
from mvgrl.optimizers import Adam
from mvgrl.runtime import allow_tf32, generator_for
from mvgrl.settings import Output, Settings

DEGREE_CAP = 500  # higher degrees share a column; only REDDIT-BINARY has some
_EVALUATED = 2**17  # nodes per forward pass without gradients, and all graphs of it
_SOCIAL: Mapping[str, Any] = {"hidden": 64, "batch": 128, "readout": "mean"}
_REDDIT: Mapping[str, Any] = {**_SOCIAL, "features": "constant"}
_ON_DATASETS: Mapping[str, Mapping[str, Any]] = {
    "imdb-binary": _SOCIAL,
    "imdb-multi": _SOCIAL,
    "reddit-binary": _REDDIT,
}


@dataclass(frozen=True)
class GraphClassifier(Method):
    """The frame of GIN: layers with batch normalisation, and a linear classifier on the readout of every layer.

    An epoch is a pass over the graphs in batches in which about ``batch`` graphs count for each model; the authors'
    code makes 50 steps whatever the number of graphs. The epoch of a model is the one with the highest accuracy on its
    validation graphs, of several the one with the lowest loss there; the authors choose one epoch for all folds by the
    accuracy on the test folds.
    """

    tasks: ClassVar[tuple[str, ...]] = ("graph",)
    trains: ClassVar[bool] = True
    supervised: ClassVar[bool] = True
    source: ClassVar[str] = (
        "Xu et al., 2019, section 7 and the authors' code: 5 layers with the input, batch normalisation, Adam with "
        "0.01 halved every 50 epochs, 350 epochs, dropout 0.5 after the classifiers; of the grids, 32 hidden units and "
        "batches of 32 on molecules, 64 and 128 on social networks; sum readout on molecules, mean on social networks; "
        "one-hot labels or degrees, constant features on REDDIT-BINARY"
    )
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = _ON_DATASETS
    averages: ClassVar[bool] = False  # True: layers take an average or a maximum over a node and its neighbours

    hidden: int = 32
    layers: int = 4
    batch: int = 32
    epochs: int = 350
    learning_rate: float = 0.01
    halved_every: int = 50
    dropout: float = 0.5
    readout: str = "sum"
    features: str = "labels"

    def layer(self, width: int, generator: torch.Generator) -> nn.Module:
        """Return a layer for the models of all folds."""
        raise NotImplementedError

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds to train together: a GPU starts the steps of one more slowly than it computes them."""
        return 4 if device.type == "cuda" else 1

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train ten models per seed."""
        kinds = node_kinds(dataset.graph, self.features)
        batches = GraphBatches(dataset.graph, kinds, self.layers, context.device, averages=self.averages)
        found = Training(self, dataset, batches, seeds).run()
        return [Outcome(predictions=one, epochs=self.epochs) for one in found]


def node_kinds(graph: Graph, features: str) -> np.ndarray:
    """Return a number from 0 on per node: its label, its degree where there are no labels, or 0 for a constant.

    >>> node_kinds(Graph.from_edges([0, 1], [1, 2]), "labels").tolist()
    [0, 1, 0]
    """
    if features == "constant":
        return np.zeros(graph.nodes, dtype=np.int64)
    values = np.minimum(graph.degrees, DEGREE_CAP) if graph.node_labels is None else graph.node_labels
    return np.unique(values, return_inverse=True)[1].reshape(-1)


class GraphModels(nn.Module):
    """The models of all folds of a seed: class scores of every graph, graphs × models × classes."""

    def __init__(self, method: GraphClassifier, width: int, classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.mean, self.dropout = method.readout == "mean", method.dropout
        widths = [width] + [method.hidden] * method.layers
        self.layers = nn.ModuleList(method.layer(one, generator) for one in widths[:-1])
        self.heads = nn.ModuleList(StackedLinear(FOLDS, one, classes, generator) for one in widths)

    def forward(self, batch: Batch, counts: Tensor | None = None, noise: Sequence[torch.Generator] = ()) -> Tensor:
        """Return the scores; ``counts``, graphs × models, is 1 where a graph counts in training, None to evaluate.

        ``noise`` has a generator per seed, for dropout.
        """
        x, scores = batch.features, torch.zeros((), device=batch.features.device)
        for number, (head, level) in enumerate(zip(self.heads, batch.levels, strict=True)):
            if number:
                rows = None if counts is None else counts[level.owner] * level.nodes[:, None]
                x = self.layers[number - 1](batch.steps[number - 1], x, rows)
            graphs = level.summed(x)
            if self.mean:
                graphs = graphs / batch.sizes.view(-1, *[1] * (x.dim() - 1))
            found = head(graphs)
            if noise and self.dropout:
                shape = (len(found), FOLDS, found.shape[2])
                drawn = torch.cat([torch.rand(shape, generator=one, device=found.device) for one in noise], dim=1)
                found = found * (drawn >= self.dropout) / (1 - self.dropout)
            scores = scores + found
        return scores


def joined(every: Sequence[GraphModels]) -> GraphModels:
    """Return the models of several seeds as one module; every parameter has a row per model."""
    first, states = every[0], [one.state_dict() for one in every]
    for name, parameter in [*first.named_parameters(), *first.named_buffers()]:
        parameter.data = torch.cat([state[name] for state in states])
    return first


class Training:
    """The training of the ten models of each seed, all together. They see the same batches."""

    def __init__(self, method: GraphClassifier, dataset: Dataset, batches: GraphBatches, seeds: Sequence[int]) -> None:
        self.method, self.batches, self.seeds, device = method, batches, len(seeds), batches.device
        self.truth = torch.from_numpy(dataset.target.astype(np.int64)).to(device)
        folds = np.stack([fold_of_each(dataset.target, seed) for seed in seeds], axis=1)
        fold, model = torch.from_numpy(folds).to(device).unsqueeze(2), torch.arange(FOLDS, device=device)
        held, chooses = fold == model, fold == (model + 1) % FOLDS
        self.held, self.chooses = held.flatten(1), chooses.flatten(1)  # graphs × models
        self.counts = (~(self.held | self.chooses)).float()
        drawn = [generator_for(seed, "parameters") for seed in seeds]
        self.models = joined([GraphModels(method, batches.width, len(dataset.classes), one) for one in drawn])
        self.models.to(device)
        self.order = np.random.default_rng(1)
        self.noise = [generator_for(seed, "dropout", device) for seed in seeds]
        self.everything = list(self._everything())  # evaluated after every epoch

    def run(self) -> np.ndarray:
        """Return the class of every graph for every seed, by the model of its fold at that model's best epoch."""
        method = self.method
        optimiser = Adam(self.models.parameters(), lr=method.learning_rate, fused=True)
        schedule = torch.optim.lr_scheduler.StepLR(optimiser, method.halved_every, 0.5)
        best = torch.full(self.held.shape[1:], -torch.inf, dtype=torch.float64, device=self.truth.device)
        found = torch.zeros_like(self.held, dtype=torch.int64)
        for _ in range(method.epochs):
            with allow_tf32():
                for numbers in self._batches():
                    optimiser.zero_grad()
                    self._loss(numbers).backward()
                    optimiser.step()
            schedule.step()
            quality, classes = self.evaluated()
            better = quality > best
            best = torch.where(better, quality, best)
            found = torch.where(better, classes, found)
        per_seed = (found * self.held).unflatten(1, (self.seeds, FOLDS)).sum(2)  # one model of a seed is for a graph
        return per_seed.T.cpu().numpy()

    def _batches(self) -> Iterator[np.ndarray]:
        """Yield the graphs of an epoch in batches, larger than those of one model: two folds in ten do not count."""
        graphs = self.order.permutation(len(self.truth))
        count = max(1, round(len(graphs) * (1 - 2 / FOLDS) / self.method.batch))
        yield from np.array_split(graphs, count)

    def _loss(self, numbers: np.ndarray) -> Tensor:
        """Return the sum of the models' losses, each the mean over the graphs that count for it."""
        rows = torch.from_numpy(numbers).to(self.truth.device)
        counts = self.counts[rows]
        scores = self.models(self.batches.take(numbers), counts, self.noise)
        every = self._losses(scores, rows)
        return (every * counts).sum(0).div(counts.sum(0).clamp(min=1)).sum()

    def _losses(self, scores: Tensor, rows: Tensor) -> Tensor:
        truth = self.truth[rows][:, None].expand(scores.shape[:2])
        return nn.functional.cross_entropy(scores.flatten(0, 1), truth.flatten(), reduction="none").view_as(truth)

    @torch.no_grad()
    def evaluated(self) -> tuple[Tensor, Tensor]:
        """Return how good each model is on its validation graphs, and the class of every graph by every model."""
        parts = [self.models(batch) for batch in self.everything]
        scores = torch.cat(parts)
        classes = scores.argmax(2)
        share = self.chooses / self.chooses.sum(0)
        accuracy = (share * (classes == self.truth[:, None])).sum(0).double()
        loss = (share * self._losses(scores, torch.arange(len(scores), device=scores.device))).sum(0).double()
        # The loss decides between equal accuracies, which differ by a graph or not at all.
        return accuracy - 1e-6 * loss.clamp(max=1e3) / 1e3, classes

    def _everything(self) -> Iterator[Batch]:
        sizes = self.batches.sizes
        parts = np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(np.cumsum(sizes) // _EVALUATED)) + 1)
        return (self.batches.take(part) for part in parts)


class _Perceptron(nn.Module):
    """Linear layers with batch normalisation and ReLU between and after them."""

    def __init__(self, width: int, hidden: int, depth: int, generator: torch.Generator) -> None:
        super().__init__()
        widths = [width] + [hidden] * (depth - 1)
        self.linear = nn.ModuleList(StackedLinear(FOLDS, one, hidden, generator) for one in widths)
        self.norms = nn.ModuleList(StackedBatchNorm(FOLDS, hidden) for _ in widths)

    def forward(self, x: Tensor, counts: Tensor | None) -> Tensor:
        for linear, norm in zip(self.linear, self.norms, strict=True):
            x = torch.relu(norm(linear(x), counts))
        return x


class GINLayer(nn.Module):
    """MLP((1 + ε)·x + the sum over the neighbours), with ε = 0 or learned from 0."""

    def __init__(self, width: int, hidden: int, generator: torch.Generator, *, learned: bool) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(FOLDS, 1)) if learned else None
        self.perceptron = _Perceptron(width, hidden, 2, generator)

    def forward(self, step: Step, x: Tensor, counts: Tensor | None) -> Tensor:
        around, own = step.summed(x), step.kept(x)
        if self.epsilon is None:
            return self.perceptron(around + own, counts)
        if x.dim() == 2:
            around, own = around.unsqueeze(1), own.unsqueeze(1)
        return self.perceptron(around + (1 + self.epsilon) * own, counts)


class _PooledLayer(nn.Module):
    """One linear layer on the mean or the maximum over a node and its neighbours."""

    def __init__(self, width: int, hidden: int, generator: torch.Generator, pool: Any) -> None:
        super().__init__()
        self.pool, self.perceptron = pool, _Perceptron(width, hidden, 1, generator)

    def forward(self, step: Step, x: Tensor, counts: Tensor | None) -> Tensor:
        return self.perceptron(self.pool(step, x), counts)


class GATLayer(nn.Module):
    """Attention heads next to each other, with batch normalisation and ELU."""

    def __init__(self, width: int, hidden: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.heads = heads
        self.project = StackedLinear(FOLDS, width, hidden, generator, bias=False)
        bound = (6 / (1 + hidden // heads)) ** 0.5
        draw = torch.rand(2, FOLDS, heads, hidden // heads, generator=generator) * 2 * bound - bound
        self.towards, self.away = nn.Parameter(draw[0].clone()), nn.Parameter(draw[1].clone())
        self.norm = StackedBatchNorm(FOLDS, hidden)

    def forward(self, step: Step, x: Tensor, counts: Tensor | None) -> Tensor:
        z = self.project(x).unflatten(2, (self.heads, -1))
        return nn.functional.elu(self.norm(step.attention(z, self.towards, self.away).flatten(2), counts))


@dataclass(frozen=True)
class GINZero(GraphClassifier):
    """GIN with ε = 0: a two-layer MLP on the sum over a node and its neighbours."""

    name, label = "gin-0", "GIN-0"

    def layer(self, width: int, generator: torch.Generator) -> nn.Module:
        """Return a layer for the models of all folds."""
        return GINLayer(width, self.hidden, generator, learned=False)


@dataclass(frozen=True)
class GINEpsilon(GraphClassifier):
    """GIN with a learned ε per layer."""

    name, label = "gin-epsilon", "GIN-ε"

    def layer(self, width: int, generator: torch.Generator) -> nn.Module:
        """Return a layer for the models of all folds."""
        return GINLayer(width, self.hidden, generator, learned=True)


@dataclass(frozen=True)
class GraphGCN(GraphClassifier):
    """GCN as GIN's authors compare it: one linear layer on the mean over a node and its neighbours."""

    name, label, averages = "graph-gcn", "GCN for graphs", True

    def layer(self, width: int, generator: torch.Generator) -> nn.Module:
        """Return a layer for the models of all folds."""
        return _PooledLayer(width, self.hidden, generator, Step.mean_with_self)


@dataclass(frozen=True)
class GraphSAGE(GraphClassifier):
    """GraphSAGE as GIN's authors compare it: one linear layer on the maximum over a node and its neighbours."""

    name, label, averages = "graph-sage", "GraphSAGE for graphs", True

    def layer(self, width: int, generator: torch.Generator) -> nn.Module:
        """Return a layer for the models of all folds."""
        return _PooledLayer(width, self.hidden, generator, Step.max_with_self)


@dataclass(frozen=True)
class GraphGAT(GraphClassifier):
    """GAT in the same frame: eight heads of eight units, ELU; degrees also on REDDIT-BINARY.

    Attention over equal features gives equal features, so constant ones would be uninformative.
    """

    name, label, averages = "graph-gat", "GAT for graphs", True
    source = f"Veličković et al., 2018, section 3.3, for a layer (8 heads of 8, ELU); else {GraphClassifier.source}"
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = dict.fromkeys(_ON_DATASETS, _SOCIAL)

    hidden: int = 64
    heads: int = 8

    def layer(self, width: int, generator: torch.Generator) -> nn.Module:
        """Return a layer for the models of all folds."""
        return GATLayer(width, self.hidden, self.heads, generator)
