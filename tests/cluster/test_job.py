"""A job out of core on a cluster: the bits of one process, also if a machine is lost in every stage."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.cluster.conftest import Machines

from mvgrl.automatic import resolve
from mvgrl.cluster.connection import connected
from mvgrl.cluster.job import ClusterJob, Order, train_process
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.features import StreamedFacts
from mvgrl.outofcore.job import Job
from mvgrl.outofcore.plan import Plan
from mvgrl.outofcore.shards import Shards
from mvgrl.settings import Output

NODES = 400
SETTINGS = {
    **{"task": "node", "hidden": 16, "layers": 2, "epochs": 12, "sampler": "walk", "sample_size": 100},
    "views": ["adjacency", "ppr:top_k=16", "heat:top_k=8"],
}


def make_graph(folder: Path) -> StoredGraph:
    rng = np.random.default_rng(0)
    ends = rng.integers(NODES, size=(2, 4 * NODES))
    graph = Graph.from_edges(*ends, nodes=NODES, features=rng.standard_normal((NODES, 20)).astype(np.float32))
    return StoredGraph.write(folder, NamedGraph(graph, np.arange(NODES) * 3))


def make_job(graph: StoredGraph, folder: Path, **more: int) -> Job:
    facts = StreamedFacts(graph)
    resolved, output = resolve(graph, {**SETTINGS, **more}, streamed=facts), Output(dim=24).for_task("node")
    whole = Plan.make(graph, resolved.settings, output, 2**31, threads=1)
    made = whole.cut_as(40, 12, graph, resolved.settings, output)
    return Job(graph, resolved, output, folder, made, facts=facts, checkpoint_every=0)


def everything(vectors: Shards) -> np.ndarray:
    return np.concatenate([vectors.read(shard) for shard in range(len(vectors.ranges))])


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> StoredGraph:
    return make_graph(tmp_path_factory.mktemp("graph") / "graph")


@pytest.fixture(scope="module")
def alone(graph: StoredGraph, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as many as a machine of the cluster has
    try:
        job = make_job(graph, tmp_path_factory.mktemp("alone") / "job")
        job.start()
        job.diffuse()
        return everything(job.vectors(job.train()))
    finally:
        torch.set_num_threads(before)


def losing(machines: Machines, path: Path) -> threading.Thread:
    """Lose a machine as soon as a file exists, or anything is written to a folder."""

    def content() -> set[Path]:
        return {path, *path.rglob("*")} if path.exists() else set()

    def lose() -> None:
        before, limit = content(), time.monotonic() + 120
        while time.monotonic() < limit and content() == before:
            time.sleep(0.01)
        machines.lose()

    thread = threading.Thread(target=lose)
    thread.start()
    return thread


def test_a_cluster_that_loses_machines_gives_the_bits_of_one_process(
    machines: Machines, graph: StoredGraph, alone: np.ndarray, tmp_path: Path
) -> None:
    job, said = make_job(graph, tmp_path / "job"), []
    job.start()
    with connected(machines.address) as ray:
        cluster = ClusterJob(ray, tell=said.append)
        lost = losing(machines, job.folder)
        cluster.diffuse(job)
        job.diffuse()
        lost.join()
        machines.add()
        cluster.train(job)
        trained = job.train()
        lost = losing(machines, job.folder)
        cluster.vectors(job, trained)
        lost.join()
        machines.add()
    np.testing.assert_array_equal(everything(job.vectors(trained)), alone)
    assert [text.split(" on ")[0] for text in said] == ["diffusion", "training", "vectors"]


def together(graph: StoredGraph, folder: Path) -> Job:
    """A job whose two processes train together, ready for that."""
    job = make_job(graph, folder, epochs=80, patience=80)  # long enough to lose a machine
    job.trainers = 2
    job.start()
    job.diffuse()
    return job


def without_ray(number: int, order: Order, port: int) -> None:
    """Train as one of two processes, as torchrun starts them: the store where they meet is in the parent process."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    os.environ |= {"RANK": str(number), "WORLD_SIZE": "2"}
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    train_process({"order": order})
    torch.distributed.barrier()  # the group is destroyed when neither process needs the other
    torch.distributed.destroy_process_group()


def test_processes_that_lose_a_machine_train_as_those_that_torchrun_starts(
    machines: Machines, graph: StoredGraph, tmp_path: Path
) -> None:
    job, expected = together(graph, tmp_path / "job"), together(graph, tmp_path / "expected")
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    torch.multiprocessing.spawn(without_ray, (Order.of(expected), store.port), nprocs=2)
    wanted = expected.train()
    lost = losing(machines, job.folder / "training")
    with connected(machines.address) as ray:
        ClusterJob(ray).train(job)
    lost.join()
    machines.add()
    found = job.train()
    assert found.history.losses == wanted.history.losses
    for name, value in wanted.model.state_dict().items():
        assert torch.equal(found.model.state_dict()[name], value), name
    alone = together(graph, tmp_path / "alone")
    alone.trainers = 1
    assert alone.train().history.losses != wanted.history.losses  # the samples of two processes are others
