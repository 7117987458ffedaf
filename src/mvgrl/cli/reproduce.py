"""``mvgrl reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Device, flag, whole
from mvgrl.errors import SettingsError, check_name


def run(
    name: str,
    /,
    *,
    dataset: Annotated[
        list[str] | None, flag("One of the table's datasets; may be given again (all).", consume_multiple=False)
    ] = None,
    runs: Annotated[int, flag("Seeds, counted from 0 (50).", converter=whole)] = 50,
    setting: Annotated[
        str, flag("best (ours, default), paper (the text's) or released (the authors' code's).")
    ] = "best",
    ledger: Annotated[Path, flag("The file of runs (results/runs.jsonl).")] = Path("results/runs.jsonl"),
    recipes: Annotated[Path | None, flag("A folder of recipes, node/DATASET.toml (ours).")] = None,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    device: Device = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Run a table of the paper, and print it with ours beside it.

    ```
    mvgrl reproduce node-classification
    mvgrl reproduce node-clustering --dataset cora --runs 5
    mvgrl reproduce node-classification --setting released --json
    ```

    Runs that are in the ledger already are not run again, so an interrupted table goes on where it was. Each trained
    run gives the lines of both node tables. Beside every number stand two controls: the same encoder untrained, and
    propagated features.

    Parameters
    ----------
    name
        node-classification (the paper's Table 2) or node-clustering (Table 3).
    """
    console = Console(common)

    from mvgrl.experiments.ledger import Ledger
    from mvgrl.experiments.node_tables import EXPERIMENTS, reproduce
    from mvgrl.experiments.published import NODE_DATASETS

    check_name("table", name, EXPERIMENTS, SettingsError)
    chosen = list(NODE_DATASETS) if dataset is None else dataset
    for one in chosen:
        check_name("dataset", one, NODE_DATASETS, SettingsError)
    if runs < 1:
        raise SettingsError(f"--runs is {runs}; ask for at least one")
    rows = reproduce(
        name,
        Ledger(ledger),
        datasets=chosen,
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
    lines = [("dataset", "metric", "paper", "ours", "untrained", "propagated", "runs", "s a run")]
    for row in rows:
        digits = 1 if row["metric"] == "accuracy" else 3
        numbers = {key: _number(row[key], digits) for key in ("paper", "untrained", "propagated")}
        ours = f"{row['mean']:.{digits}f} ± {row['std']:.{digits}f}"
        metric = {"nmi": "NMI", "ari": "ARI"}.get(row["metric"], row["metric"])
        cells = (numbers["paper"], ours, numbers["untrained"], numbers["propagated"], str(row["runs"]))
        lines.append((row["dataset"], metric, *cells, f"{row['seconds']:.2f}"))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    left = (f"{line[0]:<{widths[0]}}  {line[1]:<{widths[1]}}" for line in lines)
    right = ("  ".join(f"{cell:>{width}}" for cell, width in zip(line[2:], widths[2:], strict=True)) for line in lines)
    return "\n".join(f"{start}  {end}" for start, end in zip(left, right, strict=True))


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
