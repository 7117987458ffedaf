"""Tables, ablations and the arena on a cluster: a Ray task per run, or per stack of runs, and one ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mvgrl.cluster.connection import RETRIES, connected, cpus_of_a_machine, prepare_process, result_of

if TYPE_CHECKING:
    import torch

    from mvgrl.experiments.ledger import Ledger, Run
    from mvgrl.experiments.parallel import Piece, Worker
    from mvgrl.experiments.runner import Progress

_ON_A_GPU = 4  # tasks that share a GPU


@dataclass(frozen=True)
class ClusterPool:
    """Runs pieces on a cluster. Their lines come back to this process, which alone writes the ledger.

    The machines need mvgrl, and the datasets in the same folder or by download.
    """

    ray: Any

    def __call__(
        self, todo: Sequence[Piece], ledger: Ledger, device: torch.device, data_root: Path | None, tell: Progress
    ) -> list[Piece]:
        """Run the pieces; return those that ran out of memory because they shared a GPU."""
        root = None if data_root is None else data_root.absolute()
        tell(f"{len(todo)} pieces on {len(self._machines())} machines")
        waiting = {self._remote(piece, device).remote(piece, str(device), root): piece for piece in todo}
        crowded, done = [], 0
        try:
            while waiting:
                (ready,), _ = self.ray.wait(list(waiting), num_returns=1)
                piece = waiting.pop(ready)
                lines, messages, left = result_of(self.ray, ready)
                ledger.add(lines)
                done += 1
                for text in messages:
                    tell(f"{text} ({done} of {len(todo)})")
                crowded += [piece] if left else []
        finally:
            for reference in waiting:  # after an error or an interrupt
                self.ray.cancel(reference, force=True)
        return crowded

    def _remote(self, piece: Piece, device: torch.device) -> Any:
        """Return the remote function with what a piece needs: a core for graphs, all cores of a machine for nodes."""
        nodes = piece[0].recipe.settings.task == "node"
        cpus = cpus_of_a_machine(self.ray) if nodes and device.type == "cpu" else 1
        gpus = 1 / _ON_A_GPU if device.type == "cuda" else 0
        return self.ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)(_run).options(name="mvgrl run")

    def _machines(self) -> list[Any]:
        return [node for node in self.ray.nodes() if node["Alive"]]


@contextmanager
def pool_on(address: str | None) -> Iterator[ClusterPool | None]:
    """Yield a pool on the cluster at an address; None without an address."""
    if address is None:
        yield None
        return
    with connected(address) as ray:
        yield ClusterPool(ray)


_worker: Worker | None = None  # of this process, which keeps the dataset and its views between pieces


def _run(piece: Piece, device: str, data_root: Path | None) -> tuple[list[Run], list[str], bool]:
    """Run a piece on a machine of the cluster; return its lines, its messages, and whether it must run by itself."""
    import ray

    prepare_process(int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))

    import torch

    from mvgrl.experiments.ledger import CollectedRuns
    from mvgrl.experiments.parallel import Worker
    from mvgrl.experiments.runner import CrowdedError, RunContext
    from mvgrl.views import ViewCache

    global _worker
    if _worker is None or _worker.data_root != data_root:
        context = RunContext(CollectedRuns(), torch.device(device), print, ViewCache(), crowded="cuda" in device)
        _worker = Worker(context, data_root)
    runs = CollectedRuns()
    messages: list[str] = []
    _worker.context.ledger, _worker.context.tell = runs, messages.append
    try:
        _worker.do(piece)
    except CrowdedError:
        return list(runs), messages, True
    return list(runs), messages, False
