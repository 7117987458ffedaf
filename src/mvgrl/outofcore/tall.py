"""Tall matrices on disk, nodes × columns: propagated over views a block of columns at a time.

One factor of a product is in memory, as few of its columns as fit; the view and the result are read and written from
the first row to the last. So nothing is read at random from a disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from mvgrl.outofcore.adjacency import StoredAdjacency
from mvgrl.outofcore.diffusion import StoredView
from mvgrl.outofcore.shards import Ranges, Shards

StoredMatrix: TypeAlias = "StoredAdjacency | StoredView"
Rows = Callable[[int, int, slice], Tensor]  # some columns of a range of rows
Done = Callable[[], None]
Kept = Callable[[np.ndarray], np.ndarray]

CHUNK = 2**12  # rows that are computed at a time: they stay in the cache


def chunks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of a few rows."""
    for first in range(start, stop, CHUNK):
        yield first, min(first + CHUNK, stop)


@dataclass(frozen=True)
class Tall:
    """A matrix in a folder, in shards of rows and blocks of columns."""

    folder: Path
    ranges: Ranges
    width: int
    columns: int  # per block

    @property
    def blocks(self) -> list[slice]:
        """The columns of every block."""
        return [slice(first, min(first + self.columns, self.width)) for first in range(0, self.width, self.columns)]

    def shards(self, block: int) -> Shards:
        """Return the shards of a block."""
        return Shards(self.folder / f"columns-{block:03d}", self.ranges)

    @property
    def complete(self) -> bool:
        """Whether all of it is written."""
        return all(self.shards(block).complete for block in range(len(self.blocks)))

    def rows(self, start: int, stop: int) -> Tensor:
        """Read rows that are in one shard."""
        shard = start // self.ranges.rows
        first = shard * self.ranges.rows
        out = np.empty((stop - start, self.width), np.float32)
        for block, columns in enumerate(self.blocks):
            out[:, columns] = self.shards(block).read(shard)[start - first : stop - first]
        return torch.from_numpy(out)

    def at(self, nodes: np.ndarray) -> Tensor:
        """Read the rows of some nodes, which are in ascending order."""
        shards = np.split(nodes, np.searchsorted(nodes, [stop for _, stop in self.ranges]))
        blocks = [self.shards(block) for block in range(len(self.blocks))]
        return torch.from_numpy(
            np.block([
                [block.read(shard)[inside - shard * self.ranges.rows] for block in blocks]
                for shard, inside in enumerate(shards)
                if len(inside)
            ])
        )  # fmt: skip

    def some(self, start: int, stop: int, columns: slice) -> Tensor:
        """Read some columns of rows that are in one shard."""
        block, first = columns.start // self.columns, start // self.ranges.rows * self.ranges.rows
        part = self.shards(block).read(start // self.ranges.rows)
        return torch.from_numpy(np.array(part[start - first : stop - first]))

    def propagate(self, view: StoredMatrix, right: Rows, done: Done, kept: Kept = lambda rows: rows) -> None:
        """Write what is missing of the product of a view with a matrix that is given by its rows.

        ``kept`` is what is written of the rows of a shard: by default, all of them.
        """
        for block, columns in enumerate(self.blocks):
            shards = self.shards(block)
            if shards.complete:
                for _ in self.ranges:
                    done()
                continue
            inside = np.empty((self.ranges.nodes, columns.stop - columns.start), np.float32)
            for start, stop in self.ranges:
                for first, last in chunks(start, stop):
                    inside[first:last] = right(first, last, columns).numpy()
            shards.fill(lambda start, stop, inside=inside: kept(view.product(start, stop, inside)), done)  # type: ignore[misc]

    def fill(self, make: Rows) -> None:
        """Write what is missing of a matrix that is given by its rows."""
        for block, columns in enumerate(self.blocks):
            self.shards(block).fill(lambda start, stop, columns=columns: make(start, stop, columns).numpy())  # type: ignore[misc]

    def squares(self, view: StoredMatrix, right: Rows, done: Done) -> Tensor:
        """Return the sum of squares of every column of such a product, of which nothing else is written."""
        self.propagate(view, right, done, lambda rows: np.einsum("ij,ij->j", rows, rows, dtype=np.float64)[None])
        count = len(self.ranges)
        blocks = [[self.shards(block).read(shard)[0] for shard in range(count)] for block in range(len(self.blocks))]
        return torch.from_numpy(np.concatenate([np.sum(block, axis=0) for block in blocks]))

    def remove(self) -> None:
        """Delete the files, unless other processes may still read them."""
        if self.ranges.workers == 1:
            shutil.rmtree(self.folder, ignore_errors=True)


def powers(steps: list[Tall], view: StoredMatrix, right: Rows, done: Done, *, keep_first: bool) -> None:
    """Write the products of a view with a matrix, with that product, and so on; keep the last, and maybe the first."""
    last = max((step for step, tall in enumerate(steps) if tall.complete), default=-1)
    for step in range(last + 1, len(steps)):
        steps[step].propagate(view, right if step == 0 else steps[step - 1].some, done)
        if step - 1 >= (1 if keep_first else 0):
            steps[step - 1].remove()
