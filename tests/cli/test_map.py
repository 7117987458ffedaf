"""map: a picture of any table of embeddings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mvgrl.tables.embeddings import Embeddings, write_embeddings

pytest.importorskip("matplotlib")


@pytest.fixture
def table(folder):
    """Thirty vectors in three heaps, in v.parquet; their kinds in kinds.csv."""
    rng = np.random.default_rng(0)
    heaps = np.arange(30) % 3
    vectors = (4 * np.eye(5)[heaps] + rng.normal(size=(30, 5))).astype(np.float32)
    write_embeddings("v.parquet", Embeddings(np.arange(30), vectors))
    rows = [f"{i},{('ape', 'bee', 'cat')[heaps[i]]}" for i in range(30)]
    Path("kinds.csv").write_text("\n".join(["id,kind", *rows]) + "\n")
    return vectors


def test_a_picture_and_what_it_shows(run, table):
    outcome = run("map v.parquet -o map.png")
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    assert (outcome.out, outcome.err) == ("", "drew 30 of 30 points to map.png\n")
    result = run("map v.parquet -o map.pdf --json --method pca").json
    assert result == {"points": 30, "rows": 30, "method": "pca", "output": "map.pdf"}
    assert Path("map.pdf").read_bytes().startswith(b"%PDF")


def test_labels_of_a_table_are_the_colours(run, table):
    run("map v.parquet -o plain.svg --method pca")
    run("map v.parquet -o kinds.svg --method pca --labels kinds.csv --title 'Three heaps'")
    plain, kinds = Path("plain.svg").read_text(), Path("kinds.svg").read_text()
    for word in ("ape", "bee", "cat", "Three heaps"):
        assert word in kinds
        assert word not in plain


def test_labels_beside_the_vectors(run, table):
    rows = [f"{i},{x},{y},{'ape' if i % 2 else 'bee'}" for i, (x, y) in enumerate(table[:, :2])]
    Path("own.csv").write_text("\n".join(["id,x,y,class", *rows]) + "\n")
    run("map own.csv -o own.svg --method pca --label-column class")
    assert "ape" in Path("own.svg").read_text()


def test_labels_of_a_dataset(run, cora):
    write_embeddings("v.npy", Embeddings(np.arange(40), np.random.default_rng(0).normal(size=(40, 3))))
    run(f"map v.npy -o map.svg --method pca --labels cora-linqs --data-root {cora} -q")
    assert "Neural" in Path("map.svg").read_text()


def test_a_seed_gives_the_same_picture(run, table):
    for name in "ab":
        run(f"map v.parquet -o {name}.svg --seed 1")
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()


def test_quiet(run, table):
    outcome = run("map v.parquet -o map.png --method pca -q")
    assert (outcome.out, outcome.err) == ("", "")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("-o map.jpg", ["map.jpg", ".png, .svg, .pdf"]),
        ("-o map", ["map", ".png, .svg, .pdf"]),
        ("-o map.png --method umap", ["'umap'", "'tsne', 'pca'"]),
        ("-o map.png --labels kinds.csv --label-column knid", ["kinds.csv", "'knid'", "'kind'"]),
        ("-o map.png --label-column kind", ["v.parquet", "'kind'"]),
        ("-o map.png --id-column name", ["--id-column", "--labels"]),
        ("-o map.png --labels kinds.csv --id-column name", ["kinds.csv", "'name'", "'id'"]),
        ("-o kinds.csv/map.png", ["kinds.csv/map.png", "cannot be written", "another path"]),
        ("-o map.png --seed 5000000000", ["--seed", "5000000000"]),
        ("", ["--output"]),
    ],
)
def test_bad_options_are_refused(refused, table, flags, words):
    refused(f"map v.parquet {flags}", *words)
