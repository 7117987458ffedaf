"""Experiments on a cluster: the same ledger as on one machine, also if a machine is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from tests.cluster.conftest import Machines

from mvgrl.cluster.connection import connected
from mvgrl.cluster.experiments import ClusterPool
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.parallel import run_tasks
from mvgrl.experiments.planner import Task, missing, plan

CPU = torch.device("cpu")


def mutag_tasks(runs: int) -> list[Task]:
    """A few quick controls on MUTAG."""
    steps = [s for s in plan(EXPERIMENTS["graph-classification"], ["mutag"], runs=runs) if not s.variant.how.trains]
    return list(missing(steps, Ledger(Path("/nonexistent"))))


def scores(ledger: Ledger) -> dict[tuple[str, int], dict[str, float]]:
    return {(run.variant, run.seed): run.scores for run in ledger}


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], dict[str, float]]:
    ledger = Ledger(tmp_path_factory.mktemp("alone") / "runs.jsonl")
    run_tasks(mutag_tasks(3), ledger, CPU, data_root=data)
    return scores(ledger)


def test_runs_equal_those_of_one_machine_although_one_is_lost(
    machines: Machines, data: Path, alone: dict[tuple[str, int], dict[str, float]], tmp_path: Path
) -> None:
    ledger, said = Ledger(tmp_path / "runs.jsonl"), []

    def tell(text: str) -> None:
        said.append(text)
        if len(said) == 2:  # after the first run
            threading.Thread(target=machines.lose).start()

    with connected(machines.address) as ray:
        run_tasks(mutag_tasks(3), ledger, CPU, data_root=data, pool=ClusterPool(ray), tell=tell)
    machines.add()
    assert len(alone) >= 6
    assert scores(ledger) == alone
    assert "machines" in said[0]
