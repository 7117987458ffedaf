"""Optimizers take the steps of PyTorch's own, and continue from their state."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mvgrl import optimizers


def trained(kind: Any, steps: int, state: dict[str, Any] | None = None, **options: Any) -> tuple[torch.Tensor, Any]:
    weight = torch.arange(6.0).reshape(2, 3).requires_grad_()
    optimizer = kind([weight], lr=0.1, **options)
    if state is not None:
        weight.data, saved = state["weight"].clone(), state["optimizer"]
        optimizer.load_state_dict(saved)
    for _ in range(steps):
        optimizer.zero_grad()
        (weight.sin() * torch.arange(3.0)).sum().backward()
        optimizer.step()
    return weight.detach().clone(), optimizer


@pytest.mark.parametrize("options", [{}, {"fused": True}, {"weight_decay": 0.1}], ids=str)
@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_steps_equal_those_of_pytorch_to_the_bit(name: str, options: dict[str, Any]) -> None:
    ours, theirs = (trained(getattr(place, name), 9, **options)[0] for place in (optimizers, torch.optim))
    assert torch.equal(ours, theirs)
    assert not torch.equal(ours, trained(getattr(optimizers, name), 8, **options)[0])


def test_a_saved_state_is_continued() -> None:
    weight, optimizer = trained(optimizers.Adam, 4)
    rest, _ = trained(optimizers.Adam, 5, {"weight": weight, "optimizer": optimizer.state_dict()})
    assert torch.equal(rest, trained(torch.optim.Adam, 9)[0])
