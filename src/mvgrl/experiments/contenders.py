"""The contenders of a comparison: methods by name, and which of them are compared unless others are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from mvgrl.datasets import Dataset
from mvgrl.errors import SettingsError, check_name
from mvgrl.methods import METHODS, Method
from mvgrl.settings import Output

DEFAULT = "default"  # the name of the vectors that mvgrl embed writes; "mvgrl" are those of the paper
_LABELS = {"mvgrl": "MVGRL, as in the paper", DEFAULT: "default vectors"}
# In this order; a method that is not registered is omitted.
_NODES = ("raw", "propagated-beside", "netmf", "deepwalk", "dgi", "cca-ssg", "graphmae", "mvgrl", DEFAULT)
_GRAPHS = ("histogram", "wl", "untrained", "infograph", "mvgrl", DEFAULT)
_NETMF_NODES = {"cpu": 20_000, "cuda": 100_000}  # NetMF takes time quadratic in the nodes: beyond, spectral vectors


@dataclass(frozen=True)
class Contender:
    """A method with its hyper-parameters, under the name that a user types."""

    id: str
    method: Method
    output: Output = field(default_factory=lambda: Output(preset="paper"))

    @property
    def label(self) -> str:
        """The name in tables."""
        return _LABELS.get(self.id, self.method.label)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The hyper-parameters of a method that is a system of its own, with its name; empty for the others."""
        return {"name": self.method.name, **self.method.parameters} if self.method.source else {}


def contenders(
    dataset: Dataset, names: Sequence[str] | None = None, *, device: str = "cpu", epochs: int | None = None
) -> list[Contender]:
    """Return the contenders of these names, or the usual ones for a dataset; ``epochs`` limits all that train.

    >>> from mvgrl.graphs import Graph
    >>> import numpy as np
    >>> path = Dataset("path", Graph.from_edges([0, 1], [1, 2]), np.array([0, 1, 0]), "node", None, ("a", "b"), "")
    >>> [one.label for one in contenders(path, ["netmf", "default"])]
    ['NetMF', 'default vectors']
    >>> contenders(path, ["netfm"])
    Traceback (most recent call last):
    ...
    mvgrl.errors.SettingsError: unknown method 'netfm'; did you mean 'netmf'? Choose one of ...
    """
    if names is None:
        names = [name for name in _usual(dataset, device) if name in METHODS or name == DEFAULT]
    for name in names:
        _check(name, dataset)
    return [_contender(name, dataset.name, epochs) for name in dict.fromkeys(names)]


def names_for(task: str, *, supervised: bool = True) -> list[str]:
    """Return the names of all contenders for a task."""
    fitting = [name for name, one in METHODS.items() if task in one.tasks and (supervised or not one.supervised)]
    return [DEFAULT, *sorted(fitting)]


def _usual(dataset: Dataset, device: str) -> Sequence[str]:
    if dataset.task == "graph":
        return _GRAPHS
    most = _NETMF_NODES["cpu" if device == "cpu" else "cuda"]
    return _NODES if dataset.graph.nodes <= most else ["spectral" if name == "netmf" else name for name in _NODES]


def _check(name: str, dataset: Dataset) -> None:
    """Refuse an unknown method, one for another task, and one that needs labels where there are none."""
    fitting = names_for(dataset.task)
    if name in METHODS and name not in fitting:
        here = "many graphs" if dataset.task == "graph" else "the nodes of one graph"
        raise SettingsError(f"the method {name!r} is not for {here}; choose one of {', '.join(map(repr, fitting))}")
    check_name("method", name, fitting)
    if name in METHODS and METHODS[name].supervised and not dataset.classes:
        raise SettingsError(f"the method {name!r} learns from labels, and there are none; give labels, or omit it")


def _contender(name: str, dataset: str, epochs: int | None) -> Contender:
    method = METHODS["mvgrl" if name == DEFAULT else name].for_dataset(dataset)
    if epochs is not None and any(f.name == "epochs" for f in fields(method)):
        method = replace(method, **{"epochs": min(epochs, method.parameters["epochs"])})
    return Contender(name, method, Output(preset="default" if name == DEFAULT else method.preset))
