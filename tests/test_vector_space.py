"""Parts are scaled alike, components are ordered, and directions are those of an exact decomposition."""

from __future__ import annotations

import pytest
import torch

from mvgrl.vector_space import VectorSpace, fixed_signs, leading_directions

CPU = torch.device("cpu")


def points(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * torch.arange(1, columns + 1)


def test_all_components_keep_the_distances_of_the_scaled_parts() -> None:
    parts = [points(40, 5), 1000 * points(40, 3, seed=1) + 7]
    space = VectorSpace.fit(parts, weights=[1.0, 1.0])
    vectors = space.transform(parts, dim=0)
    scaled = [part - part.mean(0) for part in parts]
    joined = torch.cat([3 * part / part.square().sum(1).mean().sqrt() for part in scaled], dim=1)
    assert vectors.shape == (40, 8)
    torch.testing.assert_close(torch.cdist(vectors, vectors), torch.cdist(joined, joined), rtol=1e-3, atol=5e-3)


def test_a_part_of_large_numbers_does_not_drown_the_others() -> None:
    parts = [points(200, 4), 1e6 * points(200, 4, seed=1)]
    space = VectorSpace.fit(parts, weights=[1.0, 0.5])
    lengths = [
        (part * scale - part.mean(0) * scale).square().sum(1).mean().sqrt()
        for part, scale in zip(parts, space.scale, strict=True)
    ]
    torch.testing.assert_close(torch.stack(lengths), torch.tensor([3.0, 1.5]), rtol=1e-3, atol=0)


def test_components_are_uncorrelated_and_in_descending_order() -> None:
    parts = [points(300, 6), points(300, 4, seed=1)]
    vectors = VectorSpace.fit(parts, weights=[1.0, 0.5]).transform(parts, dim=0)
    covariance = vectors.T @ vectors / len(vectors)
    variances = covariance.diagonal()
    assert bool((variances[1:] <= variances[:-1] + 1e-5).all())
    torch.testing.assert_close(covariance, torch.diag(variances), atol=1e-4, rtol=0)


def test_a_shorter_vector_is_the_beginning_of_a_longer_one() -> None:
    parts = [points(50, 6)]
    space = VectorSpace.fit(parts, weights=[1.0])
    torch.testing.assert_close(space.transform(parts, dim=2), space.transform(parts, dim=0)[:, :2])
    assert space.length(100) == space.length(0) == 6


def test_kept_variance_is_what_a_projection_keeps_of_each_part() -> None:
    parts = [points(100, 6), points(100, 4, seed=1)]
    space = VectorSpace.fit(parts, weights=[1.0, 0.5])
    joined = torch.cat([(part - part.mean(0)) * scale for part, scale in zip(parts, space.scale, strict=True)], dim=1)
    rebuilt = space.transform(parts, dim=3) @ space.rotation[:, :3].T
    for share, before, after in zip(space.kept(3), joined.split((6, 4), 1), rebuilt.split((6, 4), 1), strict=True):
        assert share == pytest.approx(1 - float((before - after).square().sum() / before.square().sum()), abs=1e-4)
    assert space.kept(0) == pytest.approx([1.0, 1.0])


def test_no_more_components_than_rows_carry_variance() -> None:
    parts = [points(4, 9)]
    vectors = VectorSpace.fit(parts, weights=[1.0]).transform(parts, dim=0)
    assert vectors.shape == (4, 3)  # four points, centred, span three dimensions


def test_parts_without_any_variance_give_finite_vectors() -> None:
    parts = [torch.ones(5, 3), torch.zeros(5, 2)]
    space = VectorSpace.fit(parts, weights=[1.0, 1.0])
    assert space.transform(parts, dim=8).tolist() == [[0.0]] * 5


def test_a_space_read_from_a_file_gives_the_same_bits() -> None:
    parts = [points(30, 5), points(30, 3, seed=1)]
    space = VectorSpace.fit(parts, weights=[1.0, 0.5])
    again = VectorSpace.from_tensors(space.tensors(), widths=(5, 3))
    assert torch.equal(again.transform(parts, dim=4), space.transform(parts, dim=4))


@pytest.mark.parametrize(
    "change",
    [
        {"mean": torch.zeros(7)},
        {"rotation": torch.zeros(7, 8)},
        {"rotation": torch.full((8, 8), torch.nan)},
        {"variance": torch.zeros(3, 8)},
        {"scale": torch.zeros(2, dtype=torch.float64)},
        {"widths": torch.tensor([4, 4])},
    ],
    ids=str,
)
def test_a_damaged_space_is_rejected(change: dict[str, torch.Tensor]) -> None:
    space = VectorSpace.fit([points(30, 5), points(30, 3, seed=1)], weights=[1.0, 0.5])
    with pytest.raises(ValueError, match=r"vector/|columns"):
        VectorSpace.from_tensors(space.tensors() | change, widths=(5, 3))


def test_leading_directions_are_those_of_an_exact_decomposition() -> None:
    matrix = points(60, 30)
    found = leading_directions(lambda right: matrix @ right, (60, 30), 4, CPU)
    exact = torch.linalg.svd(matrix).Vh[:4].T
    torch.testing.assert_close(found, fixed_signs(exact), atol=2e-2, rtol=0)
    torch.testing.assert_close(found.T @ found, torch.eye(4), atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", [(3, 30), (30, 3)])
def test_leading_directions_of_a_narrow_or_low_matrix(shape: tuple[int, int]) -> None:
    matrix = points(*shape)
    found = leading_directions(lambda right: matrix @ right, shape, 8, CPU)
    assert found.shape == (shape[1], 3)
    torch.testing.assert_close(matrix @ found @ found.T, matrix, atol=1e-3, rtol=0)
