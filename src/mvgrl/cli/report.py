"""``mvgrl report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common, flag

LEDGER = Path("results/runs.jsonl")


def readable_ledger(named: Path | None, console: Console) -> Path:
    """The ledger given, else that of the working folder, else the published one."""
    if named is not None or LEDGER.exists():
        return named or LEDGER

    from mvgrl.experiments.ledger import published_runs

    console.note(f"there is no {LEDGER} here; these are the published runs, which come with mvgrl")
    return published_runs()


def run(
    *,
    output: Annotated[Path, flag("The report: .html or .md.", alias="-o")],
    ledger: Annotated[Path | None, flag("The file of runs (results/runs.jsonl).")] = None,
    common: Common = Common(),  # noqa: B008 (frozen)
) -> None:
    """Write a report of all runs as one web page, with the paper's numbers next to ours.

    ```
    mvgrl report -o report.html
    mvgrl report --ledger results/runs.jsonl -o report.md
    ```

    The page is one file that loads nothing else: tables, differences to the paper, figures, failures, and the settings
    and machine behind every number. Nothing is run; use mvgrl reproduce to fill the ledger. Where there is none, the
    report is of the published runs, which come with mvgrl.
    """
    console = Console(common)

    from mvgrl.reports.report import write_report
    from mvgrl.tables.paths import check_not_input

    ledger = readable_ledger(ledger, console)
    check_not_input(output, (ledger,))
    counts = write_report(output, ledger)
    passed = f"; lines skipped: {counts['passed_over']:,}" if counts["passed_over"] else ""
    console.note(f"wrote {counts['runs']:,} runs to {output}{passed}")
    console.result({**counts, "ledger": str(ledger), "output": str(output)})
