"""What the verbs that train share: read, choose settings, train with a checkpoint, and report the result."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvgrl.cli.configuration import RUN, read_config
from mvgrl.cli.inputs import is_dataset, notes_of, open_graph
from mvgrl.cli.interrupts import Interrupts
from mvgrl.cli.options import Elsewhere, given
from mvgrl.cli.out_of_core import StoredRun, check_fits, check_on_disk, check_trainers, memory_of, opened, stored_run
from mvgrl.cli.spelling import spelled_as_flags
from mvgrl.errors import CheckpointError, InputError, SettingsError
from mvgrl.settings import TASKS, Output, Settings
from mvgrl.tables.atomic import check_writable
from mvgrl.tables.leftovers import check_free, hold

if TYPE_CHECKING:
    from mvgrl.automatic import Resolved
    from mvgrl.cli.console import Console
    from mvgrl.cli.options import Chosen, Source
    from mvgrl.graphs.named import NamedGraph
    from mvgrl.history import Epoch
    from mvgrl.method_vectors import MethodVectors
    from mvgrl.methods import Method
    from mvgrl.recording import Recorder
    from mvgrl.tables.embeddings import Embeddings
    from mvgrl.tables.encoders import TableEncoder
    from mvgrl.training import Trained

logger = logging.getLogger(__name__)


@dataclass
class Job:
    """A graph, and everything that decides how it is embedded."""

    named: NamedGraph
    resolved: Resolved
    output: Output
    seed: int
    device: str
    requested_device: str
    console: Console
    columns: str | None = None  # of the node table, if they were chosen
    method: Method | None = None  # if it is not MVGRL
    started: float = field(default_factory=time.perf_counter)

    @property
    def settings(self) -> Settings:
        """The settings of the training."""
        return self.resolved.settings

    def about(self, graph: str) -> dict[str, Any]:
        """What the model card says the model was trained on."""
        return {"trained on": f"{graph}: {self.named.graph.size_text}", "seed": self.seed}


@dataclass(frozen=True)
class Request:
    """What a verb that trains was asked to do."""

    graph: str
    source: Source
    chosen: Chosen
    seed: int | None
    device: str | None
    method: str = "default"
    memory: str | None = None
    output: Path | None = None
    elsewhere: Elsewhere = Elsewhere()  # noqa: RUF009 (frozen)


@dataclass(frozen=True)
class _Asked:
    """A request with its configuration file, checked as far as that is possible without the graph."""

    training: dict[str, Any]  # settings
    output: Output
    values: dict[str, Any]  # both, as they were given
    features: str | None
    columns: tuple[str, ...] | None  # of the node table, if they were chosen
    method: Method | None  # if it is not MVGRL
    seed: int
    device: str
    where: str  # the device by its name
    limit: int  # bytes of memory
    started: float


def prepare(request: Request, console: Console) -> Job:
    """Read the graph and choose what was left open; one line says what was chosen and why."""
    with spelled_as_flags(given(request.chosen)):
        return _in_memory(request, _read(request, console), console)


def prepare_any(request: Request, console: Console) -> Job | StoredRun:
    """Do the same unless the graph is on disk and does not fit into memory; what is returned is then a job out of core.

    The work of such a job is kept next to its output.
    """
    check_trainers(request.elsewhere)
    with spelled_as_flags(given(request.chosen)):
        asked = _read(request, console)
        if asked.method is None and (stored := opened(request.graph, request.source)) is not None:
            folder = Path(request.graph) if request.output is None else checkpoint_of(request.output)
            where = (asked.seed, asked.where, asked.limit, folder, request.elsewhere)
            found = stored_run(stored, asked.training, asked.output, *where, console)
            if found is not None:
                return found
        check_on_disk(request.graph, request.elsewhere.cluster)
        return _in_memory(request, asked, console)


def _read(request: Request, console: Console) -> _Asked:
    """Join the configuration file and the flags, and check them."""
    started = time.perf_counter()
    chosen, graph, method = request.chosen, request.graph, request.method
    flags = given(chosen)
    flags |= {"preset": "paper"} if method == "mvgrl" else {}
    if chosen.temperature is not None:
        console.note(f"note: --temperature is now part of --bound: --bound nt-xent:temperature={chosen.temperature}")
    values = {**read_config(chosen.config), **flags}
    run: dict[str, Any] = {"seed": 0, "device": "auto"} | {key: values.pop(key) for key in RUN if key in values}
    run |= {key: getattr(request, key) for key in RUN if getattr(request, key) is not None}

    from mvgrl.graphs.node_columns import parse_features
    from mvgrl.runtime import resolve_device

    where = str(resolve_device(run["device"]))
    features = values.get("features")
    columns = parse_features(features)[1] if request.source.nodes is not None and not is_dataset(graph) else None
    if columns:
        values["features"] = "given"
    elif isinstance(features, str) and "," in features:
        raise SettingsError(f"the columns {features} of --features need a table of nodes; add --nodes")
    output = _check_settings(values, flags, chosen.config)
    own = _own_method(method, None, {})
    training = {name: value for name, value in values.items() if name not in Output.__dataclass_fields__}
    limit = memory_of(request.memory)
    return _Asked(training, output, values, features, columns, own, run["seed"], run["device"], where, limit, started)


def _in_memory(request: Request, asked: _Asked, console: Console) -> Job:
    """Read the graph, and choose what was left open."""
    from mvgrl.automatic import check_vectors_fit, resolve, resolve_output
    from mvgrl.vectors import describe

    graph, method, output, where = request.graph, asked.method, asked.output, asked.where
    named = open_graph(graph, request.source, console, features=asked.features)
    _check_task(graph, named, asked.values.get("task"))
    limited, left = request.memory is not None, None
    memory = asked.limit if limited else None
    resolved = resolve(named.graph, asked.training, device=where, memory=memory, preset=output.preset)
    if limited and named.graph.count == 1 and method is None:
        width = 0 if named.graph.features is None else named.graph.features.shape[1]
        left = check_fits(
            graph, (named.graph.nodes, named.graph.edges, width), resolved, output.for_task("node"), asked.limit
        )
    if method is not None:
        method = _own_method(request.method, resolved.settings.task, asked.values)
        for name in ("views", "sampler"):  # of MVGRL
            resolved.choices.pop(name, None)
        resolved.choices["method"] = f"method {request.method}"
    else:
        output = resolve_output(
            named.graph, resolved.settings, output, device=where, memory=left, choices=resolved.choices
        )
        check_vectors_fit(named.graph, resolved.settings, output, device=where)
        rows = named.graph.nodes if resolved.settings.task == "node" else named.graph.count
        resolved.choices["vector"] = describe(resolved.settings, output, rows)
    for note in notes_of(named):
        console.note(f"note: {note}")
    console.note(f"picked: {resolved.summary}")
    logger.info("%s; settings %s, seed %d, on %s", named.graph.size_text, resolved.settings.id, asked.seed, where)
    names = ",".join(asked.columns) + "," * (len(asked.columns) == 1) if asked.columns else None
    return Job(named, resolved, output, asked.seed, where, asked.device, console, names, method, asked.started)


def _own_method(name: str, task: str | None, values: dict[str, Any]) -> Method | None:
    """Return the method of a name with the settings that it has; None for MVGRL."""
    if name == "default":
        return None
    from mvgrl.method_vectors import method_named, with_settings

    found = method_named(name, task)
    return None if found is None else with_settings(found, {key: one for key, one in values.items() if key != "task"})


def _check_settings(values: dict[str, Any], flags: dict[str, Any], config: Path | None) -> Output:
    """Reject what is wrong for any graph before the graph is read; name the file where flags are not to blame."""

    def problem(values: dict[str, Any]) -> SettingsError | None:
        training = {name: value for name, value in values.items() if name not in Output.__dataclass_fields__}
        errors = []
        for task in (training["task"],) if "task" in training else TASKS:
            try:
                Settings.from_dict({**training, "task": task})
                Output.from_dict(output_of(values)).for_task(task)
            except SettingsError as error:
                errors.append(error)
            else:
                return None
        return errors[0]

    error = problem(values)
    if error is not None:
        raise error if config is None or problem(flags) is not None else SettingsError(f"{config}: {error}")
    return Output.from_dict(output_of(values))


def output_of(values: dict[str, Any]) -> dict[str, Any]:
    """The options of the output among other settings."""
    return {name: value for name, value in values.items() if name in Output.__dataclass_fields__}


def _check_task(graph: str, named: NamedGraph, task: str | None) -> None:
    """Reject a task that does not fit the graph."""
    count = named.graph.count
    if task == "graph" and count == 1:
        raise InputError(f"{graph} is one graph, but a graph task contrasts several; use --task node, or give many "
                         "(edges with a column 'graph')")  # fmt: skip
    if task == "node" and count > 1:
        raise InputError(f"{graph} has {count:,} graphs, but a node task learns from one; use --task graph, or give "
                         "one of them (edges without a column 'graph' are one graph)")  # fmt: skip


def checkpoint_of(output: Path) -> Path:
    """Where the checkpoint of a run is kept: next to its output, or next to the file or folder a link points to."""
    output = Path(os.path.realpath(output)) if output.is_symlink() else output
    return output.with_name(f"{output.name}.checkpoint")


def check_unfinished(output: Path, *, resume: bool) -> None:
    """Reject a start that would lose an unfinished run, a resume without one, and a run that is still going on."""
    checkpoint = checkpoint_of(output)
    check_writable(checkpoint)
    check_free(checkpoint)
    if checkpoint.exists() and not resume:
        raise CheckpointError(
            f"{checkpoint} is an unfinished run: add --resume to continue it, or delete it to start over"
        )
    if resume and not checkpoint.exists():
        raise CheckpointError(f"there is no unfinished run {checkpoint}; omit --resume to start one")


@contextmanager
def only_run(output: Path, *, resume: bool) -> Iterator[None]:
    """Keep other processes from starting a run with the same output until this one is finished."""
    with hold(checkpoint_of(output)):
        check_unfinished(output, resume=resume)  # another process may have left one since the first check
        yield


def trained(job: Job, output: Path, *, resume: bool, records: Iterable[Recorder] = ()) -> Trained:
    """Train so that the run can be interrupted and resumed; the checkpoint is kept until :func:`finish`."""
    from mvgrl.progress import ProgressBar
    from mvgrl.training import fit

    checkpoint = checkpoint_of(output)
    bar = ProgressBar(job.settings, "training", quiet=not job.console.bars)
    with Interrupts(job.console.note) as interrupts:
        try:
            with bar:
                return fit(
                    job.named,
                    job.resolved,
                    seed=job.seed,
                    device=job.device,
                    callbacks=[bar, _log, *records, interrupts],
                    checkpoint=checkpoint,
                    resume=resume,
                )
        except KeyboardInterrupt:
            if checkpoint.exists():
                again = ["mvgrl", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"]
                after = f" after epoch {interrupts.epochs}" if interrupts.epochs else ""
                message = f"interrupted{after}; to continue: {shlex.join(again)}"
                print(message, file=sys.stderr, flush=True)
            raise


def _log(epoch: Epoch) -> None:
    logger.debug("epoch %d: loss %.6f", epoch.number, epoch.loss)


def embeddings(named: NamedGraph, run: Trained, output: Output, *, new: bool = False) -> Embeddings:
    """The vectors of the task under their own ids, of the training graph or of a new one."""
    used = run.feature_encoder.columns_
    return table_of(named, run.vectors(named if new else None, output), run.model.settings.task, used)


def table_of(named: NamedGraph, vectors: np.ndarray, task: str, used: TableEncoder | None) -> Embeddings:
    """Vectors of nodes or graphs under their own ids, with the columns of the node table that they are made from."""
    from mvgrl.tables.embeddings import Embeddings

    columns = () if used is None else tuple(used.columns)
    if task == "graph":
        ids = np.arange(len(vectors)) if named.graph_ids is None else named.graph_ids
        return Embeddings(ids, vectors, columns=columns)
    if named.graph_ids is None or named.graph.count == 1:
        return Embeddings(named.node_ids, vectors, sides=named.sides, columns=columns)
    return Embeddings(named.node_ids, vectors, np.repeat(named.graph_ids, named.graph.sizes), columns=columns)


def made_by_method(job: Job, *, resume: bool) -> MethodVectors:
    """Make the vectors of a method other than MVGRL."""
    from mvgrl.method_vectors import MethodVectors

    assert job.method is not None
    if resume:
        raise SettingsError(f"only the training of MVGRL can be resumed, not {job.method.name!r}; omit --resume")
    with job.console.busy(f"{job.method.label}"):
        return MethodVectors.fit(
            job.named, job.method, job.resolved, seed=job.seed, device=job.device, columns=job.columns
        )


def finish_method(job: Job, output: Path, made: MethodVectors) -> dict[str, Any]:
    """Return the result of another method as the verbs report it."""
    return {
        "task": job.settings.task,
        **sizes(job.named),
        **{"method": made.method.name, "parameters": made.method.parameters, "dim": made.found.shape[1]},
        **{"epochs": made.epochs, "loss": None},
        "seconds": round(time.perf_counter() - job.started, 3),
        "peak_memory_mb": peak_memory(),
        **{"output": str(output), "seed": job.seed, "device": job.device, "choices": dict(made.choices)},
    }


def finish(job: Job, output: Path, run: Trained) -> dict[str, Any]:
    """Remove the checkpoint, and return the result of a run as the verbs report it."""
    from mvgrl.pretrained import vector_summary

    checkpoint_of(output).unlink(missing_ok=True)
    columns = run.feature_encoder.columns_
    vector = vector_summary(job.settings, job.output, run.compose(job.output) if job.output.composed else None)
    return {
        "task": job.settings.task,
        **sizes(job.named),
        **vector,
        "epochs": len(run.history.losses),
        "loss": run.history.best_loss if run.history.losses else None,
        "seconds": round(time.perf_counter() - job.started, 3),
        "peak_memory_mb": peak_memory(),
        "output": str(output),
        "seed": job.seed,
        "device": job.device,
        "choices": dict(job.resolved.choices),
        **({} if columns is None else {"columns": columns.summary}),
    }


def summary_of(outcome: dict[str, Any]) -> str:
    """One line about a training for a person."""
    loss = "" if outcome["loss"] is None else f", lowest loss {outcome['loss']:.4f}"
    epochs = f"{outcome['epochs']} epochs{loss}, " if outcome["epochs"] or "method" not in outcome else ""
    return f"{epochs}{outcome['seconds']:.0f} s"


def sizes(named: NamedGraph) -> dict[str, int]:
    """The numbers of nodes, edges and graphs."""
    graph = named.graph
    return {"nodes": graph.nodes, "edges": graph.edges, "graphs": graph.count}


def peak_memory() -> float | None:
    """The peak memory of this process in MB; None where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 2**20 if sys.platform == "darwin" else peak / 2**10, 1)
