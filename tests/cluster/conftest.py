"""A Ray cluster of three machines on this one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# A killed machine refuses connections, and is known to be lost after five of them. Ray asks every three seconds.
# Its workers give way to all other processes (niceness 15), and would get no time beside the other tests.
QUICK = {"health_check_period_ms": 200, "health_check_initial_delay_ms": 0, "worker_niceness": 0}


class Machines:
    """A cluster of three machines with a core each, of which one can be lost and replaced."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={
                **{"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False},
                "_system_config": QUICK,
            },
        )
        self._others: list[Any] = []
        self.add()
        self.add()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self) -> None:
        self._others.append(self._cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20))

    def lose(self) -> None:
        """Kill a machine and everything that runs there."""
        self._cluster.remove_node(self._others.pop(0), allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()


_started: list[Machines] = []


@pytest.fixture
def machines() -> Machines:
    """The cluster that the tests of this folder share."""
    ray = pytest.importorskip("ray", reason="needs the extra cluster")
    if not _started:
        _started.append(Machines())
        ray.init(address=_started[0].address, log_to_driver=False, logging_level="error")
    return _started[0]


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the cluster after the last test of this folder: others check addresses where there is no cluster."""
    if _started and (nextitem is None or Path(__file__).parent not in nextitem.path.parents):
        import ray

        ray.shutdown()
        _started.pop().close()
