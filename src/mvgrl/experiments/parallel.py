"""The work of a table: piece by piece, or several pieces at once in processes that share its ledger and its views."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from mvgrl.datasets import Dataset, load
from mvgrl.errors import MachineError
from mvgrl.experiments import few_labels, graph_tables, node_tables
from mvgrl.experiments.ablations import LABELS
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.runs import CrowdedError, Missing, Progress, RunContext
from mvgrl.runtime import machine_memory
from mvgrl.views import ViewCache

Runner = Callable[[Dataset, Recipe, Missing, RunContext], None]

_MEMORY = 4 * 2**30  # bytes that a process on a CPU may come to need; REDDIT-BINARY's does
_ON_A_GPU = 6  # processes at most: each has a start, and memory, of its own


@dataclass(frozen=True)
class Piece:
    """Runs that no others depend on: a recipe, and the seeds of each variant."""

    recipe: Recipe
    missing: Missing = field(hash=False)


def pieces(recipe: Recipe, missing: Missing, device: torch.device) -> list[Piece]:
    """A recipe's runs as the smallest pieces that are worth it: stacked seeds stay together, others part.

    >>> from mvgrl.settings import Settings
    >>> recipe, missing = Recipe("mutag", "best", Settings(task="graph")), {"trained": [0, 1], "untrained": [1]}
    >>> [piece.missing for piece in pieces(recipe, missing, torch.device("cpu"))]
    [{'trained': [0]}, {'trained': [1], 'untrained': [1]}]
    """
    if recipe.settings.task == "node" and device.type == "cuda":
        return [Piece(recipe, missing)]
    seeds = sorted({seed for some in missing.values() for seed in some})
    return [Piece(recipe, {variant: [seed] for variant, some in missing.items() if seed in some}) for seed in seeds]


def usual_jobs(task: str, count: int, device: torch.device) -> int:
    """How many pieces to work on at once: on a CPU all cores, but one training of nodes keeps them all busy by itself.

    >>> usual_jobs("node", 10, torch.device("cpu")), usual_jobs("graph", 1, torch.device("cpu"))
    (1, 1)
    """
    cores = _cores()
    if device.type == "cuda":
        return max(1, min(count, _ON_A_GPU, cores // 2))
    return 1 if task == "node" else max(1, min(count, cores, machine_memory() // _MEMORY))


class Worker:
    """Does pieces one after the other, and keeps a dataset and its views from one to the next."""

    def __init__(
        self,
        ledger: Ledger,
        device: torch.device,
        data_root: Path | None,
        tell: Progress,
        folder: str | None = None,
        crowded: bool = False,
    ) -> None:
        self.data_root, self.folder = data_root, folder
        self.dataset: Dataset | None = None
        self.bench = RunContext(ledger, device, tell, ViewCache(folder, memory=2**33), crowded)

    def do(self, piece: Piece) -> None:
        """All of its runs, each a line of the ledger as soon as it is done."""
        name = piece.recipe.dataset
        if self.dataset is None or self.dataset.name != name:
            self.dataset = None  # let go before the next is read
            self.bench = replace(self.bench, cache=ViewCache(self.folder, memory=2**33))
            self.dataset = load(name, self.data_root)
        _runner(piece.recipe)(self.dataset, piece.recipe, piece.missing, self.bench)


def work_off(
    steps: Iterable[tuple[Recipe, Missing]],
    ledger: Ledger,
    device: torch.device,
    *,
    jobs: int | None = 1,
    data_root: Path | None = None,
    tell: Progress = lambda text: None,
) -> None:
    """Do all runs that are missing, ``jobs`` at once; None: as many as the machine is good for."""
    for task, some in groupby(steps, key=lambda step: step[0].settings.task):
        together = [(recipe, missing) for recipe, missing in some if any(missing.values())]
        small = [piece for recipe, missing in together for piece in pieces(recipe, missing, device)]
        at_once = min(len(small), usual_jobs(task, len(small), device) if jobs is None else jobs)
        alone = [Piece(recipe, missing) for recipe, missing in together]
        if at_once > 1:
            alone = _several(small, at_once, ledger, device, data_root, tell)
        worker = Worker(ledger, device, data_root, tell)
        for piece in alone:
            worker.do(piece)


def _undone(piece: Piece, ledger: Ledger) -> Piece:
    """What the ledger lacks of a piece."""
    recipe = piece.recipe
    mine = [run for run in ledger if run.experiment in recipe.tables and run.recipe == recipe.id and not run.failed]
    done = {(run.variant, run.seed) for run in mine if (run.dataset, run.setting) == (recipe.dataset, recipe.setting)}
    return replace(
        piece,
        missing={
            variant: [seed for seed in seeds if (variant, seed) not in done] for variant, seeds in piece.missing.items()
        },
    )


def _several(
    todo: Sequence[Piece], jobs: int, ledger: Ledger, device: torch.device, data_root: Path | None, tell: Progress
) -> list[Piece]:
    """Deal the pieces out to processes; returned is what found no memory beside the others, and has to be alone."""
    crowded: list[Piece] = []
    with TemporaryDirectory(prefix="mvgrl-views-") as folder:
        # Processes of a fresh start: forked ones would share the threads and the GPU of this one.
        context = get_context("spawn")
        theirs, ours = context.Pipe(duplex=False)
        about = (theirs, ledger.path, str(device), data_root, folder, max(1, _cores() // jobs))
        pool = ProcessPoolExecutor(jobs, context, _start, about)
        try:
            tell(f"work in {len(todo)} pieces, {jobs} at once")
            waiting = [pool.submit(_do, piece) for piece in todo]
            for number, done in enumerate(as_completed(waiting), start=1):
                told, left = done.result()
                for text in told:
                    tell(f"{text} ({number} of {len(todo)})")
                crowded += left
            pool.shutdown()
        except BrokenProcessPool:
            raise MachineError(
                f"one of {jobs} processes was ended from outside, often for want of memory; what was done is in "
                f"{ledger.path}: run it again with fewer jobs"
            ) from None
        finally:
            ours.close()  # which ends those that are still at work
            pool.shutdown(cancel_futures=True)
    return [_undone(piece, ledger) for piece in crowded]


_worker: Worker  # of a process of the pool
_told: list[str] = []


def _start(parent: Connection, ledger: Path, device: str, data_root: Path | None, folder: str, threads: int) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to stop
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(threads)
    _worker = Worker(Ledger(ledger), torch.device(device), data_root, _told.append, folder, crowded=True)


def _leave_with(parent: Connection) -> None:
    """End this process when the parent closes its end, on purpose or by its own end: no run goes on by itself."""
    with suppress(EOFError, OSError):
        parent.recv()
    os._exit(1)


def _do(piece: Piece) -> tuple[list[str], list[Piece]]:
    """What there was to be told, and the piece itself where it has to be done again by itself."""
    _told.clear()
    try:
        _worker.do(piece)
    except CrowdedError:
        return list(_told), [piece]
    return list(_told), []


def _runner(recipe: Recipe) -> Runner:
    if recipe.tables == (LABELS,):
        return few_labels.run  # which trains once for all of its rows
    return node_tables.run if recipe.settings.task == "node" else graph_tables.run


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not a Linux system
        return os.cpu_count() or 1
