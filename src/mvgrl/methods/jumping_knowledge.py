"""JKNet: graph convolutions whose layers are all read by the classifier (Xu et al., ICML 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from mvgrl.errors import check_name
from mvgrl.methods.gcn import propagation
from mvgrl.methods.node_classifier import BestEpoch, Layer, Network, NodeClassifier, NodeData
from mvgrl.methods.noise import Noise, dropout

JUMPS = ("concat", "maxpool")


class JumpingNetwork(Network):
    """Layers H_l = relu(V·H_(l-1)·Θ_l + b_l), aggregated over l, and a linear layer on V times that."""

    def __init__(self, data: NodeData, method: JKNet, generator: torch.Generator) -> None:
        super().__init__(data)
        self.view, self.share, self.jump = propagation(data), method.dropout, method.jump
        (depth,) = method.depths
        widths = [data.features.width, *[method.hidden] * (depth - 1)]
        self.layers = nn.ModuleList(Layer(width, method.hidden, generator) for width in widths)
        final = method.hidden * (depth if method.jump == "concat" else 1)
        self.last = Layer(final, data.classes, generator)

    def forward(self, noise: Noise | None = None) -> Tensor:
        found: list[Tensor] = []
        for layer in self.layers:
            assert isinstance(layer, Layer)
            features = self.data.features
            x = dropout(found[-1], self.share, noise) if found else features.dropped(self.share, noise)
            found.append((self.view @ layer.project(x) + layer.bias).relu())
        jumped = torch.cat(found, dim=1) if self.jump == "concat" else torch.stack(found).amax(0)
        return self.view @ self.last.project(dropout(jumped, self.share, noise)) + self.last.bias


@dataclass(frozen=True)
class JKNet(NodeClassifier):
    """Graph convolutions, their outputs concatenated, with dropout before each layer and weight decay on all.

    As in the paper, networks of 1 to 6 layers are trained, and the best on the val nodes is chosen. The paper does not
    state how long it trains; here, at most 1,000 epochs, until 100 epochs bring no better accuracy or loss there.
    """

    name: ClassVar[str] = "jknet"
    label: ClassVar[str] = "JKNet"
    source: ClassVar[str] = "Xu et al. (ICML 2018), Section 6 and Table 2"
    learning_rate: float = 0.005
    epochs: int = 1000
    patience: int = 100
    hidden: int = 32
    depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    jump: str = "concat"

    def __post_init__(self) -> None:
        check_name("jump", self.jump, JUMPS)

    @property
    def width(self) -> int:
        """The values of all layers."""
        return self.hidden * max(self.depths)

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        return JumpingNetwork(data, self, generator)

    def trained(self, data: NodeData, seeds: Sequence[int]) -> list[BestEpoch]:
        """Train networks of all depths; per seed, the best on the val nodes, the shallower one if two are equal."""
        each = [NodeClassifier.trained(replace(self, depths=(depth,)), data, seeds) for depth in self.depths]
        return [max(depths, key=lambda best: best.score) for depths in zip(*each, strict=True)]
