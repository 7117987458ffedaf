"""The machine: devices, random generators, threads, compiled code, TF32, and memory."""

from __future__ import annotations

import ctypes
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch

from mvgrl.errors import SettingsError

logger = logging.getLogger(__name__)

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


def generator_for(seed: int, purpose: str, device: torch.device | str = "cpu") -> torch.Generator:
    """Return an independent random generator for one purpose of a run.

    Each purpose has its own stream, so drawing more numbers for one does not change another. Streams differ between
    CPUs and GPUs.

    >>> sampling, corruption = generator_for(0, "sampling"), generator_for(0, "corruption")
    >>> sampling.initial_seed() == corruption.initial_seed()
    False
    """
    entropy = np.random.SeedSequence([seed, *purpose.encode()]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(entropy) >> 1)


def use_torch_threads() -> None:
    """Make numba use as many threads as torch.

    Call this before every parallel numba kernel: numba's OpenMP layer would otherwise set its own number for torch too.

    >>> use_torch_threads()
    >>> numba.get_num_threads() <= torch.get_num_threads()
    True
    """
    numba.set_num_threads(min(torch.get_num_threads(), _MAX_NUMBA_THREADS))


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function with ``numba.njit(**options)``, with a cache on disk if possible.

    Without a cache, every process compiles the function again, to the same machine code. That is the case where no
    folder can be written, where the disk is full, and where others could write to the folder: the cache consists of
    pickles, which can run code.

    >>> @compiled()
    ... def add(a, b):
    ...     return a + b
    >>> add(1, 2)
    3
    """

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if not hasattr(kernel, "enable_caching"):  # NUMBA_DISABLE_JIT returns the function itself
            return kernel
        without = kernel._cache
        try:
            kernel.enable_caching()
            folder = Path(kernel._cache.cache_path)
            if not _only_ours(folder):
                raise PermissionError(f"others may write to {folder}")
            kernel._cache = _ForgivingCache(kernel._cache)
        except Exception as error:  # a cache is never worth a failure
            kernel._cache = without
            _note_missing_cache(error)
        return kernel

    return decorate


class _ForgivingCache:
    """The cache of a compiled function; reading and writing may fail, for example on a full disk."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def load_overload(self, *arguments: Any) -> Any:
        try:
            return self._wrapped.load_overload(*arguments)
        except Exception as error:
            _note_missing_cache(error)
            return None

    def save_overload(self, *arguments: Any) -> None:
        try:
            self._wrapped.save_overload(*arguments)
        except Exception as error:
            _note_missing_cache(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)


_noted_missing_cache = False


def _note_missing_cache(error: Exception) -> None:
    """Say once per process that compiled code is not cached."""
    global _noted_missing_cache
    if not _noted_missing_cache:
        reason = "no folder for it can be written" if "no locator" in str(error) else error
        advice = "to make later starts faster, set NUMBA_CACHE_DIR to a folder that only you can write to"
        logger.warning("compiled code is not cached (%s); %s", reason, advice)
    _noted_missing_cache = True


@cache
def _only_ours(folder: Path) -> bool:
    """Whether nobody can write to a folder but this user, root, and whoever could change this package itself."""
    if not hasattr(os, "geteuid"):  # Windows: such folders belong to the user's profile
        return True
    about, package = folder.stat(), Path(__file__).parent.stat()
    groups = {os.getegid()} | ({package.st_gid} if package.st_mode & stat.S_IWGRP else set())
    above = (one.stat().st_mode for one in folder.resolve().parents)
    return (
        about.st_uid in (0, os.geteuid(), package.st_uid)
        and not about.st_mode & stat.S_IWOTH
        and (not about.st_mode & stat.S_IWGRP or about.st_gid in groups)
        and not any(mode & stat.S_IWOTH and not mode & stat.S_ISVTX for mode in above)  # they could replace it
    )


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


def resident_memory() -> int:
    """Return the bytes of memory that this process occupies; 0 where the operating system does not report it.

    >>> resident_memory() >= 0
    True
    """
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError, ValueError, IndexError):
        return 0
