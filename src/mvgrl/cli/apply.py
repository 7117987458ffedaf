"""``mvgrl apply``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import (
    Cluster,
    Common,
    CsvSafe,
    Device,
    MemoryLimit,
    Output,
    Overwrite,
    Source,
    Written,
    given,
)
from mvgrl.errors import InputError, SettingsError, shown
from mvgrl.settings import Output as Options

if TYPE_CHECKING:
    from mvgrl.cli.out_of_core import StoredRun
    from mvgrl.graphs.named import NamedGraph
    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.tables.embeddings import Embeddings
    from mvgrl.training import Trained


def run(
    model: Path,
    graph: str,
    /,
    *,
    output: Output,
    source: Source = Source(),  # noqa: B008 (frozen)
    written: Written = Written(),  # noqa: B008
    overwrite: Overwrite = False,
    csv_safe: CsvSafe = False,
    device: Device = None,
    memory: MemoryLimit = None,
    cluster: Cluster = None,
    common: Common = Common(),  # noqa: B008
) -> None:
    """Embed a graph with a trained model.

    ```
    mvgrl apply model edges.csv -o vectors.parquet
    mvgrl apply model new_edges.csv --nodes new_nodes.csv -o vectors.csv
    ```

    The graph may be the training graph, a changed one or a new one; nothing is trained. It needs the features that the
    model was trained with. The vectors are made as when the model was saved, unless flags say otherwise.

    Parameters
    ----------
    model
        A folder written by mvgrl train, or by save() in Python.
    graph
        As in mvgrl embed: a table of edges, another file, a folder, or the name of a dataset.
    output
        .parquet (id, embedding), .csv, .tsv or .npy, by its extension.
    """
    console = Console(common)
    started = time.perf_counter()

    from mvgrl.tables.embeddings import check_output, write_embeddings

    inputs = (graph, source.nodes, model / "config.json", model / "model.safetensors", model / "README.md")
    check_output(output, inputs=inputs, overwrite=overwrite, csv_safe=csv_safe)

    from mvgrl.cli.running import peak_memory, sizes
    from mvgrl.method_vectors import is_method_folder
    from mvgrl.pretrained import load_model, vector_summary

    if is_method_folder(model):
        table, values = _of_method(model, graph, source, written, console)
        write_embeddings(output, table, overwrite=overwrite, csv_safe=csv_safe)
        console.note("wrote {:,} vectors of {} to {}".format(*table.vectors.shape, output))
        console.result({**values, "seconds": round(time.perf_counter() - started, 3), "output": str(output)})
        return
    trained, saved, _ = load_model(model, device=device or "auto")
    made_as = changed_output(saved, given(written), trained.model.settings.task)
    if made_as.composed:
        trained.compose(made_as)  # rejects parts that the model does not have before the graph is read
    if (stored := _stored_run(graph, source, trained, made_as, memory, output, console, cluster)) is not None:
        rows, width = stored.embed(output)
        outcome = stored.outcome(output, peak_memory())
        console.note(f"wrote {rows:,} vectors of {width} to {output}")
        console.result(outcome)
        return
    named, table = _embedded(graph, source, trained, made_as, console)
    write_embeddings(output, table, overwrite=overwrite, csv_safe=csv_safe)
    rows, width = table.vectors.shape
    composition = trained.compose(made_as) if made_as.composed else None
    console.note(f"wrote {rows:,} vectors of {width} to {output}")
    console.result(
        {
            "task": trained.model.settings.task,
            **sizes(named),
            **vector_summary(trained.model.settings, made_as, composition),
            "seconds": round(time.perf_counter() - started, 3),
            "peak_memory_mb": peak_memory(),
            "output": str(output),
        }
    )


def vectors_by(model: Path, graph: str, source: Source, console: Console) -> Embeddings:
    """Return the vectors of a graph in memory, made as when the model was saved.

    A model has the columns of its features; the vectors of other methods need the label column that was left out.
    """
    from mvgrl.cli.out_of_core import opened
    from mvgrl.method_vectors import is_method_folder
    from mvgrl.pretrained import load_model

    if is_method_folder(model):
        return _of_method(model, graph, source, Written(), console)[0]
    trained, saved, _ = load_model(model)
    source = replace(source, label_column=None)
    if (stored := opened(graph, source)) is not None:
        stored.check_encoder(trained.feature_encoder.columns_)
    return _embedded(graph, source, trained, saved, console)[1]


def _embedded(
    graph: str, source: Source, trained: Trained, output: Options, console: Console
) -> tuple[NamedGraph, Embeddings]:
    """Read a graph, and embed it."""
    from mvgrl.cli.inputs import notes_of
    from mvgrl.cli.running import embeddings

    named = _open(graph, source, trained, console)
    _check_features(graph, named, trained)
    for note in notes_of(named):
        console.note(f"note: {note}")
    with console.busy("embedding"):
        return named, embeddings(named, trained, output, new=True)


def _stored_run(
    graph: str,
    source: Source,
    trained: Trained,
    output: Options,
    memory: str | None,
    written: Path,
    console: Console,
    cluster: str | None,
) -> StoredRun | None:
    """Return the job for a graph on disk that does not fit into memory, or is for a cluster; None for any other."""
    from mvgrl.automatic import Resolved
    from mvgrl.cli.out_of_core import StoredRun, check_on_disk, fingerprint_of, fits, memory_of, opened
    from mvgrl.cli.running import checkpoint_of
    from mvgrl.outofcore.job import Job, check_settings
    from mvgrl.outofcore.plan import Plan
    from mvgrl.outofcore.written import check_streamable

    stored = opened(graph, source)
    if stored is None or trained.model.settings.task == "graph":
        check_on_disk(graph, cluster)
        return None
    settings, limit, folder = trained.model.settings, memory_of(memory), checkpoint_of(written)
    resolved = Resolved(settings)
    stored.check_encoder(trained.feature_encoder.columns_)
    _check_features(graph, stored, trained)
    continued = (folder / "job.json").exists()
    if cluster is None and not continued and fits(stored, resolved, output, limit, console):
        return None
    check_settings(settings, output, training=False)
    check_streamable(written)
    plan = Plan.make(stored, settings, output, limit)
    job = Job(stored, resolved, output, folder, plan, model=fingerprint_of(trained))
    return StoredRun(job, console, trained, cluster)


def _of_method(
    model: Path, graph: str, source: Source, written: Written, console: Console
) -> tuple[Embeddings, dict[str, Any]]:
    """Return the saved vectors of a method other than MVGRL, if this is the graph that they were made for."""
    from mvgrl.cli.inputs import open_graph
    from mvgrl.cli.running import sizes, table_of
    from mvgrl.method_vectors import load_vectors

    found, _ = load_vectors(model)
    for name in given(written):
        flag = f"--{name.replace('_', '-')}"
        raise SettingsError(
            f"{flag} has no effect on the vectors of {found.method.name!r}, which are as saved; omit it"
        )
    named = open_graph(graph, source, console, features=found.columns)
    try:
        vectors = found.vectors(named)
    except InputError as error:
        raise InputError(f"{graph}: {error}") from None
    table = table_of(named, vectors, found.settings.task, named.columns)
    values = {"task": found.settings.task, **sizes(named), "method": found.method.name, "dim": vectors.shape[1]}
    return table, values


def changed_output(saved: Options, flags: dict[str, Any], task: str) -> Options:
    """Return the output of a saved model with what flags change; another preset replaces all of it."""
    if flags.get("preset", saved.preset) != saved.preset:
        return Options(**flags).for_task(task)
    return replace(saved, **flags).for_task(task)


def _open(graph: str, source: Source, trained: Trained, console: Console) -> NamedGraph:
    """Read the graph; its node table is encoded as in training, and not at all if the model does not use features."""
    from mvgrl.cli.inputs import open_graph

    encoder = trained.feature_encoder
    if source.ignore is not None or source.text_column:
        given = "--ignore" if source.ignore is not None else "--text-column"
        raise SettingsError(f"the model decides which columns are features, as in training; omit {given}")
    if encoder.kind_ != "given":
        return open_graph(graph, source, console, features=())
    return open_graph(graph, source, console, encoder=encoder.columns_)


def _check_features(graph: str, given: NamedGraph | StoredGraph, trained: Trained) -> None:
    """Reject a graph without the features that the model was trained with."""
    from mvgrl.graphs.stored import StoredGraph

    read = given if isinstance(given, StoredGraph) else given.graph
    encoder, features = trained.feature_encoder, read.features
    width = 0 if features is None else features.shape[1]
    names = "" if encoder.columns_ is None else f", from the columns {shown(', '.join(encoder.columns_.columns))[1:-1]}"
    if encoder.kind_ == "given" and width != encoder.width:
        raise InputError(
            f"{graph} has {width or 'no'} features, but the model was trained with {encoder.width}{names}; "
            "give the same columns in the same order (for a table of edges, with --nodes)"
        )
    try:
        encoder.columns_of(read)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"{graph}: {error}") from None
    if encoder.labels_ is not None and read.node_labels is None:
        raise InputError(f"{graph} has no node labels, but the model was trained with them; give a graph that has them")
