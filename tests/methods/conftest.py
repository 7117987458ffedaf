"""What runs share, for the tests of methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mvgrl.views import ViewCache


class Context:
    """A run context that counts computed values."""

    def __init__(self) -> None:
        self.device, self.cache, self.made = torch.device("cpu"), ViewCache(), []
        self.kept: dict[tuple[str, object], Any] = {}

    def shared(self, slot: str, key: object, make: Callable[[], Any]) -> Any:
        if (slot, key) not in self.kept:
            self.made.append(slot)
            self.kept[slot, key] = make()
        return self.kept[slot, key]


@pytest.fixture
def context() -> Context:
    return Context()
