"""Output of the verbs: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mvgrl.cli.options import Common


class Console:
    """Notes and progress on stderr, depending on verbosity; the result on stdout, as text or JSON."""

    def __init__(self, common: Common) -> None:
        self.json, self.quiet = common.json, common.quiet
        level = logging.ERROR if common.quiet else max(logging.DEBUG, logging.WARNING - 10 * common.verbose)
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger = logging.getLogger("mvgrl")
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
        warnings.showwarning = self._warn
        self.bars = not common.quiet and common.verbose < 2  # a bar would interfere with one line per epoch
        logging.getLogger("mvgrl.graphs.graph").setLevel(logging.WARNING)  # its notes are printed by the verbs

    def _warn(self, message: Warning | str, *_: object, **__: object) -> None:
        """Print a library's warning without its place in the code."""
        self.note(f"warning: {' '.join(str(message).split())}")

    def note(self, text: str) -> None:
        """Print a line for a person."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def result(self, values: Mapping[str, Any], text: str | None = None) -> None:
        """Print the result: one JSON object, or text."""
        if self.json:
            _print(json.dumps(values, ensure_ascii=False), otherwise=json.dumps(values))
        elif text is not None:
            _print(text, otherwise=text.encode("ascii", "backslashreplace").decode())

    @contextmanager
    def busy(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show a spinner during slow work, and yield a function to change its text; nothing outside a terminal."""
        from rich.console import Console as Rich

        rich = Rich(file=sys.stderr)
        if self.quiet or not rich.is_terminal:
            yield lambda text: None
            return
        with rich.status(text) as status:
            yield status.update


def _print(text: str, *, otherwise: str) -> None:
    """Print a text, or the other one if the encoding of stdout does not have all of its characters."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        print(otherwise, flush=True)
