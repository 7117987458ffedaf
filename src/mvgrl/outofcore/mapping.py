"""How mapped files are read: at random by samples, from the first page to the last by everything else."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def read_at_random(arrays: Iterable[np.ndarray | None]) -> Iterator[None]:
    """Keep the system from reading ahead in mapped files, of which a sample uses a few bytes here and there."""
    maps = [found for array in arrays if (found := _map_of(array)) is not None]
    _advise(maps, "MADV_RANDOM")
    try:
        yield
    finally:
        _advise(maps, "MADV_NORMAL")


def _map_of(array: Any) -> mmap.mmap | None:
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array


def _advise(maps: list[mmap.mmap], name: str) -> None:
    if hasattr(mmap, name):  # not on every system
        for one in maps:
            one.madvise(getattr(mmap, name))
