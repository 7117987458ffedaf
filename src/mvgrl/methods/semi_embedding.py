"""SemiEmb: a perceptron whose hidden layer keeps neighbours close (Weston, Ratle & Collobert, ICML 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mvgrl.methods.graph_data import edge_index_of
from mvgrl.methods.mlp import Perceptron
from mvgrl.methods.node_classifier import Network, NodeClassifier, NodeData
from mvgrl.methods.noise import Drawn, Noise


def pair_loss(first: Tensor, second: Tensor, margin: float | None = None) -> Tensor:
    """Return the mean of d² over pairs of codes at distance d, or of max(0, margin - d)² for pairs to be kept apart.

    >>> pair_loss(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])), pair_loss(torch.zeros(1, 2), torch.ones(1, 2), 2.0)
    (tensor(25.), tensor(0.3431))
    """
    squares = (first - second).square().sum(1)
    if margin is None:
        return squares.mean()
    return (margin - squares.clamp(min=1e-12).sqrt()).clamp(min=0).square().mean()


class EmbeddingNetwork(Perceptron):
    """A perceptron whose loss also draws neighbours together and random pairs of nodes apart, in the hidden layer."""

    def __init__(self, data: NodeData, method: SemiEmb, generator: torch.Generator) -> None:
        super().__init__(data, method.hidden, method.dropout, generator)
        self.method, self.edges = method, edge_index_of(data.graph, data.device)

    def loss(self, noise: Noise) -> Tensor:
        assert isinstance(noise, Drawn)
        generator = noise.generator
        method, codes, device = self.method, self.hidden(), self.data.device
        pairs = torch.randint(len(codes), (2, method.pairs), generator=generator, device=device)
        apart = pair_loss(codes[pairs[0]], codes[pairs[1]], method.margin)
        if not self.edges.shape[1]:
            return super().loss(noise) + method.strength * apart
        drawn = torch.randint(self.edges.shape[1], (method.pairs,), generator=generator, device=device)
        close = pair_loss(codes[self.edges[0, drawn]], codes[self.edges[1, drawn]])
        return super().loss(noise) + method.strength * (close + apart)


@dataclass(frozen=True)
class SemiEmb(NodeClassifier):
    """A perceptron with an embedding loss: Σ d² over edges and Σ max(0, margin - d)² over other pairs of nodes.

    The paper draws one pair per step of stochastic gradient descent; here a step takes all train nodes, as many edges
    as ``pairs``, and as many random pairs, nearly all of which are no edges.
    """

    name: ClassVar[str] = "semi-emb"
    label: ClassVar[str] = "SemiEmb"
    source: ClassVar[str] = (
        "Weston, Ratle & Collobert (ICML 2008), Section 3 (margin 1, weight 1) and Section 5 (50 hidden units)"
    )
    stacks: ClassVar[bool] = False
    weight_decay: float = 0.0
    dropout: float = 0.0
    hidden: int = 50
    margin: float = 1.0
    strength: float = 1.0  # of the embedding loss
    pairs: int = 5000  # per step, of edges and of others

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        return EmbeddingNetwork(data, self, generator)
