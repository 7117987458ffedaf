"""Write the figure of a sweep to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from mvgrl.errors import SettingsError, check_name
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.summary import Row
from mvgrl.reports.comparison import sweep_figures
from mvgrl.reports.figures import picture
from mvgrl.tables.atomic import atomic_write
from mvgrl.tables.paths import check_output_file


def check_plot(path: str | os.PathLike[str], experiment: str) -> None:
    """Raise an error if a figure cannot be drawn or written; call it before anything is run.

    >>> check_plot("alpha.png", "sweep-alpha")
    Traceback (most recent call last):
    ...
    mvgrl.errors.InputError: alpha.png: unsupported file type; use one of .svg
    """
    sweeps = [name for name, one in EXPERIMENTS.items() if one.axis]
    if experiment not in sweeps:
        check_name("experiment", experiment, [*EXPERIMENTS, "all", "list"])
        raise SettingsError(f"{experiment} has no axis to plot over; omit --plot, or use {', '.join(sweeps)}")
    check_output_file(path, (".svg",), f"{experiment}.svg")


def write_plot(path: str | os.PathLike[str], experiment: str, rows: Sequence[Row]) -> bool:
    """Draw the rows of a sweep to an .svg that adapts to light and dark mode; False if all of them failed."""
    check_plot(path, experiment)
    figures = sweep_figures(EXPERIMENTS[experiment], rows)
    if not figures:
        return False
    with atomic_write(path) as temporary:
        text = picture(EXPERIMENTS[experiment].title, [figure.svg for figure in figures])
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return True
