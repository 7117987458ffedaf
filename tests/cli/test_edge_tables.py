"""Tables of edges as people have them, in every verb that reads a graph."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from mvgrl.graphs.read import read
from mvgrl.tables.embeddings import read_embeddings

RING = [(f"n{i}", f"n{(i + 1) % 8}") for i in range(8)]


def table(separator=",", header=("source", "target")):
    return "".join(f"{separator.join(row)}\n" for row in ([header] if header else []) + RING)


def test_every_spelling_of_a_table_gives_the_same_vectors(run, small):
    def vectors(name, content, flags=""):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        outcome = run(f"embed {name} {flags} -o v.parquet {small}")
        found = read_embeddings("v.parquet")
        assert found.ids.tolist()[:3] == ["n0", "n1", "n2"]
        return found.vectors, outcome.err

    expected, notes = vectors("plain.csv", table())
    assert "separated" not in notes
    for name, content, flags, note in (
        ("gephi.csv", table(";", ("Source", "Target")), "", "note: gephi.csv is separated by semicolons"),
        ("bare.txt", table("  ", None), "", "note: bare.txt has no header: its first line, 'n0 n1', is an edge"),
        ("snap.txt", "# Nodes: 8\n" + table("\t", None), "", "note: skipped 1 comment line at the top of snap.txt"),
        ("packed.csv.gz", gzip.compress(table().encode()), "", ""),
        ("people.csv", table(",", ("person", "friend")), "--source-column person --target-column Friend", ""),
        ("odd.csv", table(",", None), "--no-header --separator ,", "note: odd.csv has no header"),
    ):
        found, notes = vectors(name, content, flags)
        assert np.array_equal(found, expected), name
        assert note in notes


def test_edges_are_read_from_standard_input(run, refused, monkeypatch, small):
    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    for content in (table().encode(), gzip.compress(table(";").encode()), b'{"source": "n0", "target": "n1"}\n'):
        give(content)
        run(f"embed - -o v.csv {small}")
        assert read_embeddings("v.csv").ids.tolist()[:2] == ["n0", "n1"]
    give(table().encode())
    assert run("info - --json").json["nodes"] == 8
    Path("v.csv").unlink()
    give(b"source,target\na,b\nb,\n")
    refused(f"embed - -o v.csv {small}", "standard input, line 3", "'target' is missing")
    give(b"")
    refused(f"embed - -o v.csv {small}", "standard input is empty")


def test_model_is_trained_and_applied_with_chosen_columns(run, small):
    Path("people.csv").write_text(table(";", ("person", "friend")))
    flags = "--source-column person --target-column friend"
    run(f"train people.csv {flags} -o model {small}")
    run(f"apply model people.csv {flags} -o v.csv --device cpu")
    assert len(read_embeddings("v.csv").ids) == 8


def test_weights_are_a_chosen_column(run):
    Path("e.csv").write_text("source,target,rating\na,b,2\nb,c,3\n")
    assert run("info e.csv --json").json["weighted"] is False
    assert run("info e.csv --weight-column rating --json").json["weighted"] is True


def test_flags_that_do_not_apply_are_refused(refused, run, graph):
    refused("embed edges.csv --source-column sorce -o v.csv", "edges.csv", "'sorce'", "did you mean 'source'")
    refused("embed edges.csv --weight-column wieght -o v.csv", "edges.csv", "'wieght'", "'source', 'target'")
    refused("embed edges.csv --separator x -o v.csv", "'x'", "tab space")
    for flag, name in (("--source-column a", "--source-column (a)"), ("--bipartite", "--bipartite"),
                       ("--no-header", "--no-header"), ("--separator ,", "--separator")):  # fmt: skip
        refused(f"embed mutag {flag} -o v.csv", "mutag is a named dataset", f"omit {name}")
    Path("g.gml").write_text("graph [ node [ id 4 ] node [ id 9 ] edge [ source 4 target 9 ] ]")
    refused("embed g.gml --bipartite -o v.csv", "g.gml is not a table", "bipartite", "omit it")


def test_folder_of_parts_is_read(run):
    Path("parts").mkdir()
    Path("parts/1.csv").write_text("source,target\nb,c\n")
    Path("parts/0.csv").write_text("source,target\na,b\n")
    assert run("info parts --json").json["ids"] == "a … c"


@pytest.fixture
def ratings():
    """Four users and four items with the same ids, in ratings.csv; a label for each of them, in kinds.csv."""
    rows = [f"{user},{(user + step) % 4}" for user in range(4) for step in (0, 1)]
    Path("ratings.csv").write_text("\n".join(["user,item", *rows]) + "\n")
    kinds = [f"{side},{i},{i % 2}{side[0]}" for side in ("user", "item") for i in range(4)]
    Path("kinds.csv").write_text("\n".join(["side,id,label", *kinds]) + "\n")


def test_bipartite_graph_is_embedded_and_used(run, refused, ratings, small):
    assert "add --bipartite" in run(f"embed ratings.csv -o one.csv {small}").err
    assert len(read_embeddings("one.csv").ids) == 4
    outcome = run(f"embed ratings.csv --bipartite -o v.csv {small}")
    assert "add --bipartite" not in outcome.err
    assert Path("v.csv").read_text().startswith("side,id,e0,")
    found = read_embeddings("v.csv")
    assert sorted(zip(found.sides.tolist(), found.ids.tolist(), strict=True)) == [
        (side, i) for side in ("item", "user") for i in range(4)
    ]
    assert found.sides.tolist() == read("ratings.csv", bipartite=True).sides.tolist()
    assert run("evaluate v.csv --labels kinds.csv --protocol clustering --splits 1 --json").json["splits"] == 1
    run("map v.csv --labels kinds.csv --method pca -o map.svg")
    assert run("info ratings.csv --bipartite --json").json["sides"] == {"item": 4, "user": 4}
    Path("bare.csv").write_text("id,label\n1,a\n2,b\n")
    refused("evaluate v.csv --labels bare.csv", "several sides", "bare.csv", "'side'")
    run(f"train ratings.csv --bipartite -o model {small}")
    run("apply model ratings.csv --bipartite -o w.npy --device cpu")
    assert read_embeddings("w.npy").sides.tolist() == found.sides.tolist()
