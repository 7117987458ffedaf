"""``mvgrl neighbors``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Memory, flag, whole
from mvgrl.errors import InputError, SettingsError, shown

if TYPE_CHECKING:
    import numpy as np

    from mvgrl.neighbors import Neighbors
    from mvgrl.tables.embeddings import Embeddings


def run(
    vectors: Path,
    /,
    *ids: str,
    k: Annotated[int, flag("Number of neighbours of each id (10).", name="-k", converter=whole)] = 10,
    output: Annotated[Path | None, flag("Write a table instead: .csv, .tsv or .parquet.", alias="-o")] = None,
    id_column: Annotated[str | None, flag("The id column of the vectors (id).")] = None,
    graph: Annotated[str | None, flag("The graph of the ids, if the table has several graphs.")] = None,
    side: Annotated[str | None, flag("The side of the ids, if the table is of a bipartite graph.")] = None,
    approximate: Annotated[bool, flag("Search with usearch, as is done beyond a million vectors.")] = False,
    exact: Annotated[bool, flag("Compare all vectors, however many there are.")] = False,
    memory: Memory = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """List the nearest nodes of one or more nodes, by the cosine of their vectors.

    ```
    mvgrl neighbors vectors.parquet p7
    mvgrl neighbors vectors.parquet p7 p8 -k 5 -o neighbors.csv
    mvgrl neighbors vectors.parquet -k 3 -- -17
    ```

    Up to a million vectors, all are compared; beyond that, usearch (pip install 'mvgrl[search]') finds almost all of
    the nearest. Ties are in the order of the table. A vector of zeros has no direction and is nobody's neighbour. If
    the table has a column graph, neighbours may be in any graph; an id that occurs in several graphs needs --graph. In
    a bipartite graph, an id that occurs on both sides needs --side.

    Vectors that do not fit into --memory stay on disk and are compared block by block, exactly.

    Parameters
    ----------
    vectors
        .parquet or .csv (id, and one list column or numeric columns), or .npy, as mvgrl embed writes them.
    ids
        The ids of the nodes; after --, they may start with a minus.
    """
    console = Console(common)
    if not ids:
        raise SettingsError(f"no id is given; name one or more ids after {vectors}")
    if k < 1:
        raise SettingsError(f"-k is {k}; it must be at least 1")
    if approximate and exact:
        raise SettingsError("--approximate and --exact contradict each other; omit one")
    if output is not None:
        from mvgrl.tables.results import check_table_output

        check_table_output(output, "neighbors.csv", (vectors,))

    from mvgrl.cli.inputs import open_vectors
    from mvgrl.neighbors import nearest

    table, _ = open_vectors(vectors, memory, console, id_column)
    if table.on_disk and approximate:
        raise SettingsError("--approximate needs an index of all vectors in memory; omit it, or give more --memory")
    rows = _rows(table, list(dict.fromkeys(ids)), {"graph": graph, "side": side}, vectors)
    with console.busy("searching"):
        found = nearest(
            table.vectors, rows, k, approximate=True if approximate else False if exact or table.on_disk else None
        )
    if not found.exact:
        console.note(f"approximate neighbours among {len(table.vectors):,} vectors; --exact compares all of them")
    columns = _columns(table, rows, found)
    outcome: dict[str, Any] = {"k": found.rows.shape[1], "exact": found.exact, "vectors": len(table.vectors)}
    if output is not None:
        from mvgrl.tables.results import write_table

        write_table(output, columns)
        console.note(f"wrote {found.rows.size:,} neighbours of {len(rows):,} ids to {output}")
        console.result(outcome | {"output": str(output)})
        return

    from mvgrl.cli.lines import aligned

    listed = zip(*(values.tolist() for values in columns.values()), strict=True)
    outcome["neighbors"] = [dict(zip(columns, one, strict=True)) for one in listed]
    console.result(outcome, aligned(columns))


def _rows(table: Embeddings, ids: list[str], chosen: dict[str, str | None], path: Path) -> list[int]:
    """Find the row of every id; an id is written as in the table, and unique within its graph or side."""
    import numpy as np

    from mvgrl.neighbors import closest_ids

    names, level, groups = table.ids.astype(str), *_groups(table)
    for name, value in chosen.items():
        if value is not None and (name != level or groups is None):
            raise SettingsError(f"{path} has no column {name!r}; omit --{name}")
    group, allowed = chosen.get(level), np.ones(len(names), bool)
    if group is not None and groups is not None:
        allowed = groups.astype(str) == group
        if not allowed.any():
            raise InputError(f"{path} has no {level} {shown(group)}; {closest_ids(group, groups.astype(str))}")
    rows = []
    for one in ids:
        found = np.flatnonzero((names == one) & allowed)
        if not len(found):
            where = "" if group is None else f" in {level} {shown(group)}"
            raise InputError(f"{path} has no id {shown(one)}{where}; {closest_ids(one, names[allowed])}")
        if len(found) > 1:
            assert groups is not None  # ids are unique within a graph or side
            several = ", ".join(shown(value) for value in groups[found[:5]].tolist())
            raise InputError(
                f"the id {shown(one)} is in {len(found)} {level}s of {path}, such as {several}; "
                f"choose one with --{level}"
            )
        if not table.vectors[found[0]].any():
            raise InputError(f"the vector of {shown(one)} in {path} is all zeros, so it has no nearest neighbours; "
                             "omit the id")  # fmt: skip
        rows.append(int(found[0]))
    return rows


def _groups(table: Embeddings) -> tuple[str, np.ndarray | None]:
    """Return what distinguishes equal ids: the graphs of the nodes, the sides of a bipartite graph, or nothing."""
    return ("side", table.sides) if table.sides is not None else ("graph", table.graph_ids)


def _columns(table: Embeddings, rows: list[int], found: Neighbors) -> dict[str, np.ndarray]:
    """Return a row per query and rank; ids with their graphs or sides if they have any."""
    import numpy as np

    count, k = found.rows.shape
    queries, others = np.repeat(np.array(rows, np.int64), k), found.rows.ravel()
    columns = {"query": table.ids[queries], "rank": np.tile(np.arange(1, k + 1), count)}
    level, groups = _groups(table)
    if groups is not None:
        columns = {f"query_{level}": groups[queries]} | columns | {level: groups[others]}
    return columns | {"id": table.ids[others], "cosine": found.cosines.ravel()}
