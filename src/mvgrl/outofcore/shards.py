"""Arrays on disk in shards: a file per range of rows, renamed into place when it is complete, so it exists or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mvgrl.tables.atomic import atomic_write


@dataclass(frozen=True)
class Ranges:
    """The rows of the nodes, cut into shards.

    >>> list(Ranges(nodes=5, rows=2))
    [(0, 2), (2, 4), (4, 5)]
    """

    nodes: int
    rows: int  # per shard
    worker: int = 0  # which of several processes this is that fill the same shards, and of how many
    workers: int = 1

    @property
    def turns(self) -> list[int]:
        """The shards in the order in which this process fills them: every process begins elsewhere.

        >>> Ranges(nodes=5, rows=1, worker=1, workers=2).turns
        [2, 3, 4, 0, 1]
        """
        first = len(self) * self.worker // self.workers
        return [*range(first, len(self)), *range(first)]

    def __len__(self) -> int:
        return -(-self.nodes // self.rows)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.nodes, self.rows):
            yield start, min(start + self.rows, self.nodes)

    def __getitem__(self, shard: int) -> tuple[int, int]:
        return shard * self.rows, min((shard + 1) * self.rows, self.nodes)


class Shards:
    """An array in a folder, a file per range of its rows; a file is written once, and never changed."""

    def __init__(self, folder: Path, ranges: Ranges) -> None:
        self.folder, self.ranges = folder, ranges

    def path(self, shard: int) -> Path:
        """Return the file of a shard."""
        return self.folder / f"shard-{shard:05d}.npy"

    def has(self, shard: int) -> bool:
        """Return whether a shard is complete."""
        return self.path(shard).exists()

    @property
    def complete(self) -> bool:
        """Whether all shards are."""
        return all(self.has(shard) for shard in range(len(self.ranges)))

    def write(self, shard: int, array: np.ndarray) -> None:
        """Write a shard; it appears under its name when it is complete."""
        with atomic_write(self.path(shard)) as temporary, temporary.open("wb") as file:
            np.save(file, array)

    def read(self, shard: int) -> np.ndarray:
        """Map a shard into memory, read-only."""
        found: np.ndarray = np.load(self.path(shard), mmap_mode="r")
        return found

    def fill(self, make: Callable[[int, int], np.ndarray], done: Callable[[], None] = lambda: None) -> None:
        """Write the shards that are missing; ``make`` is called with the first and the end row of each.

        Several processes may do so at once. Each leaves out what another has finished, so that at most one shard per
        process is computed twice, and the array is complete when any of them returns.
        """
        for shard in self.ranges.turns:
            if not self.has(shard):
                self.write(shard, make(*self.ranges[shard]))
            done()
