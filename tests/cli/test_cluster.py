"""The flags of clusters; tests/cluster has real ones."""

from __future__ import annotations

import pytest

EDGES = "source,target\n" + "".join(f"{a},{b}\n" for a in range(8) for b in range(a))


@pytest.mark.parametrize("verb", ["embed edges.csv -o vectors.parquet", "train edges.csv -o model"])
def test_a_cluster_needs_a_graph_on_disk(verb, refused, folder):
    (folder / "edges.csv").write_text(EDGES)
    refused(f"{verb} --cluster local", "--cluster needs one graph on disk", "mvgrl import edges.csv")
    refused(f"{verb} --trainers 2", "--trainers", "add --cluster")


def test_a_cluster_for_apply_needs_a_graph_on_disk(run, refused, folder):
    (folder / "edges.csv").write_text(EDGES)
    run("train edges.csv -o model --hidden 4 --epochs 1 --device cpu")
    refused("apply model edges.csv -o vectors.parquet --cluster local", "--cluster needs one graph on disk")


def test_jobs_and_a_cluster_contradict_each_other(refused):
    refused("reproduce node-classification --dataset cora --jobs 2 --cluster local", "--jobs", "omit one")
