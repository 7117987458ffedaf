"""``mvgrl explore``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Seed, Source, flag, whole
from mvgrl.errors import InputError, SettingsError, shown

if TYPE_CHECKING:
    from mvgrl.explorer.contents import Contents
    from mvgrl.explorer.gather import Gathered
    from mvgrl.explorer.layout import Progress
    from mvgrl.tables.embeddings import Embeddings


def run(
    vectors: Path,
    /,
    *,
    output: Annotated[Path | None, flag("The page: .html.", alias="-o")] = None,
    serve: Annotated[
        bool, flag("Serve the page on this computer instead, for more vectors than fit into a file.")
    ] = False,
    labels: Annotated[str | None, flag("A table (id, and any columns), or the name of a dataset.")] = None,
    id_column: Annotated[str | None, flag("The id column of the labels (id).")] = None,
    label_column: Annotated[str | None, flag("Colour by this column first (label, else the first classes).")] = None,
    graph: Annotated[str | None, flag("The graph, whose edges are drawn: as in mvgrl embed.")] = None,
    nodes: Annotated[
        Path | None, flag("With a model: the table of nodes, as in mvgrl apply; it also serves as --labels.")
    ] = None,
    compare: Annotated[Path | None, flag("Other vectors of the same ids, on a second map next to the first.")] = None,
    model: Annotated[Path | None, flag("The model's folder: its loss curve, choices and card are shown.")] = None,
    method: Annotated[
        str, flag("tsne or umap (neighbours stay neighbours), or pca (fast).", name=("--method", "--layout"))
    ] = "tsne",
    x: Annotated[str | None, flag("With --y: columns with coordinates, instead of a layout.")] = None,
    y: Annotated[str | None, flag("See --x.")] = None,
    neighbors: Annotated[
        int | None, flag("Nearest vectors listed per point (10; 5 beyond 100,000 points).", converter=whole)
    ] = None,
    parquet: Annotated[Path | None, flag("Also write id, x, y, neighbors and the columns to a .parquet file.")] = None,
    title: Annotated[str | None, flag("The title of the page (the name of the vectors' file).")] = None,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    seed: Seed = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Write a page to explore vectors: a map with colours, search, neighbours and groups.

    ```
    mvgrl explore vectors.parquet --labels nodes.csv -o page.html
    mvgrl explore vectors.parquet --graph edges.csv -o page.html
    mvgrl explore vectors.parquet --compare others.parquet -o page.html
    mvgrl explore model --graph edges.csv --nodes nodes.csv -o page.html
    mvgrl explore vectors.parquet --labels nodes.csv --layout pca --serve
    ```

    The page is one file: it opens with a double-click, needs no network and can be mailed. Points are coloured and
    sized by the columns of --labels; a click lists the nearest vectors, by cosine. Beyond 100,000 points, tsne and umap
    place a sample, and the others are placed next to their neighbours; umap needs pip install 'mvgrl[umap]'. With
    --compare, the share of common neighbours per point is a column. If a model is given instead of vectors, it embeds
    --graph, as in mvgrl apply. If the vectors are of graphs, --graph shows a small drawing of each graph on hover.
    --serve prints an address on this computer that contains a secret; Ctrl-C stops the server.

    Parameters
    ----------
    vectors
        .parquet or .csv (id, and one list column or numeric columns), or .npy, as mvgrl embed writes them; or the
        folder of a model, as mvgrl train writes it.
    """
    console = Console(common)
    _check_flags(output, serve, (x, y), neighbors)
    by_model = vectors.is_dir() and (vectors / "config.json").exists()
    _check_model_flags(vectors, graph, nodes, model, by_model=by_model)

    from mvgrl.reports.projection import check_method
    from mvgrl.tables.paths import check_not_input, check_output_file

    check_method(method)
    inputs = (vectors, labels, graph, nodes, compare)
    for path, endings, example in (
        (output, (".html", ".htm"), "page.html"),
        (parquet, (".parquet",), "points.parquet"),
    ):
        if path is not None:
            check_output_file(path, endings, example)
            check_not_input(path, inputs)

    from mvgrl.explorer.gather import arranged
    from mvgrl.tables.embeddings import read_embeddings

    model = vectors if by_model else model
    facts = None if model is None else _facts(model)
    if by_model and graph is not None:
        from mvgrl.cli.apply import vectors_by

        source = _source(nodes, id_column, data_root)
        if labels is None and nodes is not None:
            labels, source = str(nodes), replace(source, label_column=label_column)
        table = vectors_by(vectors, graph, source, console)
    else:
        table = read_embeddings(vectors)
    gathered = _gathered(table, labels, id_column, graph, nodes, data_root, console)
    if x is not None and y is not None:
        gathered.places = _coordinates(gathered, vectors, x, y)
        gathered.columns = [one for one in gathered.columns if one.name not in {x, y} - {label_column}]
    if label_column is not None and all(column.name != label_column for column in gathered.columns):
        known = ", ".join(column.name for column in gathered.columns[:10]) or "none"
        raise InputError(f"there is no column {label_column!r} to colour by; the columns are {known}")
    other = None if compare is None else _other(gathered.embeddings, compare)
    with _bars(console) as progress:
        contents = arranged(
            gathered,
            title=title or vectors.stem,
            names=(vectors.stem, "" if compare is None else compare.stem),
            other=other,
            method=method,
            colour=label_column,
            neighbors=0 if serve and neighbors is None and compare is None else neighbors,
            model=facts,
            seed=seed or 0,
            progress=progress,
        )
    for note in gathered.notes:
        console.note(f"note: {note}")
    if parquet is not None:
        from mvgrl.explorer.points_table import write_points

        write_points(parquet, contents)
        console.note(f"wrote {len(contents):,} points to {parquet}")
    if serve:
        _serve(contents, gathered, other, console)
    elif output is not None:
        _write(contents, output, console, parquet)


def _check_flags(output: Path | None, serve: bool, places: tuple[str | None, str | None], k: int | None) -> None:
    if output is None and not serve:
        raise SettingsError("no page is named; add -o page.html, or --serve")
    if output is not None and serve:
        raise SettingsError("--serve writes no page, but --output is given; omit one of them")
    if (places[0] is None) != (places[1] is None):
        raise SettingsError("--x and --y belong together; give both, or none")
    if k is not None and k < 0:
        raise SettingsError(f"--neighbors is {k}; it must be at least 0")


def _check_model_flags(
    vectors: Path, graph: str | None, nodes: Path | None, model: Path | None, *, by_model: bool
) -> None:
    if by_model and graph is None:
        raise SettingsError(f"{vectors} is a model, which embeds a graph{_trained_on(vectors)}; add --graph GRAPH")
    if by_model and model is not None:
        raise SettingsError(f"{vectors} is itself the model that is shown; omit --model")
    if nodes is not None and not by_model:
        raise SettingsError(f"--nodes is for a model that embeds a graph, and {vectors} has vectors; use --labels")


def _trained_on(folder: Path) -> str:
    from mvgrl.pretrained import config_of

    about = config_of(folder, check=False).get("about")
    known = about.get("trained on") if isinstance(about, dict) else None
    return f" (it was trained on {shown(known)[1:-1]})" if isinstance(known, str) else ""


def _source(nodes: Path | None, id_column: str | None, data_root: Path | None) -> Source:
    return Source(nodes=nodes, id_column=None if nodes is None else id_column, data_root=data_root)


def _facts(folder: Path) -> dict[str, Any]:
    from mvgrl.explorer.model_facts import model_facts

    return model_facts(folder)


def _gathered(
    embeddings: Embeddings,
    labels: str | None,
    id_column: str | None,
    graph: str | None,
    nodes: Path | None,
    data_root: Path | None,
    console: Console,
) -> Gathered:
    from mvgrl.cli.inputs import is_dataset, open_graph
    from mvgrl.explorer.gather import Gathered

    gathered = Gathered(embeddings)
    if labels is not None and is_dataset(labels):
        if id_column is not None:
            raise SettingsError(f"{labels} is a named dataset and has its own ids; omit --id-column")
        _add_dataset(gathered, labels, data_root, console)
    elif labels is not None:
        from mvgrl.tables.ids import read_keyed
        from mvgrl.tables.paths import TABLE_EXTENSIONS, check_input_file

        check_input_file(Path(labels), TABLE_EXTENSIONS)
        gathered.add_table(*read_keyed(Path(labels), id_column))
    if graph is not None:
        gathered.add_graph(open_graph(graph, _source(nodes, id_column, data_root), console, features=()))
    return gathered


def _add_dataset(gathered: Gathered, name: str, data_root: Path | None, console: Console) -> None:
    import numpy as np

    from mvgrl.cli.inputs import open_dataset
    from mvgrl.explorer.columns import column_of
    from mvgrl.explorer.gather import matched
    from mvgrl.tables.columns import Place
    from mvgrl.tables.ids import Keyed

    dataset = open_dataset(name, data_root, console)
    rows = matched(gathered.embeddings, Keyed(np.arange(len(dataset.target)), place=Place(dataset.name)))
    names = np.array(["", *dataset.classes])[np.where(rows >= 0, dataset.target[rows] + 1, 0)]
    gathered.add(column_of("label", names))
    if dataset.texts is not None:
        gathered.add(column_of("text", np.where(rows >= 0, np.asarray(dataset.texts, np.str_)[rows], "")))


def _coordinates(gathered: Gathered, vectors: Path, x: str, y: str) -> Any:
    """Return the coordinates given as columns of the labels or of the table of vectors."""
    import numpy as np

    from mvgrl.explorer.gather import Gathered
    from mvgrl.tables.ids import read_keyed

    known = gathered
    if vectors.is_file() and vectors.suffix != ".npy" and not {x, y} <= {column.name for column in gathered.columns}:
        known = Gathered(gathered.embeddings)
        known.add_table(*read_keyed(vectors, None, number_rows=True))
    places = np.stack([known.numbers(x), known.numbers(y)], axis=1)
    missing = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if len(missing):
        row = gathered.embeddings.rows.describe(int(missing[0]))
        raise InputError(f"{row} has no finite {x!r} and {y!r}; fill them in, or omit --x and --y")
    return places


def _other(embeddings: Embeddings, path: Path) -> Any:
    """Return the vectors of another file in the order of ours."""
    import numpy as np

    from mvgrl.explorer.gather import matched
    from mvgrl.tables.embeddings import read_embeddings

    table = read_embeddings(path)
    rows = matched(embeddings, table.rows)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        row = embeddings.rows.describe(int(missing[0]))
        raise InputError(f"{path} has no vector for {row}; compare vectors of the same ids")
    return table.vectors[rows]


@contextmanager
def _bars(console: Console) -> Iterator[Progress]:
    """A bar per kind of work on stderr; nothing if it is not a terminal."""
    from rich.console import Console as Rich
    from rich.progress import Progress as Bars

    rich = Rich(file=sys.stderr)
    tasks: dict[str, Any] = {}
    with Bars(console=rich, transient=True, disable=not console.bars or not rich.is_terminal) as bars:

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield progress


def _write(contents: Contents, output: Path, console: Console, parquet: Path | None) -> None:
    from mvgrl.explorer.page import write_page

    size = write_page(output, contents)
    console.note(f"wrote {len(contents):,} points to {output} ({size / 1e6:.1f} MB); open it in a browser")
    values: dict[str, Any] = {"points": len(contents), "columns": [column.name for column in contents.columns]}
    values |= {"maps": len(contents.maps), "bytes": size, "output": str(output)}
    console.result(values if parquet is None else values | {"parquet": str(parquet)})


def _serve(contents: Contents, gathered: Gathered, other: Any, console: Console) -> None:
    from mvgrl.explorer.server import Server

    with Server(contents, [gathered.embeddings.vectors, *([] if other is None else [other])]) as server:
        console.result({"address": server.address}, server.address)
        console.note("open this address in a browser on this computer; Ctrl-C stops the server")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.note("stopped")
