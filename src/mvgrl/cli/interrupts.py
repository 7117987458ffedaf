"""Ctrl-C and kill: a run stops between two epochs, where it can be saved whole."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mvgrl.training import Epoch

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupts:
    """A callback of training that raises KeyboardInterrupt once a signal has come.

    Before the first epoch is over there is nothing to save, so a signal stops the run at once; so does a second one.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.epochs = 0  # behind us
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._signalled) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self, epoch: Epoch) -> None:
        self.epochs = epoch.number
        if self.asked:
            raise KeyboardInterrupt

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self.asked or not self.epochs:
            raise KeyboardInterrupt
        self.asked = True
        self.tell("stopping after this epoch; once more to stop at once")
