"""A checkpoint: everything a later process needs to continue a run bit for bit, in a file that cannot run code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mvgrl.errors import CheckpointError
from mvgrl.history import History
from mvgrl.tables.atomic import atomic_write

_FORMAT = "mvgrl-checkpoint-1"


class RunState:
    """A run between two epochs: weights, optimizer, random state, history and the best weights so far."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator, identity: str
    ) -> None:
        self.model, self.optimizer, self.generator = model, optimizer, generator
        self.identity = identity  # settings, seed and graph: a run resumes only itself
        self.history = History()
        self.best: dict[str, Tensor] = {}

    def keep_best(self) -> None:
        """Remember the current weights as the best."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}

    def restore_best(self) -> None:
        """Restore the best weights."""
        if self.best:
            self.model.load_state_dict(self.best)

    def save(self, path: Path) -> None:
        """Write the checkpoint atomically: a crash leaves the old file or the new one."""
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        for index, values in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in values.items()}
        tensors["generator"] = self.generator.get_state()
        about = {"format": _FORMAT, "identity": self.identity, "losses": self.history.losses}
        with atomic_write(path) as temporary:
            write_tensors(temporary, tensors, metadata={"mvgrl": json.dumps(about)})

    def load(self, path: Path) -> None:
        """Restore everything from a file written by :meth:`save` in a run with the same settings, seed and graph."""
        about, tensors = _read(path)
        if about["identity"] != self.identity:
            raise CheckpointError(
                f"{path} belongs to another run ({about['identity']}, this one is {self.identity}): resume with the "
                "settings, seed and graph it was started with, or start a new run under another name"
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
            raise CheckpointError(
                f"{path} does not fit this model ({error}); start a new run under another name"
            ) from error
        device = next(self.model.parameters()).device
        self.best = {name: tensor.to(device) for name, tensor in _part(tensors, "best").items()}
        self.history = History.replay(about["losses"])


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file through Python, since the package's writer hides the reason when the disk refuses."""
    from safetensors.torch import save

    path.write_bytes(save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, metadata))


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["mvgrl"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if about["format"] != _FORMAT:
            raise CheckpointError(
                f"{path} has format {about['format']}, but this version reads {_FORMAT}; start a new run"
            )
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint {path}; start without resume") from None
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{path} is not an mvgrl checkpoint, or it is damaged ({error}); start a new run"
        ) from None
    return about, tensors


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    start = len(prefix) + 1
    return {name[start:]: tensor for name, tensor in tensors.items() if name.startswith(f"{prefix}/")}
