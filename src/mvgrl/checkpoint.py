"""A checkpoint: everything a later process needs to continue a run bit for bit, in a file that cannot run code.

All of it is checked before any of it is used: the fused optimizer, for one, trusts that its state has the shapes of the
parameters, and would read and write past the end of shorter tensors.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mvgrl.errors import CheckpointError, shown
from mvgrl.history import History, checked_losses
from mvgrl.model import MVGRL
from mvgrl.parsing import parse_json
from mvgrl.tables.atomic import atomic_write
from mvgrl.tensor_file import Layout, TensorFile, check_layouts, check_values, open_tensors, write_tensors

_FORMAT = "mvgrl-checkpoint-1"
_ADAM = ("step", "exp_avg", "exp_avg_sq")  # its state for every parameter that has had a gradient


class RunState:
    """A run between two epochs: weights, optimizer, random state, history and the best weights so far."""

    def __init__(
        self, model: MVGRL, optimizer: torch.optim.Optimizer, generator: torch.Generator, identity: str
    ) -> None:
        self.model, self.optimizer, self.generator = model, optimizer, generator
        self.identity = identity  # settings, seed and graph: a run resumes only itself
        self.history = History()
        self.best: dict[str, Tensor] = {}

    def keep_best(self) -> None:
        """Remember the current weights as the best."""
        weights = {name: tensor.detach() for name, tensor in self.model.state_dict().items()}
        if self.best:
            torch._foreach_copy_([self.best[name] for name in weights], list(weights.values()))  # one kernel for all
        else:
            self.best = {name: tensor.clone() for name, tensor in weights.items()}

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
        settings = self.model.settings.content
        about = {"format": _FORMAT, "identity": self.identity, "settings": settings, "losses": self.history.losses}
        with atomic_write(path) as temporary:
            write_tensors(temporary, tensors, metadata={"mvgrl": json.dumps(about)})

    def load(self, path: Path) -> None:
        """Restore everything from a file written by :meth:`save` in a run with the same settings, seed and graph."""
        try:
            with open_tensors(path) as file:
                losses = self._checked(path, file)
                parts = {part: file.read(f"{part}/") for part in ("model", "best", "optimizer")}
                generator = file.read("generator")[""]
            for tensors in parts.values():
                check_values(tensors)
            _check_steps(parts["optimizer"])
            _check_generator(generator, self.generator)
        except FileNotFoundError:
            raise CheckpointError(f"there is no checkpoint {path}; start without resume") from None
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"{path} is not an mvgrl checkpoint, or it is damaged ({error}); start a new run"
            ) from None
        self._restore(parts, generator)
        self.history = History.replay(losses)

    def _checked(self, path: Path, file: TensorFile) -> list[float]:
        """Check the metadata and the layout of every tensor; return the losses."""
        about = parse_json(file.metadata.get("mvgrl", ""))
        if not isinstance(about, dict):
            raise ValueError("its metadata is not a mapping")
        if about.get("format") != _FORMAT:
            raise CheckpointError(
                f"{path} has format {shown(about.get('format'))}, but this version reads {_FORMAT!r}; start a new run"
            )
        identity = about.get("identity")
        if not isinstance(identity, str):
            raise ValueError("it does not say which run it belongs to")
        if identity != self.identity:
            raise CheckpointError(
                f"{path} belongs to another run: {self._difference(identity, about.get('settings'))}; resume as it was "
                "started, or start a new run under another name"
            )
        losses = checked_losses(about.get("losses"), self.model.settings.epochs)
        check_layouts(file.layouts, self._expected(file, trained=bool(losses)))
        return losses

    def _difference(self, identity: str, settings: object) -> str:
        """Say what differs between this run and the one that a file belongs to."""
        own = self.model.settings.content
        before = settings if isinstance(settings, dict) else own
        changed = [
            f"{name} was {shown(before.get(name))}, not {shown(own.get(name))}"
            for name in sorted({*own, *before})
            if before.get(name) != own.get(name)
        ]
        if not changed:
            names = ("settings", "seed", "graph")
            pairs = zip(names, identity.split("-"), self.identity.split("-"), strict=False)
            changed = [
                f"its {name} {'are' if name == 'settings' else 'is'} different" for name, a, b in pairs if a != b
            ]
        return ", ".join(changed[:5]) or "its name is different"

    def _expected(self, file: TensorFile, *, trained: bool) -> dict[str, Layout]:
        """The layout of every tensor of this run; before the first epoch, there is nothing best and no optimizer."""
        weights = {name: Layout.of(tensor) for name, tensor in self.model.state_dict().items()}
        expected = {f"model/{name}": layout for name, layout in weights.items()}
        expected["generator"] = Layout.of(self.generator.get_state())
        if not trained:
            return expected
        expected |= {f"best/{name}": layout for name, layout in weights.items()}
        for index, parameter in enumerate(self._learned()):
            names = {entry: f"optimizer/{index}/{entry}" for entry in _ADAM}
            if not any(name in file.layouts for name in names.values()):
                continue  # the loss does not depend on it
            expected |= dict.fromkeys(names.values(), Layout.of(parameter))
            expected[names["step"]] = Layout((), torch.float32)
        if not any(name.startswith("optimizer/") for name in expected):
            raise ValueError("it has no state of the optimizer")
        return expected

    def _learned(self) -> list[Tensor]:
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    def _restore(self, parts: dict[str, dict[str, Tensor]], generator: Tensor) -> None:
        self.model.load_state_dict(parts["model"])
        state: dict[str, Any] = self.optimizer.state_dict()
        for name, tensor in parts["optimizer"].items():
            index, entry = name.split("/")
            state["state"].setdefault(int(index), {})[entry] = tensor
        self.optimizer.load_state_dict(state)
        self.generator.set_state(generator)
        device = next(self.model.parameters()).device
        self.best = {name: tensor.to(device) for name, tensor in parts["best"].items()}


def _check_steps(optimizer: dict[str, Tensor]) -> None:
    for name, tensor in optimizer.items():
        if name.endswith("/step") and (float(tensor) < 1 or float(tensor) % 1):
            raise ValueError(f"tensor 'optimizer/{name}' is {float(tensor)}, not a number of steps")


def _check_generator(state: Tensor, own: torch.Generator) -> None:
    """Reject a state of torch's Mersenne Twister from which it would read past the end of its numbers.

    The state begins with the seed, the count of numbers left, whether it is seeded, and the place of the next number;
    it ends with a number drawn in advance from the normal distribution, in two precisions, and whether there is one.
    """
    content = state.numpy().tobytes()
    seed, left, seeded, following = struct.unpack_from("=QiiQ", content)
    double, single = struct.unpack_from("=i", content, 5040)[0], content[5052]
    place = (left, following) == (1, 0) or (1 <= left <= 624 and left + following == 625)
    if (seed, seeded) != (own.initial_seed(), 1) or not place or {double, single} - {0, 1}:
        raise ValueError("tensor 'generator' is not a state of this run's random generator")
