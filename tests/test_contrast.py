from __future__ import annotations

import torch

from mvgrl.contrast import MODES, Scale, ViewCodes, pairs


def codes(count: int, value: float) -> torch.Tensor:
    return torch.full((count, 2), value)


def views(count: int) -> list[ViewCodes]:
    """Codes with recognisable values: in view v, 10v for nodes, 10v + 1 for clusters and 10v + 2 for graphs."""
    owner, two = torch.tensor([0, 0, 1]), torch.arange(2)
    return [
        ViewCodes(Scale(codes(3, 10 * v), owner), Scale(codes(2, 10 * v + 2), two), Scale(codes(2, 10 * v + 1), two))
        for v in range(count)
    ]


def contrasted(mode: str, count: int) -> list[tuple[int, int]]:
    return [(int(fine.codes[0, 0]), int(coarse.codes[0, 0])) for fine, coarse in MODES[mode]()(views(count))]


def test_each_mode_contrasts_the_right_scales() -> None:
    assert contrasted("local-global", 2) == [(0, 12), (10, 2)]
    assert contrasted("global", 2) == [(2, 12)]
    assert contrasted("hybrid", 2) == [(0, 12), (10, 2), (2, 12)]
    assert contrasted("ensemble", 2) == [(0, 2), (10, 12)]
    assert contrasted("multi-scale", 2) == [(1, 12), (0, 11), (11, 2), (10, 1)]


def test_third_view_is_contrasted_with_the_first_only() -> None:
    assert contrasted("local-global", 3) == [(0, 12), (10, 2), (0, 22), (20, 2)]
    assert contrasted("ensemble", 3) == [(0, 2), (10, 12), (20, 22)]


def test_many_graphs_are_negatives_of_each_other() -> None:
    fine, coarse = Scale(codes(3, 0), torch.tensor([0, 0, 1])), Scale(codes(2, 1), torch.arange(2))
    anchors, samples, positives, negatives = pairs(fine, coarse, across_samples=True)
    assert anchors is fine.codes
    assert samples == (coarse.codes,)
    assert positives.tolist() == [[True, False], [True, False], [False, True]]
    assert torch.equal(negatives, ~positives)


def test_negatives_of_one_graph_are_its_corrupted_codes() -> None:
    fine = Scale(codes(4, 0), torch.tensor([0, 0, 1, 1]), corrupted=codes(4, 5))
    coarse = Scale(codes(2, 1), torch.arange(2))
    anchors, samples, positives, negatives = pairs(fine, coarse, across_samples=False)
    assert anchors is coarse.codes
    assert samples == (fine.codes, fine.corrupted)
    assert positives.int().tolist() == [[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]]
    assert negatives.int().tolist() == [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1]]
    assert torch.equal(pairs(fine, coarse, across_samples=True).negatives, ~positives)
