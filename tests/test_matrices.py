from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from mvgrl.matrices import DenseMatrix, SparseMatrix


def random_sparse(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return sp.random(rows, columns, 0.2, random_state=seed).toarray()


def both_kinds(array: np.ndarray, *, symmetric: bool = False) -> list:
    return [
        SparseMatrix.from_scipy(sp.csr_array(array), symmetric=symmetric, dtype=torch.float64),
        DenseMatrix(torch.from_numpy(array), symmetric=symmetric),
    ]


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 9), st.integers(0, 10**6))
def test_products_equal_those_of_numpy(rows: int, columns: int, width: int, seed: int) -> None:
    array = random_sparse(rows, columns, seed)
    right = np.random.default_rng(seed).normal(size=(columns, width))
    for matrix in both_kinds(array):
        torch.testing.assert_close(matrix @ torch.from_numpy(right), torch.from_numpy(array @ right))


def test_wide_products_equal_those_of_numpy() -> None:
    array = random_sparse(12, 9)
    right = np.random.default_rng(0).normal(size=(9, 2500))  # many more columns than rows
    torch.testing.assert_close(both_kinds(array)[0] @ torch.from_numpy(right), torch.from_numpy(array @ right))


@pytest.mark.parametrize("symmetric", [False, True])
def test_gradients_pass_gradcheck(symmetric: bool) -> None:
    array = random_sparse(11, 11)
    if symmetric:
        array = array + array.T
    right = torch.randn(11, 3, dtype=torch.float64, requires_grad=True)
    for matrix in both_kinds(array, symmetric=symmetric):
        assert torch.autograd.gradcheck(lambda z, matrix=matrix: matrix @ z, right)


def test_gradients_of_a_stack_under_vmap_equal_the_closed_form() -> None:
    array = random_sparse(11, 8)
    stack = torch.randn(4, 8, 3, dtype=torch.float64)
    for matrix in both_kinds(array):
        grads = torch.vmap(torch.func.grad(lambda z, matrix=matrix: (matrix @ z).square().sum()))(stack)
        torch.testing.assert_close(grads, 2 * torch.from_numpy(array.T @ array) @ stack)


def test_select_gives_induced_submatrices_and_their_transposes() -> None:
    array = random_sparse(20, 20)
    samples = torch.stack([torch.randperm(20)[:7] for _ in range(3)])
    expected = torch.block_diag(*(torch.from_numpy(array[np.ix_(s, s)]) for s in samples.numpy()))
    for matrix in both_kinds(array):
        chosen = matrix.select(samples.flatten(), (7, 7, 7))
        assert torch.equal(chosen.dense(), expected)
        assert torch.equal(chosen.T.dense(), expected.T)


def test_select_handles_complete_graphs_of_different_sizes() -> None:
    array = sp.block_diag([random_sparse(n, n, n) for n in (3, 6, 4)]).toarray()
    nodes = torch.tensor([9, 10, 11, 12, 0, 1, 2])
    chosen = both_kinds(array)[0].select(nodes, (4, 3), disjoint=True)
    assert torch.equal(chosen.dense(), torch.from_numpy(array[np.ix_(nodes, nodes)]))


def test_select_without_a_lookup_table_gives_the_same_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    array = random_sparse(20, 20)
    nodes, sizes = torch.cat([torch.randperm(20)[:7] for _ in range(3)]), (7, 7, 7)
    matrix = both_kinds(array)[0]
    expected = matrix.select(nodes, sizes).dense()
    monkeypatch.setattr("mvgrl.matrices._LARGEST_TABLE", 10)
    assert torch.equal(matrix.select(nodes, sizes).dense(), expected)


def test_rows_and_their_sums_of_squares() -> None:
    array = random_sparse(9, 5)
    nodes = torch.tensor([4, 0, 4, 8])
    for matrix in both_kinds(array):
        assert torch.equal(matrix.rows(nodes).dense(), torch.from_numpy(array[nodes]))
        torch.testing.assert_close(matrix.row_squares(), torch.from_numpy((array**2).sum(1)))


@pytest.mark.parametrize("symmetric", [True, False])
def test_diagonal_blocks_equal_their_copies_and_the_dense_blocks(symmetric: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    sizes = [3, 1, 5, 2]
    blocks = [torch.rand(n, n, generator=generator) * (torch.rand(n, n, generator=generator) < 0.6) for n in sizes]
    blocks = [block + block.mT if symmetric else block for block in blocks]
    whole = SparseMatrix.from_scipy(sp.csr_array(torch.block_diag(*blocks).numpy()), symmetric=symmetric)
    starts = torch.tensor([0, 3, 4, 9])
    for chosen in ([2, 0], [1], [3, 1, 2, 0], [2, 2]):
        part = whole.diagonal_blocks(starts[chosen], torch.tensor(sizes)[chosen])
        copied = part.copied()
        expected = torch.block_diag(*(blocks[i] for i in chosen))
        right = torch.rand(len(expected), 3, generator=generator)
        torch.testing.assert_close(part @ right, expected @ right)
        torch.testing.assert_close(part.T @ right, expected.mT @ right)
        assert torch.equal(part @ right, copied @ right)
        assert torch.equal(part.T @ right, copied.T @ right)
        assert torch.equal(part.dense(), expected)
        torch.testing.assert_close(part.row_squares(), expected.square().sum(1))
        torch.testing.assert_close(part.to("cpu") @ right, expected @ right)
