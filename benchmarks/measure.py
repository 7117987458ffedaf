"""Time and memory of a call, in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call in a process of its own, started afresh."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def spent(function: Callable[..., Any], *arguments: Any) -> tuple[Any, dict[str, float]]:
    """The result, the seconds it took, and the bytes at its peak beyond what was held before."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again from here
    before = _memory("VmRSS")
    started = time.perf_counter()
    result = function(*arguments)
    seconds = time.perf_counter() - started
    return result, {"seconds": seconds, "bytes": float(max(_memory("VmHWM") - before, 1))}


def _memory(field: str) -> int:
    """VmRSS, what the process holds, or VmHWM, the most it held; in bytes. Where there is no /proc, the latter."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field))
