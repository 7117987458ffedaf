"""Deep Graph Infomax (Veličković et al., 2019), on the adjacency and on the diffusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mvgrl.automatic import EXACT_ENTRIES, TOP_K
from mvgrl.datasets import Dataset
from mvgrl.encoders import GCN
from mvgrl.graphs import Graph
from mvgrl.heads import Bilinear
from mvgrl.matrices import Matrix
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of
from mvgrl.methods.self_supervised import Model, Plan, stack_size, train
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings
from mvgrl.views import PPR, Adjacency, View, view_matrix


@dataclass(frozen=True)
class DGI(Method):
    """One GCN layer whose codes tell the graph from the same graph with permuted features, given the mean code."""

    name, label, tasks, trains = "dgi", "DGI", ("node",), True
    source: ClassVar[str] = (
        "Veličković et al., Deep Graph Infomax, ICLR 2019, section 4.2, and the authors' code "
        "(github.com/PetarV-/DGI, execute.py): row-normalised features, one layer, PReLU, one permutation per epoch"
    )

    hidden: int = 512
    learning_rate: float = 1e-3
    epochs: int = 10_000
    patience: int = 20  # on the training loss

    def view(self, graph: Graph, device: torch.device) -> View:
        """Return the view over which features are propagated."""
        return Adjacency()

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds fit in one stack."""
        return stack_size(device, 16 * dataset.graph.nodes * self.hidden)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed, until the loss has not fallen for ``patience`` epochs."""
        device = context.device
        features = features_of(dataset, settings, device)
        view = view_matrix(self.view(dataset.graph, device), dataset.graph, cache=context.cache).to(device)
        plan = Plan(self.epochs, self.learning_rate, patience=self.patience)
        return train(lambda seed: Infomax(features, view, self.hidden, seed), seeds, plan, device)


@dataclass(frozen=True)
class DGIOnDiffusion(DGI):
    """DGI with personalised PageRank instead of the adjacency; a large graph keeps the largest entries per row."""

    name, label = "dgi-diffusion", "DGI on the diffusion"
    source: ClassVar[str] = (
        "Hassani, Khasahmadi, Contrastive Multi-View Representation Learning on Graphs, ICML 2020, table 2 "
        "(DGI on the diffusion, α = 0.2); otherwise as DGI"
    )

    alpha: float = 0.2

    def view(self, graph: Graph, device: torch.device) -> View:
        """Return personalised PageRank, exact or sparse for the same sizes as in ``mvgrl`` itself."""
        exact = graph.nodes**2 <= EXACT_ENTRIES["cpu" if device.type == "cpu" else "cuda"]
        return PPR(self.alpha, top_k=None if exact else TOP_K)


class _Permuted(torch.autograd.Function):
    """Rows in another order; the gradient is permuted back, which is faster than the sums of ``index_select``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rows: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        return rows.index_select(0, order)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1], inputs[2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        order, inverse = ctx.saved_tensors
        return _Permuted.apply(grad, inverse, order), None, None


class Infomax(Model):
    """The encoder and the bilinear discriminator; X·Θ is computed once, and its rows permuted for the negatives."""

    can_be_captured = True

    def __init__(self, features: Matrix, view: Matrix, hidden: int, seed: int) -> None:
        super().__init__()
        generator = generator_for(seed, "weights")
        self.features, self.view = features, view
        self.encoder = GCN(features.shape[1], hidden, generator=generator)
        self.discriminator = Bilinear(hidden, generator)

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        return {"order": torch.randperm(self.features.shape[0], generator=generator)}

    def forward(self, drawn: Mapping[str, Tensor], matrices: Mapping[str, Matrix]) -> Tensor:
        projected = self.encoder.project(self.features)
        (positive,) = self.encoder(projected, self.view)
        order = drawn["order"]
        inverse = order.scatter(0, order, torch.arange(len(order), device=order.device))
        (negative,) = self.encoder(_Permuted.apply(projected, order, inverse), self.view)
        summary = positive.mean(0).sigmoid()
        direction = self.discriminator.weight @ summary  # hᵀ·W·s = h·(W·s)
        return (softplus(-(positive @ direction)).mean() + softplus(negative @ direction).mean()) / 2

    def codes(self) -> Tensor:
        return self.encoder(self.encoder.project(self.features), self.view)[0]
