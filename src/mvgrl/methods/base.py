"""The interface of methods: a dataset and seeds in, an outcome per seed out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

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
    predictions: np.ndarray | None = None  # a class per node; per graph, by a model trained on the other folds
    epochs: int = 0  # of training
    # Alternatives, one of which a protocol chooses inside each training fold; the fields above are used by protocols
    # that choose nothing.
    choices: tuple[Outcome, ...] = ()

    def points(self) -> np.ndarray:
        """Return the vectors; for a kernel matrix, vectors with these inner products, equivalent in a linear model."""
        if self.vectors is not None:
            return self.vectors
        if self.kernel is None:
            raise ValueError("predictions have no vectors; score them directly")
        values, directions = np.linalg.eigh(self.kernel)
        found: np.ndarray = directions * np.sqrt(np.clip(values, 0, None))
        kept = values > 1e-12 * values.max()  # the others are rounding errors, or negative
        return found[:, kept] if kept.any() else found[:, -1:]


class Context(Protocol):
    """What several runs share: the device, and values that are computed once."""

    device: torch.device
    cache: ViewCache

    def shared(self, slot: str, key: object, make: Callable[[], Any]) -> Any:
        """Return ``make()``, computed once per key; a slot holds one value at a time."""


@dataclass(frozen=True)
class Method:
    """One way to represent or to classify a dataset. A subclass in a file of this folder is registered under its name.

    A method that is a system of its own is a frozen dataclass: its fields are its hyper-parameters, with the defaults
    of the system's own paper or code, and ``source`` says which. Other methods follow the settings of ``mvgrl``.
    """

    name: ClassVar[str]
    label: ClassVar[str]  # in tables
    tasks: ClassVar[tuple[str, ...]] = ("node", "graph")
    seeded: ClassVar[bool] = True  # False: the outcome is the same for every seed, and computed once
    trains: ClassVar[bool] = False  # False: takes far less time than training
    supervised: ClassVar[bool] = False  # True: learns from the labels of the train nodes or folds, and predicts
    preset: ClassVar[str] = "paper"  # how it is trained and makes vectors in a comparison
    source: ClassVar[str] = ""  # where the hyper-parameters come from
    on_datasets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # hyper-parameters that the source changes, by dataset

    def for_dataset(self, name: str) -> Self:
        """Return the method with the hyper-parameters that its source uses on a dataset."""
        return replace(self, **self.on_datasets.get(name, {}))

    @property
    def parameters(self) -> dict[str, Any]:
        """The hyper-parameters; empty if the method follows the settings of ``mvgrl``."""
        return asdict(self)

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


def registered(base: type[Method] = Method) -> dict[str, Method]:
    """Return all subclasses that have a name of their own, with their default hyper-parameters, by name."""
    found = {base.name: base()} if "name" in vars(base) else {}
    for one in base.__subclasses__():
        found |= registered(one)
    return found
