"""mvgrl import, and its folder as the graph of other commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mvgrl
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.stored import StoredGraph
from mvgrl.tables.embeddings import read_embeddings


def test_an_imported_graph_is_embedded_like_its_tables(graph, small, run):
    imported = run(f"import {graph} -o GRAPH --json")
    assert (imported.json["nodes"], imported.json["edges"], imported.json["features"]) == (12, 13, 2)
    assert "note: directed edges made undirected" in imported.err
    run(f"embed {graph} {small} -o one.parquet")
    run(f"embed GRAPH {small} -o two.parquet")
    run(f"embed GRAPH/ {small} -o three.parquet")
    assert Path("one.parquet").read_bytes() != b""
    one, two, three = (read_embeddings(f"{name}.parquet") for name in ("one", "two", "three"))
    assert np.array_equal(one.vectors, two.vectors)
    assert np.array_equal(one.vectors, three.vectors)
    assert one.ids.tolist() == two.ids.tolist()


def test_info_describes_an_imported_graph(graph, run, monkeypatch):
    run(f"import {graph} -o GRAPH")
    found, expected = run("info GRAPH --json").json, run(f"info {graph} --json").json
    assert {**expected, **found} == found
    assert "on_disk" in found
    monkeypatch.setattr("mvgrl.runtime.machine_memory", lambda: 100)
    large = run("info GRAPH --json").json
    for name in (
        "kind",
        "nodes",
        "edges",
        "graphs",
        "degree",
        "isolated_nodes",
        "weighted",
        "features",
        "ids",
        "notes",
    ):
        assert large[name] == expected[name]


def test_a_graph_larger_than_memory_is_not_loaded(graph, refused, run, monkeypatch):
    run(f"import {graph} -o GRAPH")
    monkeypatch.setattr("mvgrl.runtime.machine_memory", lambda: 100)
    refused("links GRAPH -o links.csv", "GRAPH needs", "in memory")


@pytest.mark.parametrize("kind", [str, Path])
def test_python_takes_the_folder_too(kind, graph, run):
    run(f"import {graph} -o GRAPH")
    fitted = mvgrl.NodeEmbedder(hidden=4, epochs=2, device="cpu").fit(kind("GRAPH"))
    assert fitted.transform(kind("GRAPH")).shape[0] == 12
    assert to_named(kind("GRAPH")).node_ids[0] == "n0"


def test_a_damaged_graph_is_refused(graph, run, refused):
    run(f"import {graph} -o GRAPH")
    file = Path("GRAPH", "indices.npy")
    data = file.read_bytes()
    file.write_bytes(data[:-4] + b"\0\0\0\0")
    refused("info GRAPH", "indices.npy was changed", "import the tables again")
    file.write_bytes(data[:-4])
    refused("info GRAPH", "indices.npy has", "import the tables again")
    Path("GRAPH", "graph.json").write_text("{}")
    refused("info GRAPH", "format")


def test_flags_of_tables_are_refused_for_an_imported_graph(graph, run, refused):
    run(f"import {graph} -o GRAPH")
    refused("info GRAPH --nodes nodes.csv", "GRAPH is an imported graph", "nodes")
    refused("info GRAPH --separator tab", "GRAPH is an imported graph")


def test_a_graph_is_replaced_only_if_asked(graph, run, refused):
    run("import edges.csv -o GRAPH")
    refused(f"import {graph} -o GRAPH", "already a graph", "--overwrite")
    run(f"import {graph} -o GRAPH --overwrite")
    assert StoredGraph.open("GRAPH").width == 2
    Path("full").mkdir()
    Path("full", "mine.txt").write_text("x")
    refused("import edges.csv -o full --overwrite", "not a stored graph")
    refused("import edges.csv -o edges.csv", "is a file")


def test_columns_are_encoded_like_those_of_a_model(graph, small, run, refused):
    Path("nodes.csv").write_text(Path("nodes.csv").read_text().replace("cats", "small cats"))
    run(f"train edges.csv --nodes nodes.csv {small} -o MODEL")
    lines = Path("nodes.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join(line.replace("n0,0", "n0,99") for line in lines) + "\n")
    run("import edges.csv --nodes new.csv -o OWN")
    refused("apply MODEL OWN -o v.csv", "encoded in another way", "--like")
    run("import edges.csv --nodes new.csv --like MODEL -o LIKE")
    run("import edges.csv --nodes new.csv --like LIKE -o AGAIN")
    run("apply MODEL edges.csv --nodes new.csv -o one.csv")
    run("apply MODEL LIKE -o two.csv")
    run("apply MODEL AGAIN -o three.csv")
    assert Path("one.csv").read_text() == Path("two.csv").read_text() == Path("three.csv").read_text()
    run("import edges.csv -o BARE")
    refused("import edges.csv --nodes new.csv --like BARE -o X", "no features from the columns")


def test_bad_input_is_refused(graph, refused):
    refused("import missing.csv -o GRAPH", "missing.csv does not exist")
    refused("import edges.csv --nodes edges.csv -o GRAPH", "has no column 'id'")
    refused("import edges.csv --memory 1MB -o GRAPH", "use at least")
    refused("import edges.csv --memory much -o GRAPH", "4GB")
    refused("import edges.csv --features none --ignore x -o GRAPH", "needs a table of nodes")


def test_features_may_be_left_out(graph, run):
    run(f"import {graph} --features none -o GRAPH")
    assert StoredGraph.open("GRAPH").width == 0
    assert StoredGraph.open("GRAPH").labels(0, 1).tolist() == ["cats"]


def test_classes_of_an_imported_graph_are_labels(graph, small, run, refused):
    run(f"import {graph} -o GRAPH")
    run(f"embed GRAPH {small} -o vectors.csv")
    line = "evaluate vectors.csv --splits 2 --train-fraction 0.5 --val-fraction 0.2 --device cpu --json --labels"
    assert run(f"{line} GRAPH").json == run(f"{line} nodes.csv --label-column topic").json
    refused(f"{line} GRAPH --label-column topic", "imported graph", "--label-column")
    run("import edges.csv -o BARE")
    refused(f"{line} BARE", "BARE has no classes", "--label-column")
