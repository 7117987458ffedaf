"""What embed, train and apply do with a graph on disk that does not fit into the given memory."""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvgrl.cli.interrupts import Interrupts
from mvgrl.errors import InputError, SettingsError

if TYPE_CHECKING:
    from mvgrl.automatic import Resolved
    from mvgrl.cli.console import Console
    from mvgrl.cli.options import Elsewhere, Source
    from mvgrl.cluster.job import ClusterJob
    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.outofcore import Job
    from mvgrl.recording import Recorder
    from mvgrl.settings import Output
    from mvgrl.training import Trained


@dataclass
class StoredRun:
    """A job out of core, and what is reported of it."""

    job: Job
    console: Console
    trained: Trained | None = None  # a model that was trained before
    cluster: str | None = None  # where the stages run; None: here
    records: Sequence[Recorder] = ()
    started: float = field(default_factory=time.perf_counter)

    def fit(self) -> Trained:
        """Compute the views, and train."""
        from mvgrl.progress import ProgressBar

        job = self.job
        self._announce()
        with self._elsewhere() as elsewhere:
            with _bars(self.console) as job.progress:
                job.start(self.trained)
                if elsewhere is not None:
                    elsewhere.diffuse(job)
                job.diffuse()
            if self.trained is None:
                if elsewhere is not None:
                    elsewhere.train(job)
                bar = ProgressBar(job.settings, "training", quiet=elsewhere is not None or not self.console.bars)
                with Interrupts(self.console.note) as interrupts, bar:
                    self.trained = job.train([bar, *self.records, interrupts])
        return self.trained

    def embed(self, output: Path) -> tuple[int, int]:
        """Run the whole job, and write the vectors; return their number and length."""
        with self._elsewhere() as elsewhere:
            trained = self.fit()
            if elsewhere is not None:
                elsewhere.vectors(self.job, trained)
            with _bars(self.console) as self.job.progress:
                vectors = self.job.vectors(trained)
        return self.job.write(output, vectors)

    def compose(self) -> Trained:
        """Train, and fit the composition of the vectors, as stored in a saved model."""
        trained = self.fit()
        if self.job.output.composed:
            with _bars(self.console) as self.job.progress:
                self.job.compose(trained)
        return trained

    def outcome(self, output: Path, peak: float | None) -> dict[str, Any]:
        """Remove the folder of the job, and return the result as the verbs report it."""
        from mvgrl.pretrained import vector_summary

        job, trained = self.job, self.trained
        assert trained is not None
        job.remove()
        losses = trained.history.losses
        return {
            "task": "node",
            **{"nodes": job.graph.nodes, "edges": job.graph.edges, "graphs": 1},
            **vector_summary(job.settings, job.output, trained.composition if job.output.composed else None),
            **{"epochs": len(losses), "loss": trained.history.best_loss if losses else None},
            "seconds": round(time.perf_counter() - self.started, 3),
            "peak_memory_mb": peak,
            **{"output": str(output), "seed": job.seed, "device": job.device, "choices": dict(job.resolved.choices)},
        }

    @contextmanager
    def _elsewhere(self) -> Iterator[ClusterJob | None]:
        """Yield what runs stages on the cluster; it leaves everything in the folder, where the job finds it."""
        if self.cluster is None:
            yield None
            return
        from mvgrl.cluster.connection import connected
        from mvgrl.cluster.job import ClusterJob

        with connected(self.cluster) as ray:
            yield ClusterJob(ray, self.console.note)

    def _announce(self) -> None:
        job = self.job
        self.console.note(f"plan, with shards of {job.plan.rows:,} nodes:\n{job.plan.text}")


@contextmanager
def resumable(checkpoint: Path) -> Iterator[None]:
    """Say how to continue where a job is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.exists():
            again = ["mvgrl", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"]
            print(f"interrupted; to continue: {shlex.join(again)}", file=sys.stderr, flush=True)
        raise


def opened(graph: str, source: Source) -> StoredGraph | None:
    """Return the graph if it is a folder written by mvgrl import, of one graph; else None."""
    from mvgrl.cli.inputs import is_dataset
    from mvgrl.graphs.stored_files import is_stored

    if is_dataset(graph) or not is_stored(graph):
        return None
    from mvgrl.cli.options import reading
    from mvgrl.graphs.stored import StoredGraph

    for name in reading(source):
        flag = {"header": "no-header", "text": "text-column"}.get(name, name.replace("_", "-"))
        raise SettingsError(f"{graph} already has its nodes and edges from mvgrl import; omit --{flag}")
    found = StoredGraph.open(graph)
    return found if found.count == 1 else None


def memory_of(text: str | None) -> int:
    """Return the bytes of --memory; without it, of the machine."""
    from mvgrl.runtime import machine_memory
    from mvgrl.tables.budget import parse_size

    return machine_memory() if text is None else parse_size(text)


def fits(stored: StoredGraph, resolved: Resolved, output: Output, memory: int, console: Console) -> bool:
    """Return whether the work fits into memory without shards; one line says so, and why."""
    from mvgrl.outofcore import plan
    from mvgrl.tables.budget import as_size

    needed = plan.in_memory(stored.nodes, stored.edges, stored.width, resolved.settings, output)
    inside = needed <= memory
    console.note(
        f"{'in memory' if inside else 'out of core'}: {stored.nodes:,} nodes and {stored.edges:,} edges need about "
        f"{as_size(needed)} in memory, and {as_size(memory)} may be used"
    )
    return inside


def stored_run(
    stored: StoredGraph,
    training: dict[str, Any],
    output: Output,
    seed: int,
    device: str,
    limit: int,
    folder: Path,
    elsewhere: Elsewhere,
    console: Console,
) -> StoredRun | None:
    """Return the job of a graph on disk that does not fit into memory, or is for a cluster; None for any other."""
    from mvgrl.automatic import resolve
    from mvgrl.outofcore.features import StreamedFacts
    from mvgrl.outofcore.job import Job as OutOfCore
    from mvgrl.outofcore.job import check_settings
    from mvgrl.outofcore.plan import Plan
    from mvgrl.vectors import describe

    if training.get("task") == "graph":
        return None
    facts = StreamedFacts(stored)
    resolved = resolve(stored, {**training, "task": "node"}, device=device, memory=limit, streamed=facts)
    output = output.for_task("node")
    continued = (folder / "job.json").exists()
    if elsewhere.cluster is None and not continued and fits(stored, resolved, output, limit, console):
        return None
    resolved.choices["vector"] = describe(resolved.settings, output, stored.nodes)
    check_settings(resolved.settings, output)
    plan = Plan.make(stored, resolved.settings, output, limit)
    console.note(f"picked: {resolved.summary}")
    job = OutOfCore(stored, resolved, output, folder, plan, seed=seed, device=device, facts=facts)
    job.trainers = elsewhere.trainers
    return StoredRun(job, console, cluster=elsewhere.cluster)


def check_trainers(elsewhere: Elsewhere) -> None:
    """Reject several trainers without a cluster."""
    if elsewhere.trainers > 1 and elsewhere.cluster is None:
        raise SettingsError("--trainers is the number of processes on a cluster; add --cluster, or omit it")


def check_on_disk(graph: str, cluster: str | None) -> None:
    """Reject a cluster for a graph that is not on disk."""
    if cluster is not None:
        raise SettingsError(
            f"--cluster needs one graph on disk that all machines can read; import it first (mvgrl import {graph} -o "
            "GRAPH), and give the folder"
        )


def check_fits(graph: str, sizes: tuple[int, int, int], resolved: Resolved, output: Output, memory: int) -> int:
    """Reject a graph in memory that needs more than --memory; return how much of that is left."""
    from mvgrl.outofcore import plan
    from mvgrl.tables.budget import as_size

    needed = plan.in_memory(*sizes, resolved.settings, output)
    if needed > memory:
        raise InputError(
            f"{graph} needs about {as_size(needed)} in memory, but --memory is {as_size(memory)}; import it first "
            f"(mvgrl import {graph} -o GRAPH), and give the folder"
        )
    return memory - needed


def fingerprint_of(trained: Trained) -> str:
    """Return a hash of the weights of a model."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in trained.model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


@contextmanager
def _bars(console: Console) -> Iterator[Any]:
    """Yield a callback (stage, done, total) that moves a bar per stage, in a terminal."""
    from rich.console import Console as Rich
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rich = Rich(file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=rich, transient=True, disable=console.quiet or not rich.is_terminal)
    tasks: dict[str, Any] = {}

    def progress(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bar.add_task(stage, total=total)
        bar.update(tasks[stage], completed=done, total=total)

    with bar:
        yield progress
