from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits

from mvgrl.mutual_information import donsker_varadhan, jsd, nce, nt_xent


def naive_jsd(s: list[list[float]], positive: list[list[bool]], negative: list[list[bool]]) -> float:
    p, n = [], []
    for i, row in enumerate(s):
        for j, value in enumerate(row):
            if positive[i][j]:
                p.append(math.log(1 + math.exp(-value)))
            if negative[i][j]:
                n.append(math.log(1 + math.exp(value)))
    return sum(p) / len(p) + sum(n) / len(n)


def naive_nce(s: list[list[float]], positive: list[list[bool]], negative: list[list[bool]]) -> float:
    losses = []
    for i, row in enumerate(s):
        for j, value in enumerate(row):
            if positive[i][j]:
                noise = sum(math.exp(row[k]) for k in range(len(row)) if negative[i][k])
                losses.append(-math.log(math.exp(value) / (math.exp(value) + noise)))
    return sum(losses) / len(losses)


def transposed(matrix: list[list]) -> list[list]:
    return [list(column) for column in zip(*matrix, strict=True)]


def naive_nt_xent(s: list[list[float]], positive: list[list[bool]], negative: list[list[bool]]) -> float:
    scaled = [[value / 0.5 for value in row] for row in s]
    by_row = naive_nce(scaled, positive, negative)
    return (by_row + naive_nce(transposed(scaled), transposed(positive), transposed(negative))) / 2


def naive_dv(s: list[list[float]], positive: list[list[bool]], negative: list[list[bool]]) -> float:
    p, n = [], []
    for i, row in enumerate(s):
        for j, value in enumerate(row):
            if positive[i][j]:
                p.append(value)
            if negative[i][j]:
                n.append(math.exp(value))
    return math.log(sum(n) / len(n)) - sum(p) / len(p)


ORACLES = {jsd: naive_jsd, nce: naive_nce, nt_xent: naive_nt_xent, donsker_varadhan: naive_dv}
bounds = pytest.mark.parametrize("bound", ORACLES, ids=lambda bound: bound.__name__)


def problem(rows: int, columns: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random scores; some pairs positive, some negative, some neither; at least one of each."""
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(rows, columns, generator=generator, dtype=torch.float64)
    kind = torch.randint(3, (rows, columns), generator=generator)
    kind[0, 0], kind[-1, -1] = 0, 1
    return scores, kind == 0, kind == 1


@bounds
@given(rows=st.integers(2, 6), columns=st.integers(2, 6), seed=st.integers(0, 10**6))
def test_bound_equals_a_naive_double_loop(bound, rows: int, columns: int, seed: int) -> None:
    scores, positives, negatives = problem(rows, columns, seed)
    expected = ORACLES[bound](scores.tolist(), positives.tolist(), negatives.tolist())
    assert float(bound(scores, positives, negatives)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@bounds
def test_negatives_default_to_all_other_pairs(bound) -> None:
    scores, positives, _ = problem(4, 5, 0)
    assert torch.equal(bound(scores, positives), bound(scores, positives, ~positives))


@bounds
@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_extreme_scores_stay_finite(bound, scale: float) -> None:
    scores = torch.tensor([[1.0, -1.0, 0.5], [-1.0, 1.0, -1.0]]) * scale
    scores.requires_grad_()
    positives = torch.tensor([[True, False, False], [False, True, False]])
    loss = bound(scores, positives)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(scores.grad).all()


@bounds
def test_row_without_negatives_gives_no_nan(bound) -> None:
    scores = torch.zeros(2, 2, requires_grad=True)
    positives = torch.tensor([[True, True], [True, False]])
    bound(scores, positives).backward()
    assert torch.isfinite(scores.grad).all()
    assert scores.grad.abs().sum() > 0


@bounds
def test_better_separated_scores_have_a_lower_loss(bound) -> None:
    positives = torch.eye(3, dtype=torch.bool)
    apart, mixed = torch.eye(3), torch.zeros(3, 3)
    assert bound(apart, positives) < bound(mixed, positives) < bound(-apart, positives)


def test_jsd_on_one_graph_is_binary_cross_entropy() -> None:
    real, corrupted = torch.randn(1, 50), torch.randn(1, 50)
    scores = torch.cat([real, corrupted], dim=1)
    labels = torch.cat([torch.ones(1, 50), torch.zeros(1, 50)], dim=1)
    expected = 2 * binary_cross_entropy_with_logits(scores, labels)  # two means over 50, not one over 100
    torch.testing.assert_close(jsd(scores, labels.bool()), expected)


def test_temperature_divides_the_scores() -> None:
    scores, positives, negatives = problem(4, 4, 1)
    low = nt_xent(scores, positives, negatives, temperature=0.1)
    torch.testing.assert_close(low, nt_xent(scores * 5, positives, negatives, temperature=0.5))
