"""SemiEmb: its loss against a naive version."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from mvgrl.datasets import Dataset
from mvgrl.methods.node_classifier import NodeData
from mvgrl.methods.noise import Drawn
from mvgrl.methods.semi_embedding import SemiEmb, pair_loss
from mvgrl.settings import Settings


def test_pair_losses_equal_loops() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 6, 3))
    distances = [np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)]
    both = torch.from_numpy(first), torch.from_numpy(second)
    assert float(pair_loss(*both)) == pytest.approx(np.mean([d**2 for d in distances]))
    expected = np.mean([max(0, 2.0 - d) ** 2 for d in distances])
    assert 0 < expected < 4
    assert float(pair_loss(*both, 2.0)) == pytest.approx(expected)


def test_equal_codes_have_a_finite_gradient() -> None:
    codes = torch.ones(2, 3, requires_grad=True)
    pair_loss(codes, codes.detach(), 1.0).backward()
    assert codes.grad is not None
    assert codes.grad.isfinite().all()


def test_the_embedding_loss_is_added_with_its_strength(planted: Dataset) -> None:
    data = NodeData.of(planted, Settings(), torch.device("cpu"))
    none, one, two = (
        SemiEmb(strength=strength).network(data, torch.Generator().manual_seed(0)) for strength in (0.0, 1.0, 2.0)
    )
    plain, once, twice = (
        float(made.loss(Drawn(torch.Generator().manual_seed(1))).detach()) for made in (none, one, two)
    )
    assert plain == pytest.approx(float(cross_entropy(none()[data.train], data.labels[data.train]).detach()))
    assert once - plain > 0.01
    assert twice - plain == pytest.approx(2 * (once - plain), rel=1e-4)
