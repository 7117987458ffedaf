"""P: from node codes to graph codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from mvgrl.components import Component
from mvgrl.encoders import BiasedPReLU, xavier
from mvgrl.matrices import Matrix
from mvgrl.sampling import Batch


class Pooled(NamedTuple):
    """The output of a readout for a batch of node codes."""

    graphs: Tensor  # graphs × hidden
    clusters: Tensor | None = None  # clusters × hidden, graph by graph
    cluster_counts: tuple[int, ...] = ()  # per graph
    loss: Tensor | float = 0.0  # auxiliary loss: link prediction and entropy


class JumpingKnowledge(nn.Module):
    """The sum (or mean) over the nodes in every layer, concatenated; one linear layer and PReLU back to hidden."""

    def __init__(self, hidden: int, layers: int, *, mean: bool, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(xavier(layers * hidden, hidden, generator=generator))
        self.activation = BiasedPReLU(hidden)
        self.mean = mean

    def forward(self, layers: Sequence[Tensor], view: Matrix, batch: Batch) -> Pooled:
        pooled = torch.cat([batch.pool(codes) for codes in layers], dim=1)
        if self.mean:
            pooled = pooled / batch.counts(pooled)[:, None]
        return Pooled(self.activation(pooled @ self.weight))


class SigmoidMean(nn.Module):
    """The sigmoid of the mean over the nodes of the last layer, as in the authors' released code. No parameters."""

    def forward(self, layers: Sequence[Tensor], view: Matrix, batch: Batch) -> Pooled:
        return Pooled(torch.sigmoid(batch.pool(layers[-1]) / batch.counts(layers[-1])[:, None]))


class DiffPool1(nn.Module):
    """One DiffPool to one cluster.

    With a single cluster there is nothing to assign: the graph code is the sum over the nodes of one more graph
    convolution. Both auxiliary losses are constants without a gradient and are omitted.
    """

    def __init__(self, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(xavier(hidden, hidden, generator=generator))
        self.activation = BiasedPReLU(hidden)

    def forward(self, layers: Sequence[Tensor], view: Matrix, batch: Batch) -> Pooled:
        return Pooled(batch.pool(self.embed(layers[-1], view)))

    def embed(self, codes: Tensor, view: Matrix) -> Tensor:
        """One more graph convolution of the nodes."""
        return self.activation(view @ (codes @ self.weight))


class DiffPool2(DiffPool1):
    """DiffPool to a quarter as many clusters as nodes, then to one.

    ``max_clusters`` is the number of clusters of the largest graph seen in training; a graph of n nodes uses the first
    ⌈n/4⌉ of them, and a larger graph at inference all of them.
    """

    def __init__(self, hidden: int, max_clusters: int, generator: torch.Generator | None = None) -> None:
        super().__init__(hidden, generator)
        self.max_clusters = max_clusters
        self.assign_weight = nn.Parameter(xavier(hidden, max_clusters, generator=generator))
        self.assign_bias = nn.Parameter(torch.zeros(max_clusters))
        self.coarse_weight = nn.Parameter(xavier(hidden, hidden, generator=generator))
        self.coarse_activation = BiasedPReLU(hidden)

    def forward(self, layers: Sequence[Tensor], view: Matrix, batch: Batch) -> Pooled:
        embedded = self.embed(layers[-1], view)
        counts = tuple(min(ceil(size / 4), self.max_clusters) for size in batch.sizes)
        logits = view @ (layers[-1] @ self.assign_weight) + self.assign_bias
        cluster, limit = torch.arange(self.max_clusters, device=logits.device), batch.owner.new_tensor(counts)
        beyond = cluster >= limit[batch.owner, None]
        assigned = logits.masked_fill(beyond, float("-inf")).softmax(1)  # nodes × clusters
        spread = view @ assigned
        clusters, graphs, gram = [], [], []
        parts = (batch.split(matrix) for matrix in (assigned, spread, embedded))
        for count, s, vs, z in zip(counts, *parts, strict=True):
            s, vs = s[:, :count], vs[:, :count]
            clusters.append(s.mT @ z)  # X' = SᵀZ
            coarse = (s.mT @ vs) @ (clusters[-1] @ self.coarse_weight)  # V' = SᵀVS
            graphs.append(self.coarse_activation(coarse).sum(0))
            gram.append((s.mT @ s).square().sum())
        return Pooled(
            torch.stack(graphs), torch.cat(clusters), counts, self._auxiliary(assigned, spread, gram, view, batch)
        )

    @staticmethod
    def _auxiliary(assigned: Tensor, spread: Tensor, gram: list[Tensor], view: Matrix, batch: Batch) -> Tensor:
        """Link prediction ‖V − SSᵀ‖_F/n² plus the entropy of S, without the n×n matrix.

        ‖V − SSᵀ‖² = ‖V‖² − 2·sum(S ⊙ VS) + ‖SᵀS‖².
        """
        per_node = view.row_squares().to(assigned) - 2 * (assigned * spread).sum(1)
        distance = (batch.pool(per_node) + torch.stack(gram)).clamp(min=1e-12).sqrt()
        link = distance / batch.counts(assigned).square()
        entropy = -(assigned * assigned.clamp(min=1e-12).log()).sum(1).mean()
        return link.mean() + entropy


@dataclass(frozen=True)
class Readout(Component):
    """A readout as a component."""

    makes_clusters: ClassVar[bool] = False  # intermediate codes that multi-scale contrast needs
    averages: ClassVar[bool] = False  # takes the mean over the nodes of a graph instead of the sum

    def build(self, hidden: int, layers: int, largest: int, generator: torch.Generator | None = None) -> nn.Module:
        """The module; ``largest`` is the number of nodes of the largest graph or sample."""
        raise NotImplementedError


@dataclass(frozen=True)
class SumReadout(Readout):
    """The sum over the nodes of every layer: :class:`JumpingKnowledge`."""

    name: ClassVar[str] = "sum"

    def build(self, hidden: int, layers: int, largest: int, generator: torch.Generator | None = None) -> nn.Module:
        return JumpingKnowledge(hidden, layers, mean=False, generator=generator)


@dataclass(frozen=True)
class MeanReadout(Readout):
    """The mean over the nodes of every layer: :class:`JumpingKnowledge`."""

    name: ClassVar[str] = "mean"
    averages: ClassVar[bool] = True

    def build(self, hidden: int, layers: int, largest: int, generator: torch.Generator | None = None) -> nn.Module:
        return JumpingKnowledge(hidden, layers, mean=True, generator=generator)


@dataclass(frozen=True)
class SigmoidMeanReadout(Readout):
    """The sigmoid of the mean over the nodes of the last layer: :class:`SigmoidMean`."""

    name: ClassVar[str] = "sigmoid-mean"
    averages: ClassVar[bool] = True

    def build(self, hidden: int, layers: int, largest: int, generator: torch.Generator | None = None) -> nn.Module:
        return SigmoidMean()


@dataclass(frozen=True)
class DiffPool1Readout(Readout):
    """One DiffPool to one cluster: :class:`DiffPool1`."""

    name: ClassVar[str] = "diffpool-1"
    stackable: ClassVar[bool] = False

    def build(self, hidden: int, layers: int, largest: int, generator: torch.Generator | None = None) -> nn.Module:
        return DiffPool1(hidden, generator)


@dataclass(frozen=True)
class DiffPool2Readout(Readout):
    """DiffPool to a quarter of the nodes, then to one cluster: :class:`DiffPool2`."""

    name: ClassVar[str] = "diffpool-2"
    stackable: ClassVar[bool] = False
    makes_clusters: ClassVar[bool] = True

    def build(self, hidden: int, layers: int, largest: int, generator: torch.Generator | None = None) -> nn.Module:
        return DiffPool2(hidden, ceil(largest / 4), generator)


READOUTS: dict[str, type[Readout]] = {
    "sum": SumReadout,
    "mean": MeanReadout,
    "sigmoid-mean": SigmoidMeanReadout,
    "diffpool-1": DiffPool1Readout,
    "diffpool-2": DiffPool2Readout,
}
