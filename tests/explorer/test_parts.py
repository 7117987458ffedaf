"""Columns, layouts, neighbours, packing, and the built script."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.explorer.columns import column_of, columns_of
from mvgrl.explorer.contents import Contents, Map, pack
from mvgrl.explorer.layout import layout
from mvgrl.explorer.packing import unpacked
from mvgrl.explorer.page import page_of, script
from mvgrl.explorer.points_table import write_points
from mvgrl.explorer.similar import all_nearest
from mvgrl.neighbors import nearest
from mvgrl.reports.document import Document
from mvgrl.reports.templates import style
from mvgrl.reports.web_page import as_html
from mvgrl.tables.columns import Place

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "src" / "mvgrl" / "explorer" / "assets"


def clusters(count: int, size: int = 8, kinds: int = 6, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(kinds, size))
    return (centres[np.arange(count) % kinds] + rng.normal(size=(count, size))).astype(np.float32)


def test_script_is_built_from_its_sources():
    """If this fails, run make explorer: a source was changed and not built, or the built script was edited."""
    built = json.loads((ASSETS / "built.json").read_text())
    sources = [*(ROOT / "web" / "src").iterdir(), ROOT / "web" / "build.mjs", ROOT / "web" / "package-lock.json"]
    for base, paths, known in (
        (ROOT / "web", sources, built["sources"]),
        (ASSETS, [ASSETS / "explorer.js", ASSETS / "licences.txt"], built["built"]),
    ):
        digests = {path.relative_to(base).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
        assert digests == known


def test_script_carries_its_licences_and_cannot_end_the_page():
    licences = (ASSETS / "licences.txt").read_text()
    for name in ("regl-scatterplot 1.16.0 (MIT)", "regl 2.1.1 (MIT)", "gl-matrix 3.4.4 (MIT)", "pub-sub-es"):
        assert name in licences
    assert licences.count("Permission") >= 9
    assert script().isascii()
    assert "</script" not in script().lower()
    assert "<!--" not in script()


def test_all_pages_have_one_style_sheet(contents):
    shared = style()
    assert shared.strip() in as_html(Document("A report", ()))
    assert shared.strip() in page_of(contents)
    assert style("explorer.css").startswith(shared)


def test_policy_has_the_hashes_of_script_and_style(contents):
    import base64

    page = page_of(contents)
    policy = page.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        text = page.rsplit(f"<{tag}>", 1)[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "http" not in policy
    assert "*" not in policy
    assert "unsafe-inline" not in policy


def test_columns_are_recognised():
    table = pa.table(
        {
            "flag": [True, False, None, True],
            "group": [1, 2, 2, None],
            "size": [0.5, 1.5, None, float("inf")],
            "kind": ["a", "b", "a", ""],
            "name": ["one", "two", "three", "four"],
            "when": pa.array([0, 1, None, 10], pa.date32()),
            "list": [[1], [2], [3], [4]],
        }
    )
    rows = np.array([3, 0, -1, 1])
    found, left = columns_of(table, Place("nodes"), rows)
    assert left == ["list"]
    by_name = {column.name: column for column in found}
    assert by_name["flag"].levels == ("false", "true")
    assert by_name["flag"].codes.tolist() == [2, 2, 0, 1]
    assert by_name["group"].levels == ("1", "2")
    assert by_name["group"].codes.tolist() == [0, 1, 0, 2]
    np.testing.assert_array_equal(by_name["size"].values, [np.nan, 0.5, np.nan, 1.5])
    assert by_name["kind"].codes.tolist() == [0, 1, 0, 2]
    assert by_name["name"].texts == ("four", "one", "", "two")
    assert by_name["when"].date
    np.testing.assert_array_equal(by_name["when"].values, [10, 0, np.nan, 1])


def test_many_integers_and_many_texts_are_not_classes():
    assert column_of("year", np.arange(1900, 2000)).kind == "number"
    assert column_of("title", np.array([f"t{i}" for i in range(50)])).kind == "text"
    assert column_of("nothing", np.full(3, np.nan)).kind == "number"


@pytest.mark.parametrize("exact", [True, False])
def test_neighbours_are_those_of_the_exact_search(exact):
    vectors = clusters(3000)
    vectors[17] = 0
    found = all_nearest(vectors, 10, exact=exact)
    assert found.exact == exact
    asked = np.delete(np.arange(3000), 17)
    truth = nearest(vectors, asked, 10)
    hits = [len(set(a) & set(b)) / 10 for a, b in zip(found.rows[asked], truth.rows, strict=True)]
    assert np.mean(hits) > (0.999 if exact else 0.9)
    same = found.rows[asked] == truth.rows
    np.testing.assert_allclose(found.cosines[asked][same], truth.cosines[same], atol=1e-5)
    assert (found.rows[17] == 3000).all()  # a vector of zeros has no neighbours, and is nobody's
    assert not (found.rows == 17).any()
    assert not (found.rows == np.arange(3000)[:, None]).any()


def test_points_beyond_the_sample_are_placed_beside_their_neighbours():
    vectors = clusters(600, kinds=3)
    seen = []
    points = layout(vectors, "tsne", sample=300, progress=lambda what, done, total: seen.append((what, done, total)))
    assert points.shape == (600, 2)
    assert np.abs(points).max() == pytest.approx(1)
    centres = np.stack([points[kind::3].mean(axis=0) for kind in range(3)])
    nearest_centre = np.linalg.norm(points[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest_centre == np.arange(600) % 3).mean() > 0.98
    assert any("300 points (tsne)" in what and done == total for what, done, total in seen)
    assert seen[-1] == ("placing the others", 300, 300)
    np.testing.assert_array_equal(points, layout(vectors, "tsne", sample=300))


def test_page_takes_few_bytes_per_point():
    count = 60_000
    points = np.random.default_rng(0).random((count, 2)) * 2 - 1
    neighbors = all_nearest(points, 1, exact=False)
    block = pack(Contents("Many", np.arange(count), (Map("", points, neighbors),)))
    header, arrays = unpacked(block)
    assert header["ids"] is None  # 0, 1, 2, … need no room
    assert len(block) / count < 11  # 4 for coordinates, 4 for a neighbour, 2 for its similarity
    x = arrays[header["maps"][0]["x"]] / 32767.5 - 1
    np.testing.assert_allclose(x, points[:, 0], atol=2e-5)


def test_points_table_has_coordinates_columns_and_neighbours(contents, tmp_path):
    write_points(tmp_path / "points.parquet", contents)
    rows = pq.read_table(tmp_path / "points.parquet").to_pylist()
    assert rows[7]["id"] == "p7"
    assert rows[7]["neighbors"] == [f"p{row}" for row in contents.maps[0].neighbors.rows[7]]
    assert rows[7]["similarities"] == pytest.approx(contents.maps[0].neighbors.cosines[7].tolist())
    assert (rows[7]["x"], rows[7]["y"]) == pytest.approx(contents.maps[0].points[7])
    assert (rows[7]["kind"], rows[7]["note"]) == ("ape", "a note on point 7")
    assert rows[79]["age"] is None
