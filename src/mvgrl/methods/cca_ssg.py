"""CCA-SSG (Zhang et al., 2021): two copies of a graph agree in every dimension, and the dimensions do not correlate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from mvgrl.datasets import Dataset
from mvgrl.matrices import Matrix
from mvgrl.methods.augmentations import EdgeDropper, draw_columns
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of
from mvgrl.methods.self_supervised import Convolutions, Model, Plan, stack_size, train
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings
from mvgrl.views import Adjacency, view_matrix

_SMALLEST_VARIANCE = 1e-12  # a dimension that is the same for all nodes has a gradient of zero, not NaN


@dataclass(frozen=True)
class CCASSG(Method):
    """GCN layers, ReLU between them and nothing after the last; both copies are drawn alike."""

    name, label, tasks, trains = "cca-ssg", "CCA-SSG", ("node",), True
    source: ClassVar[str] = (
        "Zhang et al., From Canonical Correlation Analysis to Self-supervised Graph Neural Networks, NeurIPS 2021, and "
        "the commands in the authors' README (github.com/hengruizhang98/CCA-SSG); defaults: Cora"
    )
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "citeseer": {"epochs": 20, "layers": 1, "decorrelation": 5e-4, "drop_features": 0.0},
        "pubmed": {"epochs": 100, "drop_features": 0.3, "drop_edges": 0.5},
        "amazon-photo": {"drop_features": 0.2, "drop_edges": 0.3},
    }

    hidden: int = 512
    layers: int = 2
    decorrelation: float = 1e-3  # λ
    drop_features: float = 0.1
    drop_edges: float = 0.4
    learning_rate: float = 1e-3
    epochs: int = 50

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds fit in one stack."""
        return stack_size(device, 24 * self.layers * dataset.graph.nodes * self.hidden)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        device = context.device
        features = features_of(dataset, settings, device)
        view = view_matrix(Adjacency(), dataset.graph, cache=context.cache).to(device)
        dropper = EdgeDropper(dataset.graph, device)
        plan = Plan(self.epochs, self.learning_rate)
        return train(lambda seed: Decorrelated(features, view, dropper, self, seed), seeds, plan, device)


class Decorrelated(Model):
    """The encoder of both copies."""

    def __init__(self, features: Matrix, view: Matrix, dropper: EdgeDropper, method: CCASSG, seed: int) -> None:
        super().__init__()
        self.features, self.view, self.dropper, self.method = features, view, dropper, method
        widths = [features.shape[1], *[method.hidden] * method.layers]
        self.encoder = Convolutions(widths, generator_for(seed, "weights"), linear_end=True)

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        drawn = {}
        for copy in "12":
            drawn[f"edges {copy}"] = self.dropper.draw(self.method.drop_edges, generator)
            drawn[f"columns {copy}"] = draw_columns(self.features.shape[1], self.method.drop_features, generator)
        return drawn

    def matrices(self, drawn: dict[str, Tensor]) -> dict[str, Matrix]:
        return {copy: self.dropper.matrix(drawn.pop(f"edges {copy}")) for copy in "12"}

    def forward(self, drawn: Mapping[str, Tensor], matrices: Mapping[str, Matrix]) -> Tensor:
        first, second = (self.encoder(self.features, matrices[copy], drawn[f"columns {copy}"]) for copy in "12")
        return cca_loss(standardised(first), standardised(second), self.method.decorrelation)

    def codes(self) -> Tensor:
        return self.encoder(self.features, self.view)


def standardised(codes: Tensor) -> Tensor:
    """Return the codes with mean 0 and standard deviation 1 in every dimension.

    >>> standardised(torch.tensor([[1.0], [2.0], [3.0]])).flatten()
    tensor([-1.,  0.,  1.])
    """
    variance, mean = torch.var_mean(codes, 0, correction=min(1, len(codes) - 1))
    return (codes - mean) * (variance + _SMALLEST_VARIANCE).rsqrt()


def cca_loss(first: Tensor, second: Tensor, decorrelation: float) -> Tensor:
    """Return −tr(Z₁ᵀZ₂)/n + λ (‖Z₁ᵀZ₁/n − I‖² + ‖Z₂ᵀZ₂/n − I‖²); only the trace of the first product is computed."""
    nodes, width = first.shape
    identity = torch.eye(width, dtype=first.dtype, device=first.device)
    apart = sum((codes.mT @ codes / nodes - identity).square().sum() for codes in (first, second))
    return decorrelation * apart - (first * second).sum() / nodes
