"""P: from node codes to graph codes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mvgrl.encoders import BiasedPReLU, xavier
from mvgrl.matrices import Matrix
from mvgrl.sampling import Batch


class Pooled(NamedTuple):
    """What a readout makes of a batch of node codes."""

    graphs: Tensor  # graphs × hidden
    clusters: Tensor | None = None  # clusters × hidden, the graphs' one after the other
    cluster_counts: tuple[int, ...] = ()  # of each graph
    loss: Tensor | float = 0.0  # auxiliary: link prediction and entropy


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
            pooled = pooled / pooled.new_tensor(batch.sizes)[:, None]
        return Pooled(self.activation(pooled @ self.weight))


class SigmoidMean(nn.Module):
    """The sigmoid of the mean over the nodes, last layer: what the authors' released node code does. Learns nothing."""

    def forward(self, layers: Sequence[Tensor], view: Matrix, batch: Batch) -> Pooled:
        return Pooled(torch.sigmoid(batch.pool(layers[-1]) / layers[-1].new_tensor(batch.sizes)[:, None]))


class DiffPool1(nn.Module):
    """One DiffPool to one cluster.

    Every node belongs to the one cluster for certain, so that nothing is left to assign: a graph is the sum of one
    more graph convolution, and both auxiliary losses are constants without gradient, left out.
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
    """DiffPool to a quarter as many clusters, then to one.

    ``most`` is the number of clusters of the largest graph seen in training; a graph of n nodes uses the first
    ⌈n/4⌉ of them, and a larger one met later all.
    """

    def __init__(self, hidden: int, most: int, generator: torch.Generator | None = None) -> None:
        super().__init__(hidden, generator)
        self.most = most
        self.assign_weight = nn.Parameter(xavier(hidden, most, generator=generator))
        self.assign_bias = nn.Parameter(torch.zeros(most))
        self.coarse_weight = nn.Parameter(xavier(hidden, hidden, generator=generator))
        self.coarse_activation = BiasedPReLU(hidden)

    def forward(self, layers: Sequence[Tensor], view: Matrix, batch: Batch) -> Pooled:
        embedded = self.embed(layers[-1], view)
        counts = tuple(min(ceil(size / 4), self.most) for size in batch.sizes)
        logits = view @ (layers[-1] @ self.assign_weight) + self.assign_bias
        beyond = torch.arange(self.most, device=logits.device) >= batch.owner.new_tensor(counts)[batch.owner, None]
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
        link = distance / assigned.new_tensor(batch.sizes).square()
        entropy = -(assigned * assigned.clamp(min=1e-12).log()).sum(1).mean()
        return link.mean() + entropy


def make_readout(
    name: str, hidden: int, layers: int, largest: int, generator: torch.Generator | None = None
) -> nn.Module:
    """The readout of a name; ``largest`` is the number of nodes of the largest graph or sample."""
    if name in ("sum", "mean"):
        return JumpingKnowledge(hidden, layers, mean=name == "mean", generator=generator)
    if name == "sigmoid-mean":
        return SigmoidMean()
    return DiffPool1(hidden, generator) if name == "diffpool-1" else DiffPool2(hidden, ceil(largest / 4), generator)


READOUTS = ("sum", "mean", "sigmoid-mean", "diffpool-1", "diffpool-2")
