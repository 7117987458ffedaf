"""CCA-SSG: its loss against a naive loop."""

from __future__ import annotations

import torch

from mvgrl.methods import METHODS
from mvgrl.methods.cca_ssg import cca_loss, standardised


def test_the_loss_equals_a_naive_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.randn(7, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    expected = 0.0
    for i in range(4):
        for j in range(4):
            for codes in (first, second):
                covariance = sum(float(codes[n, i] * codes[n, j]) for n in range(7)) / 7
                expected += 0.05 * (covariance - (i == j)) ** 2
        expected -= sum(float(first[n, i] * second[n, i]) for n in range(7)) / 7
    torch.testing.assert_close(float(cca_loss(first, second, 0.05)), expected)


def test_codes_are_standardised_per_dimension() -> None:
    codes = torch.randn(9, 3) * torch.tensor([1.0, 10.0, 0.01]) + 5
    found = standardised(codes)
    torch.testing.assert_close(found, (codes - codes.mean(0)) / codes.std(0), rtol=1e-3, atol=1e-3)


def test_a_constant_dimension_has_a_finite_gradient() -> None:
    codes = torch.cat([torch.ones(5, 1), torch.randn(5, 1)], dim=1).requires_grad_()
    standardised(codes).square().sum().backward()
    assert codes.grad is not None
    assert torch.isfinite(codes.grad).all()


def test_datasets_have_their_own_hyper_parameters() -> None:
    method = METHODS["cca-ssg"]
    assert method.for_dataset("citeseer").parameters["layers"] == 1
    assert method.for_dataset("pubmed").parameters["drop_edges"] == 0.5
    assert method.for_dataset("anything else") == method
