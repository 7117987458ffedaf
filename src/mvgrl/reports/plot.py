"""The figure of a sweep as a file of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mvgrl.errors import InputError, SettingsError, check_name
from mvgrl.experiments.ablations import ABLATIONS
from mvgrl.experiments.reproduce import experiments
from mvgrl.reports.comparison import sweep_figures
from mvgrl.reports.figures import picture
from mvgrl.tables.atomic import atomic_write, check_writable


def check_plot(path: str | os.PathLike[str], experiment: str) -> None:
    """Refuse a figure that could not be drawn or written, before anything is run for it.

    >>> check_plot("alpha.png", "sweep-alpha")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: alpha.png is of no kind that a sweep can be drawn as; give a name that ends in .svg
    """
    sweeps = [name for name, ablation in ABLATIONS.items() if ablation.axis]
    if experiment not in sweeps:
        check_name("table", experiment, [*experiments(), "all", "list"])
        raise SettingsError(f"{experiment} has no axis to be drawn over; leave plot away, or use {', '.join(sweeps)}")
    if Path(path).suffix.lower() != ".svg":
        raise InputError(f"{path} is of no kind that a sweep can be drawn as; give a name that ends in .svg")
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    check_writable(path)


def write_plot(path: str | os.PathLike[str], experiment: str, rows: Sequence[dict[str, Any]]) -> bool:
    """Draw the rows of a sweep to an .svg, readable by day and by night; False if all of them failed."""
    check_plot(path, experiment)
    sweep = ABLATIONS[experiment]
    figures = sweep_figures(sweep, rows)
    if not figures:
        return False
    with atomic_write(path) as temporary:
        text = picture(sweep.title, [figure.svg for figure in figures])
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return True
