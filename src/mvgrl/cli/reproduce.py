"""``mvgrl reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, Device, flag, whole

if TYPE_CHECKING:
    from mvgrl.experiments.ablations import Ablation

Rows = list[dict[str, Any]]


def run(
    name: str,
    /,
    *,
    dataset: Annotated[
        list[str] | None, flag("One of the table's datasets; may be given again (all).", consume_multiple=False)
    ] = None,
    runs: Annotated[
        int | None,
        flag(
            "Seeds, counted from 0 (nodes 50, graphs 5, as in the paper; node-slips 10; ablations and sweeps: nodes 5, "
            "graphs 3, reddit-binary 1).",
            converter=whole,
        ),
    ] = None,
    setting: Annotated[
        str, flag("best (ours, default), paper (the text's) or released (the authors' code's).")
    ] = "best",
    jobs: Annotated[
        int | None,
        flag("Runs at once, in processes of their own (as many as the machine is good for).", converter=whole),
    ] = None,
    plot: Annotated[Path | None, flag("Draw it too: an .svg; of a sweep or of ablation-batch-size.")] = None,
    retry_failed: Annotated[bool, flag("Run again what the ledger has as failed.")] = False,
    ledger: Annotated[Path, flag("The file of runs (results/runs.jsonl).")] = Path("results/runs.jsonl"),
    recipes: Annotated[Path | None, flag("A folder of recipes, node/ and graph/DATASET.toml (ours).")] = None,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    device: Device = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Run a table of the paper, and print it with ours beside it.

    ```
    mvgrl reproduce list
    mvgrl reproduce node-classification
    mvgrl reproduce node-clustering --dataset cora --runs 5
    mvgrl reproduce graph-classification --dataset mutag
    mvgrl reproduce node-classification --setting released --json
    mvgrl reproduce ablation-views --dataset mutag
    mvgrl reproduce sweep-labels --dataset cora-linqs --plot labels.svg
    mvgrl reproduce all
    ```

    Runs that are in the ledger already are not run again, so an interrupted table goes on where it was. A run gives the
    lines of both node tables where their recipes agree, and serves every ablation that has its settings. Beside every
    number stand two controls: the same encoder untrained, and propagated features. An ablation changes one thing of
    each dataset's recipe and has no controls. A sweep goes beyond the paper and changes one number; that of labels has
    propagated features beside it. A run that fails is kept with its reason, and the others go on.

    Parameters
    ----------
    name
        node-classification (the paper's Table 2), node-clustering (Table 3), graph-classification (Table 4),
        node-slips (what text and code of the paper do otherwise, one thing at a time), ablation-bounds, -modes,
        -views, -readouts, -encoders, -view-count, -batch-size, -negatives or -regularisers; sweep-alpha (of ppr), -t
        (of heat), -top-k (entries of ppr kept of a row), -hidden (size), -layers or -labels (how many there are to
        learn from); all (the main tables, then all others), or list (what there is, and what is left to be run).
    """
    console = Console(common)

    from mvgrl.experiments.ledger import Ledger
    from mvgrl.experiments.reproduce import overview, reproduce, reproduce_all

    if plot is not None:
        from mvgrl.reports.plot import check_plot, write_plot

        check_plot(plot, name)
    lines = Ledger(ledger)
    if name == "list":
        rows = overview(lines, datasets=dataset, runs=runs, recipes=recipes)
        console.result({"experiments": rows, "ledger": str(ledger)}, _as_list(rows))
        return
    options: dict[str, Any] = dict(
        datasets=dataset,
        runs=runs,
        setting=setting,
        device=device or "auto",
        data_root=data_root,
        recipes=recipes,
        retry_failed=retry_failed,
        jobs=jobs,
        tell=console.note,
    )
    if name != "all":
        rows = reproduce(name, lines, **options)
        values: dict[str, Any] = {"experiment": name, "setting": setting, "rows": rows, "ledger": str(ledger)}
        if plot is not None:
            drawn = write_plot(plot, name, rows)
            values["plot"] = str(plot) if drawn else None
            console.note(f"wrote {plot}" if drawn else f"{plot} is not written: there is no run that did not fail")
        console.result(values, _as_table(name, rows))
        if failed := sum(1 for line in lines if line.failed and line.experiment == name):
            console.note(f"{ledger} has {failed} failed runs of {name}; --retry-failed runs them again")
        return
    tables: dict[str, Rows] = {}
    for table, rows in reproduce_all(lines, **options):
        tables[table] = rows
        if not console.json:
            console.result({}, f"{table}\n{_as_table(table, rows)}\n")
    if console.json:
        console.result({"experiment": name, "setting": setting, "tables": tables, "ledger": str(ledger)})


def _as_table(name: str, rows: Rows) -> str:
    from mvgrl.experiments.ablations import ABLATIONS
    from mvgrl.reports.tables import printed

    if name in ABLATIONS:
        return _as_ablation(rows, ABLATIONS[name])
    keys: tuple[str, ...] = ("dataset", "metric", "paper", "ours", "untrained", "propagated", "runs", "seconds")
    if rows and "change" in rows[0]:
        keys = ("dataset", "change", "ours", "difference", "runs", "seconds")
    return _aligned(
        [(*keys[:-1], "s a run"), *(tuple(printed(row)[key] for key in keys) for row in rows)], left_columns=2
    )


def _as_ablation(rows: Rows, ablation: Ablation) -> str:
    """A line a dataset and a column a row of the ablation: ours, and the paper's in brackets; below, what to know.

    Of a sweep, whose rows may be many, a line a row and a column a dataset.
    """
    from mvgrl.reports.comparison import notes

    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    names = sorted({row["row"] for row in rows}, key=list(ablation.rows).index)
    cells = {(row["dataset"], row["row"]): _cell(row) for row in rows}
    lines = [("dataset", *names)]
    lines += [(dataset, *(cells.get((dataset, name), "–") for name in names)) for dataset in datasets]
    if ablation.axis:
        lines = [(ablation.axis, *datasets), *list(zip(*lines, strict=True))[1:]]
    key = ["ours (the paper's)"] if any(row["paper"] is not None for row in rows) else []
    about = [ablation.about] if ablation.about else []
    return "\n".join([_aligned(lines, left_columns=1), *key, *about, *notes(rows)])


def _cell(row: dict[str, Any]) -> str:
    ours = "failed" if row["failed"] else f"{row['mean']:.1f}"
    return ours if row["paper"] is None else f"{ours} ({row['paper']:.1f})"


def _as_list(rows: Rows) -> str:
    lines = [("experiment", "datasets", "runs", "done", "failed", "time left")]
    for row in rows:
        numbers = (str(row[key]) for key in ("runs", "done", "failed"))
        lines.append((row["experiment"], str(len(row["datasets"])), *numbers, _duration(row["seconds_left"])))
    return _aligned(lines, left_columns=1)


def _duration(seconds: float | None) -> str:
    """Hours and minutes, or less.

    >>> _duration(None), _duration(0.0), _duration(42.4), _duration(4000.0)
    ('–', '0 s', '42 s', '1 h 07 min')
    """
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _aligned(lines: Sequence[tuple[str, ...]], *, left_columns: int) -> str:
    """Columns as wide as they have to be, the first ones flush left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if place < left_columns else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
