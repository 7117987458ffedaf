"""Ctrl-C and kill: a run stops between two epochs, where it can be saved completely."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mvgrl.history import Epoch

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupts:
    """A training callback that raises KeyboardInterrupt after a signal.

    During the first epoch there is nothing to save, so a signal stops the run immediately; so does a second signal.
    """

    def __init__(self, notify: Callable[[str], None]) -> None:
        self.notify = notify
        self.epochs = 0  # completed
        self.stop_requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._signalled) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self, epoch: Epoch) -> None:
        self.epochs = epoch.number
        if self.stop_requested:
            raise KeyboardInterrupt

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested or not self.epochs:
            raise KeyboardInterrupt
        self.stop_requested = True
        self.notify("stopping after this epoch; repeat to stop immediately")
