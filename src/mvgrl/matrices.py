"""Constant matrices and their differentiable products with learned tensors.

In every product of the paper, the left factor is constant and the right one is learned: X·Θ with the features X, and
V·Z with a view V. One differentiable product serves both. Its backward pass multiplies by the transpose, which is
computed once; a symmetric matrix is its own transpose. Under ``torch.vmap``, a stack of right-hand sides is folded into
more columns, so many seeds share one product.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mvgrl.runtime import compiled, use_torch_threads

_LARGEST_TABLE = 2**27  # entries of the largest lookup table from nodes to positions in a sample: 1 GiB


@compiled(fastmath={"contract"}, inline="always")
def _sum_rows(row: Any, start: int, stop: int, shift: int, indices: Any, values: Any, right: Any) -> None:
    """Write the weighted sum of rows of ``right`` into ``row``: entries start:stop, their column indices shifted."""
    width = right.shape[1]
    row[:] = 0
    fours = stop - (stop - start) % 4
    for e in range(start, fours, 4):  # four entries per pass over the output row
        a, b = right[indices[e] + shift], right[indices[e + 1] + shift]
        c, d = right[indices[e + 2] + shift], right[indices[e + 3] + shift]
        va, vb, vc, vd = values[e], values[e + 1], values[e + 2], values[e + 3]
        for k in range(width):
            row[k] += va * a[k] + vb * b[k] + vc * c[k] + vd * d[k]
    for e in range(fours, stop):
        a, va = right[indices[e] + shift], values[e]
        for k in range(width):
            row[k] += va * a[k]


@compiled(parallel=True, fastmath={"contract"})
def _multiply_csr(indptr: Any, indices: Any, values: Any, right: Any, out: Any) -> None:
    for i in numba.prange(indptr.shape[0] - 1):
        _sum_rows(out[i], indptr[i], indptr[i + 1], 0, indices, values, right)


@compiled(parallel=True, fastmath={"contract"})
def _multiply_blocks(
    indptr: Any, indices: Any, values: Any, starts: Any, positions: Any, block_of_row: Any, right: Any, out: Any
) -> None:
    for i in numba.prange(out.shape[0]):
        block = block_of_row[i]
        shift = positions[block] - starts[block]
        row = i - shift
        _sum_rows(out[i], indptr[row], indptr[row + 1], shift, indices, values, right)


class _Product(torch.autograd.Function):
    """matrix @ right, differentiable with respect to ``right`` only."""

    @staticmethod
    def forward(matrix: Matrix, right: Tensor) -> Tensor:
        return matrix.multiply(right)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Matrix, Tensor], output: Tensor) -> None:
        ctx.matrix = inputs[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        return None, _Product.apply(ctx.matrix.T, grad)

    @staticmethod
    def vmap(info: Any, in_dims: Any, matrix: Matrix, right: Tensor) -> tuple[Tensor, int]:
        if isinstance(matrix, OnePerSeed):
            folded = _Product.apply(matrix.diagonal, right.movedim(in_dims[1], 0).flatten(0, 1))
            return folded.unflatten(0, (info.batch_size, -1)), 0
        stacked = right.movedim(in_dims[1], 1)  # rows × stack × columns
        folded = _Product.apply(matrix, stacked.flatten(1))
        return folded.unflatten(1, stacked.shape[1:]), 1


class Matrix:
    """A constant matrix on a device; ``matrix @ tensor`` is differentiable with respect to the tensor.

    >>> DenseMatrix(torch.tensor([[1.0, 2.0]])) @ torch.tensor([[3.0], [4.0]])
    tensor([[11.]])
    """

    shape: tuple[int, int]

    def __matmul__(self, right: Tensor) -> Tensor:
        return _Product.apply(self, right)

    @property
    def T(self) -> Matrix:
        """The transpose, computed once."""
        raise NotImplementedError

    def multiply(self, right: Tensor) -> Tensor:
        """Return the product without recording gradients."""
        raise NotImplementedError

    def rows(self, nodes: Tensor) -> Matrix:
        """Return the given rows, with all columns."""
        raise NotImplementedError

    def select(self, nodes: Tensor, sizes: Sequence[int], *, disjoint: bool = False) -> Matrix:
        """Return the submatrices induced by samples of nodes, block-diagonal.

        ``nodes`` holds the samples one after the other, and ``sizes`` the number of nodes per sample. The nodes of a
        sample must be unique. Set ``disjoint`` if no node is in two samples.
        """
        raise NotImplementedError

    def diagonal_blocks(self, starts: Tensor, sizes: Tensor) -> Matrix:
        """Return some square blocks of a block-diagonal matrix, as a block-diagonal matrix in the given order."""
        raise NotImplementedError

    def row_squares(self) -> Tensor:
        """Return the sum of squares per row."""
        raise NotImplementedError

    def to(self, device: torch.device | str) -> Matrix:
        """Return the matrix on another device."""
        raise NotImplementedError

    def dense(self) -> Tensor:
        """Return all entries as one dense tensor; intended for small matrices."""
        raise NotImplementedError


class DenseMatrix(Matrix):
    """A block-diagonal matrix of dense blocks (blocks × rows × columns); one block is an ordinary dense matrix.

    >>> DenseMatrix(torch.tensor([[[2.0]], [[3.0]]])).dense()
    tensor([[2., 0.],
            [0., 3.]])
    """

    def __init__(self, blocks: Tensor, *, symmetric: bool = False) -> None:
        self.blocks = blocks if blocks.dim() == 3 else blocks.unsqueeze(0)
        self.symmetric = symmetric
        count, rows, columns = self.blocks.shape
        self.shape = (count * rows, count * columns)

    @property
    def T(self) -> DenseMatrix:
        return self if self.symmetric else DenseMatrix(self.blocks.mT)

    def multiply(self, right: Tensor) -> Tensor:
        blocks = self.blocks.to(right.dtype)
        if len(blocks) == 1:
            return blocks[0] @ right
        return torch.bmm(blocks, right.unflatten(0, (len(blocks), blocks.shape[2]))).flatten(0, 1)

    def rows(self, nodes: Tensor) -> DenseMatrix:
        return DenseMatrix(self.blocks[0].index_select(0, nodes))

    def select(self, nodes: Tensor, sizes: Sequence[int], *, disjoint: bool = False) -> DenseMatrix:
        matrix = self.blocks[0]
        samples = nodes.unflatten(0, (len(sizes), sizes[0]))  # a dense view has one graph, with samples of equal size
        blocks = torch.stack([matrix.index_select(0, sample).index_select(1, sample) for sample in samples])
        return DenseMatrix(blocks, symmetric=self.symmetric)

    def row_squares(self) -> Tensor:
        return self.blocks.square().sum(2).flatten()

    def to(self, device: torch.device | str) -> DenseMatrix:
        return DenseMatrix(self.blocks.to(device), symmetric=self.symmetric)

    def dense(self) -> Tensor:
        return torch.block_diag(*self.blocks)


class OnePerSeed(Matrix):
    """A different matrix per seed under ``torch.vmap``: the diagonal blocks of one block-diagonal matrix.

    >>> both = OnePerSeed(DenseMatrix(torch.tensor([[[2.0]], [[3.0]]])), 2)
    >>> torch.vmap(lambda right: both @ right)(torch.ones(2, 1, 1)).flatten()
    tensor([2., 3.])
    """

    def __init__(self, diagonal: Matrix, count: int) -> None:
        self.diagonal, self.count = diagonal, count
        self.shape = (diagonal.shape[0] // count, diagonal.shape[1] // count)

    @property
    def T(self) -> OnePerSeed:
        return OnePerSeed(self.diagonal.T, self.count)


class SparseMatrix(Matrix):
    """A CSR matrix, multiplied by numba on a CPU (ten times as fast as torch) and by cuSPARSE on a GPU.

    >>> SparseMatrix.from_scipy(sp.diags_array([1.0, 2.0])) @ torch.ones(2, 1)
    tensor([[1.],
            [2.]])
    """

    def __init__(
        self, indptr: Tensor, indices: Tensor, values: Tensor, columns: int, *, symmetric: bool = False
    ) -> None:
        self.indptr, self.indices, self.values = indptr, indices, values
        self.shape = (len(indptr) - 1, columns)
        self.symmetric = symmetric
        self._transpose: SparseMatrix | None = self if symmetric else None
        self._on_gpu: Tensor | None = None

    @classmethod
    def from_scipy(cls, matrix: Any, *, symmetric: bool = False, dtype: torch.dtype = torch.float32) -> SparseMatrix:
        """Convert a SciPy matrix; indices are 32-bit integers unless the matrix is too large for them."""
        matrix = sp.csr_array(matrix)
        index = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
        return cls(
            torch.from_numpy(matrix.indptr.astype(index)),
            torch.from_numpy(matrix.indices.astype(index)),
            torch.from_numpy(np.array(matrix.data)).to(dtype),
            matrix.shape[1],
            symmetric=symmetric,
        )

    @property
    def T(self) -> SparseMatrix:
        if self._transpose is None:
            order = torch.argsort(self.indices, stable=True)
            counts = torch.bincount(self.indices, minlength=self.shape[1])
            row = self._row_of_entry()[order].to(self.indices.dtype)
            indptr = _offsets(counts, self.indptr.dtype)
            self.pair_with(SparseMatrix(indptr, row, self.values[order], self.shape[0]))
        return self._transpose  # type: ignore[return-value]

    def multiply(self, right: Tensor) -> Tensor:
        if right.device.type == "cpu":
            right = right.contiguous()
            out = right.new_empty(self.shape[0], right.shape[1])
            arrays = (self.indptr, self.indices, self.values.to(right.dtype), right.detach(), out)
            use_torch_threads()
            _multiply_csr(*(array.numpy() for array in arrays))
            return out
        if self._on_gpu is None or self._on_gpu.dtype != right.dtype:
            with warnings.catch_warnings():  # torch warns that CSR tensors are in beta
                warnings.simplefilter("ignore")
                self._on_gpu = torch.sparse_csr_tensor(
                    self.indptr, self.indices, self.values.to(right.dtype), self.shape, check_invariants=False
                )
        return self._on_gpu @ right

    def rows(self, nodes: Tensor) -> SparseMatrix:
        starts = self.indptr[nodes].long()
        counts = self.indptr[nodes + 1].long() - starts
        entries, _ = _ranges(starts, counts)
        return SparseMatrix(
            _offsets(counts, self.indptr.dtype), self.indices[entries], self.values[entries], self.shape[1]
        )

    def diagonal_blocks(self, starts: Tensor, sizes: Tensor) -> Matrix:
        if starts.device.type == "cpu":
            return DiagonalBlocks(self, starts, sizes)
        return self._submatrix(lambda matrix: matrix._diagonal_blocks(starts, sizes))

    def _diagonal_blocks(self, starts: Tensor, sizes: Tensor) -> SparseMatrix:
        """Copy blocks; the entries of a block are contiguous, so only their column indices need to be shifted."""
        first = self.indptr[starts].long()
        counts = self.indptr[starts + sizes].long() - first
        entries, total = _ranges(first, counts)
        rows, _ = _ranges(starts, sizes)
        indptr = _offsets(self.indptr[rows + 1] - self.indptr[rows], self.indptr.dtype)
        shift = torch.repeat_interleave(sizes.cumsum(0) - sizes - starts, counts, output_size=total)
        columns = (self.indices[entries] + shift).to(self.indices.dtype)
        return SparseMatrix(indptr, columns, self.values[entries], len(rows))

    def select(self, nodes: Tensor, sizes: Sequence[int], *, disjoint: bool = False) -> SparseMatrix:
        lengths = torch.tensor(sizes, device=nodes.device)
        sample = torch.repeat_interleave(torch.arange(len(sizes), device=nodes.device), lengths)
        table = torch.zeros_like(sample) if disjoint else sample  # disjoint samples share one lookup table
        return self._submatrix(lambda matrix: matrix._select(nodes, table))

    def _select(self, nodes: Tensor, table: Tensor) -> SparseMatrix:
        """Select the rows ``nodes`` and, of their columns, those of nodes in the same table; renumber both."""
        rows = self.rows(nodes)
        row = rows._row_of_entry()
        keys = table * self.shape[1] + nodes
        wanted = table[row] * self.shape[1] + rows.indices
        cells = (int(table[-1]) + 1) * self.shape[1]
        if cells <= _LARGEST_TABLE:
            position = nodes.new_full((cells,), -1)
            position[keys] = torch.arange(len(nodes), device=nodes.device)
            column = position[wanted]
        else:  # many samples of a very large graph: a binary search needs no such table
            ordered, order = keys.sort()
            found = torch.searchsorted(ordered, wanted).clamp_(max=len(keys) - 1)
            column = torch.where(ordered[found] == wanted, order[found], -1)
        kept = column >= 0
        indptr = _offsets(torch.bincount(row[kept], minlength=len(nodes)), self.indptr.dtype)
        return SparseMatrix(indptr, column[kept].to(self.indices.dtype), rows.values[kept], len(nodes))

    def row_squares(self) -> Tensor:
        return self.values.new_zeros(self.shape[0]).index_add_(0, self._row_of_entry(), self.values.square())

    def to(self, device: torch.device | str) -> SparseMatrix:
        indptr, indices, values = (array.to(device) for array in (self.indptr, self.indices, self.values))
        return SparseMatrix(indptr, indices, values, self.shape[1], symmetric=self.symmetric)

    def dense(self) -> Tensor:
        out = self.values.new_zeros(self.shape)
        out[self._row_of_entry(), self.indices.long()] = self.values
        return out

    def _submatrix(self, take: Callable[[SparseMatrix], SparseMatrix]) -> SparseMatrix:
        """Take the same part of the matrix and of its transpose; one part is enough if the matrix is symmetric."""
        part = take(self)
        if self.symmetric:
            part.symmetric, part._transpose = True, part
        else:
            part.pair_with(take(self.T))
        return part

    def pair_with(self, transpose: SparseMatrix) -> None:
        """Set the transpose of both, so that it is not computed."""
        self._transpose, transpose._transpose = transpose, self

    def _row_of_entry(self) -> Tensor:
        counts = (self.indptr[1:] - self.indptr[:-1]).long()
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.indptr.device), counts)


class DiagonalBlocks(Matrix):
    """Square blocks of a block-diagonal CSR matrix on the CPU, multiplied in place without copying them.

    >>> whole = SparseMatrix.from_scipy(sp.diags_array([1.0, 2.0, 3.0]))
    >>> blocks = whole.diagonal_blocks(torch.tensor([2, 0]), torch.tensor([1, 1]))
    >>> (blocks @ torch.ones(2, 1)).flatten()
    tensor([3., 1.])
    """

    def __init__(self, whole: SparseMatrix, starts: Tensor, sizes: Tensor) -> None:
        self.whole, self.starts, self.sizes = whole, starts, sizes
        self.positions = sizes.cumsum(0) - sizes  # first row of each block in this matrix
        self.shape = (int(sizes.sum()),) * 2

    @property
    def T(self) -> DiagonalBlocks:
        return self if self.whole.symmetric else DiagonalBlocks(self.whole.T, self.starts, self.sizes)

    def multiply(self, right: Tensor) -> Tensor:
        whole, right = self.whole, right.contiguous()
        out = right.new_empty(self.shape[0], right.shape[1])
        block_of_row = torch.repeat_interleave(self.sizes, output_size=self.shape[0])
        arrays = (whole.indptr, whole.indices, whole.values.to(right.dtype), self.starts, self.positions, block_of_row)
        use_torch_threads()
        _multiply_blocks(*(array.numpy() for array in (*arrays, right.detach(), out)))
        return out

    def copied(self) -> SparseMatrix:
        """Return a copy of the blocks as a sparse matrix."""
        return self.whole._submatrix(lambda matrix: matrix._diagonal_blocks(self.starts, self.sizes))

    def row_squares(self) -> Tensor:
        return self.copied().row_squares()

    def to(self, device: torch.device | str) -> SparseMatrix:
        return self.copied().to(device)

    def dense(self) -> Tensor:
        return self.copied().dense()


def _ranges(starts: Tensor, counts: Tensor) -> tuple[Tensor, int]:
    """Return start, start + 1, … of each range, one range after the other, and the total count."""
    ends = counts.cumsum(0)
    total = int(ends[-1])
    shift = torch.repeat_interleave(starts - ends + counts, counts, output_size=total)
    return torch.arange(total, device=starts.device) + shift, total


def _offsets(counts: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).to(dtype)
