"""Progress of a training run, as a callback: a bar in a terminal or notebook, else lines."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mvgrl.history import Epoch
    from mvgrl.settings import Settings

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_UPDATES = 0.2  # of a notebook, which keeps every message


class Progress:
    """Base class of all kinds of progress: a context manager that is called after every epoch."""

    def __init__(self, settings: Settings, title: str = "training") -> None:
        self._epochs, self._patience, self._title = settings.epochs, settings.patience, title

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, epoch: Epoch) -> None:
        raise NotImplementedError

    def _note(self, epoch: Epoch) -> str:
        note = f"loss {epoch.loss:.4f}, lowest {epoch.best:.4f}"
        return f"{note}, stops in {self._patience - epoch.waited}" if epoch.waited > self._patience // 2 else note


class ProgressBar(Progress):
    """Show epoch, loss and time left on stderr; nothing if stderr is not a terminal.

    >>> from mvgrl import Graph, Settings, fit
    >>> settings = Settings(hidden=8, epochs=3, sampler="full")
    >>> with ProgressBar(settings, "training") as bar:
    ...     trained = fit(Graph.from_edges([0, 1], [1, 2]), settings, callbacks=[bar])
    """

    def __init__(self, settings: Settings, title: str = "training", *, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
        from rich.progress import TimeRemainingColumn as Remaining

        super().__init__(settings, title)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TextColumn("at most"),
            Remaining(),
        )
        console = Console(file=sys.stderr)
        self._bar = Bar(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
        self._task = self._bar.add_task("preparing views", total=settings.epochs, note="")

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, epoch: Epoch) -> None:
        self._bar.update(self._task, description=self._title, completed=epoch.number, note=self._note(epoch))


class NotebookBar(Progress):
    """Show a bar under the cell of a notebook, by IPython alone: no widgets need to be installed."""

    _handle: Any = None
    _shown = -_SECONDS_BETWEEN_UPDATES
    _last: Epoch | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._last is not None:
            self._show(self._last)

    def __call__(self, epoch: Epoch) -> None:
        self._last = epoch
        if epoch.seconds - self._shown >= _SECONDS_BETWEEN_UPDATES:
            self._shown = epoch.seconds
            self._show(epoch)

    def _show(self, epoch: Epoch) -> None:
        from IPython.display import HTML, display

        bar = f'<progress value="{epoch.number}" max="{self._epochs}"></progress>'
        page = HTML(f"{self._title} {bar} {epoch.number}/{self._epochs} {self._note(epoch)}, {epoch.seconds:.0f} s")
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)


class ProgressLines(Progress):
    """Print a line to stderr after the first epoch, then from time to time, and at the end."""

    def __init__(self, settings: Settings, title: str = "training") -> None:
        super().__init__(settings, title)
        self._next, self._last, self._printed = 0.0, "", ""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._print()

    def __call__(self, epoch: Epoch) -> None:
        self._last = f"{self._title}: epoch {epoch.number} of at most {self._epochs}, {self._note(epoch)}"
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _SECONDS_BETWEEN_LINES
            self._print()

    def _print(self) -> None:
        if self._last != self._printed:
            self._printed = self._last
            print(self._last, file=sys.stderr, flush=True)


def progress_for(settings: Settings, title: str = "training") -> Progress:
    """Return the kind of progress that suits where the program runs."""
    if _in_notebook():
        return NotebookBar(settings, title)
    try:
        from rich.console import Console
    except ImportError:
        return ProgressLines(settings, title)
    return (ProgressBar if Console(file=sys.stderr).is_terminal else ProgressLines)(settings, title)


def _in_notebook() -> bool:
    """Whether the program runs in the kernel of a notebook; a terminal with IPython is a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"
