"""GCN, the graph convolutional network of Kipf & Welling (ICLR 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from mvgrl.matrices import SparseMatrix
from mvgrl.methods.node_classifier import Layer, Network, NodeClassifier, NodeData
from mvgrl.methods.noise import Noise, dropout
from mvgrl.views.adjacency import normalised_adjacency


def propagation(data: NodeData) -> SparseMatrix:
    """Return D̂^-1/2 Â D̂^-1/2 on the device of the data."""
    made: SparseMatrix = data.once(
        "propagation",
        lambda: SparseMatrix.from_scipy(normalised_adjacency(data.graph)[0], symmetric=True).to(data.device),
    )
    return made


class Convolutions(Network):
    """Two layers: V·relu(V·X·Θ + b)·Θ' + b'."""

    def __init__(self, data: NodeData, hidden: int, share: float, generator: torch.Generator) -> None:
        super().__init__(data)
        self.first = Layer(data.features.width, hidden, generator)
        self.second = Layer(hidden, data.classes, generator)
        self.view, self.share = propagation(data), share

    def forward(self, noise: Noise | None = None) -> Tensor:
        x = self.data.features.dropped(self.share, noise)
        hidden = (self.view @ self.first.project(x) + self.first.bias).relu()
        return self.view @ self.second.project(dropout(hidden, self.share, noise)) + self.second.bias

    def decayed(self) -> list[nn.Parameter]:
        return list(self.first.parameters())


@dataclass(frozen=True)
class GCN(NodeClassifier):
    """Two graph convolutions, dropout on both, and weight decay on the first.

    The paper stops when the loss on the val nodes rises above its mean over the last 10 of 200 epochs; here, the best
    of the 200 epochs on the val nodes is chosen.
    """

    name: ClassVar[str] = "gcn"
    label: ClassVar[str] = "GCN"
    source: ClassVar[str] = "Kipf & Welling (ICLR 2017), Section 5.2, and github.com/tkipf/gcn"

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        return Convolutions(data, self.hidden, self.dropout, generator)
