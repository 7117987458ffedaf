"""``mvgrl cluster``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Memory, Seed, flag, whole
from mvgrl.errors import SettingsError, shown

if TYPE_CHECKING:
    from mvgrl.clusters import Clusters
    from mvgrl.tables.embeddings import Embeddings

_MOST, _EXAMPLES = 20, 3


def run(
    vectors: Path,
    /,
    *,
    k: Annotated[str, flag("Number of clusters, or auto (the default).", name="-k")] = "auto",
    output: Annotated[Path, flag("The table of ids and clusters: .csv, .tsv or .parquet.", alias="-o")],
    max_k: Annotated[int | None, flag("auto: the largest number of clusters to try (20).", converter=whole)] = None,
    id_column: Annotated[str | None, flag("The id column of the vectors (id).")] = None,
    seed: Seed = None,
    memory: Memory = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Group nodes into clusters by K-Means on their vectors.

    ```
    mvgrl cluster vectors.parquet -k 7 -o clusters.csv
    mvgrl cluster vectors.parquet -k auto -o clusters.csv
    mvgrl cluster vectors.parquet -k auto --max-k 40 -o clusters.parquet
    ```

    Writes id and cluster; cluster 0 is the largest. Prints the size of each cluster, its most central ids, and its
    silhouette: from -1 to 1, high if its vectors are closer to each other than to other clusters. auto chooses the
    number from 2 to --max-k with the highest silhouette on a random sample of at most 5,000 vectors, and the smaller
    number in case of a tie. The printed silhouettes are also computed on such a sample. The same --seed gives the same
    clusters.

    Vectors that do not fit into --memory stay on disk, and K-Means processes them block by block.

    Parameters
    ----------
    vectors
        .parquet or .csv (id, and one list column or numeric columns), or .npy, as mvgrl embed writes them.
    """
    console = Console(common)
    number = _number(k)
    if max_k is not None and number != "auto":
        raise SettingsError("--max-k is only used with -k auto; omit it")
    if max_k is not None and max_k < 2:
        raise SettingsError(f"--max-k is {max_k}; it must be at least 2")

    from mvgrl.tables.results import check_table_output, write_table

    check_table_output(output, "clusters.csv", (vectors,))

    from mvgrl.cli.inputs import open_vectors
    from mvgrl.clusters import find_clusters

    table, free = open_vectors(vectors, memory, console, id_column)
    block = max(1, free // (4 * 8 * table.vectors.shape[1])) if table.on_disk else None
    if number != "auto" and int(number) > len(table.vectors):
        raise SettingsError(f"-k is {number}, but {vectors} has {len(table.vectors):,} vectors; use at most as many")
    with console.busy("clustering"):
        found = find_clusters(table.vectors, number, most=max_k or _MOST, seed=seed or 0, block=block)
    groups = {"graph": table.graph_ids, "side": table.sides}
    columns = {name: values for name, values in groups.items() if values is not None}
    write_table(output, columns | {"id": table.ids, "cluster": found.labels})
    count = len(found.sizes)
    if number == "auto":
        tried = f"2 to {max(found.tried)}" if found.tried else "none: too few different vectors"
        console.note(f"picked: {count} clusters, the number with the highest silhouette (tried {tried})")
    elif count < int(number):
        console.note(f"note: found {count} instead of {number} clusters; there are no more different vectors")
    if found.sample < len(table.vectors):
        console.note(f"silhouettes of a random sample of {found.sample:,} of {len(table.vectors):,} vectors")
    if block is not None:
        console.note(f"K-Means went over all vectors in blocks of {block:,}, from the best of ten starts on a sample")
    console.note(f"wrote {len(table.ids):,} ids in {count} clusters to {output}")
    console.result(_outcome(table, found, output, seed or 0), _as_text(table, found, block))


def _number(k: str) -> int | str:
    """Parse -k: a number of clusters, or auto."""
    if k.lower() == "auto":
        return "auto"
    try:
        number = int(k)
    except ValueError:
        raise SettingsError(f"-k is {shown(k)}; give a number of clusters, or auto") from None
    if number < 1:
        raise SettingsError(f"-k is {number}; it must be at least 1")
    return number


def _outcome(table: Embeddings, found: Clusters, output: Path, seed: int) -> dict[str, Any]:
    return {
        "k": len(found.sizes),
        "rows": len(table.vectors),
        "silhouette": found.silhouette,
        "silhouette_sample": found.sample,
        "sizes": found.sizes.tolist(),
        "silhouettes": list(found.per_cluster),
        "tried": {str(k): value for k, value in found.tried.items()},
        "seed": seed,
        "output": str(output),
    }


def _as_text(table: Embeddings, found: Clusters, most: int | None) -> str:
    """One line per cluster, and the mean silhouette; ``most`` limits the vectors per cluster that are compared."""
    from mvgrl.cli.lines import aligned
    from mvgrl.clusters import central_rows

    central = central_rows(table.vectors, found.labels, _EXAMPLES, most)
    lines = aligned(
        {
            "cluster": range(len(found.sizes)),
            "size": found.sizes,
            "silhouette": found.per_cluster,
            "most central ids": [", ".join(str(one)[:30] for one in table.ids[rows].tolist()) for rows in central],
        }
    )
    mean = "not defined" if found.silhouette is None else f"{found.silhouette:.4f}"
    return f"{lines}\nmean silhouette: {mean}"
