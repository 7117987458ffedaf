"""``mvgrl reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mvgrl.cli.console import Console
from mvgrl.cli.options import Cluster, Common, Device, flag, whole
from mvgrl.cli.report import LEDGER, readable_ledger
from mvgrl.errors import SettingsError

if TYPE_CHECKING:
    from mvgrl.experiments.ledger import Ledger


def run(
    name: str,
    /,
    *,
    dataset: Annotated[
        list[str] | None, flag("One of the experiment's datasets; may be repeated (all).", consume_multiple=False)
    ] = None,
    runs: Annotated[
        int | None,
        flag(
            "Number of seeds, from 0 (nodes 50, graphs 5, as in the paper; node-slips 10; ablations and sweeps: nodes "
            "5, graphs 3, reddit-binary 1; default vectors: nodes 50, or 20 random splits of 3 seeds, graphs 20; "
            "arena: nodes 10, graphs 3).",
            converter=whole,
        ),
    ] = None,
    setting: Annotated[
        str, flag("best (ours, default), paper (as in the text) or released (as in the authors' code).")
    ] = "best",
    jobs: Annotated[
        int | None,
        flag("Worker processes (as many as the machine has cores and memory for).", converter=whole),
    ] = None,
    plot: Annotated[Path | None, flag("Also plot a sweep or ablation-batch-size, as .svg.")] = None,
    retry_failed: Annotated[bool, flag("Repeat the runs that failed.")] = False,
    ledger: Annotated[Path | None, flag("The file of runs (results/runs.jsonl).")] = None,
    recipes: Annotated[Path | None, flag("A folder of recipes, node/ and graph/DATASET.toml (ours).")] = None,
    data_root: Annotated[Path | None, flag("A folder with named datasets (or set MVGRL_DATA).")] = None,
    device: Device = None,
    cluster: Cluster = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Run an experiment of the paper, and print our numbers next to the paper's.

    ```
    mvgrl reproduce list
    mvgrl reproduce node-classification
    mvgrl reproduce node-clustering --dataset cora --runs 5
    mvgrl reproduce graph-classification --dataset mutag
    mvgrl reproduce node-classification --setting released --json
    mvgrl reproduce ablation-views --dataset mutag
    mvgrl reproduce sweep-labels --dataset cora-linqs --plot labels.svg
    mvgrl reproduce all
    mvgrl reproduce arena-nodes --cluster auto
    ```

    Runs that are already in the ledger are not repeated, so an interrupted experiment continues where it stopped. A run
    counts for both node tables if their recipes agree, and for every ablation with the same settings. The main tables
    also show controls, such as the untrained encoder and propagated features. An ablation changes one thing in each
    dataset's recipe and has no controls. A sweep goes beyond the paper and changes one number; the sweep over labels
    also shows propagated features. A run that fails is recorded with its reason, and the others continue. Where there
    is no ledger, list shows the published one, which comes with mvgrl.

    Parameters
    ----------
    name
        node-classification (the paper's Table 2), node-clustering (Table 3), graph-classification (Table 4),
        node-slips (where the paper's text and code differ, one thing at a time), ablation-bounds, -modes, -views,
        -readouts, -encoders, -view-count, -batch-size, -negatives or -regularisers; sweep-alpha (of ppr), -t (of
        heat), -top-k (entries of ppr kept per row), -hidden (size), -layers or -labels (share of the labels used
        for training); default-vectors (what embed gives without any setting, next to free alternatives),
        -vectors-random (on random splits), -vectors-structure, -vectors-structure-random (without features),
        default-sizes, -sizes-random (their length) or default-graph-vectors; arena-nodes, arena-clusters or
        arena-graphs (every system of the paper's Tables 2, 3 and 4, run alike); all (the main tables, then all
        others), or list (all experiments, and what is left to run).
    """
    console = Console(common)

    from mvgrl.cluster.experiments import pool_on
    from mvgrl.experiments.catalogue import EXPERIMENTS
    from mvgrl.experiments.ledger import Ledger
    from mvgrl.experiments.reproduce import overview, reproduce
    from mvgrl.experiments.summary import summarise
    from mvgrl.reports.arena import ARENA, coverage
    from mvgrl.reports.terminal import as_text

    if plot is not None:
        from mvgrl.reports.plot import check_plot, write_plot
        from mvgrl.tables.paths import check_not_input

        check_plot(plot, name)
        check_not_input(plot, (ledger or LEDGER,))
    if name == "list":
        ledger = readable_ledger(ledger, console)
        done = list(Ledger(ledger))
        rows = overview(done, datasets=dataset, runs=runs, recipes=recipes)
        covered = coverage({name: summarise(EXPERIMENTS[name], done) for name in ARENA})
        counts = {name: {"done": done, "in the paper": every} for name, (done, every) in covered.items()}
        console.result(
            {"experiments": rows, "coverage": counts, "ledger": str(ledger)}, f"{_as_list(rows)}\n{_as_share(covered)}"
        )
        return
    if cluster is not None and jobs is not None:
        raise SettingsError("--jobs is the number of processes on this machine, and --cluster decides that; omit one")
    ledger = ledger or LEDGER
    lines = Ledger(ledger)
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
    if name == "all":
        with pool_on(cluster) as pool:
            _all(lines, {**options, "pool": pool}, console)
        return
    with pool_on(cluster) as pool:
        found = reproduce(name, lines, **options, pool=pool)
    values: dict[str, Any] = {"experiment": name, "setting": setting, "rows": [row.to_dict() for row in found]}
    values["ledger"] = str(ledger)
    if plot is not None:
        drawn = write_plot(plot, name, found)
        values["plot"] = str(plot) if drawn else None
        console.note(f"wrote {plot}" if drawn else f"{plot} was not written: all runs failed")
    console.result(values, as_text(EXPERIMENTS[name], found))
    if failed := sum(1 for line in lines if line.failed and line.experiment == name):
        console.note(f"{ledger} has {failed} failed runs of {name}; --retry-failed runs them again")


def _all(lines: Ledger, options: dict[str, Any], console: Console) -> None:
    """Run all experiments, and print each table as soon as it is complete."""
    from mvgrl.experiments.catalogue import EXPERIMENTS
    from mvgrl.experiments.reproduce import reproduce_all
    from mvgrl.reports.terminal import as_text

    tables: dict[str, list[dict[str, Any]]] = {}
    for table, found in reproduce_all(lines, **options):
        tables[table] = [row.to_dict() for row in found]
        if not console.json:
            console.result({}, f"{table}\n{as_text(EXPERIMENTS[table], found)}\n")
    if console.json:
        console.result(
            {"experiment": "all", "setting": options["setting"], "tables": tables, "ledger": str(lines.path)}
        )


def _as_list(rows: list[dict[str, Any]]) -> str:
    from mvgrl.reports.document import Cell, Table
    from mvgrl.reports.terminal import aligned

    keys = ("runs", "done", "failed")
    lines = [
        (row["experiment"], len(row["datasets"]), *(row[key] for key in keys), _duration(row["seconds_left"]))
        for row in rows
    ]
    cells = tuple(tuple(Cell(str(value)) for value in line) for line in lines)
    return aligned(Table("", ("experiment", "datasets", *keys, "time left"), cells))


def _as_share(covered: dict[str, tuple[int, int]]) -> str:
    """Say how many numbers in the paper's tables have one of ours next to them.

    >>> _as_share({"arena-nodes": (2, 4), "arena-graphs": (1, 2)})
    'systems of the paper that were run: arena-nodes 2 of 4 numbers, arena-graphs 1 of 2 numbers; 50 % of all'
    """
    parts = [f"{name} {done} of {every} numbers" for name, (done, every) in covered.items()]
    done, every = (sum(counts) for counts in zip(*covered.values(), strict=True))
    share = round(100 * done / max(every, 1))
    return f"systems of the paper that were run: {', '.join(parts)}; {share} % of all"


def _duration(seconds: float | None) -> str:
    """Format a duration in hours and minutes, or in seconds.

    >>> _duration(None), _duration(0.0), _duration(42.4), _duration(4000.0)
    ('–', '0 s', '42 s', '1 h 07 min')
    """
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
