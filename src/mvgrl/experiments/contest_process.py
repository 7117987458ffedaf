"""Run contenders in a process of their own, so that time and peak memory are theirs, and a crash is only theirs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset
from mvgrl.errors import CheckpointError, InputError, MachineError, SettingsError
from mvgrl.evaluation.protocols import Evaluation, measure
from mvgrl.experiments.contenders import Contender
from mvgrl.experiments.contest import Contest
from mvgrl.experiments.hidden_edges import hidden_edge_scores, link_splits
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.parallel import exit_with
from mvgrl.experiments.runner import RunContext, outcomes_of, reason
from mvgrl.graphs import Graph
from mvgrl.methods import Outcome
from mvgrl.views import ViewCache

KILLED = "out of memory or killed"
_CACHE = 2**33  # bytes of views that a process keeps


@dataclass(frozen=True)
class Result:
    """The scores of some runs of a contender, or why there are none."""

    contender: str
    runs: Sequence[int]
    scores: Sequence[dict[str, float]] = ()
    epochs: int = 0
    seconds: float = 0.0  # of one training or computation of vectors, without scoring them
    memory: float = 0.0  # peak in MB beyond what the process needs to hold the graph; 0 if not measured
    failed: str = ""
    final: bool = False  # the same would happen again, after a long time


Todo = Sequence[tuple[Contender, Sequence[Sequence[int]]]]  # contenders of one method, and their missing runs


@dataclass
class TimedContext(RunContext):
    """A context that counts the seconds of values that are reused, as if they had been computed again."""

    reused: float = 0.0
    _spent: dict[str, float] = field(default_factory=dict)

    def shared(self, slot: str, key: object, make: Callable[[], Any], *, failures: bool = False) -> Any:
        """Return ``make()``, computed once per key."""
        there = slot in self._kept and self._kept[slot][0] == key
        started, before = time.perf_counter(), self.reused
        found = super().shared(slot, key, make, failures=failures)
        if there:
            self.reused += self._spent[slot]
        else:
            self._spent[slot] = time.perf_counter() - started + self.reused - before
        return found


def results_of(contest: Contest, todo: Todo, memory: Callable[[], float] = lambda: 0.0) -> Iterator[Result]:
    """Run contenders that share a method, and yield every result; after a failure, a contender's other runs are left.

    Contenders take turns, so that those that share a training do it once.
    """
    device = torch.device(contest.device)
    context = TimedContext(Ledger(Path(os.devnull)), device, lambda text: None, ViewCache(memory=_CACHE))
    failed: set[str] = set()
    turns = sorted(((min(runs), contender, runs) for contender, some in todo for runs in some), key=lambda one: one[0])
    for _, contender, runs in turns:
        if contender.id in failed:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = (_links if contest.kind == "links" else _labels)(contest, contender, runs, context)
            yield replace(found, memory=memory())
        except (InputError, SettingsError, MachineError, CheckpointError) as error:  # at once, so it may be tried again
            failed.add(contender.id)
            yield Result(contender.id, runs, failed=str(error))
        except Exception as error:
            failed.add(contender.id)
            yield Result(contender.id, runs, failed=reason(error), memory=memory(), final=True)


def _labels(contest: Contest, contender: Contender, runs: Sequence[int], context: TimedContext) -> Result:
    context.reused, started = 0.0, time.perf_counter()
    outcomes = outcomes_of(
        *(contender.method, runs, contest.dataset, contest.resolved(contender), context),
        recipe=contest.recipe(contender),
        splits=contest.stride,
        given=contest.given,
    )
    seconds = time.perf_counter() - started + context.reused
    if contest.kind == "given":
        scores = [_on_given(contest, run, one, context) for run, one in zip(runs, outcomes, strict=True)]
    else:
        evaluation = Evaluation(contest.dataset, outcomes, runs, context.device, splits=contest.stride)
        scores = measure([contest.protocol], evaluation)
    return Result(contender.id, runs, scores, outcomes[0].epochs, seconds)


def _on_given(contest: Contest, run: int, outcome: Outcome, context: TimedContext) -> dict[str, float]:
    """Return the scores of a run on its split, one of the user's."""
    dataset = replace(contest.dataset, splits=dict(contest.given[run % contest.stride]))
    return measure([contest.protocol], Evaluation(dataset, [outcome], [run], context.device))[0]


def _links(contest: Contest, contender: Contender, runs: Sequence[int], context: TimedContext) -> Result:
    spent, epochs, recipe, settings = [], [], contest.recipe(contender), contest.resolved(contender)

    def embed(number: int, adjacency: sp.csr_array) -> np.ndarray:
        graph = replace(contest.dataset.graph, adjacency=adjacency)
        dataset = replace(contest.dataset, graph=graph, name=f"{contest.dataset.name}, split {number}")
        context.reused, started = 0.0, time.perf_counter()
        (outcome,) = outcomes_of(contender.method, [0], dataset, settings, context, recipe=recipe)
        spent.append(time.perf_counter() - started + context.reused)
        epochs.append(outcome.epochs)
        return outcome.points()

    scores = hidden_edge_scores(link_splits(contest.dataset.graph.adjacency, len(runs)), embed)
    return Result(contender.id, runs, scores, epochs[0], float(np.mean(spent)))


def separate_results(contest: Contest, todo: Todo) -> Iterator[Result]:
    """Yield what :func:`results_of` yields, from another process; if that is killed, the reason says so."""
    start = get_context("spawn")  # a forked process would share this one's threads and GPU
    (ours, theirs), (alive, here) = start.Pipe(duplex=False), start.Pipe(duplex=False)
    process = start.Process(target=_serve, args=(theirs, alive, contest, list(todo)), daemon=True)
    missing = {contender.id: list(runs) for contender, runs in todo}
    try:
        process.start()
        theirs.close()
        alive.close()
        with suppress(EOFError, OSError):
            while True:
                result: Result = ours.recv()
                missing[result.contender] = [runs for runs in missing[result.contender] if runs[0] != result.runs[0]]
                if result.failed:
                    missing[result.contender] = []
                yield result
        process.join()
    finally:
        here.close()  # ends the process if it is still running
        process.join()
        ours.close()
    if process.exitcode:
        for name, left in missing.items():
            if left:
                yield Result(name, left[0], failed=f"{KILLED} (exit code {process.exitcode})", final=True)


def _serve(results: Connection, parent: Connection, contest: Contest, todo: Todo) -> None:
    """Send all results to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=exit_with, args=(parent,), daemon=True).start()
    warm_up(contest, todo[0][0])
    for result in results_of(contest, todo, _peak_memory(contest.device)):
        results.send(result)
    results.close()


def warm_up(contest: Contest, contender: Contender) -> None:
    """Run a method on a tiny graph, so that what Python imports and compiles once is not part of its time."""
    method = contender.method
    if method.supervised:  # they need splits or folds, and train often enough that a few seconds do not matter
        return
    if hasattr(method, "epochs"):
        method = replace(method, **{"epochs": 1})
    given = contest.dataset.graph.features
    count = 1 if contest.dataset.task == "node" else 20
    features = sp.csr_array(np.eye(40 * count)) if sp.issparse(given) else np.eye(40 * count, dtype=np.float32)
    ends = np.arange(40 * count)
    other = ends - ends % 40 + (ends + 1) % 40  # rings of 40 nodes
    graph = Graph.from_edges(ends, other, features=None if given is None else features)
    graph = replace(graph, offsets=np.arange(0, 40 * count + 1, 40))
    classes = np.arange(40 if count == 1 else count) % 2
    ring = Dataset("rings", graph, classes, contest.dataset.task, None, ("0", "1"), "")
    context = RunContext(
        Ledger(Path(os.devnull)), torch.device(contest.device), lambda text: None, ViewCache(memory=_CACHE)
    )
    with suppress(Exception), warnings.catch_warnings():  # what is wrong is reported on the graph itself
        warnings.simplefilter("ignore")
        limited, preset = replace(contest.settings, epochs=1), contender.output.preset
        settings = resolve(graph, limited, device=contest.device, preset=preset).settings
        method.outcomes(ring, settings, contender.output, [0], context)


def _peak_memory(device: str) -> Callable[[], float]:
    """Return a function that returns the peak of the memory in MB since now: of a GPU if it is used, or resident."""
    if device != "cpu":
        torch.cuda.init()
        torch.cuda.reset_peak_memory_stats(device)
        return lambda: torch.cuda.max_memory_allocated(device) / 2**20
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak starts again from what is in use now
    before = _peak()
    return lambda: max(0.0, _peak() - before)


def _peak() -> float:
    """Return the peak of the resident memory in MB; 0 where the system does not report it."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 2**10
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    size: float = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 2**10
