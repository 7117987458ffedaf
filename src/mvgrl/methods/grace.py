"""GRACE (Zhu et al., 2020): the two copies of a node are told apart from all other nodes, within and between copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import elu, normalize
from torch.utils.checkpoint import checkpoint

from mvgrl.datasets import Dataset
from mvgrl.matrices import Matrix
from mvgrl.methods.augmentations import EdgeDropper, draw_columns
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.graph_data import features_of
from mvgrl.methods.self_supervised import Convolutions, Linear, Model, Plan, stack_size, train
from mvgrl.runtime import generator_for
from mvgrl.settings import Output, Settings
from mvgrl.views import Adjacency, view_matrix

BLOCK = 4096  # rows of similarities that are held at once


@dataclass(frozen=True)
class GRACE(Method):
    """Two GCN layers and a projection, NT-Xent over all nodes; above ``sample`` nodes, over a new sample per step."""

    name, label, tasks, trains = "grace", "GRACE", ("node",), True
    source: ClassVar[str] = (
        "Zhu et al., Deep Graph Contrastive Representation Learning, 2020, and the authors' code "
        "(github.com/CRIPAC-DIG/GRACE, config.yaml); defaults: Cora. The sample is ours: n² similarities of a larger "
        "graph take too long"
    )
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "citeseer": {
            "hidden": 256, "activation": "prelu", "temperature": 0.9, "learning_rate": 1e-3,
            "drop_edges_1": 0.2, "drop_edges_2": 0.0, "drop_features_1": 0.3, "drop_features_2": 0.2,
        },
        "pubmed": {
            "hidden": 256, "temperature": 0.7, "learning_rate": 1e-3, "epochs": 1500, "sample": 20_000,
            "drop_edges_1": 0.4, "drop_edges_2": 0.1, "drop_features_1": 0.0, "drop_features_2": 0.2,
        },
        "dblp": {
            "hidden": 256, "temperature": 0.7, "learning_rate": 1e-3, "epochs": 1000, "sample": 20_000,
            "drop_edges_1": 0.1, "drop_edges_2": 0.4, "drop_features_1": 0.1, "drop_features_2": 0.0,
        },
    }  # fmt: skip

    hidden: int = 128  # of the second layer and the projection; the first layer has twice as many
    activation: str = "relu"
    temperature: float = 0.4
    drop_edges_1: float = 0.2
    drop_edges_2: float = 0.4
    drop_features_1: float = 0.3
    drop_features_2: float = 0.4
    learning_rate: float = 5e-4
    weight_decay: float = 1e-5
    epochs: int = 200
    sample: int = 4096  # nodes that are contrasted in a step

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds fit in one stack."""
        nodes = dataset.graph.nodes
        contrasted = min(nodes, self.sample)
        return 1 if contrasted > BLOCK else stack_size(device, 48 * nodes * self.hidden + 12 * contrasted**2)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train once per seed."""
        device = context.device
        features = features_of(dataset, settings, device)
        view = view_matrix(Adjacency(), dataset.graph, cache=context.cache).to(device)
        dropper = EdgeDropper(dataset.graph, device)
        plan = Plan(self.epochs, self.learning_rate, self.weight_decay)
        return train(lambda seed: Contrasted(features, view, dropper, self, seed), seeds, plan, device)


class Contrasted(Model):
    """The encoder and the projection of both copies."""

    def __init__(self, features: Matrix, view: Matrix, dropper: EdgeDropper, method: GRACE, seed: int) -> None:
        super().__init__()
        self.features, self.view, self.dropper, self.method = features, view, dropper, method
        generator, hidden = generator_for(seed, "weights"), method.hidden
        widths = [features.shape[1], 2 * hidden, hidden]
        self.encoder = Convolutions(widths, generator, activation=method.activation)
        self.first, self.second = Linear(hidden, hidden, generator), Linear(hidden, hidden, generator)

    def draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        nodes, width = self.features.shape
        edges = {"1": self.method.drop_edges_1, "2": self.method.drop_edges_2}
        columns = {"1": self.method.drop_features_1, "2": self.method.drop_features_2}
        drawn = {}
        for copy in "12":
            drawn[f"edges {copy}"] = self.dropper.draw(edges[copy], generator)
            drawn[f"columns {copy}"] = draw_columns(width, columns[copy], generator)
        if nodes > self.method.sample:
            drawn["sample"] = torch.randperm(nodes, generator=generator)[: self.method.sample]
        return drawn

    def matrices(self, drawn: dict[str, Tensor]) -> dict[str, Matrix]:
        return {copy: self.dropper.matrix(drawn.pop(f"edges {copy}")) for copy in "12"}

    def forward(self, drawn: Mapping[str, Tensor], matrices: Mapping[str, Matrix]) -> Tensor:
        both = []
        for copy in "12":
            codes = self.encoder(self.features, matrices[copy], drawn[f"columns {copy}"])
            if "sample" in drawn:
                codes = codes.index_select(0, drawn["sample"])
            both.append(self.second(elu(self.first(codes))))
        return nt_xent(both[0], both[1], self.method.temperature)

    def codes(self) -> Tensor:
        return self.encoder(self.features, self.view)


def nt_xent(first: Tensor, second: Tensor, temperature: float, block: int = BLOCK) -> Tensor:
    """Return the mean of −log(e^(aᵢ·bᵢ/τ) / Σⱼ (e^(aᵢ·bⱼ/τ) + [j≠i] e^(aᵢ·aⱼ/τ))) and of the same with a and b swapped.

    a and b are the rows at unit length. Above ``block`` rows, similarities are computed in blocks of rows, and again in
    the backward pass, so that no n×n matrix is kept.
    """
    a, b = normalize(first), normalize(second)

    def sums(some: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sums of e^(similarity/τ) per row and per column."""
        found = (some @ others.mT / temperature).exp()
        return found.sum(1), found.sum(0)

    def totals(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        if len(left) <= block:
            return sums(left, right)
        parts = [
            checkpoint(sums, some, right, use_reentrant=False, preserve_rng_state=False) for some in left.split(block)
        ]
        return torch.cat([rows for rows, _ in parts]), torch.stack([columns for _, columns in parts]).sum(0)

    between_a, between_b = totals(a, b)
    losses = []
    for codes, between in ((a, between_a), (b, between_b)):
        within = totals(codes, codes)[0] - (codes.square().sum(1) / temperature).exp()
        losses.append((between + within).log() - (a * b).sum(1) / temperature)
    return (losses[0] + losses[1]).mean() / 2
