"""A search on a cluster: the trials that are proposed together are Ray tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mvgrl.cluster.connection import RETRIES, connected, cpus_of_a_machine, prepare_process, result_of

if TYPE_CHECKING:
    from mvgrl.tuning import Problem
    from mvgrl.tuning.search import Scored

_ON_A_GPU = 4  # trials that share a GPU


@dataclass
class ClusterTrials:
    """Scores trials on a cluster, as many at once as it has machines, or shares of GPUs."""

    ray: Any
    gpu: bool
    _given: Any = None  # the problem, sent once

    @property
    def together(self) -> int:
        """How many trials to propose at once."""
        resources = self.ray.cluster_resources()
        if self.gpu:
            return max(1, int(_ON_A_GPU * resources.get("GPU", 0)))
        return max(1, sum(1 for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1))

    def __call__(self, problem: Problem, batch: Sequence[Mapping[str, Any]]) -> list[Scored]:
        """Score settings; a trial whose machine is lost runs again on another."""
        ray = self.ray
        if self._given is None:
            self._given = ray.put(problem)
        cpus, gpus = (1, 1 / _ON_A_GPU) if self.gpu else (cpus_of_a_machine(ray), 0)
        remote = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)(_scored)
        waiting = [remote.remote(self._given, tuned) for tuned in batch]
        try:
            return [result_of(ray, one) for one in waiting]
        except BaseException:
            for one in waiting:
                ray.cancel(one, force=True)
            raise


def _scored(problem: Problem, tuned: Mapping[str, Any]) -> Scored:
    import ray

    prepare_process(int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))

    from mvgrl.tuning.search import scored

    return scored(problem, tuned)


@contextmanager
def trials_on(address: str | None, device: str) -> Iterator[ClusterTrials | None]:
    """Yield what scores trials on the cluster at an address; None without an address."""
    if address is None:
        yield None
        return
    with connected(address) as ray:
        yield ClusterTrials(ray, device.startswith("cuda"))
