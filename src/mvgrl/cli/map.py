"""``mvgrl map``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Seed, flag
from mvgrl.errors import SettingsError


def run(
    embeddings: Path,
    /,
    *,
    output: Annotated[Path, flag("The picture: .png, .svg or .pdf.", alias="-o")],
    labels: Annotated[str | None, flag("Colour by labels: a table (id, label), or the name of a dataset.")] = None,
    id_column: Annotated[str | None, flag("The id column of the labels (id).")] = None,
    label_column: Annotated[str | None, flag("Colour by this column of the labels or embeddings (label).")] = None,
    method: Annotated[str, flag("tsne (neighbours stay neighbours) or pca (fast).")] = "tsne",
    title: Annotated[str | None, flag("A title above the map.")] = None,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    seed: Seed = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Draw a table of embeddings as a map: a point per vector.

    ```
    mvgrl map vectors.parquet -o map.png
    mvgrl map vectors.parquet --labels nodes.csv --label-column topic -o map.svg
    mvgrl map vectors.parquet --labels cora-linqs -o map.png
    ```

    Points that are close on the map have similar vectors. Tables of more than 10,000 rows are sampled at random.

    Parameters
    ----------
    embeddings
        .parquet or .csv (id, and one list column or numeric columns), or .npy.
    """
    console = Console(common)

    from mvgrl.reports.embedding_map import check_picture, embedding_map
    from mvgrl.tables.paths import check_not_input

    check_picture(output)
    check_not_input(output, (embeddings, labels))
    if id_column is not None and labels is None and label_column is None:
        raise SettingsError("--id-column is only used with --labels; omit it, or add --labels")

    from mvgrl.cli.labels import labels_of
    from mvgrl.tables.embeddings import read_embeddings

    table = read_embeddings(embeddings)
    names = None
    if labels is not None or label_column is not None:
        where = str(embeddings) if labels is None else labels
        names, _ = labels_of(table, where, id_column, label_column, data_root, console)
    with console.busy("drawing"):
        drawn = embedding_map(table.vectors, output, labels=names, method=method, seed=seed or 0, title=title)
    console.note(f"drew {drawn:,} of {len(table.vectors):,} points to {output}")
    console.result({"points": drawn, "rows": len(table.vectors), "method": method, "output": str(output)})
