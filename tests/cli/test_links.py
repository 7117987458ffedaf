"""mvgrl links: held-out edges are ranked by vectors that were made without them."""

from __future__ import annotations

import csv
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from mvgrl.evaluation.link_split import edge_pairs

SMALL = "--hidden 4 --epochs 2 --device cpu --dim 8"


@pytest.fixture
def club(folder):
    """Write the karate club to edges.csv, with named people."""
    edges = [(f"p{one}", f"p{other}") for one, other in nx.karate_club_graph().edges]
    with Path("edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *edges])
    return edges


def test_models_are_compared_over_splits(run, club):
    outcome = run(f"links edges.csv --splits 2 {SMALL}")
    assert outcome.out.startswith("test edges, 2 splits")
    for words in ("cosine of our vectors", "logistic, products", "combined", "Adamic–Adar", "common neighbours"):
        assert words in outcome.out
    assert "highest AUC: " in outcome.out
    assert "split 2 of 2: AUC" in outcome.err


def test_json_has_the_scores_and_null_where_one_is_not_defined(run, club):
    result = run(f"links edges.csv --splits 2 {SMALL} --json").json
    assert (result["splits"], result["nodes"], result["edges"]) == (2, 34, 78)
    assert list(result["models"]) == [
        *("cosine", "logistic", "combined"),
        *("adamic_adar", "common_neighbors", "degree_product"),
    ]
    for scores in result["models"].values():
        assert 0 <= scores["auc"]["mean"] <= 1
        assert scores["auc"]["std"] >= 0
        assert scores["hits"] is None  # 8 test edges, and as many other pairs
    chosen = {name: scores["validation_average_precision"]["mean"] for name, scores in result["models"].items()}
    assert chosen[result["best_on_validation"]] == max(chosen.values())


def test_what_is_trained_on_has_none_of_the_held_out_edges(run, club, monkeypatch):
    import mvgrl.training
    from mvgrl.evaluation import link_split

    fit, split_edges, splits, seen = mvgrl.training.fit, link_split.split_edges, [], []

    def watched_split(*arguments, **options):
        splits.append(split_edges(*arguments, **options))
        return splits[-1]

    def watched_fit(graph, *arguments, **options):
        seen.append(graph)
        return fit(graph, *arguments, **options)

    monkeypatch.setattr(link_split, "split_edges", watched_split)
    monkeypatch.setattr(mvgrl.training, "fit", watched_fit)
    run(f"links edges.csv --splits 2 {SMALL} -q --top 3")
    *trained, whole = seen
    assert whole.edges == 78  # for --top only
    assert len(trained) == len(splits) == 2
    for graph, split in zip(trained, splits, strict=True):
        assert np.array_equal(edge_pairs(graph.adjacency), split.train)
        held = np.concatenate([split.val, split.test])
        assert len(held) == 15
        assert not graph.adjacency[held[:, 0], held[:, 1]].any()


def test_the_most_likely_missing_edges_are_listed(run, club):
    outcome = run(f"links edges.csv --splits 1 {SMALL} --top 5 -o links.csv")
    rows = list(csv.DictReader(Path("links.csv").read_text().splitlines()))
    assert len(rows) == 5
    assert all((row["source"], row["target"]) not in club for row in rows)
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "--top uses " in outcome.err
    result = run(f"links edges.csv --splits 1 {SMALL} --top 5 --json").json
    assert [one["source"] for one in result["top"]["pairs"]] == [row["source"] for row in rows]
    assert result["top"]["model"] == result["best_on_validation"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("edges.csv --splits 0", ["--splits is 0"]),
        ("edges.csv --top 0", ["--top is 0"]),
        ("edges.csv --test-fraction 1", ["--test-fraction is 1"]),
        ("edges.csv -o links.xlsx", ["links.xlsx", ".csv, .tsv, .parquet"]),
        ("edges.csv -o edges.csv", ["also an input"]),
        ("edges.csv --epochs -1", ["epochs"]),
        ("missing.csv", ["missing.csv", "does not exist"]),
    ],
)
def test_bad_options_are_refused(refused, club, line, words):
    refused(f"links {line}", *words)


def test_many_graphs_and_tiny_ones_are_refused(run, many_graphs):
    outcome = run(f"links {many_graphs} {SMALL}", code=2)
    assert "6 graphs; links are predicted in a single one" in outcome.err
    Path("path.csv").write_text("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(10)))
    assert "10 edges; link prediction needs at least 20" in run(f"links path.csv {SMALL}", code=2).err


def test_bipartite_graphs_are_refused(refused, folder):
    rows = [f"{user},{item}" for user in range(10) for item in range(5)]
    Path("edges.csv").write_text("\n".join(["user,item", *rows]) + "\n")
    outcome = refused(f"links edges.csv --bipartite -q {SMALL}", "edges.csv is bipartite", "omit --bipartite")
    assert outcome.count("\n") == 1
