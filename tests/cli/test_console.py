"""What goes to stdout and to stderr."""

from __future__ import annotations

import logging
import warnings

from mvgrl.cli.console import Console
from mvgrl.cli.options import Common


def test_library_warnings_are_one_line_on_stderr_unless_quiet(capsys):
    Console(Common())
    warnings.warn("three models\nhave not converged", UserWarning, stacklevel=1)
    assert capsys.readouterr() == ("", "warning: three models have not converged\n")
    Console(Common(quiet=True))
    warnings.warn("four models have not converged", UserWarning, stacklevel=1)
    assert capsys.readouterr() == ("", "")


def test_verbosity_sets_the_log_level(capsys):
    shown = []
    for common in (Common(quiet=True), Common(), Common(verbose=1), Common(verbose=2), Common(verbose=9)):
        Console(common)
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logging.getLogger("mvgrl.somewhere").log(level, logging.getLevelName(level))
        shown.append(capsys.readouterr().err.split())
    everything = ["DEBUG", "INFO", "WARNING", "ERROR"]
    assert shown == [everything[3:], everything[2:], everything[1:], everything, everything]


def test_results_go_to_stdout_and_notes_to_stderr(capsys):
    for common, out in ((Common(), "[red] 1 – 2 "), (Common(json=True), '{"a": "–"}')):
        console = Console(common)
        console.note("a note")
        console.result({"a": "–"}, "[red] 1 – 2 " + "long " * 100)
        seen = capsys.readouterr()
        assert seen.out.startswith(out)
        assert seen.out.count("\n") == 1
        assert seen.err == "a note\n"
