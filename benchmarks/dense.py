"""A plain, dense implementation of one training step of a node task, as a reference.

It does what many implementations do: every sample has its own dense features and views, X·Θ is computed for each sample
and again for its permuted features, and the summary is expanded to one row per node for ``nn.Bilinear``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mvgrl.heads import Bilinear
from mvgrl.model import MVGRL


class DenseLayer(nn.Module):
    """PReLU(V·X·Θ + b) on dense samples (samples × nodes × …)."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.activation = nn.PReLU()

    def forward(self, X: Tensor, V: Tensor) -> Tensor:
        return self.activation(torch.bmm(V, self.project(X)) + self.bias)


class DenseMVGRL(nn.Module):
    """Two views, one layer each, the sigmoid of the mean as readout, a bilinear discriminator, JSD."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.first, self.second = DenseLayer(width, hidden), DenseLayer(width, hidden)
        self.discriminator = nn.Bilinear(hidden, hidden, 1, bias=False)

    def forward(self, X: Tensor, permuted: Tensor, A: Tensor, S: Tensor) -> Tensor:
        h1, h2 = self.first(X, A), self.second(X, S)
        g1, g2 = torch.sigmoid(h1.mean(1)), torch.sigmoid(h2.mean(1))
        n1, n2 = self.first(permuted, A), self.second(permuted, S)
        g1, g2 = (g.unsqueeze(1).expand_as(h1).contiguous() for g in (g1, g2))
        scores = [self.discriminator(g, h) for g, h in ((g2, h1), (g1, h2), (g2, n1), (g1, n2))]
        logits = torch.cat(scores, dim=1).squeeze(2)
        labels = torch.zeros_like(logits)
        labels[:, : logits.shape[1] // 2] = 1
        return 4 * nn.functional.binary_cross_entropy_with_logits(logits, labels)  # a sum of four means, not their mean

    def take_weights(self, model: MVGRL) -> None:
        """Copy the weights of our model."""
        with torch.no_grad():
            for layer, encoder in zip((self.first, self.second), model.encoders, strict=True):
                activation: Any = encoder.activations[0]
                layer.project.weight.copy_(encoder.weights[0].T)
                layer.bias.copy_(activation.bias)
                layer.activation.weight.copy_(activation.slope)
            assert isinstance(model.discriminator, Bilinear)
            self.discriminator.weight.copy_(model.discriminator.weight[None])
