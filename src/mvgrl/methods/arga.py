"""ARGA and ARVGA (Pan et al., 2018): graph autoencoders whose codes a discriminator cannot tell from normal ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mvgrl.encoders import xavier
from mvgrl.methods.autoencoders import GAE, GraphEncoder, Reconstruction
from mvgrl.optimizers import Adam
from mvgrl.runtime import generator_for


@dataclass(frozen=True)
class ARGA(GAE):
    """GAE with an adversary, after Algorithm 1 of the paper; the hidden layer has noise, as in the authors' code.

    An epoch is one step of the adversary, and one of the encoder on the sum of its own loss and of the loss that is low
    where the adversary fails. (The code takes five steps on the encoder's own loss in between.)
    """

    name, label = "arga", "ARGA"
    source = "Pan et al. (2018), section 4.1, and the noise of the authors' code"
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"pubmed": {"epochs": 2000, "adversary_rate": 0.008}}

    rate: float = 0.001
    adversary_rate: float = 0.001
    adversary: tuple[int, int] = (16, 64)  # hidden sizes
    noise: float = 0.1

    def train(self, problem: Reconstruction, seed: int) -> Tensor:
        """Return the codes after training; those of a variational encoder are the means."""
        model = GraphEncoder(problem, self.hidden, self.size, seed, variational=self.variational, noise=self.noise)
        adversary = Adversary((self.size, *self.adversary, 1), seed, problem.device)
        encode = Adam(model.parameters, lr=self.rate)
        expose = Adam(adversary.parameters, lr=self.adversary_rate)
        for _ in range(self.epochs):
            sample = model.sample()
            codes = sample[0].detach()
            _step(expose, adversary.loss(model.normal(*codes.shape), codes))
            _step(encode, model.loss(sample) + softplus(-adversary.scores(sample[0])).mean())
        return model.means()


@dataclass(frozen=True)
class ARVGA(ARGA):
    """VGAE with an adversary."""

    name, label = "arvga", "ARVGA"
    variational = True


class Adversary:
    """A multi-layer perceptron that scores how normal codes are."""

    def __init__(self, sizes: tuple[int, ...], seed: int, device: torch.device) -> None:
        draws = generator_for(seed, "adversary weights")
        shapes = list(pairwise(sizes))
        self.weights = [xavier(*shape, generator=draws).to(device).requires_grad_() for shape in shapes]
        self.biases = [torch.zeros(width, device=device, requires_grad=True) for _, width in shapes]
        self.parameters = [*self.weights, *self.biases]

    def scores(self, codes: Tensor) -> Tensor:
        """Return a score per node, high for those taken as normal."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            codes = (codes @ weight + bias).relu()
        return codes @ self.weights[-1] + self.biases[-1]

    def loss(self, real: Tensor, codes: Tensor) -> Tensor:
        """Return the cross-entropy of telling both apart."""
        return softplus(-self.scores(real)).mean() + softplus(self.scores(codes)).mean()


def _step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
