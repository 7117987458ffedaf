"""mvgrl map: a picture of any table of embeddings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mvgrl.tables.embeddings import Embeddings, write_embeddings

pytest.importorskip("matplotlib")


@pytest.fixture
def table(folder):
    """Write 12 vectors in three clusters to v.parquet, and their kinds to kinds.csv."""
    clusters = np.arange(12) % 3
    vectors = (4 * np.eye(5)[clusters] + np.random.default_rng(0).normal(size=(12, 5))).astype(np.float32)
    write_embeddings("v.parquet", Embeddings(np.arange(12), vectors))
    rows = [f"{i},{('ape', 'bee', 'cat')[cluster]}" for i, cluster in enumerate(clusters)]
    Path("kinds.csv").write_text("\n".join(["id,kind", *rows]) + "\n")
    return vectors


def test_map_draws_a_picture_and_says_what_it_shows(run, table):
    outcome = run("map v.parquet -o map.png")
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")
    assert (outcome.out, outcome.err) == ("", "drew 12 of 12 points to map.png\n")
    result = run("map v.parquet -o map.pdf --json --method pca").json
    assert result == {"points": 12, "rows": 12, "method": "pca", "output": "map.pdf"}
    assert Path("map.pdf").read_bytes().startswith(b"%PDF")


def test_points_are_coloured_by_the_labels_of_a_table(run, table):
    run("map v.parquet -o plain.svg --method pca")
    run("map v.parquet -o kinds.svg --method pca --labels kinds.csv --title 'Three clusters'")
    plain, kinds = Path("plain.svg").read_text(), Path("kinds.svg").read_text()
    for word in ("ape", "bee", "cat", "Three clusters"):
        assert word in kinds
        assert word not in plain


def test_points_are_coloured_by_a_column_of_the_embeddings(run, table):
    rows = [f"{i},{x},{y},{'ape' if i % 2 else 'bee'}" for i, (x, y) in enumerate(table[:, :2])]
    Path("own.csv").write_text("\n".join(["id,x,y,class", *rows]) + "\n")
    run("map own.csv -o own.svg --method pca --label-column class")
    assert "ape" in Path("own.svg").read_text()


def test_points_are_coloured_by_the_labels_of_a_dataset(run, cora):
    write_embeddings("v.npy", Embeddings(np.arange(40), np.random.default_rng(0).normal(size=(40, 3))))
    run(f"map v.npy -o map.svg --method pca --labels cora-linqs --data-root {cora} -q")
    assert "Neural" in Path("map.svg").read_text()


def test_the_same_seed_gives_the_same_picture(run, table):
    for name in "ab":
        run(f"map v.parquet -o {name}.svg --seed 1")
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()


def test_ids_are_beside_the_points_of_a_small_table_unless_unwanted(run, table, refused):
    run("map v.parquet -o names.svg --method pca")
    run("map v.parquet -o plain.svg --method pca --no-names")
    assert all(f">{i}</text>" in Path("names.svg").read_text() for i in range(12))
    assert "<text" not in Path("plain.svg").read_text()
    write_embeddings("large.npy", Embeddings(np.arange(61), np.random.default_rng(0).normal(size=(61, 2))))
    run("map large.npy -o large.svg --method pca")
    assert "<text" not in Path("large.svg").read_text()
    refused("map large.npy -o other.svg --method pca --names", "--names", "60", "large.npy")


def test_numbers_have_a_colour_scale(run, table):
    Path("ages.csv").write_text("id,age\n" + "".join(f"{i},{20 + i}\n" for i in range(12)))
    run("map v.parquet -o ages.svg --labels ages.csv --layout pca --no-names --colours scale")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", Path("ages.svg").read_text())
    assert {"22", "30"} <= set(texts)
    assert len(texts) < 12


def test_quiet_prints_nothing(run, table):
    outcome = run("map v.parquet -o map.svg --method pca -q")
    assert (outcome.out, outcome.err) == ("", "")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("-o map.jpg", ["map.jpg", "unsupported file type", ".png, .svg, .pdf"]),
        ("-o map", ["map", ".png, .svg, .pdf"]),
        ("-o map.png --method isomap", ["'isomap'", "'tsne', 'pca', 'umap'"]),
        ("-o map.png --colours rainbow", ["'rainbow'", "'auto', 'classes', 'scale'"]),
        ("-o map.png --colours scale", ["--colours scale", "--labels"]),
        ("-o map.png --labels kinds.csv --colours scale", ["'ape' is not a number", "classes"]),
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
