"""A comparison on a cluster: a Ray task per method, which has a machine's cores, or a GPU, to itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mvgrl.cluster.connection import RETRIES, connected, cpus_of_a_machine, prepare_process, result_of

if TYPE_CHECKING:
    from mvgrl.experiments.contest import Contest
    from mvgrl.experiments.contest_process import Result, Todo


@dataclass(frozen=True)
class ClusterContest:
    """Starts all methods of a comparison at once; their times are comparable if the machines are alike."""

    ray: Any

    def __call__(self, contest: Contest, todo: Sequence[Todo]) -> Callable[[Contest, Todo], Iterator[Result]]:
        """Return a function that waits for the results of one of the groups of contenders."""
        ray, gpu = self.ray, contest.device.startswith("cuda")
        cpus = 1 if gpu else cpus_of_a_machine(ray)
        remote = ray.remote(num_cpus=cpus, num_gpus=int(gpu), max_retries=RETRIES)(_results)
        given = ray.put(contest)
        waiting = {id(some): remote.remote(given, some) for some in todo}

        def results(contest: Contest, some: Todo) -> Iterator[Result]:
            try:
                yield from result_of(ray, waiting.pop(id(some)))
            except BaseException:
                for reference in waiting.values():
                    ray.cancel(reference, force=True)
                raise

        return results


def _results(contest: Contest, todo: Todo) -> list[Result]:
    import ray

    prepare_process(int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))

    from mvgrl.experiments.contest_process import separate_results

    return list(separate_results(contest, todo))


@contextmanager
def contest_on(address: str | None) -> Iterator[ClusterContest | None]:
    """Yield what runs a comparison on the cluster at an address; None without an address."""
    if address is None:
        yield None
        return
    with connected(address) as ray:
        yield ClusterContest(ray)
