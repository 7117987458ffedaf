"""Square roots of propagated features on disk equal those in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from tests.outofcore.jobs import NODES, community_graph, job_of, same_geometry, stored, vectors_of

from mvgrl.automatic import Resolved
from mvgrl.beside import Propagated, roots
from mvgrl.graphs import Graph
from mvgrl.outofcore.job import Job
from mvgrl.outofcore.plan import Plan
from mvgrl.outofcore.shards import Ranges
from mvgrl.outofcore.tall import Rows, Tall
from mvgrl.settings import Output, Settings
from mvgrl.training import Trained, fit

VIEWS = ("adjacency", "ppr:top_k=16:method=push")


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of these tests are large."""
    monkeypatch.setattr("mvgrl.beside.roots.LARGE_GRAPH", NODES - 1)
    monkeypatch.setattr("mvgrl.beside.propagated.LARGE_GRAPH", NODES - 1)


def word_graph() -> Graph:
    """Words of 300, of which every community has its own; the last node has none."""
    graph = community_graph(width=300, sparse=True)
    words = np.random.default_rng(1).poisson(0.3 / np.arange(1, 301), (NODES, 300)) + (graph.features.toarray() > 1)
    words[-1] = 0
    return Graph.from_scipy(graph.adjacency, sp.csr_array(words.astype(np.float32)))


def interrupted(job: Job, name: str, trained: Trained) -> None:
    """Make vectors, and stop when a certain matrix would be written."""

    def fill(tall: Tall, make: Rows) -> None:
        if tall.folder.name == name:
            raise KeyboardInterrupt
        written(tall, make)

    written = Tall.fill
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tall, "fill", fill)
        with pytest.raises(KeyboardInterrupt):
            job.vectors(trained)


@pytest.mark.parametrize("stop", [None, "roots-0-after-8-0", "roots-1-after-1-2", "roots-0-after-2-4"])
def test_square_roots_are_those_in_memory(stop: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the job is interrupted in between."""
    monkeypatch.setattr(Propagated, "components", 20)
    graph = word_graph()
    job = job_of(stored(graph, tmp_path), tmp_path, Output(dim=0), 150, 70, views=VIEWS, epochs=2)
    job.start()
    job.diffuse()
    trained = job.train()
    if stop is not None:
        interrupted(job, stop, trained)
    shards = job.vectors(trained)
    found = np.concatenate([shards.read(shard) for shard in range(len(shards.ranges))])
    beside = trained.composition.beside  # type: ignore[union-attr]
    assert (beside.roots, beside.early, beside.code_weight) == (True, 1, 0.5)  # type: ignore[union-attr]
    same_geometry(found, fit(graph, job.settings, device="cpu").vectors(output=job.output), 0.03)
    left = {path.name.split("-")[0] for path in job.folder.iterdir()}
    assert "columns" not in left


def test_trained_model_with_square_roots_is_applied_to_another_graph(tmp_path: Path) -> None:
    """On disk, their columns are propagated seventy at a time."""
    graph = community_graph(width=300, sparse=True)
    settings = Settings(hidden=8, epochs=2, views=VIEWS, sampler="walk", sample_size=50, normalise="row")
    given = Output(dim=12, beside="propagated")
    trained = fit(graph, settings, device="cpu")
    expected = trained.vectors(other := community_graph(width=300, sparse=True, seed=1), given)
    output = trained.output_of(given)
    assert trained.compose(output).beside.roots  # type: ignore[union-attr]
    on_disk = stored(other, tmp_path)
    plan = replace(Plan.make(on_disk, trained.model.settings, output, 2**31), rows=150, columns=70)
    job = Job(on_disk, Resolved(trained.model.settings), output, tmp_path / "job", plan)
    job.start(trained)
    job.diffuse()
    interrupted(job, "roots-1-after-1-2", trained)
    shards = job.vectors(trained)
    found = np.concatenate([shards.read(shard) for shard in range(len(shards.ranges))])
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_features_with_negative_numbers_have_none(scaling: str, tmp_path: Path) -> None:
    features = word_graph().features.toarray()
    features[5, 7] = -1.0 if scaling == "none" else 1.0
    graph = Graph.from_scipy(word_graph().adjacency, features)
    trained, _ = vectors_of(
        job_of(stored(graph, tmp_path), tmp_path, rows=150, columns=70, views=VIEWS, epochs=1, normalise=scaling)
    )
    assert not trained.composition.beside.roots  # type: ignore[union-attr]


def test_rows_of_a_tall_matrix_are_read_from_all_shards_and_blocks(tmp_path: Path) -> None:
    table = torch.arange(70.0).reshape(10, 7)
    tall = Tall(tmp_path / "tall", Ranges(10, 3), 7, 2)
    tall.fill(lambda start, stop, columns: table[start:stop, columns])
    for nodes in ([0, 2, 3, 9], [4, 5], [9]):
        assert torch.equal(tall.at(np.array(nodes)), table[nodes])


def test_plan_counts_their_columns(tmp_path: Path) -> None:
    on_disk, output = stored(word_graph(), tmp_path), Output().for_task("node")
    settings = job_of(on_disk, tmp_path, views=VIEWS).settings
    on_disk.nodes = 10**6
    plans = []
    for on_disk.width in (roots.WIDEST, roots.WIDEST + 1):  # with more, there are no square roots
        plans.append(Plan.make(on_disk, settings, output, 16 * 2**30))
    with_roots, without = plans
    assert with_roots.disk["vectors"] > 4 * on_disk.nodes * roots.WIDEST > without.disk["vectors"]
    assert with_roots.columns == without.columns
    assert with_roots.memory["vectors"] > without.memory["vectors"]  # there is a part more
