"""Training by several processes, each on samples of its own; every step uses the mean of their gradients.

The processes are started by Ray, or by ``torchrun``; without them, everything here leaves training unchanged. A sample
depends on the seed, the process and the epoch only, so a run that is resumed by as many processes has the same
bits. Only the first process writes checkpoints and is watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mvgrl.runtime import generator_for
from mvgrl.sampling import Batch


class Batched(Protocol):
    """Batches of a graph."""

    def epoch(self, generator: torch.Generator) -> Iterator[Batch]:
        """The batches of one epoch."""
        ...


def processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process; the first is 0."""
    return dist.get_rank() if processes() > 1 else 0


def synchronised(model: nn.Module) -> Callable[..., Tensor]:
    """Return the model, whose gradients become the mean over all processes."""
    if processes() == 1:
        return model
    devices = [next(model.parameters()).device] if next(model.parameters()).is_cuda else None
    return nn.parallel.DistributedDataParallel(model, device_ids=devices)


def mean_over_processes(value: float, device: torch.device) -> float:
    """Return the mean of a number over all processes."""
    if processes() == 1:
        return value
    total = torch.tensor(value, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return float(total) / processes()


def epochs_from(batches: Any, first: int, seed: int) -> Any:
    """Return the batches of this process, beginning with an epoch: those given, unless it is not the first process."""
    return batches if rank() == 0 else _OfProcess(batches, first, seed)


class _OfProcess:
    """Batches of which every epoch is drawn from the seed, the number of the process, and the number of the epoch."""

    def __init__(self, batches: Batched, first: int, seed: int) -> None:
        self.batches, self.following, self.seed = batches, first, seed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batches, name)

    def epoch(self, generator: torch.Generator) -> Iterator[Batch]:
        own = generator_for(self.seed, f"sampling, process {rank()}, epoch {self.following}")
        self.following += 1
        yield from self.batches.epoch(own)
