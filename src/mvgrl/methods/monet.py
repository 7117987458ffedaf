"""MoNet: convolutions with Gaussian kernels of the degrees of both ends of an edge (Monti et al., CVPR 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from mvgrl.encoders import xavier
from mvgrl.matrices import Matrix
from mvgrl.methods.neighbour_sums import Neighbours
from mvgrl.methods.node_classifier import Network, NodeClassifier, NodeData
from mvgrl.methods.noise import Noise, dropout


class Kernels(nn.Module):
    """Gaussian kernels of the pseudo-coordinates tanh(A·u + b), u = (deg^-1/2 of the node, of its neighbour).

    The weights of a node's edges sum to 1 per kernel, as in the authors' code.
    """

    def __init__(self, count: int, dimensions: int, generator: torch.Generator) -> None:
        super().__init__()
        self.transform = nn.Parameter(xavier(2, dimensions, generator=generator))
        self.shift = nn.Parameter(torch.zeros(dimensions))
        means = -1 + 1 / (2 * count) + torch.arange(count) * 2 / count  # evenly over the range of tanh
        self.means = nn.Parameter(means.unsqueeze(1).repeat(1, dimensions))
        self.variances = nn.Parameter(torch.ones(count, dimensions))  # square roots, so that the squares are positive

    def forward(self, edges: Neighbours) -> Tensor:
        root = edges.degrees.rsqrt()
        ends = torch.stack([root[edges.target], root[edges.origin]], dim=1)
        places = (ends @ self.transform + self.shift).tanh()  # edges × dimensions
        squares = (places.unsqueeze(1) - self.means).square() / (self.variances.square() + 1e-14)
        return edges.normalise((-0.5 * squares.sum(2)).exp())  # edges × kernels


class MixtureNetwork(Network):
    """Two layers of Σ_k K_k·X·Θ_k, with relu between them; they share the kernels K_k."""

    def __init__(self, data: NodeData, method: MoNet, generator: torch.Generator) -> None:
        super().__init__(data)
        self.edges, self.share = data.once("neighbours", lambda: Neighbours(data.graph, data.device)), method.dropout
        self.kernels = Kernels(method.kernels, method.dimensions, generator)
        self.first, self.second = (
            nn.Parameter(torch.stack([xavier(width, out, generator=generator) for _ in range(method.kernels)]))
            for width, out in ((data.features.width, method.hidden), (method.hidden, data.classes))
        )

    def forward(self, noise: Noise | None = None) -> Tensor:
        weights, x = self.kernels(self.edges), self.data.features.dropped(self.share, noise)
        hidden = self._layer(x, self.first, weights).relu()
        return self._layer(dropout(hidden, self.share, noise), self.second, weights)

    def _layer(self, x: Matrix | Tensor, filters: Tensor, weights: Tensor) -> Tensor:
        kernels, width, _ = filters.shape
        z = (x @ filters.movedim(0, 1).reshape(width, -1)).unflatten(1, (kernels, -1))
        return self.edges.sum(weights, z).sum(1)

    def decayed(self) -> list[nn.Parameter]:
        return [self.first]


@dataclass(frozen=True)
class MoNet(NodeClassifier):
    """Two layers of Gaussian kernels, trained like GCN."""

    name: ClassVar[str] = "monet"
    label: ClassVar[str] = "MoNet"
    source: ClassVar[str] = (
        "Monti et al. (CVPR 2017), Section 5.2, with the kernels, their start and their scaling as in Shchur et al. "
        "(2018), github.com/shchur/gnn-benchmark, who follow the authors' code"
    )
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"pubmed": {"dimensions": 3}}
    kernels: int = 2
    dimensions: int = 2  # of the pseudo-coordinates

    @property
    def width(self) -> int:
        """The sums of all kernels."""
        return self.hidden * self.kernels

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        return MixtureNetwork(data, self, generator)
