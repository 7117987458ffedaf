"""Constant matrices and their products with what is being learned.

Everything the paper multiplies is constant on the left and learned on the right: X·Θ with the features X,
V·Z with a view V. One differentiable product serves both. Its backward pass multiplies with the transpose,
which is prepared once and is the matrix itself where it is symmetric. Under ``torch.vmap`` a stack of right-hand
sides is folded into more columns, so that many seeds share one product.
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

from mvgrl.runtime import use_torch_threads

_LARGEST_TABLE = 2**27  # entries of the look-up table from nodes to positions in a sample, a gibibyte


@numba.njit(cache=True, fastmath={"contract"}, inline="always")
def _add_up(row: Any, start: int, stop: int, moved: int, indices: Any, values: Any, right: Any) -> None:
    """Sum the rows of ``right`` that entries start to stop name, each ``moved`` by so much, into ``row``."""
    width = right.shape[1]
    row[:] = 0
    fours = stop - (stop - start) % 4
    for e in range(start, fours, 4):  # four entries at a time: a quarter of the passes over the row being summed
        a, b = right[indices[e] + moved], right[indices[e + 1] + moved]
        c, d = right[indices[e + 2] + moved], right[indices[e + 3] + moved]
        va, vb, vc, vd = values[e], values[e + 1], values[e + 2], values[e + 3]
        for k in range(width):
            row[k] += va * a[k] + vb * b[k] + vc * c[k] + vd * d[k]
    for e in range(fours, stop):
        a, va = right[indices[e] + moved], values[e]
        for k in range(width):
            row[k] += va * a[k]


@numba.njit(parallel=True, cache=True, fastmath={"contract"})
def _multiply_csr(indptr: Any, indices: Any, values: Any, right: Any, out: Any) -> None:
    for i in numba.prange(indptr.shape[0] - 1):
        _add_up(out[i], indptr[i], indptr[i + 1], 0, indices, values, right)


@numba.njit(parallel=True, cache=True, fastmath={"contract"})
def _multiply_blocks(
    indptr: Any, indices: Any, values: Any, starts: Any, places: Any, block_of_row: Any, right: Any, out: Any
) -> None:
    for i in numba.prange(out.shape[0]):
        block = block_of_row[i]
        moved = places[block] - starts[block]
        row = i - moved
        _add_up(out[i], indptr[row], indptr[row + 1], moved, indices, values, right)


class _Product(torch.autograd.Function):
    """matrix @ right, differentiable in ``right`` alone."""

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
    """A constant matrix on a device: ``matrix @ tensor`` is differentiable in the tensor."""

    shape: tuple[int, int]

    def __matmul__(self, right: Tensor) -> Tensor:
        return _Product.apply(self, right)

    @property
    def T(self) -> Matrix:
        """The transpose, prepared once."""
        raise NotImplementedError

    def multiply(self, right: Tensor) -> Tensor:
        """The plain product, outside autograd."""
        raise NotImplementedError

    def rows(self, nodes: Tensor) -> Matrix:
        """The given rows, all columns."""
        raise NotImplementedError

    def select(self, nodes: Tensor, sizes: Sequence[int], *, disjoint: bool = False) -> Matrix:
        """The induced sub-matrices of samples, block-diagonal.

        ``nodes`` holds the samples one after the other, ``sizes`` how many nodes each has; the nodes of one sample
        are distinct. ``disjoint`` says that no node is in two samples.
        """
        raise NotImplementedError

    def diagonal_blocks(self, starts: Tensor, sizes: Tensor) -> Matrix:
        """Of a block-diagonal matrix, the square blocks that start and end there, one after the other."""
        raise NotImplementedError

    def row_squares(self) -> Tensor:
        """The sum of squares of each row."""
        raise NotImplementedError

    def to(self, device: torch.device | str) -> Matrix:
        """The same matrix on another device."""
        raise NotImplementedError

    def dense(self) -> Tensor:
        """The whole matrix as one dense tensor; for small ones."""
        raise NotImplementedError


class DenseMatrix(Matrix):
    """Dense blocks (blocks × rows × columns) on the diagonal; one block is an ordinary dense matrix."""

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
        whole = self.blocks[0]
        samples = nodes.unflatten(0, (len(sizes), sizes[0]))  # dense views are of one graph: its samples are equal
        blocks = torch.stack([whole.index_select(0, sample).index_select(1, sample) for sample in samples])
        return DenseMatrix(blocks, symmetric=self.symmetric)

    def row_squares(self) -> Tensor:
        return self.blocks.square().sum(2).flatten()

    def to(self, device: torch.device | str) -> DenseMatrix:
        return DenseMatrix(self.blocks.to(device), symmetric=self.symmetric)

    def dense(self) -> Tensor:
        return torch.block_diag(*self.blocks)


class OnePerSeed(Matrix):
    """Under ``torch.vmap``, a matrix of its own for every member of the stack: the blocks of one block-diagonal one.

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
    """A CSR matrix: numba multiplies it on the CPU (ten times the speed of torch's there), cuSPARSE on a GPU."""

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
        """From a SciPy matrix; indices are 32 bits wide wherever that is enough."""
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
            self._pair_with(SparseMatrix(indptr, row, self.values[order], self.shape[0]))
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
            with warnings.catch_warnings():  # that torch's CSR tensors are in beta is no news to a user of ours
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
        return self._taken(lambda matrix: matrix._diagonal_blocks(starts, sizes))

    def _diagonal_blocks(self, starts: Tensor, sizes: Tensor) -> SparseMatrix:
        """A block's entries stand together, so that they are copied as they are and only their columns moved."""
        first = self.indptr[starts].long()
        counts = self.indptr[starts + sizes].long() - first
        entries, total = _ranges(first, counts)
        rows, _ = _ranges(starts, sizes)
        indptr = _offsets(self.indptr[rows + 1] - self.indptr[rows], self.indptr.dtype)
        moved = torch.repeat_interleave(sizes.cumsum(0) - sizes - starts, counts, output_size=total)
        columns = (self.indices[entries] + moved).to(self.indices.dtype)
        return SparseMatrix(indptr, columns, self.values[entries], len(rows))

    def select(self, nodes: Tensor, sizes: Sequence[int], *, disjoint: bool = False) -> SparseMatrix:
        lengths = torch.tensor(sizes, device=nodes.device)
        sample = torch.repeat_interleave(torch.arange(len(sizes), device=nodes.device), lengths)
        table = torch.zeros_like(sample) if disjoint else sample  # disjoint samples share one table of positions
        return self._taken(lambda matrix: matrix._select(nodes, table))

    def _select(self, nodes: Tensor, table: Tensor) -> SparseMatrix:
        """Rows ``nodes``, and of their columns the ones that are in the same table; renumbered."""
        rows = self.rows(nodes)
        row = rows._row_of_entry()
        keys = table * self.shape[1] + nodes
        wanted = table[row] * self.shape[1] + rows.indices
        cells = (int(table[-1]) + 1) * self.shape[1]
        if cells <= _LARGEST_TABLE:
            position = nodes.new_full((cells,), -1)
            position[keys] = torch.arange(len(nodes), device=nodes.device)
            column = position[wanted]
        else:  # many samples of a very large graph: look the columns up instead of holding such a table
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

    def _taken(self, take: Callable[[SparseMatrix], SparseMatrix]) -> SparseMatrix:
        """A part that is its own transpose if the whole is, and else is taken from both."""
        part = take(self)
        if self.symmetric:
            part.symmetric, part._transpose = True, part
        else:
            part._pair_with(take(self.T))
        return part

    def _pair_with(self, transpose: SparseMatrix) -> None:
        self._transpose, transpose._transpose = transpose, self

    def _row_of_entry(self) -> Tensor:
        counts = (self.indptr[1:] - self.indptr[:-1]).long()
        return torch.repeat_interleave(torch.arange(self.shape[0], device=self.indptr.device), counts)


class DiagonalBlocks(Matrix):
    """Some square blocks of a block-diagonal CSR matrix on the CPU, multiplied where they are: nothing is copied.

    >>> whole = SparseMatrix.from_scipy(sp.diags_array([1.0, 2.0, 3.0]))
    >>> blocks = whole.diagonal_blocks(torch.tensor([2, 0]), torch.tensor([1, 1]))
    >>> (blocks @ torch.ones(2, 1)).flatten()
    tensor([3., 1.])
    """

    def __init__(self, whole: SparseMatrix, starts: Tensor, sizes: Tensor) -> None:
        self.whole, self.starts, self.sizes = whole, starts, sizes
        self.places = sizes.cumsum(0) - sizes  # where each block stands here
        self.shape = (int(sizes.sum()),) * 2

    @property
    def T(self) -> DiagonalBlocks:
        return self if self.whole.symmetric else DiagonalBlocks(self.whole.T, self.starts, self.sizes)

    def multiply(self, right: Tensor) -> Tensor:
        whole, right = self.whole, right.contiguous()
        out = right.new_empty(self.shape[0], right.shape[1])
        block_of_row = torch.repeat_interleave(self.sizes, output_size=self.shape[0])
        arrays = (whole.indptr, whole.indices, whole.values.to(right.dtype), self.starts, self.places, block_of_row)
        use_torch_threads()
        _multiply_blocks(*(array.numpy() for array in (*arrays, right.detach(), out)))
        return out

    def copied(self) -> SparseMatrix:
        """The blocks as a matrix of their own."""
        return self.whole._taken(lambda matrix: matrix._diagonal_blocks(self.starts, self.sizes))

    def row_squares(self) -> Tensor:
        return self.copied().row_squares()

    def to(self, device: torch.device | str) -> SparseMatrix:
        return self.copied().to(device)

    def dense(self) -> Tensor:
        return self.copied().dense()


def _ranges(starts: Tensor, counts: Tensor) -> tuple[Tensor, int]:
    """start, start + 1, … of each range, one range after the other; and how many there are in all."""
    ends = counts.cumsum(0)
    total = int(ends[-1])
    shift = torch.repeat_interleave(starts - ends + counts, counts, output_size=total)
    return torch.arange(total, device=starts.device) + shift, total


def _offsets(counts: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).to(dtype)
