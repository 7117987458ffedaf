"""SGRL (He et al., 2024): a target encoder scatters the nodes on a sphere; an online encoder follows it, smoothed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

from mvgrl.datasets import Dataset
from mvgrl.encoders import GCN
from mvgrl.matrices import Matrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.bgrl import Predictor
from mvgrl.methods.graph_data import features_of
from mvgrl.methods.self_supervised import Model, Plan, move_averages, stack_size, train
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings
from mvgrl.views import Adjacency, view_matrix


@dataclass(frozen=True)
class SGRL(Method):
    """One GCN layer per encoder, without augmentation; the code is h + Âᵏh of the online encoder.

    The paper does not describe its predictor: here it has one hidden layer of the same width, as in BGRL.
    """

    name, label, tasks, trains = "sgrl", "SGRL", ("node",), True
    source: ClassVar[str] = (
        "He et al., Exploitation of a Latent Mechanism in Graph Contrastive Learning: Representation Scattering, "
        "NeurIPS 2024, equations 3 to 9 and table 4 (Photo), and the authors' code (github.com/hedongxiao-tju/SGRL, "
        "train.py); there is no configuration for citation graphs"
    )

    hidden: int = 1024
    hops: int = 1  # k
    momentum: float = 0.99
    learning_rate: float = 1e-3  # of both encoders
    epochs: int = 700

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds fit in one stack."""
        return stack_size(device, 24 * dataset.graph.nodes * self.hidden)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        device = context.device
        features = features_of(dataset, settings, device)
        view = view_matrix(Adjacency(), dataset.graph, cache=context.cache).to(device)
        plan = Plan(self.epochs, self.learning_rate)
        return train(lambda seed: Scattered(features, view, self, seed), seeds, plan, device)


class Scattered(Model):
    """Both encoders and the predictor; each loss has gradients for one of the encoders only."""

    def __init__(self, features: Matrix, view: Matrix, method: SGRL, seed: int) -> None:
        super().__init__()
        self.features, self.view, self.method = features, view, method
        generator, hidden = generator_for(seed, "weights"), method.hidden
        self.online = GCN(features.shape[1], hidden, generator=generator)
        self.target = GCN(features.shape[1], hidden, generator=generator)
        self.predictor = Predictor(hidden, hidden, generator)

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        return {}  # nothing is random but the weights

    def forward(self, drawn: Mapping[str, Tensor], matrices: Mapping[str, Matrix]) -> Tensor:
        (target,) = self.target(self.target.project(self.features), self.view)
        predicted = self.predictor(self.codes())
        alignment = -cosine_similarity(predicted, target.detach(), dim=-1).mean()  # equation 6
        return alignment + scattering(target)

    def after_step(self, parameters: Mapping[str, Tensor], done: float) -> None:
        move_averages(parameters, self.method.momentum)  # equation 7

    def codes(self) -> Tensor:
        (codes,) = self.online(self.online.project(self.features), self.view)
        reached = codes
        for _ in range(self.method.hops):
            reached = self.view @ reached
        return codes + reached  # equation 5


def scattering(codes: Tensor) -> Tensor:
    """Return minus the mean squared distance of the rows at unit length from their centre (equation 4).

    >>> scattering(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(-0.5000)
    """
    points = normalize(codes, eps=1e-8)
    return -(points - points.mean(0)).square().sum(1).mean()
