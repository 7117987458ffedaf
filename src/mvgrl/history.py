"""Training history: the loss of every epoch, the lowest of them, and what callbacks receive."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mvgrl.errors import MVGRLError


class Epoch(NamedTuple):
    """What a callback receives after every epoch."""

    number: int  # counted from 1
    loss: float  # with many seeds in one stack, the mean over those still training
    best: float  # the lowest loss so far
    waited: int  # epochs since then
    seconds: float  # since training started, not counting earlier parts of a resumed run
    seeds: int = 1  # still training


@dataclass
class History:
    """The loss of every epoch, and the epoch of the lowest.

    >>> history = History()
    >>> for loss in (1.5, 0.5, 0.7):
    ...     history.add(loss)
    >>> history.best_epoch, history.best_loss, history.waited
    (2, 0.5, 1)
    """

    losses: list[float] = field(default_factory=list)
    best_epoch: int = 0  # counted from 1; 0 before the first epoch

    @property
    def best_loss(self) -> float:
        """The lowest loss."""
        return self.losses[self.best_epoch - 1] if self.losses else math.inf

    @property
    def waited(self) -> int:
        """Epochs since the lowest loss."""
        return len(self.losses) - self.best_epoch

    def add(self, loss: float) -> None:
        """Append the loss of an epoch."""
        lowest = loss < self.best_loss
        self.losses.append(loss)
        if lowest:
            self.best_epoch = len(self.losses)

    @classmethod
    def replay(cls, losses: Iterable[float]) -> History:
        """The history of the given losses."""
        history = cls()
        for loss in losses:
            history.add(loss)
        return history


def checked_losses(losses: Any, most: int | None = None) -> list[float]:
    """Return the losses stored in a file; anything but a list of at most ``most`` finite numbers is a ``ValueError``.

    >>> checked_losses([0.5, 0.25])
    [0.5, 0.25]
    """
    if not isinstance(losses, list) or any(type(loss) not in (int, float) for loss in losses):
        raise ValueError("its losses are not a list of numbers")
    try:
        numbers = [float(loss) for loss in losses]
    except OverflowError:
        numbers = [math.inf]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("its losses are not all finite")
    if most is not None and len(numbers) > most:
        raise ValueError(f"it has {len(numbers):,} losses, but the run has at most {most:,} epochs")
    return numbers


def check_finite(loss: float) -> None:
    """Stop a training run that has diverged."""
    if not math.isfinite(loss):
        raise MVGRLError(f"the loss became {loss}; lower the learning rate, or normalise the features")
