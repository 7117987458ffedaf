"""CPU threads for many small problems: one thread per problem, not many threads on one problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch, BLAS and OpenMP on one thread, so that results do not depend on the number of cores.

    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def parallel_map(device: torch.device) -> Iterator[Callable[[Callable[[int], Any], range], list[Any]]]:
    """Yield a function that maps over chunks: on a CPU with a thread per chunk, since the matrices are small."""
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1:
        yield lambda work, chunks: [work(chunk) for chunk in chunks]
        return
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            yield lambda work, chunks: list(pool.map(work, chunks))
    finally:
        torch.set_num_threads(threads)
