"""mvgrl neighbors: the nearest nodes of some ids, as lines, JSON or a table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from mvgrl.tables.embeddings import Embeddings, write_embeddings

VECTORS = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [0, 0]], dtype=np.float32)


@pytest.fixture
def table(folder):
    """Write five vectors, the last one all zeros, to v.parquet."""
    write_embeddings("v.parquet", Embeddings(np.array(["ann", "anna", "bob", "bobby", "zed"]), VECTORS))


@pytest.fixture
def graphs(folder):
    """Write two graphs with nodes of the same ids, and one id that only one of them has, to g.parquet."""
    ids, graph_ids = np.array([1, 2, 1, -3]), np.array(["left", "left", "right", "right"])
    write_embeddings("g.parquet", Embeddings(ids, VECTORS[:4], graph_ids))


def test_neighbours_are_printed_nearest_first(run, table):
    outcome = run("neighbors v.parquet ann bob -k 2")
    assert [line.split() for line in outcome.out.splitlines()] == [
        ["query", "rank", "id", "cosine"],
        ["ann", "1", "anna", "0.9950"],
        ["ann", "2", "bobby", "0.0995"],
        ["bob", "1", "bobby", "0.9950"],
        ["bob", "2", "anna", "0.0995"],
    ]
    assert outcome.err == ""


def test_json_has_the_same_neighbours(run, table):
    result = run("neighbors v.parquet ann -k 1 --json").json
    cosine = result["neighbors"][0].pop("cosine")
    assert cosine == pytest.approx(1 / np.sqrt(1.01))
    assert result == {
        "k": 1,
        "exact": True,
        "vectors": 5,
        "neighbors": [{"query": "ann", "rank": 1, "id": "anna"}],
    }


def test_tables_are_written(run, table):
    outcome = run("neighbors v.parquet ann -k 2 -o near.csv")
    assert outcome.out == ""
    assert "wrote 2 neighbours of 1 ids to near.csv" in outcome.err
    lines = Path("near.csv").read_text().splitlines()
    assert lines[0] == "query,rank,id,cosine"
    assert lines[1].startswith('"ann",1,"anna",0.995')
    result = run("neighbors v.parquet ann -k 2 -o near.parquet --json").json
    assert result["output"] == "near.parquet"
    assert pq.read_table("near.parquet")["id"].to_pylist() == ["anna", "bobby"]


def test_fewer_others_than_k_are_all_listed_and_repeated_ids_once(run, table):
    result = run("neighbors v.parquet ann ann -k 99 --json").json
    assert [one["id"] for one in result["neighbors"]] == ["anna", "bobby", "bob"]


def test_an_id_of_one_graph_needs_no_graph_and_one_of_several_does(run, refused, graphs):
    lines = run("neighbors g.parquet -k 1 -- -3").out.splitlines()
    assert [line.split() for line in lines] == [
        ["query_graph", "query", "rank", "graph", "id", "cosine"],
        ["right", "-3", "1", "right", "1", "0.9950"],
    ]
    refused("neighbors g.parquet 1", "the id '1' is in 2 graphs of g.parquet", "'left', 'right'", "--graph")
    result = run("neighbors g.parquet 1 --graph right -k 1 --json").json
    assert (result["neighbors"][0]["query_graph"], result["neighbors"][0]["id"]) == ("right", -3)


def test_approximate_search_says_so(run, table):
    pytest.importorskip("usearch", reason="usearch is an extra")
    outcome = run("neighbors v.parquet ann -k 1 --approximate")
    assert "approximate" in outcome.err
    assert outcome.out.splitlines()[1].split()[2] == "anna"


def test_usearch_that_is_missing_is_named(refused, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    refused("neighbors v.parquet ann --approximate", "usearch", "pip install 'mvgrl[search]'", "--exact")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("v.parquet", ["no id is given", "v.parquet"]),
        ("v.parquet anne", ["v.parquet has no id 'anne'", "did you mean 'ann' or 'anna'?"]),
        ("v.parquet 77777", ["v.parquet has no id '77777'", "its ids are like 'ann', 'anna', 'bob'"]),
        ("v.parquet zed", ["'zed'", "all zeros"]),
        ("v.parquet ann -k 0", ["-k is 0", "at least 1"]),
        ("v.parquet ann -k 1.5", ["1.5", "not an integer"]),
        ("v.parquet ann --approximate --exact", ["contradict"]),
        ("v.parquet ann --graph g", ["no column 'graph'", "--graph"]),
        ("v.parquet ann -o near.xlsx", ["near.xlsx", ".csv, .tsv, .parquet"]),
        ("v.parquet ann -o v.parquet", ["v.parquet", "also an input"]),
        ("missing.parquet ann", ["missing.parquet", "does not exist"]),
        ("g.parquet 1 --graph lift", ["g.parquet has no graph 'lift'", "'left'"]),
        ("g.parquet 2 --graph right", ["no id '2' in graph 'right'"]),
    ],
)
def test_bad_options_are_refused(refused, table, graphs, line, words):
    refused(f"neighbors {line}", *words)


def test_ids_of_both_sides_of_a_bipartite_graph_need_their_side(run, refused):
    vectors = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], np.float32)
    sides = np.array(["user", "user", "item"])
    write_embeddings("sides.parquet", Embeddings(np.array([1, 2, 1]), vectors, sides=sides))
    refused("neighbors sides.parquet 1", "the id '1' is in 2 sides", "'user', 'item'", "--side")
    refused("neighbors sides.parquet 1 --graph user", "no column 'graph'")
    found = run("neighbors sides.parquet 1 --side item -k 1 --json").json["neighbors"]
    assert [(one["query_side"], one["side"], one["id"]) for one in found] == [("item", "user", 2)]
