"""``mvgrl map``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Memory, Seed, flag
from mvgrl.errors import SettingsError, check_name


def run(
    embeddings: Path,
    /,
    *,
    output: Annotated[Path, flag("The picture: .png, .svg or .pdf.", alias="-o")],
    labels: Annotated[
        str | None, flag("Colour by labels: a table (id, label), an imported graph, or the name of a dataset.")
    ] = None,
    id_column: Annotated[str | None, flag("The id column of the labels (id).")] = None,
    label_column: Annotated[str | None, flag("Colour by this column of the labels or embeddings (label).")] = None,
    method: Annotated[
        str, flag("tsne or umap (neighbours stay neighbours), or pca (fast).", name=("--method", "--layout"))
    ] = "tsne",
    colours: Annotated[str, flag("auto, classes (a colour per label) or scale (for numbers).")] = "auto",
    names: Annotated[bool | None, Parameter(help="Write the ids next to the points, if there are at most 60.")] = None,
    title: Annotated[str | None, flag("A title above the map.")] = None,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    seed: Seed = None,
    memory: Memory = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Draw a table of embeddings as a map: a point per vector.

    ```
    mvgrl map vectors.parquet -o map.png
    mvgrl map vectors.parquet --labels nodes.csv --label-column topic -o map.svg
    mvgrl map vectors.parquet --labels cora-linqs -o map.png
    mvgrl map vectors.parquet --labels ages.csv --layout umap -o map.pdf
    ```

    Points that are close on the map have similar vectors. Tables of more than 10,000 rows are sampled at random. If
    there are at most 60 points, their ids are written next to them. Every label has its own colour, but numbers with
    more than 12 different values that are not all integers have a colour scale; --colours overrides this. --layout umap
    needs pip install 'mvgrl[umap]'.

    Vectors that do not fit into --memory stay on disk; only those of the sample are read.

    Parameters
    ----------
    embeddings
        .parquet or .csv (id, and one list column or numeric columns), or .npy.
    """
    console = Console(common)

    from mvgrl.reports.colours import KINDS
    from mvgrl.reports.embedding_map import MOST_NAMES, check_picture, embedding_map
    from mvgrl.reports.projection import check_method
    from mvgrl.tables.paths import check_not_input

    check_picture(output)
    check_method(method)
    check_name("colours", colours, KINDS)
    if colours == "scale" and labels is None and label_column is None:
        raise SettingsError("--colours scale needs labels; add --labels or --label-column")
    check_not_input(output, (embeddings, labels))
    if id_column is not None and labels is None and label_column is None:
        raise SettingsError("--id-column is only used with --labels; omit it, or add --labels")

    from mvgrl.cli.inputs import open_vectors
    from mvgrl.cli.labels import labels_of

    table, _ = open_vectors(embeddings, memory, console)
    if names and len(table.vectors) > MOST_NAMES:
        raise SettingsError(f"--names is for at most {MOST_NAMES} points, but {embeddings} has "
                            f"{len(table.vectors):,} rows; omit it")  # fmt: skip
    ids = None if names is False or len(table.vectors) > MOST_NAMES else table.ids
    found = None
    if labels is not None or label_column is not None:
        where = str(embeddings) if labels is None else labels
        found, _ = labels_of(table, where, id_column, label_column, data_root, console)
    with console.busy("drawing"):
        options = dict(method=method, seed=seed or 0, title=title, colours=colours)
        drawn = embedding_map(table.vectors, output, labels=found, names=ids, **options)  # type: ignore[arg-type]
    console.note(f"drew {drawn:,} of {len(table.vectors):,} points to {output}")
    console.result({"points": drawn, "rows": len(table.vectors), "method": method, "output": str(output)})
