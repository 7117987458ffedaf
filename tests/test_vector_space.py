"""Parts are scaled alike, blocks of components are ordered, and directions are those of an exact decomposition."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mvgrl.vector_space import VectorSpace, blocks, fixed_signs, leading_directions

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


def test_variances_are_in_descending_order_and_equal_within_a_block() -> None:
    parts = [points(500, 150), points(500, 50, seed=1)]
    vectors = VectorSpace.fit(parts, weights=[1.0, 0.5]).transform(parts, dim=0)
    covariance = vectors.T @ vectors / len(vectors)
    variances = covariance.diagonal()
    assert vectors.shape == (500, 200)
    assert bool((variances[1:] <= variances[:-1] + 1e-5).all())
    assert [(block.start, block.stop) for block in blocks(200)] == [(0, 64), (64, 128), (128, 192), (192, 200)]
    for block in blocks(200):
        torch.testing.assert_close(variances[block], variances[block].mean().expand(block.stop - block.start))
        covariance[block, block] = 0
    torch.testing.assert_close(covariance, torch.zeros_like(covariance), atol=1e-4, rtol=0)  # between blocks


@pytest.mark.parametrize("count", [*range(1, 70), 127, 128, 129, 300, 512, 1000])
def test_blocks_are_powers_of_two_next_to_each_other(count: int) -> None:
    found = list(blocks(count))
    assert [block.start for block in found] == [0, *(block.stop for block in found[:-1])]
    assert found[-1].stop == count
    assert all((block.stop - block.start).bit_count() == 1 for block in found)


def test_a_vector_is_the_beginning_of_a_longer_one_up_to_the_end_of_a_block() -> None:
    parts = [points(400, 300)]
    space = VectorSpace.fit(parts, weights=[1.0])
    longest = space.transform(parts, dim=0)
    for dim in (64, 128, 256):
        torch.testing.assert_close(space.transform(parts, dim), longest[:, :dim])
    assert space.length(1000) == space.length(0) == longest.shape[1]


@pytest.mark.parametrize("dim", [1, 2, 24, 64, 100, 150])
def test_vectors_of_any_length_are_the_best_approximation_of_that_length(dim: int) -> None:
    parts = [points(400, 150)]
    space = VectorSpace.fit(parts, weights=[1.0])
    found, principal = space.transform(parts, dim), replace(space, mixed=False).transform(parts, dim)
    assert found.shape == principal.shape == (400, dim)
    torch.testing.assert_close(found @ found.T, principal @ principal.T, atol=1e-3, rtol=1e-4)
    covariance = principal.T @ principal / len(principal)
    torch.testing.assert_close(covariance, torch.diag(covariance.diagonal()), atol=1e-4, rtol=0)
    assert bool((covariance.diagonal().diff() <= 1e-5).all())


def test_kept_variance_is_what_a_projection_keeps_of_each_part() -> None:
    parts = [points(100, 6), points(100, 4, seed=1)]
    space = VectorSpace.fit(parts, weights=[1.0, 0.5])
    joined = torch.cat([(part - part.mean(0)) * scale for part, scale in zip(parts, space.scale, strict=True)], dim=1)
    rebuilt = space.transform(parts, dim=3) @ space.directions(3).T
    for share, before, after in zip(space.kept(3), joined.split((6, 4), 1), rebuilt.split((6, 4), 1), strict=True):
        assert share == pytest.approx(1 - float((before - after).square().sum() / before.square().sum()), abs=1e-4)
    assert space.kept(0) == pytest.approx([1.0, 1.0])


def test_no_more_components_than_rows_carry_variance() -> None:
    parts = [points(4, 9)]
    vectors = VectorSpace.fit(parts, weights=[1.0]).transform(parts, dim=0)
    assert vectors.shape == (4, 3)  # four points, centred, span three dimensions


def test_an_unknown_part_counts_as_the_mean_of_the_training_rows() -> None:
    parts = [points(40, 5), points(40, 3, seed=1)]
    space = VectorSpace.fit(parts, [1.0] * len(parts))
    mean = parts[-1].mean(0).expand_as(parts[-1])
    expected = space.transform([*parts[:-1], mean], 0)
    torch.testing.assert_close(space.transform([*parts[:-1], None], 0), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("fails", ["with an error", "with NaN"])
def test_a_covariance_with_many_empty_columns_is_decomposed(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single precision may fail to converge on it, depending on the library; then double precision is used."""
    exact = torch.linalg.eigh

    def fails_in_single_precision(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if matrix.dtype == torch.float64:
            return exact(matrix)
        if fails == "with NaN":
            return matrix[0] * torch.nan, matrix * torch.nan
        raise torch.linalg.LinAlgError("the algorithm failed to converge")

    part = torch.cat([torch.randn(200, 5, generator=torch.Generator().manual_seed(0)), torch.zeros(200, 90)], dim=1)
    expected = VectorSpace.fit([part], [1.0]).transform([part], 5)
    monkeypatch.setattr(torch.linalg, "eigh", fails_in_single_precision)
    found = VectorSpace.fit([part], [1.0]).transform([part], 5)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found @ found.T, expected @ expected.T, atol=1e-4, rtol=1e-4)


def test_parts_without_any_variance_give_finite_vectors() -> None:
    parts = [torch.ones(5, 3), torch.zeros(5, 2)]
    space = VectorSpace.fit(parts, weights=[1.0, 1.0])
    assert space.transform(parts, dim=8).tolist() == [[0.0]] * 5


@pytest.mark.parametrize("mixed", [True, False])
def test_a_space_read_from_a_file_gives_the_same_bits(mixed: bool) -> None:
    parts = [points(30, 5), points(30, 3, seed=1)]
    space = replace(VectorSpace.fit(parts, weights=[1.0, 0.5]), mixed=mixed)
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
        {"mixed": torch.tensor([32])},
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


def test_leading_directions_of_a_symmetric_matrix_need_no_gradients() -> None:
    some = points(60, 30)
    matrix = some.T @ some
    by_gradient = leading_directions(lambda right: matrix @ right, (30, 30), 4, CPU)
    by_symmetry = leading_directions(lambda right: matrix @ right, (30, 30), 4, CPU, symmetric=True)
    torch.testing.assert_close(by_symmetry, by_gradient, atol=1e-4, rtol=0)


@pytest.mark.parametrize("shape", [(3, 30), (30, 3)])
def test_leading_directions_of_a_narrow_or_low_matrix(shape: tuple[int, int]) -> None:
    matrix = points(*shape)
    found = leading_directions(lambda right: matrix @ right, shape, 8, CPU)
    assert found.shape == (shape[1], 3)
    torch.testing.assert_close(matrix @ found @ found.T, matrix, atol=1e-3, rtol=0)
