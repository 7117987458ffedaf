"""``mvgrl reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Device, flag, whole


def run(
    name: str,
    /,
    *,
    dataset: Annotated[
        list[str] | None, flag("One of the table's datasets; may be given again (all).", consume_multiple=False)
    ] = None,
    runs: Annotated[
        int | None,
        flag("Seeds, counted from 0 (as many as in the paper: 50 for nodes, 5 for graphs).", converter=whole),
    ] = None,
    setting: Annotated[
        str, flag("best (ours, default), paper (the text's) or released (the authors' code's).")
    ] = "best",
    ledger: Annotated[Path, flag("The file of runs (results/runs.jsonl).")] = Path("results/runs.jsonl"),
    recipes: Annotated[Path | None, flag("A folder of recipes, node/ and graph/DATASET.toml (ours).")] = None,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    device: Device = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Run a table of the paper, and print it with ours beside it.

    ```
    mvgrl reproduce node-classification
    mvgrl reproduce node-clustering --dataset cora --runs 5
    mvgrl reproduce graph-classification --dataset mutag
    mvgrl reproduce node-classification --setting released --json
    ```

    Runs that are in the ledger already are not run again, so an interrupted table goes on where it was. Each trained
    run gives the lines of both node tables. Beside every number stand two controls: the same encoder untrained, and
    propagated features.

    Parameters
    ----------
    name
        node-classification (the paper's Table 2), node-clustering (Table 3), graph-classification (Table 4), or
        node-slips (what text and code of the paper do otherwise, one thing at a time).
    """
    console = Console(common)

    from mvgrl.experiments.ledger import Ledger
    from mvgrl.experiments.reproduce import reproduce

    rows = reproduce(
        name,
        Ledger(ledger),
        datasets=dataset,
        runs=runs,
        setting=setting,
        device=device or "auto",
        data_root=data_root,
        recipes=recipes,
        tell=console.note,
    )
    values = {"experiment": name, "setting": setting, "rows": rows, "ledger": str(ledger)}
    console.result(values, _as_table(rows))


def _as_table(rows: list[dict[str, Any]]) -> str:
    from mvgrl.reports.tables import printed

    keys: tuple[str, ...] = ("dataset", "metric", "paper", "ours", "untrained", "propagated", "runs", "seconds")
    if rows and "change" in rows[0]:
        keys = ("dataset", "change", "ours", "difference", "runs", "seconds")
    lines = [(*keys[:-1], "s a run"), *(tuple(printed(row)[key] for key in keys) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(keys))]
    left = (f"{line[0]:<{widths[0]}}  {line[1]:<{widths[1]}}" for line in lines)
    right = ("  ".join(f"{cell:>{width}}" for cell, width in zip(line[2:], widths[2:], strict=True)) for line in lines)
    return "\n".join(f"{start}  {end}" for start, end in zip(left, right, strict=True))
