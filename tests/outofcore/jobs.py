"""A small graph on disk, and jobs on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.automatic import resolve
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.features import StreamedFacts
from mvgrl.outofcore.job import Job
from mvgrl.outofcore.plan import Plan
from mvgrl.settings import Output
from mvgrl.training import Trained

NODES, WIDTH = 300, 20


def community_graph(*, weighted: bool = False, width: int = WIDTH, sparse: bool = False, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    label = rng.integers(4, size=NODES)
    same = label[:, None] == label
    edges = np.argwhere(np.triu(rng.random((NODES, NODES)) < np.where(same, 0.06, 0.005), 1))
    features: Any = rng.standard_normal((NODES, width)).astype(np.float32)
    features[np.arange(NODES), label % width] += 2
    if sparse:
        features = sp.csr_array(np.where(rng.random(features.shape) < 0.1, abs(features), 0).astype(np.float32))
    weights = rng.uniform(0.5, 2, len(edges)).astype(np.float32) if weighted else None
    return Graph.from_edges(*edges.T, weights, nodes=NODES, features=features)


def stored(graph: Graph, folder: Path) -> StoredGraph:
    ids = np.array([f"node {number}" for number in range(graph.nodes)])
    return StoredGraph.write(folder / "graph", NamedGraph(graph, ids))


def job_of(
    graph: StoredGraph, folder: Path, output: Output | None = None, rows: int = 64, columns: int = 7, **settings: Any
) -> Job:
    given = {"task": "node", "hidden": 16, "epochs": 6, "sample_size": 100, "sampler": "walk", **settings}
    facts = StreamedFacts(graph)
    resolved = resolve(graph, given, streamed=facts)
    output = (output or Output(dim=24)).for_task("node")
    plan = replace(Plan.make(graph, resolved.settings, output, 2**31), rows=rows, columns=columns)
    return Job(graph, resolved, output, folder / "job", plan, facts=facts, checkpoint_every=0)


def vectors_of(job: Job) -> tuple[Trained, np.ndarray]:
    job.start()
    job.diffuse()
    trained = job.train()
    shards = job.vectors(trained)
    return trained, np.concatenate([shards.read(shard) for shard in range(len(shards.ranges))])


def same_geometry(one: np.ndarray, other: np.ndarray, tolerance: float = 1e-3) -> None:
    """Vectors are defined up to the signs of components, and up to rotations of components of equal variance."""
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=tolerance * np.abs(other @ other.T).max())
