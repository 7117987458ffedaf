"""Commands on vectors that do not fit into --memory: the same result, or one that says what was sampled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mvgrl.cli import evaluate
from mvgrl.tables import mapped_embeddings


@pytest.fixture
def vectors(folder):
    """Three groups of vectors, with a label each."""
    rng = np.random.default_rng(0)
    kinds = np.arange(1500) % 3
    points = (8 * np.eye(3)[kinds] + rng.standard_normal((1500, 3))).astype(np.float32)
    pd.DataFrame({"id": np.arange(1500), "embedding": list(points)}).to_parquet("vectors.parquet")
    pd.DataFrame({"id": np.arange(1500), "label": np.array(["a", "b", "c"])[kinds]}).to_csv("labels.csv", index=False)
    return "vectors.parquet"


@pytest.fixture
def on_disk(monkeypatch):
    """Let every file be larger than memory."""

    def start():
        monkeypatch.setattr(mapped_embeddings, "size_of", lambda path: 2**60)

    return start


def test_neighbors_are_the_same(vectors, run, on_disk):
    line = f"neighbors {vectors} 7 8 -k 5 --json"
    expected = run(line).json
    on_disk()
    found = run(line)
    assert found.json == expected
    assert "stay on disk" in found.err
    assert "--approximate" in run(f"neighbors {vectors} 7 --approximate", code=2).err


def test_clusters_are_the_same_where_they_are_clear(vectors, run, on_disk):
    run(f"cluster {vectors} -k 3 -o one.csv")
    on_disk()
    found = run(f"cluster {vectors} -k 3 -o two.csv")
    assert Path("one.csv").read_text() == Path("two.csv").read_text()
    assert "in blocks of" in found.err


def test_scores_of_all_labelled_rows_are_the_same(vectors, run, on_disk):
    line = f"evaluate {vectors} --labels labels.csv --splits 2 --device cpu --json"
    expected = run(line).json
    on_disk()
    found = run(line)
    assert found.json == expected
    assert "sample" not in found.err


@pytest.mark.parametrize("protocol", ["logistic", "clustering", "svm"])
def test_a_sample_is_scored_and_said_to_be_one(protocol, vectors, run, on_disk, monkeypatch):
    monkeypatch.setattr(evaluate, "_COPIES", 10**12)
    on_disk()
    found = run(f"evaluate {vectors} --labels labels.csv --protocol {protocol} --splits 1 --device cpu --json")
    assert (found.json["rows"], found.json["labelled"], found.json["sampled"]) == (1500, 1500, 1000)
    assert "a random sample of 1,000 of the labelled rows" in found.err
    score = found.json["nmi" if protocol == "clustering" else "accuracy"]["mean"]
    assert score > (0.9 if protocol == "clustering" else 99)


def test_a_given_split_is_reduced_to_the_sample(vectors, run, on_disk, monkeypatch):
    parts = np.array(["train", "val", "test"])[np.arange(1500) // 500]
    pd.DataFrame({"id": np.arange(1500), "split": parts}).to_csv("split.csv", index=False)
    monkeypatch.setattr(evaluate, "_COPIES", 10**12)
    on_disk()
    found = run(f"evaluate {vectors} --labels labels.csv --split split.csv --device cpu --json")
    assert found.json["sampled"] == 1000
    assert found.json["accuracy"]["mean"] > 99


def test_a_map_is_the_same(vectors, run, on_disk):
    run(f"map {vectors} --layout pca -o one.svg")
    on_disk()
    run(f"map {vectors} --layout pca -o two.svg")
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


@pytest.mark.parametrize(
    "verb", ["neighbors {} 7", "cluster {} -o c.csv", "map {} -o m.svg", "evaluate {} --labels labels.csv"]
)
def test_too_little_memory_is_refused(verb, vectors, refused):
    refused(verb.format(vectors) + " --memory 1MB", "--memory 1MB is too little", "use at least")
    refused(verb.format(vectors) + " --memory lots", "not a size", "4GB")
