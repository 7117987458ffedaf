"""Embed a graph on disk from Python, as ``mvgrl embed GRAPH --memory`` does in the shell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mvgrl.automatic import resolve
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.features import StreamedFacts
from mvgrl.outofcore.job import Job, Progress, check_settings
from mvgrl.outofcore.plan import Plan
from mvgrl.outofcore.written import check_streamable
from mvgrl.runtime import machine_memory, resolve_device
from mvgrl.settings import Output
from mvgrl.tables.atomic import check_writable
from mvgrl.tables.budget import parse_size
from mvgrl.tables.leftovers import hold
from mvgrl.training import Trained


def embed(
    graph: str | Path,
    output: str | Path,
    *,
    memory: str | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = lambda stage, done, total: None,
    **settings: Any,
) -> Trained:
    """Train on a graph on disk without reading it into memory, and write a vector per node to a Parquet file.

    The work is kept next to the output, in ``vectors.parquet.checkpoint``. If the process is killed, the same call
    continues it, and so does ``mvgrl embed --resume``.

    Parameters
    ----------
    graph
        A folder from :func:`mvgrl.graphs.importing.import_tables` or ``mvgrl import``.
    output
        The file, ``.parquet``, with the columns ``id`` and ``embedding``.
    memory
        Memory limit of the process, such as ``"4GB"``; by default the memory of the machine.
    seed
        Random seed.
    device
        Where the model is trained.
    progress
        Called with a stage, the number of its finished shards, and the number of all its shards.
    settings
        Those of :class:`mvgrl.NodeEmbedder`, such as ``dim=64`` or ``epochs=50``.
    """
    output = Path(output)
    check_streamable(output)
    check_writable(output)
    folder = output.with_name(f"{output.name}.checkpoint")
    with hold(folder):
        job = plan_job(StoredGraph.open(graph), folder, settings, memory=memory, seed=seed, device=device)
        job.progress = progress
        job.start()
        job.diffuse()
        trained = job.train()
        job.write(output, job.vectors(trained))
        job.remove()
    return trained


def plan_job(
    graph: StoredGraph,
    folder: Path,
    settings: Mapping[str, Any],
    *,
    memory: str | None = None,
    seed: int = 0,
    device: str = "auto",
) -> Job:
    """Choose what the settings leave open, plan the stages within the given memory, and return the job."""
    limit = machine_memory() if memory is None else parse_size(memory)
    where, facts = resolve_device(device), StreamedFacts(graph)
    training = {name: value for name, value in settings.items() if name not in Output.__dataclass_fields__}
    output = Output.from_dict({name: settings[name] for name in settings if name not in training}).for_task("node")
    resolved = resolve(graph, {**training, "task": "node"}, device=where, memory=limit, streamed=facts)
    check_settings(resolved.settings, output)
    plan = Plan.make(graph, resolved.settings, output, limit)
    return Job(graph, resolved, output, folder, plan, seed=seed, device=str(where), facts=facts)
