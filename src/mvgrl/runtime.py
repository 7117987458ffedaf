"""The machine: devices, random generators, threads, TF32, and memory."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
import torch

from mvgrl.errors import SettingsError

_MAX_NUMBA_THREADS = numba.get_num_threads()  # numba's limit, read before anything lowers the number in use

_MEMORY_IF_UNKNOWN = 8 * 2**30  # bytes to assume where the operating system does not report its memory

# Parameters of glibc's mallopt and their values, while training and afterwards.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_WHILE_TRAINING = ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_TOP_PAD, 2**26))
_AFTER_TRAINING = ((_M_MMAP_MAX, 65536), (_M_TRIM_THRESHOLD, 2**25), (_M_TOP_PAD, 2**17))


def resolve_device(device: str | torch.device) -> torch.device:
    """Return the device of that name, or raise an error if it is not available; ``auto`` prefers a GPU.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]  # CUDA adds a paragraph on debugging
        raise SettingsError(
            f"device {str(device)!r} is not available on this machine ({reason}); use 'auto' or 'cpu'"
        ) from None
    return chosen


def generator_for(seed: int, purpose: str) -> torch.Generator:
    """Return an independent random generator for one purpose of a run.

    Each purpose has its own stream, so drawing more numbers for one does not change another.

    >>> sampling, corruption = generator_for(0, "sampling"), generator_for(0, "corruption")
    >>> sampling.initial_seed() == corruption.initial_seed()
    False
    """
    entropy = np.random.SeedSequence([seed, *purpose.encode()]).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(entropy) >> 1)


def use_torch_threads() -> None:
    """Make numba use as many threads as torch.

    Call this before every parallel numba kernel: numba's OpenMP layer would otherwise set its own number for torch too.

    >>> use_torch_threads()
    >>> numba.get_num_threads() <= torch.get_num_threads()
    True
    """
    numba.set_num_threads(min(torch.get_num_threads(), _MAX_NUMBA_THREADS))


@contextmanager
def allow_tf32() -> Iterator[None]:
    """Allow TF32 for matrix products on a GPU, which is faster and rounds to 10 bits of mantissa.

    Use it for training only: vectors are computed and scored in full precision. It has no effect on a CPU.

    >>> with allow_tf32():
    ...     torch.backends.cuda.matmul.allow_tf32
    True
    """
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@contextmanager
def kept_between_steps() -> Iterator[None]:
    """Let the C library keep freed memory for the next training step; all of it is released at the end.

    Every step allocates and frees the same large tensors. By default, glibc immediately returns blocks above 32 MiB to
    the kernel, which has to map and clear them again: half the time of a step on a graph of 20,000 nodes. This has no
    effect with other C libraries.

    >>> with kept_between_steps():
    ...     total = sum(torch.ones(1000).sum() for _ in range(3))
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if not (hasattr(library, "mallopt") and hasattr(library, "malloc_trim")):
        yield
        return
    for parameter, value in _WHILE_TRAINING:
        library.mallopt(parameter, value)  # type: ignore[union-attr]
    try:
        yield
    finally:
        for parameter, value in _AFTER_TRAINING:
            library.mallopt(parameter, value)  # type: ignore[union-attr]
        library.malloc_trim(0)  # type: ignore[union-attr]


def machine_memory(device: str = "cpu") -> int:
    """Return the total memory in bytes of a GPU or, for ``cpu``, of this machine or its control group (cgroup).

    >>> machine_memory() > 2**20
    True
    """
    if device != "cpu":
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return _MEMORY_IF_UNKNOWN
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total
