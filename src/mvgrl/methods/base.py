"""The interface of methods: a dataset and seeds in, an outcome per seed out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    import torch

    from mvgrl.datasets import Dataset
    from mvgrl.settings import Output, Settings
    from mvgrl.views import ViewCache

METHODS: dict[str, Method] = {}  # by name; the package fills it from its files


@dataclass(frozen=True)
class Outcome:
    """The result of a method on a dataset: one of vectors, a kernel matrix or predictions.

    >>> Outcome(kernel=np.array([[4.0, 0.0], [0.0, 1.0]])).points().round(6).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """

    vectors: np.ndarray | None = None  # a row per node, or per graph
    kernel: np.ndarray | None = None  # graphs × graphs, positive semi-definite
    predictions: np.ndarray | None = None  # a class per node
    epochs: int = 0  # of training

    def points(self) -> np.ndarray:
        """Return the vectors; for a kernel matrix, vectors with these inner products, equivalent in a linear model."""
        if self.vectors is not None:
            return self.vectors
        if self.kernel is None:
            raise ValueError("predictions have no vectors; score them directly")
        values, directions = np.linalg.eigh(self.kernel)
        found: np.ndarray = directions * np.sqrt(np.clip(values, 0, None))
        return found


class Context(Protocol):
    """What several runs share: the device, and values that are computed once."""

    device: torch.device
    cache: ViewCache

    def shared(self, slot: str, key: object, make: Callable[[], Any]) -> Any:
        """Return ``make()``, computed once per key; a slot holds one value at a time."""


class Method:
    """One way to represent a dataset. A subclass in a file of this folder is registered under its name."""

    name: ClassVar[str]
    label: ClassVar[str]  # in tables
    tasks: ClassVar[tuple[str, ...]] = ("node", "graph")
    seeded: ClassVar[bool] = True  # False: the outcome is the same for every seed, and computed once
    trains: ClassVar[bool] = False  # False: takes far less time than training

    def __init_subclass__(cls) -> None:
        METHODS[cls.name] = cls()

    def seeds_together(self, dataset: Dataset, settings: Settings, device: torch.device) -> int:
        """Return how many seeds to compute in one call, if their scores can be computed together too."""
        if self.seeded:
            return 1
        return 50 if device.type == "cuda" else 10

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Return an outcome per seed, or a single one if the method is not seeded."""
        raise NotImplementedError
