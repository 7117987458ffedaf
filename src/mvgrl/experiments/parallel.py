"""Run tasks one after another, or in parallel in a worker pool that shares the ledger and the views."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import gettempdir

import torch

from mvgrl.datasets import Dataset, load
from mvgrl.errors import MachineError
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.planner import Task
from mvgrl.experiments.runner import CrowdedError, Progress, RunContext, run
from mvgrl.methods import METHODS
from mvgrl.runtime import machine_memory
from mvgrl.tables.leftovers import remove_leftovers, temporary_folder
from mvgrl.views import ViewCache

Piece = list[Task]  # tasks of one recipe that no other tasks depend on
# Runs pieces in other processes, and returns those that ran out of memory and must run by themselves.
Pool = Callable[[Sequence[Piece], Ledger, torch.device, Path | None, Progress], list[Piece]]

_MEMORY = 4 * 2**30  # bytes per process on a CPU; REDDIT-BINARY needs this much
_ON_A_GPU = 6  # maximum number of processes: each adds start-up time and memory


def pieces(tasks: Sequence[Task], device: torch.device) -> list[Piece]:
    """Split tasks of one recipe into the smallest pieces worth running separately.

    Seeds that are trained together on a GPU stay together, and so do runs of the same training.

    >>> from mvgrl.experiments.recipes import Recipe
    >>> from mvgrl.settings import Settings
    >>> recipe = Recipe("mutag", "best", Settings(task="graph"))
    >>> tasks = [Task(recipe, "trained", "mvgrl", None, {}, (0, 1)), Task(recipe, "plain", "raw", None, {}, (1,))]
    >>> [[(task.variant, task.seeds) for task in piece] for piece in pieces(tasks, torch.device("cpu"))]
    [[('trained', (0,))], [('trained', (1,)), ('plain', (1,))]]
    >>> supervised = Task(recipe, "GIN-0", "gin-0", None, {}, (0, 1))
    >>> [[task.seeds for task in piece] for piece in pieces([supervised], torch.device("cuda"))]
    [[(0, 1)]]
    """
    found, others = [], list(tasks)
    if device.type == "cuda":
        if tasks[0].recipe.settings.task == "node":
            return [others]
        found = [[task] for task in tasks if METHODS[task.method].supervised]
        others = [task for task in tasks if not METHODS[task.method].supervised]
    for one in sorted({seed // task.splits for task in others for seed in task.seeds}):
        mine = [(task, tuple(seed for seed in task.seeds if seed // task.splits == one)) for task in others]
        found.append([replace(task, seeds=seeds) for task, seeds in mine if seeds])
    return found


def usual_jobs(task: str, count: int, device: torch.device) -> int:
    """Return how many pieces to run in parallel: one per CPU core, but one for nodes, where training uses all cores.

    >>> usual_jobs("node", 10, torch.device("cpu")), usual_jobs("graph", 1, torch.device("cpu"))
    (1, 1)
    """
    cores = _cores()
    if device.type == "cuda":
        return max(1, min(count, _ON_A_GPU, cores // 2))
    return 1 if task == "node" else max(1, min(count, cores, machine_memory() // _MEMORY))


class Worker:
    """Runs pieces one after another, and keeps the dataset and its views between them."""

    def __init__(self, context: RunContext, data_root: Path | None, folder: str | None = None) -> None:
        self.context, self.data_root, self.folder = context, data_root, folder
        self.dataset: Dataset | None = None

    def do(self, piece: Piece) -> None:
        """Run a piece; each run is added to the ledger as soon as it is done."""
        name = piece[0].recipe.dataset
        if self.dataset is None or self.dataset.name != name:
            self.dataset = None  # freed before the next is read
            self.context = replace(self.context, cache=ViewCache(self.folder, memory=2**33), _kept={})
            self.dataset = load(name, self.data_root)
        run(piece, self.dataset, self.context)


def run_tasks(
    tasks: Iterable[Task],
    ledger: Ledger,
    device: torch.device,
    *,
    jobs: int | None = 1,
    data_root: Path | None = None,
    tell: Progress = lambda text: None,
    pool: Pool | None = None,
) -> None:
    """Run all tasks, ``jobs`` in parallel; None: as many as the machine has cores and memory for.

    ``pool`` runs them elsewhere, such as on a cluster.
    """
    remove_leftovers(Path(gettempdir()))
    for kind, some in groupby(tasks, key=lambda task: task.recipe.settings.task):
        serial = [list(same) for _, same in groupby(some, key=lambda task: (task.recipe.dataset, task.recipe))]
        small = [piece for together in serial for piece in pieces(together, device)]
        workers = min(len(small), usual_jobs(kind, len(small), device) if jobs is None else jobs)
        if pool is not None or workers > 1:
            crowded = (pool or partial(_in_pool, workers))(small, ledger, device, data_root, tell)
            serial = [rest for piece in crowded if (rest := _undone(piece, ledger))]
        worker = Worker(RunContext(ledger, device, tell, ViewCache()), data_root)
        for piece in serial:
            worker.do(piece)


def _in_pool(
    jobs: int, todo: Sequence[Piece], ledger: Ledger, device: torch.device, data_root: Path | None, tell: Progress
) -> list[Piece]:
    """Run the pieces in a worker pool; return those that ran out of memory and must run by themselves."""
    crowded: list[Piece] = []
    with temporary_folder(Path(gettempdir(), "views")) as folder:
        # Spawned, not forked: forked processes would share this one's threads and GPU.
        spawn = get_context("spawn")
        theirs, ours = spawn.Pipe(duplex=False)
        about = (theirs, ledger.path, str(device), data_root, str(folder), max(1, _cores() // jobs))
        pool = ProcessPoolExecutor(jobs, spawn, _start, about)
        try:
            tell(f"{len(todo)} pieces, {jobs} in parallel")
            waiting = [pool.submit(_do, piece) for piece in todo]
            for number, done in enumerate(as_completed(waiting), start=1):
                messages, left = done.result()
                for text in messages:
                    tell(f"{text} ({number} of {len(todo)})")
                crowded += left
            pool.shutdown()
        except BrokenProcessPool:
            raise MachineError(
                f"one of {jobs} worker processes was killed, often because memory ran out; finished runs are in "
                f"{ledger.path}: run it again with fewer jobs"
            ) from None
        finally:
            ours.close()  # ends the processes that are still running
            pool.shutdown(cancel_futures=True)
    return crowded


def _undone(piece: Piece, ledger: Ledger) -> Piece:
    """Return the part of a piece that is missing from the ledger."""
    done = {run.key[1:] for run in ledger if run.experiment in piece[0].recipe.tables and not run.failed}
    left = []
    for task in piece:
        about = (task.recipe.dataset, task.recipe.setting, task.variant)
        seeds = tuple(seed for seed in task.seeds if (*about, seed, task.recipe.id) not in done)
        left += [replace(task, seeds=seeds)] if seeds else []
    return left


_worker: Worker  # of this process of the pool
_messages: list[str] = []


def _start(parent: Connection, ledger: Path, device: str, data_root: Path | None, folder: str, threads: int) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=exit_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(threads)
    context = RunContext(Ledger(ledger), torch.device(device), _messages.append, ViewCache(), crowded=True)
    _worker = Worker(context, data_root, folder)


def exit_with(parent: Connection) -> None:
    """Exit when the parent closes the pipe or dies, so that no worker outlives it."""
    with suppress(EOFError, OSError):
        parent.recv()
    os._exit(1)


def _do(piece: Piece) -> tuple[list[str], list[Piece]]:
    """Return the messages, and the piece if it must run again by itself."""
    _messages.clear()
    try:
        _worker.do(piece)
    except CrowdedError:
        return list(_messages), [piece]
    return list(_messages), []


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
