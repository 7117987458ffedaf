"""Batches of a stored graph, drawn ahead of the step that uses them, in the order of the seed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import torch

from mvgrl.sampling import Batch, NodeBatches


class DrawnAhead:
    """The batches of :class:`NodeBatches`, made by a thread while the step before runs.

    Every batch comes with the state of the random generator after it, and the caller's generator is moved there. So the
    numbers are those that would be drawn without the thread, and a checkpoint between two steps has the right state. If
    the model draws numbers, too, nothing can be made ahead, and batches are made when they are needed.
    """

    def __init__(self, batches: NodeBatches, depth: int = 2) -> None:
        self.batches, self.depth = batches, depth
        self.device, self.sampler, self.largest = batches.device, batches.sampler, batches.largest
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._made: queue.Queue[tuple[Batch | BaseException, torch.Tensor]] = queue.Queue(depth)
        self._expected: torch.Tensor | None = None

    def epoch(self, generator: torch.Generator) -> Iterator[Batch]:
        """The batches of one epoch: one."""
        if self._thread is not None and not torch.equal(generator.get_state(), self._expected):  # type: ignore[arg-type]
            self.close()
            self.depth = 0
        if not self.depth:
            yield from self.batches.epoch(generator)
            return
        if self._thread is None:
            self._start(generator)
        batch, after = self._made.get()
        if isinstance(batch, BaseException):
            raise batch
        generator.set_state(after)
        self._expected = after
        yield batch

    def close(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        while self._thread is not None and self._thread.is_alive():
            try:
                self._made.get(timeout=0.05)  # it may wait for a free place
            except queue.Empty:
                continue
        self._thread = None

    def _start(self, generator: torch.Generator) -> None:
        own = torch.Generator()
        own.set_state(generator.get_state())
        self._thread = threading.Thread(target=self._make, args=(own,), name="mvgrl-batches", daemon=True)
        self._thread.start()

    def _make(self, generator: torch.Generator) -> None:
        while not self._stopped.is_set():
            made: Batch | BaseException
            try:
                made = next(iter(self.batches.epoch(generator)))
            except BaseException as error:  # raised again where the batch is used
                made = error
            self._made.put((made, generator.get_state()))
            if isinstance(made, BaseException):
                return
