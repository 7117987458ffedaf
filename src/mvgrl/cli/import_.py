"""``mvgrl import``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Memory, Tables, flag, reading
from mvgrl.errors import InputError

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder


def run(
    edges: Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    tables: Tables = Tables(),  # noqa: B008 (frozen)
    features: Annotated[
        str | None, flag("Columns of the node table that become features, such as age,city (all); or none.")
    ] = None,
    like: Annotated[
        Path | None, flag("A model or an imported graph; columns become features in the same way as there.")
    ] = None,
    memory: Memory = None,
    overwrite: Annotated[bool, flag("Replace an existing graph.")] = False,
    common: Common = Common(),  # noqa: B008
) -> None:
    """Stream tables larger than memory into a graph on disk.

    ```
    mvgrl import edges.parquet -o GRAPH
    mvgrl import edges.parquet --nodes nodes.parquet -o GRAPH --memory 2GB
    mvgrl import new_edges.csv.gz --nodes new_nodes.csv.gz --like MODEL -o NEW
    ```

    The folder holds the graph that reading the tables in memory would give, as arrays that are mapped into memory, with
    checksums. All other commands take it as a graph: mvgrl embed GRAPH -o vectors.parquet. An interrupted import leaves
    nothing behind.

    Parameters
    ----------
    edges
        A table of edges (source, target, optional weight) in .parquet, .csv, .tsv or .txt, also .csv.gz and so on, or a
        folder of such parts. Other types of tables are read into memory first.
    output
        The folder of the graph.
    """
    console = Console(common)
    started = time.perf_counter()

    from mvgrl.cli.running import peak_memory
    from mvgrl.graphs.importing import import_tables
    from mvgrl.graphs.stored import StoredGraph, check_graph_folder
    from mvgrl.tables.budget import as_size, parse_size

    limit = None if memory is None else parse_size(memory)
    check_graph_folder(output)
    if output.is_dir() and any(output.iterdir()) and not overwrite:
        raise InputError(f"{output} is already a graph; add --overwrite to replace it, or choose another name")
    encoder = None if like is None else _encoder_of(like)
    chosen = "degree" if features == "none" else features
    with _bar(console) as report:
        stored: StoredGraph = import_tables(
            edges, output, **reading(tables), features=chosen, encoder=encoder, memory=limit, report=report
        )
    for note in stored.notes:
        console.note(f"note: {note}")
    console.note(f"wrote {stored.nodes:,} nodes and {stored.edges:,} edges, {as_size(stored.size)}, to {output}")
    console.result(
        {
            **{"nodes": stored.nodes, "edges": stored.edges, "weighted": stored.weighted, "features": stored.width},
            **{"bytes": stored.size, "notes": list(stored.notes), "seconds": round(time.perf_counter() - started, 3)},
            **{"peak_memory_mb": peak_memory(), "output": str(output)},
        }
    )


def _encoder_of(folder: Path) -> TableEncoder:
    """Return how a model or another graph encodes the columns of its nodes."""
    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.graphs.stored_files import is_stored

    if is_stored(folder):
        found = StoredGraph.open(folder).encoder
    else:
        from mvgrl.pretrained import load_model

        found = load_model(folder, device="cpu")[0].feature_encoder.columns_
    if found is None:
        raise InputError(f"{folder} has no features from the columns of a table of nodes; omit --like")
    return found


@contextmanager
def _bar(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show what is being done, and how much of it is; nothing if stderr is not a terminal."""
    from rich.console import Console as Rich
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    rich = Rich(file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=rich, transient=True, disable=console.quiet or not rich.is_terminal)
    task = bar.add_task("reading the tables", total=None)

    def report(what: str, done: int, total: int) -> None:
        bar.update(task, description=what, completed=done, total=total or None)

    with bar:
        yield report
