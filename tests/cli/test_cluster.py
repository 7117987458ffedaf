"""mvgrl cluster: ids and clusters in a table, with silhouettes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mvgrl.tables.embeddings import Embeddings, write_embeddings


@pytest.fixture
def table(folder):
    """Write 45 vectors in three clusters to v.parquet, and return their clusters, numbered from the largest."""
    vectors, truth = make_blobs([20, 15, 10], n_features=6, cluster_std=0.5, random_state=0)
    write_embeddings("v.parquet", Embeddings(np.arange(45), vectors.astype(np.float32)))
    return truth


def test_clusters_are_written_by_id_and_summarised(run, table):
    outcome = run("cluster v.parquet -k 3 -o clusters.csv")
    rows = [line.split(",") for line in Path("clusters.csv").read_text().splitlines()]
    assert rows[0] == ["id", "cluster"]
    assert [int(cluster) for _, cluster in rows[1:]] == table.tolist()
    assert [line.split()[:2] for line in outcome.out.splitlines()[1:4]] == [["0", "20"], ["1", "15"], ["2", "10"]]
    assert "mean silhouette: 0." in outcome.out
    assert outcome.err == "wrote 45 ids in 3 clusters to clusters.csv\n"


def test_auto_says_what_it_picked_and_why(run, table):
    outcome = run("cluster v.parquet -o clusters.csv --max-k 5")
    assert "picked: 3 clusters, the number with the highest silhouette (tried 2 to 5)" in outcome.err
    result = run("cluster v.parquet -k auto --max-k 5 -o clusters.csv --json").json
    assert (result["k"], result["sizes"], sorted(result["tried"])) == (3, [20, 15, 10], ["2", "3", "4", "5"])
    assert result["tried"]["3"] == max(result["tried"].values())
    assert result["silhouette"] == pytest.approx(result["tried"]["3"], abs=1e-4)
    assert result["silhouette_sample"] == 45


def test_the_same_seed_writes_the_same_bytes(run, folder):
    vectors = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    write_embeddings("v.npy", Embeddings(np.arange(60), vectors))
    for name in "ab":
        run(f"cluster v.npy -k 5 --seed 3 -o {name}.csv -q")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_a_sample_is_stated(run, table, monkeypatch):
    monkeypatch.setattr("mvgrl.clusters.SAMPLE", 30)
    outcome = run("cluster v.parquet -k 3 -o clusters.csv")
    assert "silhouettes of a random sample of 30 of 45 vectors" in outcome.err


def test_graphs_are_kept_apart_in_the_table(run, folder):
    vectors = np.eye(4, dtype=np.float32)
    write_embeddings("g.csv", Embeddings(np.array([1, 2, 1, 2]), vectors, np.array(["a", "a", "b", "b"])))
    run("cluster g.csv -k 2 -o clusters.csv -q")
    assert [line.rsplit(",", 1)[0].replace(chr(34), "") for line in Path("clusters.csv").read_text().splitlines()] == [
        "graph,id",
        "a,1",
        "a,2",
        "b,1",
        "b,2",
    ]


def test_fewer_different_vectors_than_clusters_are_noted(run, folder):
    write_embeddings("same.csv", Embeddings(np.arange(4), np.ones((4, 2), np.float32)))
    assert "found 1 instead of 3 clusters" in run("cluster same.csv -k 3 -o c.csv").err
    outcome = run("cluster same.csv -o c.csv")
    assert "too few different vectors" in outcome.err
    assert "not defined" in outcome.out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("-k 0 -o c.csv", ["-k is 0"]),
        ("-k some -o c.csv", ["'some'", "auto"]),
        ("-k 46 -o c.csv", ["-k is 46", "45 vectors"]),
        ("-k 3 --max-k 9 -o c.csv", ["--max-k", "auto"]),
        ("--max-k 1 -o c.csv", ["--max-k is 1"]),
        ("-k 3", ["--output"]),
        ("-k 3 -o c.json", ["c.json", ".csv, .tsv, .parquet"]),
        ("-k 3 -o v.parquet", ["also an input"]),
    ],
)
def test_bad_options_are_refused(refused, table, flags, words):
    refused(f"cluster v.parquet {flags}", *words)


def test_sides_of_a_bipartite_graph_are_kept_apart_in_the_table(run, folder):
    vectors = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], np.float32)
    write_embeddings("v.parquet", Embeddings(np.array([1, 2, 1]), vectors, sides=np.array(["user", "user", "item"])))
    run("cluster v.parquet -k 2 -o clusters.csv")
    lines = Path("clusters.csv").read_text().splitlines()
    assert lines[0] == "side,id,cluster"
    assert [line.split(",")[:2] for line in lines[1:]] == [['"user"', "1"], ['"user"', "2"], ['"item"', "1"]]
