"""A multilayer perceptron on the features, which ignores the edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from mvgrl.methods.node_classifier import Layer, Network, NodeClassifier, NodeData
from mvgrl.methods.noise import Noise, dropout


class Perceptron(Network):
    """One hidden layer: relu(X·Θ + b)·Θ' + b'."""

    def __init__(self, data: NodeData, hidden: int, share: float, generator: torch.Generator) -> None:
        super().__init__(data)
        self.first = Layer(data.features.width, hidden, generator)
        self.second = Layer(hidden, data.classes, generator)
        self.share = share

    def hidden(self, noise: Noise | None = None) -> Tensor:
        """Return the hidden layer of all nodes."""
        return self.first(self.data.features.dropped(self.share, noise)).relu()

    def forward(self, noise: Noise | None = None) -> Tensor:
        return self.second(dropout(self.hidden(noise), self.share, noise))

    def decayed(self) -> list[nn.Parameter]:
        return list(self.first.parameters())


@dataclass(frozen=True)
class MLP(NodeClassifier):
    """A perceptron with one hidden layer, dropout on both layers, and weight decay on the first."""

    name: ClassVar[str] = "mlp"
    label: ClassVar[str] = "MLP"
    source: ClassVar[str] = "Kipf & Welling (ICLR 2017), Section 5.2, and the model 'dense' of their code"

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        return Perceptron(data, self.hidden, self.dropout, generator)
