"""``mvgrl neighbors``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, flag, whole
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
    approximate: Annotated[bool, flag("Search with usearch, as is done beyond a million vectors.")] = False,
    exact: Annotated[bool, flag("Compare all vectors, however many there are.")] = False,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """List the nearest nodes of one or more nodes, by the cosine of their vectors.

    ```
    mvgrl neighbors vectors.parquet p7
    mvgrl neighbors vectors.parquet p7 p8 -k 5 -o neighbors.csv
    mvgrl neighbors vectors.parquet -k 3 -- -17
    ```

    Up to a million vectors, all are compared; beyond, usearch (pip install 'mvgrl[search]') finds almost all of the
    nearest. Ties are in the order of the table. A vector of zeros has no direction and is nobody's neighbour. If the
    table has a column graph, neighbours may be in any graph; an id that several graphs have needs --graph.

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

    from mvgrl.neighbors import nearest
    from mvgrl.tables.embeddings import read_embeddings

    table = read_embeddings(vectors, id_column=id_column)
    rows = _rows(table, list(dict.fromkeys(ids)), graph, vectors)
    with console.busy("searching"):
        found = nearest(table.vectors, rows, k, approximate=True if approximate else False if exact else None)
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


def _rows(table: Embeddings, ids: list[str], graph: str | None, path: Path) -> list[int]:
    """Find the row of every id; an id is written as in the table."""
    import numpy as np

    names = table.ids.astype(str)
    allowed = np.ones(len(names), bool)
    if graph is not None:
        if table.graph_ids is None:
            raise SettingsError(f"{path} has no column 'graph'; omit --graph")
        graphs = table.graph_ids.astype(str)
        allowed = graphs == graph
        if not allowed.any():
            raise InputError(f"{path} has no graph {shown(graph)}; {_closest(graph, graphs)}")
    rows = []
    for one in ids:
        found = np.flatnonzero((names == one) & allowed)
        if not len(found):
            where = "" if graph is None else f" in graph {shown(graph)}"
            raise InputError(f"{path} has no id {shown(one)}{where}; {_closest(one, names[allowed])}")
        if len(found) > 1:
            assert table.graph_ids is not None  # ids are unique within a graph
            several = ", ".join(shown(value) for value in table.graph_ids[found[:5]].tolist())
            raise InputError(f"the id {shown(one)} is in {len(found)} graphs of {path}, such as {several}; choose one "
                             "with --graph")  # fmt: skip
        if not table.vectors[found[0]].any():
            raise InputError(f"the vector of {shown(one)} in {path} is all zeros, so it has no nearest neighbours; "
                             "omit the id")  # fmt: skip
        rows.append(int(found[0]))
    return rows


def _closest(name: str, names: np.ndarray) -> str:
    """Name the ids that are written almost like this one, or an example."""
    from difflib import get_close_matches

    import numpy as np

    known = np.unique(names)
    # Comparing takes long, so among very many only those that begin or end alike are compared.
    if len(known) > 20_000:
        alike = np.char.startswith(known, name[:2]) | np.char.endswith(known, name[-3:])
        near = get_close_matches(name, known[alike][:20_000].tolist(), n=3)
    else:
        near = get_close_matches(name, known.tolist(), n=3)
    if near:
        return f"did you mean {' or '.join(shown(one) for one in near)}?"
    return f"its ids are like {', '.join(shown(one) for one in names[:3].tolist())}"


def _columns(table: Embeddings, rows: list[int], found: Neighbors) -> dict[str, np.ndarray]:
    """Return a row per query and rank; ids with their graphs if there are several."""
    import numpy as np

    count, k = found.rows.shape
    queries, others = np.repeat(np.array(rows, np.int64), k), found.rows.ravel()
    columns = {"query": table.ids[queries], "rank": np.tile(np.arange(1, k + 1), count)}
    if table.graph_ids is not None:
        columns = {"query_graph": table.graph_ids[queries]} | columns | {"graph": table.graph_ids[others]}
    return columns | {"id": table.ids[others], "cosine": found.cosines.ravel()}
