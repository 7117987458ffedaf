"""``mvgrl apply``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Device, Output, Source
from mvgrl.errors import InputError

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
    device: Device = None,
    common: Common = Common(),  # noqa: B008
) -> None:
    """Embed a graph with a model that was trained before.

    ```
    mvgrl apply model edges.csv -o vectors.parquet
    mvgrl apply model new_edges.csv --nodes new_nodes.csv -o vectors.csv
    ```

    The graph may be the same, a changed one or another; nothing is trained. It needs the features that the model was
    trained with.

    Parameters
    ----------
    model
        A folder that mvgrl train, or save() in Python, has written.
    graph
        As in mvgrl embed: a table of edges, another file, a folder, or the name of a dataset.
    output
        .parquet (id, embedding), .csv, .tsv or .npy, by its ending.
    """
    console = Console(common)
    started = time.perf_counter()

    from mvgrl.tables.embeddings import check_output, write_embeddings

    check_output(output)

    from mvgrl.cli.inputs import notes_of, open_graph
    from mvgrl.cli.running import peak_memory, sizes, vectors
    from mvgrl.pretrained import load_model

    trained, _ = load_model(model, device=device or "auto")
    named = open_graph(graph, source, console)
    _check_features(graph, named, trained)
    for note in notes_of(named):
        console.note(f"note: {note}")
    with console.busy("embedding"):
        table = vectors(named, trained, trained.represent(named.graph))
    write_embeddings(output, table)
    rows, width = table.vectors.shape
    console.note(f"wrote {rows:,} vectors of {width} to {output}")
    console.result(
        {
            "task": trained.model.settings.task,
            **sizes(named),
            "dim": width,
            "seconds": round(time.perf_counter() - started, 3),
            "peak_memory_mb": peak_memory(),
            "output": str(output),
        }
    )


def _check_features(graph: str, named: NamedGraph, trained: Trained) -> None:
    """Refuse a graph without the features that the model knows."""
    encoder, features = trained.feature_encoder, named.graph.features
    width = 0 if features is None else features.shape[1]
    if encoder.kind_ == "given" and width != encoder.width:
        raise InputError(
            f"{graph} has {width or 'no'} features, but the model was trained with {encoder.width}; "
            "give the same columns in the same order (a table of edges has them in --nodes)"
        )
    try:
        encoder.columns_of(named.graph)
    except InputError as error:
        raise InputError(f"{graph}: {error}") from None
    if encoder.labels_ is not None and named.graph.node_labels is None:
        raise InputError(f"{graph} has no node labels, which the model was trained with; give a graph that has them")
