"""The machine: devices, generators, threads, TF32, and memory kept between training steps."""

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

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # glibc's numbers for mallopt
_WHILE_TRAINING = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 2**26))
_AFTERWARDS = ((_MMAP_MAX, 65536), (_TRIM_THRESHOLD, 2**25), (_TOP_PAD, 2**17))

_MOST_THREADS = numba.get_num_threads()  # before anyone has asked for fewer


@contextmanager
def kept_between_steps() -> Iterator[None]:
    """Let the C library keep freed blocks for the next step, and give everything back at the end.

    Each step makes and frees the same large tensors. By default glibc returns blocks above 32 MiB to the kernel at
    once, which then has to map and clear them again: half the time of a step on a graph of 20,000 nodes. Elsewhere
    than on glibc this does nothing.
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
        for parameter, value in _AFTERWARDS:
            library.mallopt(parameter, value)  # type: ignore[union-attr]
        library.malloc_trim(0)  # type: ignore[union-attr]


@contextmanager
def allow_tf32() -> Iterator[None]:
    """Let a GPU multiply with ten bits after the point (TF32), which it does faster; elsewhere this does nothing.

    It is for training alone: vectors are made and scored in full.
    """
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def machine_memory(device: str = "cpu") -> int:
    """Bytes of memory that there are: the machine's or the limit of the process's control group, or a GPU's."""
    if device != "cpu":
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 8 * 2**30
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def use_torch_threads() -> None:
    """Let numba run on as many threads as torch; it would otherwise impose its own number on both."""
    numba.set_num_threads(min(torch.get_num_threads(), _MOST_THREADS))


def generator_for(seed: int, purpose: str) -> torch.Generator:
    """A stream of its own for each purpose, so that none depends on how much another has drawn."""
    entropy = np.random.SeedSequence([seed, *purpose.encode()]).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(entropy) >> 1)


def resolve_device(device: str | torch.device) -> torch.device:
    """The device of a name, ``auto`` being a GPU where there is one; one that is not here is refused."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(f"device {str(device)!r} cannot be used here ({error}); use 'auto' or 'cpu'") from None
    return chosen
