"""GRAPH: the name of a dataset, a file or a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mvgrl.errors import InputError, SettingsError, check_name

if TYPE_CHECKING:
    from mvgrl.cli.console import Console
    from mvgrl.cli.options import Source
    from mvgrl.datasets import Dataset
    from mvgrl.graphs.named import NamedGraph
    from mvgrl.tables.embeddings import Embeddings
    from mvgrl.tables.encoders import TableEncoder


def open_graph(
    graph: str,
    source: Source,
    console: Console,
    *,
    features: str | Sequence[str] | None = None,
    encoder: TableEncoder | None = None,
) -> NamedGraph:
    """Read the graph given on the command line.

    ``features`` are columns of its node table or a kind of features; the ``encoder`` of a model encodes the columns.
    """
    from mvgrl.cli.options import reading
    from mvgrl.graphs.read import read

    with console.busy(f"reading {graph}"):
        if not is_dataset(graph):
            _check_path(graph)
            return read(graph, **reading(source), features=features, encoder=encoder)
    check_dataset_flags(graph, source)
    return open_dataset(graph, source.data_root, console).named()


def open_vectors(
    path: Path, memory: str | None, console: Console, id_column: str | None = None
) -> tuple[Embeddings, int]:
    """Read vectors; return them with the bytes of memory to work with.

    They stay on disk if three times their size is more, which is what working on all of them at once takes.
    """
    from mvgrl.runtime import machine_memory, resident_memory
    from mvgrl.tables.budget import as_size, parse_size
    from mvgrl.tables.embeddings import read_embeddings

    least, taken = 2**26, resident_memory()
    limit = machine_memory() if memory is None else parse_size(memory)
    if memory is not None and limit < taken + least:
        needed = f"{as_size(taken)} are taken by the program itself; use at least {as_size(taken + least)}"
        raise SettingsError(f"--memory {memory} is too little, {needed}")
    free = max(least, limit - taken)
    with console.busy(f"reading {path}"):
        table = read_embeddings(path, id_column=id_column, memory=free // 3)
    if table.on_disk:
        console.note(f"the vectors, {as_size(table.vectors.nbytes)}, stay on disk (memory: {as_size(limit)})")
    return table, free


def check_dataset_flags(graph: str, source: Source) -> None:
    """Reject flags that describe a file where the graph is a named dataset."""
    from mvgrl.cli.options import reading

    for name, value in reading(source).items():
        flag = {"header": "no-header", "text": "text-column"}.get(name, name.replace("_", "-"))
        value = ", ".join(value) if isinstance(value, (list, tuple)) else value
        shown = "" if isinstance(value, bool) else f" ({value})"
        raise SettingsError(f"{graph} is a named dataset with its own nodes and edges; omit --{flag}{shown}")


def open_dataset(name: str, data_root: Path | None, console: Console) -> Dataset:
    """Load a named dataset, downloading it with a progress bar if needed."""
    from mvgrl.datasets import load

    with _download_bar(console) as progress:
        return load(name, data_root, progress=progress)


def notes_of(named: NamedGraph) -> list[str]:
    """What was changed when a graph was read, and what its owner may not expect."""
    return list(named.notes)


def is_dataset(text: str) -> bool:
    """Whether this is the name of a dataset; a folder of the same name can be given as ./NAME."""
    from mvgrl.datasets import DATASETS

    return text.lower().replace("_", "-") in DATASETS


def _check_path(text: str) -> None:
    """Reject a misspelt dataset name, and a model given instead of a graph."""
    from mvgrl.datasets import DATASETS

    path = Path(text)
    if Path(path, "model.safetensors").exists():
        raise InputError(f"{text} is a model, not a graph; mvgrl apply {text} GRAPH -o FILE embeds a graph with it")
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        try:
            check_name("dataset", text, DATASETS, InputError)
        except InputError as error:
            raise InputError(f"there is no file or folder {text}, and it is not a dataset: {error}") from None


@contextmanager
def _download_bar(console: Console) -> Iterator[Callable[[int, int | None, str], None]]:
    from rich.console import Console as Rich
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    rich = Rich(file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=rich, transient=True, disable=console.quiet or not rich.is_terminal)
    tasks: dict[str, object] = {}

    def progress(done: int, total: int | None, what: str) -> None:
        if what not in tasks:
            console.note(f"downloading {what}")
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

    with bar:
        yield progress
