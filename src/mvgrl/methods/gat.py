"""GAT, the graph attention network of Veličković et al. (ICLR 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, leaky_relu

from mvgrl.encoders import xavier
from mvgrl.matrices import Matrix
from mvgrl.methods.neighbour_sums import Neighbours
from mvgrl.methods.node_classifier import Network, NodeClassifier, NodeData
from mvgrl.methods.noise import Noise, dropout

_ON_PUBMED = {"out_heads": 8, "learning_rate": 0.01, "weight_decay": 1e-3}


class Attention(nn.Module):
    """A layer of attention heads: nodes × heads × out, before the activation."""

    def __init__(self, width: int, heads: int, out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.cat([xavier(width, out, generator=generator) for _ in range(heads)], dim=1))
        self.ends = nn.Parameter(  # per end of an edge, and per head
            torch.stack([torch.stack([xavier(out, 1, generator=generator)[:, 0] for _ in range(heads)]) for _ in "ab"])
        )
        self.shift = nn.Parameter(torch.zeros(2, heads))  # of the scores of both ends, as in the authors' code
        self.bias = nn.Parameter(torch.zeros(heads, out))

    def forward(self, x: Matrix | Tensor, edges: Neighbours, share: float, noise: Noise | None) -> Tensor:
        z = (x @ self.weight).unflatten(1, self.bias.shape)  # nodes × heads × out
        target, origin = ((z * end).sum(2) + shift for end, shift in zip(self.ends, self.shift, strict=True))
        attention = edges.softmax(leaky_relu(target[edges.target] + origin[edges.origin], 0.2))
        return edges.sum(dropout(attention, share, noise), dropout(z, share, noise)) + self.bias


class AttentionNetwork(Network):
    """Two layers: the heads of the first are concatenated, those of the second averaged."""

    def __init__(
        self, data: NodeData, hidden: int, heads: int, out_heads: int, share: float, generator: torch.Generator
    ) -> None:
        super().__init__(data)
        self.edges, self.share = data.once("neighbours", lambda: Neighbours(data.graph, data.device)), share
        self.first = Attention(data.features.width, heads, hidden, generator)
        self.second = Attention(heads * hidden, out_heads, data.classes, generator)

    def forward(self, noise: Noise | None = None) -> Tensor:
        x = self.data.features.dropped(self.share, noise)
        hidden = elu(self.first(x, self.edges, self.share, noise)).flatten(1)
        return self.second(dropout(hidden, self.share, noise), self.edges, self.share, noise).mean(1)


@dataclass(frozen=True)
class GAT(NodeClassifier):
    """Eight heads of eight numbers, then one head per class; dropout on features, projections and attention.

    As in the authors' code, an epoch resets the patience if its accuracy or its loss on the val nodes is the best so
    far. Their limit of 100,000 epochs is never reached; here it is 2,000.
    """

    name: ClassVar[str] = "gat"
    label: ClassVar[str] = "GAT"
    source: ClassVar[str] = "Veličković et al. (ICLR 2018), Section 3.3, and github.com/PetarV-/GAT"
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"pubmed": _ON_PUBMED}
    learning_rate: float = 0.005
    dropout: float = 0.6
    epochs: int = 2000
    patience: int = 100
    hidden: int = 8
    heads: int = 8
    out_heads: int = 1

    @property
    def width(self) -> int:
        """The values of all heads, and their attention."""
        return (self.hidden + 1) * max(self.heads, self.out_heads)

    def network(self, data: NodeData, generator: torch.Generator) -> Network:
        return AttentionNetwork(data, self.hidden, self.heads, self.out_heads, self.dropout, generator)
