"""A training step as one CUDA graph: its kernels are recorded once and replayed, so none is launched separately.

A step on a small graph is a hundred kernels that take microseconds each, and the GPU waits for Python to launch them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from mvgrl.components import Custom
from mvgrl.sampling import GraphBatches, NodeBatches
from mvgrl.settings import Settings, kinds

_STEPS_BEFORE = 3  # run as they are: libraries allocate their workspaces, and the optimizer its state
# Numbers in the codes of all nodes and seeds. Above this the arithmetic takes longer than the launches, and a recorded
# step keeps its memory.
_LARGEST = 2**27


def can_be_captured(settings: Settings, batches: NodeBatches | GraphBatches, seeds: int = 1) -> bool:
    """Whether every step runs the same kernels on the same memory: the whole graph, with nothing random in the model.

    User-defined components are excluded: they may read values back from the GPU, which cannot be recorded.
    """
    custom = any(isinstance(getattr(settings, name), Custom) for name in kinds() if name != "views")
    return (
        batches.device.type == "cuda"
        and isinstance(batches, NodeBatches)
        and not batches.sampler.samples
        and batches.permute
        and batches.corrupted_views is None
        and settings.stackable
        and not custom
        and batches.largest * settings.hidden * seeds <= _LARGEST
    )


class Captured:
    """A step that runs normally a few times, and is then recorded and replayed.

    The step reads its inputs from tensors that are refilled between calls, and returns its result in a tensor.
    """

    def __init__(self, step: Callable[[], Tensor], device: torch.device) -> None:
        self.step, self.device = step, device
        self.steps = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.result: Tensor

    def __call__(self) -> Tensor:
        self.steps += 1
        with torch.cuda.device(self.device):  # which need not be the current one
            if self.steps <= _STEPS_BEFORE:
                return self._as_it_is()
            if self.graph is None:
                self._record()
            assert self.graph is not None
            self.graph.replay()
        return self.result

    def _as_it_is(self) -> Tensor:
        """Run the step on a stream of its own, as recording does."""
        current, stream = torch.cuda.current_stream(self.device), torch.cuda.Stream(self.device)
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            result = self.step()
        current.wait_stream(stream)
        return result

    def _record(self) -> None:
        """Record the step without running it."""
        with _without_garbage_collection():
            torch.cuda.empty_cache()  # the recorded step has memory of its own
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = self.step()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Collect garbage now and not within the block: an earlier recorded step that is freed would break a recording."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
