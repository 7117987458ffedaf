"""BGRL (Thakoor et al., 2022): one copy of a graph predicts the codes of the other, made by an averaged encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from mvgrl.datasets import Dataset
from mvgrl.encoders import BiasedPReLU, xavier
from mvgrl.matrices import Matrix
from mvgrl.methods.augmentations import EdgeDropper, draw_columns
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of
from mvgrl.methods.self_supervised import Linear, Model, Plan, move_averages, stack_size, train
from mvgrl.optimizers import AdamW
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings
from mvgrl.views import Adjacency, view_matrix


@dataclass(frozen=True)
class BGRL(Method):
    """Two GCN layers with batch normalisation and PReLU; the target's momentum rises from ``momentum`` to 1.

    Batch normalisation always uses the statistics of the graph it is given, also for the vectors. The authors' code
    uses running averages there, with such a momentum that they are the statistics of the last step.
    """

    name, label, tasks, trains = "bgrl", "BGRL", ("node",), True
    source: ClassVar[str] = (
        "Thakoor et al., Large-Scale Representation Learning on Graphs via Bootstrapping, ICLR 2022, and the authors' "
        "code (github.com/nerdslab/bgrl, config/amazon-photos.cfg); there is no configuration for citation graphs"
    )

    hidden: int = 256  # of the first layer
    size: int = 128  # of the vectors
    predictor: int = 512
    drop_edges_1: float = 0.4
    drop_edges_2: float = 0.1
    drop_features_1: float = 0.1
    drop_features_2: float = 0.2
    momentum: float = 0.99
    learning_rate: float = 1e-4
    weight_decay: float = 1e-5
    warm_up: int = 1000  # epochs
    epochs: int = 10_000

    def pace(self, epoch: int) -> float:
        """Return the factor of the learning rate: a linear rise, then half a cosine down to 0."""
        if epoch < self.warm_up:
            return epoch / self.warm_up
        return (1 + math.cos((epoch - self.warm_up) * math.pi / (self.epochs - self.warm_up))) / 2

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds fit in one stack."""
        return stack_size(device, 40 * dataset.graph.nodes * (self.hidden + self.size + self.predictor))

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        device = context.device
        features = features_of(dataset, settings, device)
        view = view_matrix(Adjacency(), dataset.graph, cache=context.cache).to(device)
        dropper = EdgeDropper(dataset.graph, device)
        plan = Plan(self.epochs, self.learning_rate, self.weight_decay, optimizer=AdamW, pace=self.pace)
        return train(lambda seed: Bootstrapped(features, view, dropper, self, seed), seeds, plan, device)


class Bootstrapped(Model):
    """The online encoder, its predictor, and the target encoder."""

    def __init__(self, features: Matrix, view: Matrix, dropper: EdgeDropper, method: BGRL, seed: int) -> None:
        super().__init__()
        self.features, self.view, self.dropper, self.method = features, view, dropper, method
        generator, widths = generator_for(seed, "weights"), [features.shape[1], method.hidden, method.size]
        self.online, self.target = _Normalised(widths, generator), _Normalised(widths, generator)
        self.target.requires_grad_(False)
        self.predictor = Predictor(method.size, method.predictor, generator)

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        method, width, drawn = self.method, self.features.shape[1], {}
        edges, columns = (
            (method.drop_edges_1, method.drop_edges_2),
            (method.drop_features_1, method.drop_features_2),
        )
        for copy in (0, 1):
            drawn[f"edges {copy}"] = self.dropper.draw(edges[copy], generator)
            drawn[f"columns {copy}"] = draw_columns(width, columns[copy], generator)
        return drawn

    def matrices(self, drawn: dict[str, Tensor]) -> dict[str, Matrix]:
        return {str(copy): self.dropper.matrix(drawn.pop(f"edges {copy}")) for copy in (0, 1)}

    def forward(self, drawn: Mapping[str, Tensor], matrices: Mapping[str, Matrix]) -> Tensor:
        inputs = [(self.features, matrices[copy], drawn[f"columns {copy}"]) for copy in "01"]
        predicted = [self.predictor(self.online(*one)) for one in inputs]
        targets = [self.target(*one).detach() for one in inputs]
        alike = [cosine_similarity(predicted[i], targets[1 - i], dim=-1).mean() for i in (0, 1)]
        return 2 - alike[0] - alike[1]

    def after_step(self, parameters: Mapping[str, Tensor], done: float) -> None:
        move_averages(parameters, 1 - (1 - self.method.momentum) * (1 + math.cos(math.pi * done)) / 2)

    def codes(self) -> Tensor:
        return self.online(self.features, self.view)


class _Normalised(nn.Module):
    """GCN layers with batch normalisation before the PReLU; its shift takes the place of the layer's bias."""

    def __init__(self, widths: Sequence[int], generator: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.ParameterList(xavier(*pair, generator=generator) for pair in pairwise(widths))
        self.scales = nn.ParameterList(torch.ones(width) for width in widths[1:])
        self.activations = nn.ModuleList(BiasedPReLU(width) for width in widths[1:])

    def forward(self, features: Matrix, view: Matrix, columns: Tensor | None = None) -> Tensor:
        first, *others = self.weights
        codes = features @ (first if columns is None else first * columns[:, None])
        for weight, scale, activation in zip([None, *others], self.scales, self.activations, strict=True):
            codes = activation(batch_normalised(view @ (codes if weight is None else codes @ weight)) * scale)
        return codes


def batch_normalised(codes: Tensor) -> Tensor:
    """Return the codes with mean 0 and variance 1 in every dimension, as batch normalisation does."""
    variance, mean = torch.var_mean(codes, 0, correction=0)
    return (codes - mean) * (variance + 1e-5).rsqrt()


class Predictor(nn.Module):
    """One hidden layer with a PReLU."""

    def __init__(self, size: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first, self.second = Linear(size, hidden, generator), Linear(hidden, size, generator)
        self.slope = nn.Parameter(torch.tensor([0.25]))

    def forward(self, codes: Tensor) -> Tensor:
        within = self.first(codes)
        return self.second(torch.where(within > 0, within, self.slope * within))
