"""f and D: projection heads, and discriminators that score codes against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from mvgrl.components import Component
from mvgrl.encoders import BiasedPReLU, xavier


class Head(nn.Module):
    """An MLP with two hidden layers and PReLU (f_ψ on nodes, f_φ on graphs).

    With ``shortcut``, a linear map of the input is added to the output, as in the authors' released code.
    """

    def __init__(self, hidden: int, generator: torch.Generator | None = None, *, shortcut: bool = False) -> None:
        super().__init__()
        self.weights = nn.ParameterList(xavier(hidden, hidden, generator=generator) for _ in range(3))
        self.activations = nn.ModuleList(BiasedPReLU(hidden) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.shortcut = nn.Parameter(xavier(hidden, hidden, generator=generator)) if shortcut else None

    def forward(self, codes: Tensor) -> Tensor:
        first, second, last = self.weights
        within = self.activations[1](self.activations[0](codes @ first) @ second)
        projected = within @ last + self.bias
        return projected if self.shortcut is None else projected + codes @ self.shortcut


class DotProduct(nn.Module):
    """D(a, s) = a·s."""

    def forward(self, anchors: Tensor, samples: Sequence[Tensor], *, cosine: bool = False) -> Tensor:
        """Scores, anchors × samples; with ``cosine``, cosines."""
        return _scores(anchors, samples, cosine)


class Bilinear(nn.Module):
    """D(a, s) = aᵀWs, computed as (aᵀW)·s: W is multiplied with the shorter side only."""

    def __init__(self, hidden: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        # Glorot's rule for the 1 × hidden × hidden tensor of torch's nn.Bilinear, which gives much smaller weights than
        # for a hidden × hidden matrix: the scores start near zero, and the codes are as good or better.
        self.weight = nn.Parameter(xavier(1, hidden, hidden, generator=generator)[0].clone())

    def forward(self, anchors: Tensor, samples: Sequence[Tensor], *, cosine: bool = False) -> Tensor:
        """Scores, anchors × samples; with ``cosine``, cosines."""
        if len(anchors) <= sum(len(part) for part in samples):
            return _scores(anchors @ self.weight, samples, cosine)
        return _scores(anchors, [part @ self.weight.mT for part in samples], cosine)


@dataclass(frozen=True)
class Discriminator(Component):
    """A way to score codes against each other, as a component."""

    heads: ClassVar[bool] = True  # codes pass through projection heads first

    def build(self, hidden: int, generator: torch.Generator | None = None) -> nn.Module:
        """The module, with its weights drawn from the generator."""
        raise NotImplementedError


@dataclass(frozen=True)
class DotDiscriminator(Discriminator):
    """Dot products of projected codes: :class:`DotProduct`."""

    name: ClassVar[str] = "dot"

    def build(self, hidden: int, generator: torch.Generator | None = None) -> nn.Module:
        return DotProduct()


@dataclass(frozen=True)
class BilinearDiscriminator(Discriminator):
    """A bilinear form instead of the heads: :class:`Bilinear`."""

    name: ClassVar[str] = "bilinear"
    heads: ClassVar[bool] = False

    def build(self, hidden: int, generator: torch.Generator | None = None) -> nn.Module:
        return Bilinear(hidden, generator)


DISCRIMINATORS: dict[str, type[Discriminator]] = {"dot": DotDiscriminator, "bilinear": BilinearDiscriminator}


def _scores(anchors: Tensor, samples: Sequence[Tensor], cosine: bool) -> Tensor:
    if cosine:
        anchors, samples = normalize(anchors, dim=1), [normalize(part, dim=1) for part in samples]
    return torch.cat([anchors @ part.mT for part in samples], dim=1)
