"""A comparison on a cluster: the same numbers as on one machine, also if a machine is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import networkx as nx
import numpy as np
from tests.cluster.conftest import Machines

from mvgrl.cluster.compare import ClusterContest
from mvgrl.cluster.connection import connected
from mvgrl.experiments.compare import compare
from mvgrl.experiments.contest import Contest, contest, own_dataset
from mvgrl.experiments.ledger import Ledger
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph


def clubs() -> Contest:
    graph = nx.planted_partition_graph(3, 30, 0.3, 0.02, seed=1)
    named = NamedGraph(Graph.from_scipy(nx.to_scipy_sparse_array(graph)), np.arange(90))
    return contest(own_dataset(named, np.repeat(["a", "b", "c"], 30)), ["spectral", "netmf"], splits=3, device="cpu")


def scores(ledger: Ledger) -> dict[tuple[str, int], dict[str, float]]:
    return {(run.variant, run.seed): run.scores for run in ledger}


def test_scores_equal_those_of_one_machine_although_one_is_lost(machines: Machines, tmp_path: Path) -> None:
    here, there = Ledger(tmp_path / "here.jsonl"), Ledger(tmp_path / "there.jsonl")
    compare(clubs(), here, separate=False)

    def tell(text: str) -> None:
        if "2 methods" in text:  # as soon as both have been started
            threading.Thread(target=machines.lose).start()

    with connected(machines.address) as ray:
        rows = compare(clubs(), there, pool=ClusterContest(ray), tell=tell)
    machines.add()
    assert scores(there) == scores(here)
    assert [row.failed for row in rows] == ["", ""]
    assert all(row.memory for row in rows)
