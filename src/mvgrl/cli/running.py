"""What the verbs that train share: read, pick settings, train with a checkpoint, and say what came of it."""

from __future__ import annotations

import logging
import shlex
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvgrl.cli.configuration import RUN, read_config
from mvgrl.cli.inputs import notes_of, open_graph
from mvgrl.cli.interrupts import Interrupts
from mvgrl.errors import CheckpointError, InputError, SettingsError

if TYPE_CHECKING:
    from mvgrl.cli.console import Console
    from mvgrl.cli.options import Chosen, Source
    from mvgrl.graphs.named import NamedGraph
    from mvgrl.settings import Settings
    from mvgrl.tables.embeddings import Embeddings
    from mvgrl.training import Epoch, Trained

logger = logging.getLogger(__name__)


@dataclass
class Job:
    """A graph and all that decides what is made of it."""

    named: NamedGraph
    settings: Settings
    seed: int
    device: str
    asked_device: str
    console: Console
    started: float = field(default_factory=time.perf_counter)

    def about(self, graph: str) -> dict[str, Any]:
        """What the model's card says it was trained on."""
        return {"trained on": f"{graph}: {self.named.graph.size_text}", "seed": self.seed}


def prepare(graph: str, source: Source, chosen: Chosen, seed: int | None, device: str | None, console: Console) -> Job:
    """Read the graph, and settle what was not asked for; one line says what was picked and why."""
    started = time.perf_counter()
    given = chosen.given()
    values = {**read_config(chosen.config), **given}
    run: dict[str, Any] = {"seed": 0, "device": "auto"} | {key: values.pop(key) for key in RUN if key in values}
    run |= {key: value for key, value in (("seed", seed), ("device", device)) if value is not None}

    from mvgrl.automatic import choose
    from mvgrl.runtime import resolve_device

    where = resolve_device(run["device"])
    _check_settings(values, given, chosen.config)
    named = open_graph(graph, source, console)
    _check_task(graph, named, values.get("task"))
    choice = choose(named.graph, values, device=str(where))
    for note in notes_of(named):
        console.note(f"note: {note}")
    if choice.reasons:
        console.note(f"picked: {'; '.join(choice.reasons)}")
    logger.info("%s; settings %s, seed %d, on %s", named.graph.size_text, choice.settings.id, run["seed"], where)
    return Job(named, choice.settings, run["seed"], str(where), run["device"], console, started)


def _check_settings(values: dict[str, Any], flags: dict[str, Any], config: Path | None) -> None:
    """Refuse what no graph could make right before the graph is read; where flags are not to blame, name the file."""
    from mvgrl.settings import TASKS, Settings

    def problem(values: dict[str, Any]) -> SettingsError | None:
        errors = []
        for task in (values["task"],) if "task" in values else TASKS:
            try:
                Settings.from_dict({**values, "task": task})
            except SettingsError as error:
                errors.append(error)
            else:
                return None
        return errors[0]

    error = problem(values)
    if error is not None:
        raise error if config is None or problem(flags) is not None else SettingsError(f"{config}: {error}")


def _check_task(graph: str, named: NamedGraph, task: str | None) -> None:
    """Refuse a task that this graph cannot have."""
    count = named.graph.count
    if task == "graph" and count == 1:
        raise InputError(f"{graph} is one graph, and a graph task tells graphs from each other; use --task node, or "
                         "give many (edges with a column 'graph')")  # fmt: skip
    if task == "node" and count > 1:
        raise InputError(f"{graph} has {count:,} graphs, and a node task learns from one; use --task graph, or give "
                         "one of them (edges without a column 'graph' are one graph)")  # fmt: skip


def checkpoint_of(output: Path) -> Path:
    """Where an unfinished run lies: beside what it is to become."""
    return output.with_name(f"{output.name}.checkpoint")


def check_unfinished(output: Path, *, resume: bool) -> None:
    """Refuse to lose an unfinished run by starting anew, and to resume one that is not there."""
    checkpoint = checkpoint_of(output)
    if checkpoint.exists() and not resume:
        raise CheckpointError(
            f"{checkpoint} is an unfinished run: add --resume to go on with it, or delete it to start anew"
        )
    if resume and not checkpoint.exists():
        raise CheckpointError(f"there is no unfinished run {checkpoint}; leave out --resume to start one")


def trained(job: Job, output: Path, *, resume: bool) -> Trained:
    """Train, in a way that can be interrupted and resumed; the checkpoint stays until :func:`finish`."""
    from mvgrl.progress import ProgressBar
    from mvgrl.training import fit

    checkpoint = checkpoint_of(output)
    bar = ProgressBar(job.settings, "training", quiet=not job.console.bars)
    with Interrupts(job.console.note) as interrupts:
        try:
            with bar:
                return fit(
                    job.named.graph,
                    job.settings,
                    seed=job.seed,
                    device=job.device,
                    callbacks=[bar, _log, interrupts],
                    checkpoint=checkpoint,
                    resume=resume,
                )
        except KeyboardInterrupt:
            if checkpoint.exists():
                again = ["mvgrl", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"]
                after = f" after epoch {interrupts.epochs}" if interrupts.epochs else ""
                message = f"interrupted{after}; to go on: {shlex.join(again)}"
                print(message, file=sys.stderr, flush=True)
            raise


def _log(epoch: Epoch) -> None:
    logger.debug("epoch %d: loss %.6f", epoch.number, epoch.loss)


def vectors(named: NamedGraph, run: Trained, codes: tuple[np.ndarray, np.ndarray] | None = None) -> Embeddings:
    """The vectors that the model's task is about, under their own ids."""
    from mvgrl.tables.embeddings import Embeddings

    nodes, graphs = run.represent() if codes is None else codes
    if run.model.settings.task == "graph":
        return Embeddings(np.arange(len(graphs)) if named.graph_ids is None else named.graph_ids, graphs)
    if named.graph_ids is None or named.graph.count == 1:
        return Embeddings(named.node_ids, nodes)
    return Embeddings(named.node_ids, nodes, np.repeat(named.graph_ids, named.graph.sizes))


def finish(job: Job, output: Path, run: Trained) -> dict[str, Any]:
    """What a run came to, as the verbs report it; its checkpoint is not needed any more."""
    checkpoint_of(output).unlink(missing_ok=True)
    return {
        "task": job.settings.task,
        **sizes(job.named),
        "dim": job.settings.hidden,
        "epochs": len(run.history.losses),
        "loss": run.history.best_loss if run.history.losses else None,
        "seconds": round(time.perf_counter() - job.started, 3),
        "peak_memory_mb": peak_memory(),
        "output": str(output),
        "seed": job.seed,
        "device": job.device,
    }


def in_words(outcome: dict[str, Any]) -> str:
    """How the training went."""
    loss = "" if outcome["loss"] is None else f", lowest loss {outcome['loss']:.4f}"
    return f"{outcome['epochs']} epochs{loss}, {outcome['seconds']:.0f} s"


def sizes(named: NamedGraph) -> dict[str, int]:
    """Nodes, edges and graphs."""
    graph = named.graph
    return {"nodes": graph.nodes, "edges": graph.edges, "graphs": graph.count}


def peak_memory() -> float | None:
    """The most memory this process has had, in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 2**20 if sys.platform == "darwin" else peak / 2**10, 1)
