"""``mvgrl apply``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, CsvSafe, Device, Output, Overwrite, Source, Written, given
from mvgrl.errors import InputError, SettingsError, shown
from mvgrl.settings import Output as Options

if TYPE_CHECKING:
    from mvgrl.graphs.named import NamedGraph
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

    from mvgrl.cli.inputs import notes_of
    from mvgrl.cli.running import embeddings, peak_memory, sizes
    from mvgrl.pretrained import load_model, vector_summary

    trained, saved, _ = load_model(model, device=device or "auto")
    made_as = changed_output(saved, given(written), trained.model.settings.task)
    if made_as.composed:
        trained.compose(made_as)  # rejects parts that the model does not have before the graph is read
    named = _open(graph, source, trained, console)
    _check_features(graph, named, trained)
    for note in notes_of(named):
        console.note(f"note: {note}")
    with console.busy("embedding"):
        table = embeddings(named, trained, made_as, new=True)
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


def _check_features(graph: str, named: NamedGraph, trained: Trained) -> None:
    """Reject a graph without the features that the model was trained with."""
    encoder, features = trained.feature_encoder, named.graph.features
    width = 0 if features is None else features.shape[1]
    names = "" if encoder.columns_ is None else f", from the columns {shown(', '.join(encoder.columns_.columns))[1:-1]}"
    if encoder.kind_ == "given" and width != encoder.width:
        raise InputError(
            f"{graph} has {width or 'no'} features, but the model was trained with {encoder.width}{names}; "
            "give the same columns in the same order (for a table of edges, with --nodes)"
        )
    try:
        encoder.columns_of(named.graph)
    except InputError as error:
        raise InputError(f"{graph}: {error}") from None
    if encoder.labels_ is not None and named.graph.node_labels is None:
        raise InputError(f"{graph} has no node labels, but the model was trained with them; give a graph that has them")
