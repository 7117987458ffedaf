"""A progress bar for training, as a callback."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mvgrl.history import Epoch
    from mvgrl.settings import Settings


class ProgressBar:
    """Show epoch, loss and time left on stderr; nothing if stderr is not a terminal.

    >>> from mvgrl import Graph, Settings, fit
    >>> settings = Settings(hidden=8, epochs=3, sampler="full")
    >>> with ProgressBar(settings, "training") as bar:
    ...     trained = fit(Graph.from_edges([0, 1], [1, 2]), settings, callbacks=[bar])
    """

    def __init__(self, settings: Settings, title: str = "training", *, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        self._patience, self._title = settings.patience, title
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
        self._progress = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
        self._task = self._progress.add_task("preparing views", total=settings.epochs, note="")

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, epoch: Epoch) -> None:
        note = f"loss {epoch.loss:.4f}, lowest {epoch.best:.4f}"
        if epoch.waited > self._patience // 2:
            note += f", stops in {self._patience - epoch.waited}"
        self._progress.update(self._task, description=self._title, completed=epoch.number, note=note)
