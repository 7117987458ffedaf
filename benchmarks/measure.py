"""Time and memory of calls: in a separate process, or interleaved in this one."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call in a separate, freshly started process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def spent(function: Callable[..., Any], *arguments: Any) -> tuple[Any, dict[str, float]]:
    """The result, the seconds it took, and its peak memory in bytes beyond what the process held before."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = _memory("VmRSS")
    started = time.perf_counter()
    result = function(*arguments)
    seconds = time.perf_counter() - started
    return result, {"seconds": seconds, "bytes": float(max(_memory("VmHWM") - before, 1))}


def interleaved(
    functions: Mapping[str, Callable[[], Any]], repeats: int, *, warm_up: bool = True
) -> dict[str, tuple[Any, list[float]]]:
    """Call the functions in turn, ``repeats`` times: the last result of each, and its seconds in every repeat.

    Whatever slows the machine down for a while slows all of them, so ratios within a repeat can be trusted.
    """
    found: dict[str, tuple[Any, list[float]]] = {name: (None, []) for name in functions}
    for repeat in range(-1 if warm_up else 0, repeats):
        for name, function in functions.items():
            started = time.perf_counter()
            result = function()
            seconds = time.perf_counter() - started
            if repeat >= 0:
                found[name] = (result, [*found[name][1], seconds])
    return found


def _memory(field: str) -> int:
    """VmRSS, the memory held now, or VmHWM, its peak; in bytes. Without /proc, always the peak."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field))
