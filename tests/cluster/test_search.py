"""A search on a cluster: the same trials as on one machine, also if a machine is lost."""

from __future__ import annotations

import threading

import networkx as nx
import pytest
from tests.cluster.conftest import Machines

from mvgrl.cluster.connection import connected
from mvgrl.cluster.search import ClusterTrials
from mvgrl.graphs import Graph
from mvgrl.tuning import Problem, search

pytest.importorskip("optuna", reason="needs the extra tune")


def test_trials_equal_those_of_one_machine_although_one_is_lost(machines: Machines) -> None:
    graph = Graph.from_scipy(nx.to_scipy_sparse_array(nx.planted_partition_graph(3, 20, 0.4, 0.03, seed=1)))
    problem = Problem(graph, None, {"epochs": 5, "hidden": 16, "layers": 1})

    def tell(text: str) -> None:
        if text.startswith("trial 2 of 4"):
            threading.Thread(target=machines.lose).start()

    with connected(machines.address) as ray:
        pool = ClusterTrials(ray, gpu=False)
        assert pool.together >= 2
        there = search(problem, 4, together=2, score=pool, tell=tell)
    machines.add()
    here = search(problem, 4, together=2)
    assert [trial.tuned for trial in there.trials] == [trial.tuned for trial in here.trials]
    assert [trial.score for trial in there.trials] == [trial.score for trial in here.trials]
