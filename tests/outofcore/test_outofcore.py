"""A graph on disk is embedded as one in memory: same samples, same losses, same vectors up to rounding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from tests.outofcore.jobs import NODES, WIDTH, community_graph, job_of, same_geometry, stored, vectors_of

from mvgrl.automatic import Resolved, resolve
from mvgrl.beside import Propagated
from mvgrl.errors import CheckpointError, InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.outofcore.adjacency import Places, StoredAdjacency, degrees_of, walkable
from mvgrl.outofcore.batches import DrawnAhead
from mvgrl.outofcore.diffusion import StoredView, check_views, fill
from mvgrl.outofcore.embedding import embed
from mvgrl.outofcore.features import StoredFeatures, StreamedFacts, fitted_encoder
from mvgrl.outofcore.job import Job, check_settings
from mvgrl.outofcore.plan import Plan
from mvgrl.outofcore.shards import Ranges, Shards
from mvgrl.runtime import generator_for
from mvgrl.sampling import NodeBatches
from mvgrl.settings import Output, Settings
from mvgrl.tables.embeddings import read_embeddings
from mvgrl.training import fit
from mvgrl.views import PPR, Adjacency, Distance, Heat


@pytest.mark.parametrize("weighted", [False, True])
def test_vectors_equal_those_in_memory(tmp_path: Path, weighted: bool) -> None:
    graph = community_graph(weighted=weighted)
    job = job_of(stored(graph, tmp_path), tmp_path, views=("adjacency", PPR(top_k=16, method="push")))
    trained, found = vectors_of(job)
    expected = fit(graph, job.settings, device="cpu")
    assert trained.history.losses[0] == expected.history.losses[0]  # same samples, same sums
    np.testing.assert_allclose(trained.history.losses, expected.history.losses, rtol=1e-4)
    assert found.shape == (NODES, 24)
    same_geometry(found, expected.vectors(output=job.output))


@pytest.mark.parametrize(
    ("output", "settings"),
    [
        (Output(preset="paper"), {}),
        (Output(preset="paper", unit_length=True, join="concatenate"), {"layers": 2, "norm": "layer"}),
        (Output(dim=10, beside="none", codes="layers"), {"layers": 3, "encoder": "shared"}),
        (Output(dim=0), {"views": ("adjacency", "heat:top_k=16:method=push", "ppr:top_k=8:method=push")}),
        (Output(dim=12), {"hidden": 8, "discriminator": "dot", "batch_size": 2}),
    ],
)
def test_every_output_equals_the_one_in_memory(tmp_path: Path, output: Output, settings: dict[str, Any]) -> None:
    graph = community_graph()
    job = job_of(
        stored(graph, tmp_path), tmp_path, output, **{"views": ("adjacency", "ppr:top_k=16:method=push"), **settings}
    )
    _, found = vectors_of(job)
    expected = fit(graph, job.settings, device="cpu").vectors(output=job.output)
    assert found.shape == expected.shape
    same_geometry(found, expected)
    if not job.output.composed:  # no rotation
        np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize(("width", "sparse"), [(300, False), (1100, True)])
def test_many_features_are_reduced_as_in_memory(tmp_path: Path, width: int, sparse: bool) -> None:
    graph = community_graph(width=width, sparse=sparse)
    views = ("adjacency", "ppr:top_k=16:method=push")
    job = job_of(stored(graph, tmp_path), tmp_path, rows=150, columns=200, views=views, epochs=2)
    _, found = vectors_of(job)
    expected = fit(graph, job.settings, device="cpu").vectors(output=job.output)
    # The 256 leading of 300 directions: of those at the end, which differ little in length, both find some.
    same_geometry(found, expected, 0.1)


def test_codes_of_a_large_graph_weigh_half_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mvgrl.beside.propagated.LARGE_GRAPH", 100)
    graph = community_graph()
    job = job_of(stored(graph, tmp_path), tmp_path, views=("adjacency", "ppr:top_k=16:method=push"))
    trained, found = vectors_of(job)
    assert trained.composition is not None
    assert trained.composition.beside is not None
    assert trained.composition.beside.code_weight == 0.5
    same_geometry(found, fit(graph, job.settings, device="cpu").vectors(output=job.output))


def test_directions_of_propagated_features_need_not_lead_among_the_features(tmp_path: Path) -> None:
    """Features with large variance but no relation to the edges fade with every step; what is left must be found."""
    rng = np.random.default_rng(0)
    nodes, width = 1200, 1500
    label = rng.integers(10, size=nodes)
    same = label[:, None] == label
    edges = np.argwhere(np.triu(rng.random((nodes, nodes)) < np.where(same, 0.05, 0.001), 1))
    features = rng.standard_normal((nodes, width)) * np.where(np.arange(width) < 1000, 3.0, 0.1)
    features[:, 1000:] += rng.standard_normal((10, 500))[label] * 0.3
    graph = Graph.from_edges(*edges.T, nodes=nodes, features=features.astype(np.float32))
    job = job_of(stored(graph, tmp_path), tmp_path, rows=500, columns=300, epochs=1, normalise="none",
                 views=("adjacency", "ppr:top_k=16:method=push"))  # fmt: skip
    trained, _ = vectors_of(job)
    inputs = prepare(graph, job.settings, device="cpu")
    assert trained.composition is not None
    found, expected = trained.composition.beside, Propagated.fit(inputs)
    assert isinstance(found, Propagated)
    for part, (one, other) in enumerate(zip(found.bases, expected.bases, strict=True)):
        assert one is not None
        assert other is not None
        kept = []
        for basis in (one, other):
            rows = inputs.features @ basis
            for _ in range(0 if part == 0 else job.settings.views[part - 1].steps):
                rows = inputs.views[part - 1] @ rows
            kept.append(float(rows.square().sum()))
        assert kept[0] > 0.99 * kept[1]


def test_weights_of_wide_parts_are_close_to_those_in_memory(tmp_path: Path) -> None:
    """What survives a step over the edges is estimated from 64 combinations of columns where there are more."""
    graph = community_graph(width=100)
    views = ("adjacency", "ppr:top_k=16:method=push")
    trained, _ = vectors_of(job_of(stored(graph, tmp_path), tmp_path, columns=50, views=views, hidden=200))
    assert trained.composition is not None
    found, space = (
        trained.composition.space.scale,
        fit(graph, trained.model.settings, device="cpu").compose(Output(beside="propagated")).space,
    )
    assert len(found) == 5
    np.testing.assert_allclose(found / found.max(), space.scale / space.scale.max(), rtol=0.05)


@pytest.mark.parametrize("view", [PPR(top_k=16), PPR(alpha=0.1, top_k=400), Heat(top_k=16), Heat(t=2, top_k=5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_shards_hold_the_rows_of_the_view(tmp_path: Path, view: PPR | Heat, weighted: bool) -> None:
    graph = community_graph(weighted=weighted)
    on_disk = stored(graph, tmp_path)
    shards = Shards(tmp_path / "view", Ranges(NODES, 77))
    fill(shards, view, on_disk, degrees_of(on_disk), lambda: None)
    matrix = replace(view, method="push")(graph)
    right = np.random.default_rng(0).standard_normal((NODES, 5)).astype(np.float32)
    product = StoredView(shards, Places(NODES))
    found = np.concatenate([product.product(start, stop, right) for start, stop in shards.ranges])
    np.testing.assert_allclose(found, matrix @ right, atol=1e-5)


def test_samples_are_those_of_the_matrices(tmp_path: Path) -> None:
    graph = community_graph(weighted=True)
    on_disk, view = stored(graph, tmp_path), PPR(top_k=16, method="push")
    settings = Settings(views=("adjacency", view), sampler="walk", normalise="standard")
    inputs = prepare(graph, settings, device="cpu")
    shards, places, degrees = Shards(tmp_path / "view", Ranges(NODES, 50)), Places(NODES), degrees_of(on_disk)
    fill(shards, view, on_disk, degrees, lambda: None)
    nodes = torch.cat([torch.randperm(NODES)[:60], torch.randperm(NODES)[:40]])
    matrices = (StoredAdjacency(on_disk, degrees, places), StoredView(shards, places))
    for expected, found in zip(inputs.views, matrices, strict=True):
        one, other = expected.select(nodes, (60, 40)), found.select(nodes, (60, 40))
        assert torch.equal(one.dense(), other.dense())
        assert torch.equal(one.T.dense(), other.T.dense())
    encoder = fitted_encoder(on_disk, "auto", "standard", 100, StreamedFacts(on_disk))
    rows = StoredFeatures(on_disk, encoder).rows(nodes).dense()
    assert torch.allclose(rows, inputs.features.rows(nodes).dense(), atol=1e-6)
    assert (places.array == -1).all()


def test_choices_are_those_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tables = {
        "dense": rng.standard_normal((NODES, 3)),
        "counts": np.where(rng.random((NODES, 30)) < 0.1, 1.0, 0.0),
        "multiples": np.outer(rng.random(NODES), (np.arange(30) == 3) * 2.0),
        "constant": np.ones((NODES, 2)),
        "zero": np.zeros((NODES, 2)),
    }
    for name, features in tables.items():
        for table in (features, sp.csr_array(features)):
            graph = Graph(community_graph().adjacency, table)
            on_disk = stored(graph, tmp_path)
            expected = resolve(graph, {"features": "given"}).settings
            found = resolve(on_disk, {"features": "given", "task": "node"}, streamed=StreamedFacts(on_disk)).settings
            assert found.normalise == expected.normalise, name
            streamed = fitted_encoder(on_disk, "given", "standard", 100, StreamedFacts(on_disk))
            inside = prepare(
                graph, Settings(features="given", normalise="standard", sampler="walk"), device="cpu"
            ).encoder
            np.testing.assert_allclose(streamed.mean_, inside.mean_, atol=1e-12)
            np.testing.assert_allclose(streamed.scale_, inside.scale_, rtol=1e-12)


@pytest.mark.parametrize("kind", ["degree", "degree-one-hot"])
def test_graph_without_features_has_degrees(tmp_path: Path, kind: str) -> None:
    graph = Graph(community_graph().adjacency)
    on_disk = stored(graph, tmp_path)
    assert resolve(on_disk, {"task": "node"}, streamed=StreamedFacts(on_disk)).settings.features == "degree-one-hot"
    job = job_of(on_disk, tmp_path, features=kind, views=("adjacency", "ppr:top_k=16:method=push"))
    _, found = vectors_of(job)
    same_geometry(found, fit(graph, job.settings, device="cpu").vectors(output=job.output))


def test_batches_drawn_ahead_are_those_of_the_seed(tmp_path: Path) -> None:
    on_disk = stored(community_graph(), tmp_path)
    encoder = fitted_encoder(on_disk, "auto", "row", 100, StreamedFacts(on_disk))

    def batches() -> NodeBatches:  # each with its own scratch space: a thread uses that of the first
        views = (StoredAdjacency(on_disk, degrees_of(on_disk), Places(NODES)),)
        sampler = Settings(sampler="walk").sampler
        return NodeBatches(StoredFeatures(on_disk, encoder), views, walkable(on_disk), sampler, 50)

    ahead, at_once = DrawnAhead(batches()), batches()
    one, other = generator_for(3, "sampling"), generator_for(3, "sampling")
    for step in range(6):
        if step == 4:  # the caller draws a number, too
            torch.rand(1, generator=one)
            torch.rand(1, generator=other)
        (found,), (expected,) = ahead.epoch(one), at_once.epoch(other)
        assert torch.equal(found.views[0].dense(), expected.views[0].dense())
        assert torch.equal(found.negative_rows, expected.negative_rows)  # type: ignore[arg-type]
        assert torch.equal(one.get_state(), other.get_state())
    ahead.close()


def test_error_of_a_batch_is_raised_where_it_is_used(tmp_path: Path) -> None:
    def fail(*_: Any) -> Any:
        raise InputError("no nodes")

    on_disk = stored(community_graph(), tmp_path)
    sampler = Settings(sampler=fail).sampler
    batches = NodeBatches(None, (), walkable(on_disk), sampler, 50)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no nodes"):
        list(DrawnAhead(batches).epoch(generator_for(0, "sampling")))


def test_plan_grows_with_the_graph_and_names_what_fits(tmp_path: Path) -> None:
    on_disk = stored(community_graph(), tmp_path)
    settings = resolve(on_disk, {"task": "node", "hidden": 512}, streamed=StreamedFacts(on_disk)).settings
    output = Output().for_task("node")
    on_disk.nodes, on_disk.edges = 10**7, 5 * 10**7
    plan = Plan.make(on_disk, settings, output, 8 * 2**30, threads=2)
    assert plan.peak <= 8 * 2**30
    assert plan.columns == WIDTH
    smaller = Plan.make(on_disk, settings, output, 3 * 2**30, threads=2)
    assert smaller.peak <= 3 * 2**30
    with pytest.raises(InputError, match="or --sample-size") as error:
        Plan.make(on_disk, settings, output, 3 * 2**29, threads=2)
    needed = int(str(error.value).split("use --memory ")[1].split("MB")[0])
    assert Plan.make(on_disk, settings, output, needed * 2**20, threads=2).peak <= needed * 2**20


def test_named_sample_size_fits(tmp_path: Path) -> None:
    """Samples also hold the features of their nodes."""
    on_disk = stored(community_graph(), tmp_path)
    settings = resolve(on_disk, {"task": "node", "hidden": 512}, streamed=StreamedFacts(on_disk)).settings
    output, limit = Output().for_task("node"), 900 * 2**20
    on_disk.nodes, on_disk.edges, on_disk.width = 120_000, 200_000, 4096
    with pytest.raises(InputError, match="or --sample-size") as error:
        Plan.make(on_disk, settings, output, limit, threads=2)
    fits = int(str(error.value).split("--sample-size ")[1])
    assert Plan.make(on_disk, replace(settings, sample_size=fits), output, limit, threads=2).peak <= limit
    with pytest.raises(InputError, match="training"):
        Plan.make(on_disk, replace(settings, sample_size=fits + 200), output, limit, threads=2)


def test_settings_that_need_the_whole_graph_are_rejected() -> None:
    for view in (PPR(), PPR(threshold=0.1), PPR(top_k=4, method="exact"), PPR(top_k=4, scale="columns"), Distance()):
        with pytest.raises(SettingsError, match="needs the whole graph in memory"):
            check_views([Adjacency(), view])
    for settings in (
        Settings(sampler="full", views=("adjacency", "ppr:top_k=4")),
        Settings(task="graph", sampler="full"),
    ):
        with pytest.raises(SettingsError):
            check_settings(settings, Output())
    with pytest.raises(SettingsError, match="use 'propagated'"):
        check_settings(Settings(views=("adjacency", "ppr:top_k=4")), Output(beside="propagated+position"))


def test_folder_of_another_job_is_rejected(tmp_path: Path) -> None:
    on_disk = stored(community_graph(), tmp_path)
    views = {"views": ("adjacency", "ppr:top_k=16:method=push")}
    job_of(on_disk, tmp_path, **views).start()
    with pytest.raises(CheckpointError, match="its settings is different"):
        job_of(on_disk, tmp_path, hidden=8, **views).start()
    other = job_of(on_disk, tmp_path, rows=33, **views)
    other.start()
    assert other.plan.rows == 64  # as it was cut


@pytest.mark.parametrize("given", [Output(dim=12), Output(dim=12, beside="propagated")], ids=["positions", "features"])
def test_trained_model_is_applied_to_another_graph(given: Output, tmp_path: Path) -> None:
    """Positions are unknown there, in memory and on disk."""
    graph, views = community_graph(), ("adjacency", "ppr:top_k=16:method=push")
    trained = fit(graph, Settings(hidden=8, epochs=2, views=views, sampler="walk", sample_size=50), device="cpu")
    expected = trained.vectors(other := community_graph(seed=1), given)
    output = trained.output_of(given)
    on_disk = stored(other, tmp_path)
    plan = replace(Plan.make(on_disk, trained.model.settings, output, 2**31), rows=50)
    job = Job(on_disk, Resolved(trained.model.settings), output, tmp_path / "job", plan)
    job.start(trained)
    job.diffuse()
    shards = job.vectors(trained)
    found = np.concatenate([shards.read(shard) for shard in range(len(shards.ranges))])
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_embed_continues_where_it_was_interrupted(tmp_path: Path) -> None:
    stored(community_graph(), tmp_path)
    settings = {"dim": 24, "hidden": 16, "epochs": 4, "sample_size": 100}

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "vectors":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "graph", tmp_path / "one.parquet", memory="1GB", progress=interrupt, **settings)
    assert not (tmp_path / "one.parquet").exists()
    assert (tmp_path / "one.parquet.checkpoint" / "training").exists()
    with pytest.raises(CheckpointError, match="another run"):
        embed(tmp_path / "graph", tmp_path / "one.parquet", seed=1, **settings)
    embed(tmp_path / "graph", tmp_path / "one.parquet", memory="1GB", **settings)
    trained = embed(tmp_path / "graph", tmp_path / "other.parquet", memory="1GB", **settings)
    one, other = (read_embeddings(tmp_path / name) for name in ("one.parquet", "other.parquet"))
    assert np.array_equal(one.vectors, other.vectors)
    assert one.ids.tolist()[:2] == ["node 0", "node 1"]
    assert len(trained.history.losses) == 4
    assert not (tmp_path / "one.parquet.checkpoint").exists()


def test_embed_rejects_what_it_cannot_do(tmp_path: Path) -> None:
    stored(community_graph(), tmp_path)
    for output, settings, words in (
        ("v.csv", {}, r"\.parquet"),
        ("v.parquet", {"memory": "200MB"}, "--memory"),
        ("v.parquet", {"sampler": "full"}, "whole graph in memory"),
        ("v.parquet", {"width": 3}, "width"),
    ):
        with pytest.raises((InputError, SettingsError), match=words):
            embed(tmp_path / "graph", tmp_path / output, **settings)
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
