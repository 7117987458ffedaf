"""Connections to a cluster, and what goes wrong there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.cluster.conftest import Machines

from mvgrl.cluster.connection import connected, cpus_of_a_machine, result_of
from mvgrl.errors import InputError, MachineError


def bad_input() -> None:
    raise InputError("edges.csv, line 3: no target")


def killed() -> None:
    os._exit(1)


def test_an_error_of_a_task_is_raised_as_it_is(machines: Machines) -> None:
    with connected(machines.address) as ray, pytest.raises(InputError, match=r"^edges.csv, line 3: no target$"):
        result_of(ray, ray.remote(bad_input).remote())


def test_a_lost_task_is_an_error_of_the_machine(machines: Machines) -> None:
    with connected(machines.address) as ray, pytest.raises(MachineError, match="run it again"):
        result_of(ray, ray.remote(max_retries=0)(killed).remote())


def test_the_smallest_machine_counts(machines: Machines) -> None:
    with connected(machines.address) as ray:
        assert cpus_of_a_machine(ray) == 1


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "ray://nowhere", "nonsense"])
def test_an_address_without_a_cluster_is_an_error(address: str) -> None:
    pytest.importorskip("ray", reason="needs the extra cluster")
    code = f"import mvgrl.cluster.connection as c\nwith c.connected({address!r}): pass"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"InputError: no Ray cluster answers at {address!r}" in run.stderr, run.stderr[-2000:]


def test_importing_the_package_does_not_import_ray() -> None:
    code = "import sys, mvgrl.cluster.experiments, mvgrl.cluster.connection; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
