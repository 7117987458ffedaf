"""The optimizers of PyTorch without its compiler, whose import takes as long as that of all the rest."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch

Kind = TypeVar("Kind", bound=type[torch.optim.Optimizer])


def _without_compiler(kind: Kind) -> Kind:
    """Return an optimizer whose methods are not wrapped for ``torch.compile``, which nothing here uses.

    The wrappers import ``torch._dynamo`` when they are first called; the steps are the same to the bit.
    """
    plain: Callable[..., Any] = inspect.unwrap(kind.step)

    def step(self: torch.optim.Optimizer, closure: Callable[[], float] | None = None) -> Any:
        with torch.no_grad():
            return plain(self, closure)

    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    return type(kind.__name__, (kind,), {**methods, "step": step})  # type: ignore[return-value]


Adam = _without_compiler(torch.optim.Adam)
AdamW = _without_compiler(torch.optim.AdamW)
SGD = _without_compiler(torch.optim.SGD)
