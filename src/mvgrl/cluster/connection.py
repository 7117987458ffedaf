"""Start a Ray cluster on this machine or join one, and prepare the processes that work on it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from mvgrl.errors import InputError, MachineError, MVGRLError, shown

LOCAL = "local"
RETRIES = 3  # of a task whose machine or process was lost; an error of the task itself is not retried
_OBJECT_STORE = 2**27  # bytes; results are small, and graphs are read from files


def import_ray() -> Any:
    """Return the module, or say how to install it."""
    try:
        import ray
    except ImportError:
        raise InputError("a cluster needs Ray, which is not installed: pip install 'mvgrl[cluster]'") from None
    return ray


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Join the cluster at an address, or start one here (``"local"``) that ends with the context; yield Ray itself.

    A connection that exists already is used, and stays.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    _check_answers(address)
    quiet = dict(include_dashboard=False, log_to_driver=False, logging_level="error", configure_logging=True)
    try:
        if address == LOCAL:
            ray.init(address=LOCAL, num_cpus=_cores(), object_store_memory=_OBJECT_STORE, **quiet)
        else:
            ray.init(address=address, **{key: quiet[key] for key in ("log_to_driver", "logging_level")})
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        raise _no_cluster(address, error) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Reject HOST:PORT and ray://HOST:PORT where nothing answers; Ray itself would try for half a minute."""
    place = address.removeprefix("ray://")
    host, colon, port = place.rpartition(":")
    if "/" in place:
        return
    try:
        if host and port.isdecimal():
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        elif place != address and not colon:
            socket.getaddrinfo(place, None)
    except (OSError, OverflowError, UnicodeError) as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0]
    return InputError(
        f"no Ray cluster answers at {shown(address)} ({reason}); start one with ray start --head, or use local"
    )


def cpus_of_a_machine(ray: Any) -> int:
    """Return the number of cores of the smallest machine of the cluster that has any."""
    counts = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    return min((count for count in counts if count >= 1), default=1)


def result_of(ray: Any, reference: Any) -> Any:
    """Return the result of a task; its own error is raised unchanged, and a lost machine is a machine error."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, MVGRLError):
            raise type(cause)(str(cause)) from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise MachineError(
            f"the cluster lost a task {RETRIES + 1} times ({reason}); what has finished is kept: run it again"
        ) from None


def prepare_process(threads: int) -> None:
    """Set up a process of the cluster before it imports numba: threads, and a folder for compiled code.

    Ray sets OMP_NUM_THREADS to the cores of a task, and nothing else. Machines may share a home folder and differ in
    their processors, so the folder belongs to the machine.
    """
    folder = Path(gettempdir(), f"mvgrl-numba-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(folder))
    import numba
    import torch

    numba.set_num_threads(min(threads, numba.get_num_threads()))
    torch.set_num_threads(threads)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
