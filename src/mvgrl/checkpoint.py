"""A run on disk: all that a later process needs to go on bit for bit, in a file that cannot run code."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mvgrl.errors import CheckpointError
from mvgrl.tables.atomic import atomic_write

_FORMAT = "mvgrl-checkpoint-1"


@dataclass
class History:
    """The loss of every epoch, and which was the lowest.

    >>> history = History()
    >>> for loss in (1.5, 0.5, 0.7):
    ...     history.add(loss)
    >>> history.best_epoch, history.best_loss, history.waited
    (2, 0.5, 1)
    """

    losses: list[float] = field(default_factory=list)
    best_epoch: int = 0  # from 1; 0 before the first

    @property
    def best_loss(self) -> float:
        """The lowest loss."""
        return self.losses[self.best_epoch - 1] if self.losses else math.inf

    @property
    def waited(self) -> int:
        """Epochs since the lowest loss."""
        return len(self.losses) - self.best_epoch

    def add(self, loss: float) -> None:
        """Note the loss of one more epoch."""
        lowest = loss < self.best_loss
        self.losses.append(loss)
        if lowest:
            self.best_epoch = len(self.losses)


class RunState:
    """A run between two epochs: weights, optimizer, random state, history, and the best weights so far."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator, identity: str
    ) -> None:
        self.model, self.optimizer, self.generator = model, optimizer, generator
        self.identity = identity  # of settings, seed and graph: a run resumes only itself
        self.history = History()
        self.best: dict[str, Tensor] = {}

    def keep_best(self) -> None:
        """Take the present weights as the best."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}

    def restore_best(self) -> None:
        """Go back to the best weights."""
        if self.best:
            self.model.load_state_dict(self.best)

    def save(self, path: Path) -> None:
        """Write it whole: a crash leaves the old file or the new one."""
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        for index, values in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in values.items()}
        tensors["generator"] = self.generator.get_state()
        about = {"format": _FORMAT, "identity": self.identity, "losses": self.history.losses}
        with atomic_write(path) as temporary:
            write_tensors(temporary, tensors, metadata={"mvgrl": json.dumps(about)})

    def load(self, path: Path) -> None:
        """Take everything over from a file written by :meth:`save` in a run with the same settings, seed and graph."""
        about, tensors = _read(path)
        if about["identity"] != self.identity:
            raise CheckpointError(
                f"{path} is of another run ({about['identity']}, this one is {self.identity}): resume with the "
                "settings, seed and graph it was started with, or start anew under another name"
            )
        try:
            self.model.load_state_dict(_part(tensors, "model"))
            state = self.optimizer.state_dict()
            for name, tensor in _part(tensors, "optimizer").items():
                index, entry = name.split("/")
                state["state"].setdefault(int(index), {})[entry] = tensor
            self.optimizer.load_state_dict(state)
            self.generator.set_state(tensors["generator"])
        except (KeyError, RuntimeError, ValueError) as error:
            raise CheckpointError(f"{path} does not fit this model ({error}); start anew under another name") from error
        device = next(self.model.parameters()).device
        self.best = {name: tensor.to(device) for name, tensor in _part(tensors, "best").items()}
        _replay(self.history, about["losses"])


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """A safetensors file; through Python, since the package's own writing hides what a disk has against it."""
    from safetensors.torch import save

    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, metadata))


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["mvgrl"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if about["format"] != _FORMAT:
            raise CheckpointError(f"{path} has format {about['format']}, and this version reads {_FORMAT}; start anew")
    except FileNotFoundError:
        raise CheckpointError(f"{path} is not there; nothing can be resumed from it, start without resume") from None
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} is not a checkpoint of mvgrl, or it is damaged ({error}); start anew") from None
    return about, tensors


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    start = len(prefix) + 1
    return {name[start:]: tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}/")}


def _replay(history: History, losses: Iterable[float]) -> None:
    for loss in losses:
        history.add(loss)
