"""embed, train and apply on a graph from mvgrl import, within --memory: in memory where it fits, else in shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mvgrl.errors import InputError
from mvgrl.outofcore import plan

SETTINGS = "--hidden 4 --dim 6 --epochs 3 --sampler walk --sample-size 20 --device cpu"
VIEWS = "--views adjacency,ppr:top_k=8:method=push"


@pytest.fixture
def graph(run):
    """A graph on disk, of 40 nodes with text ids."""
    rng = np.random.default_rng(0)
    ids = np.array([f"node {number}" for number in range(40)])
    pd.DataFrame({"source": ids[rng.integers(40, size=90)], "target": ids[rng.integers(40, size=90)]}).to_csv(
        "edges.csv", index=False
    )
    pd.DataFrame({"id": ids, **{f"f{k}": rng.standard_normal(40) for k in range(5)}}).to_csv("nodes.csv", index=False)
    run("import edges.csv --nodes nodes.csv -o GRAPH")
    return "GRAPH"


@pytest.fixture
def large(monkeypatch):
    """Let every graph need more memory than there is."""

    def start():
        monkeypatch.setattr(plan, "in_memory", lambda *_: 2**60)

    return start


def vectors(path):
    table = pd.read_parquet(path)
    return table["id"].tolist(), np.stack(table["embedding"])


def same(one, other):
    assert one[0] == other[0]
    np.testing.assert_allclose(one[1] @ one[1].T, other[1] @ other[1].T, atol=1e-3)


def test_embed_says_which_path_and_gives_the_same_vectors(graph, run, large):
    inside = run(f"embed {graph} -o inside.parquet {SETTINGS} {VIEWS} --beside propagated --json")
    assert inside.err.startswith("in memory: 40 nodes")
    large()
    outside = run(f"embed {graph} -o outside.parquet {SETTINGS} {VIEWS} --memory 2GB --json")
    assert outside.err.startswith("out of core: 40 nodes")
    for stage in ("diffusion", "training", "vectors"):
        assert f"\n  {stage}" in outside.err
    same(vectors("inside.parquet"), vectors("outside.parquet"))
    assert {path.name for path in Path().iterdir() if "outside" in path.name} == {"outside.parquet"}
    for name in ("task", "nodes", "edges", "dim", "epochs", "seed"):
        assert outside.json[name] == inside.json[name]


def test_train_and_apply(graph, run, large):
    run(f"train {graph} -o inside {SETTINGS} {VIEWS} --beside propagated")
    run(f"apply inside {graph} -o inside.parquet")
    large()
    run(f"train {graph} -o outside {SETTINGS} {VIEWS} --memory 2GB")
    run(f"apply outside {graph} -o outside.parquet --memory 2GB")
    same(vectors("inside.parquet"), vectors("outside.parquet"))
    assert not list(Path().glob("*.checkpoint"))


def test_positions_stand_beside_few_features_only_in_memory(graph, run, large):
    assert "raw and propagated features, positions" in run(f"train {graph} -o model {SETTINGS} {VIEWS}").err
    large()
    outside = run(f"embed {graph} -o v.parquet {SETTINGS} {VIEWS} --memory 2GB").err
    assert "raw and propagated features\n" in outside
    refused = run(
        f"embed {graph} -o w.parquet {SETTINGS} {VIEWS} --memory 2GB --beside propagated+position", code=2
    ).err
    assert "needs the whole graph in memory; use 'propagated'" in refused
    applied = run(f"apply model {graph} -o applied.parquet --memory 2GB")
    assert "positions are unknown in a graph that stays on disk" in applied.err
    assert vectors("applied.parquet")[1].shape == (40, 6)


def test_similar_nodes_are_joined_only_in_memory(graph, run, large):
    run(f"train {graph} -o model {SETTINGS} {VIEWS} --similar 3")
    large()
    refused = run(f"embed {graph} -o w.parquet {SETTINGS} {VIEWS} --memory 2GB --similar 3", code=2).err
    assert "similar 3 compares all nodes of a graph in memory; omit it" in refused
    applied = run(f"apply model {graph} -o applied.parquet --memory 2GB")
    assert "nodes of a graph that stays on disk are not joined with similar ones" in applied.err
    assert vectors("applied.parquet")[1].shape == (40, 6)


def test_what_does_not_fit_is_refused_with_what_does(graph, run, large):
    error = run(f"embed edges.csv -o v.parquet {SETTINGS} --memory 1MB", code=2).err
    assert "mvgrl import edges.csv" in error
    large()
    error = run(f"embed {graph} -o v.parquet {SETTINGS} {VIEWS} --memory 10MB", code=2).err
    needed = error.split("use --memory ")[1].split()[0]
    run(f"embed {graph} -o v.parquet {SETTINGS} {VIEWS} --memory {needed}")
    assert "the sampler 'full' needs" in run(f"embed {graph} -o w.parquet --sampler full", code=2).err
    assert ".parquet" in run(f"embed {graph} -o w.csv {SETTINGS} {VIEWS}", code=2).err
    assert "omit --nodes" in run(f"embed {graph} -o w.parquet --nodes nodes.csv", code=2).err
    assert "not a size" in run(f"embed {graph} -o w.parquet --memory much", code=2).err


def test_interrupted_job_needs_resume_and_continues(graph, run, large, monkeypatch):
    large()
    line = f"embed {graph} -o v.parquet {SETTINGS} {VIEWS}"
    run(line)
    expected = Path("v.parquet").read_bytes()
    Path("v.parquet").unlink()

    def fail(*_):
        raise InputError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("mvgrl.outofcore.job.Job.vectors", fail)
        run(line, code=2)
    assert "add --resume" in run(line, code=2).err
    run(f"{line} --resume")
    assert Path("v.parquet").read_bytes() == expected
    assert not list(Path().glob("*.checkpoint"))
