"""The batched Newton solver for GPUs reaches the optimum that scikit-learn reaches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mvgrl.evaluation import newton
from mvgrl.evaluation.logistic import solve_with_sklearn


@pytest.mark.parametrize("classes", [2, 4])
def test_every_entry_and_strength_reaches_scikit_learns_weights(classes: int) -> None:
    random = np.random.default_rng(classes)
    truth = torch.from_numpy(np.arange(30) % classes)
    points = torch.from_numpy(random.normal(size=(3, 30, 6)) * np.array([0.1, 1.0, 5.0])[:, None, None])
    points[..., -1] = 1.0
    grid = torch.tensor([1e-2, 1.0, 1e2], dtype=torch.float64)
    found, known = (solve(points, truth, classes, grid) for solve in (newton.solve, solve_with_sklearn))
    torch.testing.assert_close(found[..., :-1], known[..., :-1], rtol=1e-6, atol=1e-8)
    # The intercepts are determined up to a constant that all classes share.
    torch.testing.assert_close(
        *(w[..., -1] - w[..., -1].mean(2, keepdim=True) for w in (found, known)), rtol=1e-6, atol=1e-8
    )


def test_a_single_class_has_weights_of_zero() -> None:
    points, truth, grid = torch.rand(1, 5, 3).double(), torch.zeros(5, dtype=torch.long), torch.ones(1).double()
    for solve in (newton.solve, solve_with_sklearn):
        assert (solve(points, truth, 1, grid) == 0).all()
