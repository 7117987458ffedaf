"""The map of embeddings: neighbours stay neighbours, every class has its colour and its name, and bytes repeat."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from sklearn.datasets import make_blobs
from sklearn.neighbors import NearestNeighbors

from mvgrl.errors import InputError, SettingsError
from mvgrl.reports import check_picture, draw_map, embedding_map, project
from mvgrl.reports.embedding_map import FEW, MANY, OTHER, UNLABELLED

FOUR = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, n_features=64, centers=4, cluster_std=2.0, random_state=0)


def texts(path: Path) -> list[str]:
    """What is written in an SVG, in order."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())


def same_colour(picture: np.ndarray, colour: str, alpha: float = 1.0) -> np.ndarray:
    """Where a picture has this colour, laid over white."""
    wanted = np.array(to_rgb(colour)) * alpha + 1 - alpha
    return (np.abs(picture[..., :3] - wanted) < 0.02).all(axis=-1)


def map_and_legend(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A picture cut in two: the legend begins with the dot of the first class, opaque as no point on the map is."""
    (first,) = (palette[0] for palette in (FEW, MANY) if same_colour(picture, palette[0]).any())
    edge = np.flatnonzero(same_colour(picture, first).any(axis=0))[0] - 10
    return picture[:, :edge], picture[:, edge:]


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_separate_groups_stay_separate(blobs, method):
    vectors, labels = blobs
    points = project(vectors, method=method)
    assert points.shape == (150, 2)
    assert points.dtype == np.float64
    nearest = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points, return_distance=False)[:, 1]
    assert (labels[nearest] == labels).mean() > 0.95


def test_pca_is_the_two_directions_of_largest_variance(blobs):
    vectors, _ = blobs
    points = project(vectors, method="pca")
    centred = vectors - vectors.mean(axis=0)
    variances = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    np.testing.assert_allclose(points.T @ points, np.diag(variances[:2]), rtol=1e-6, atol=1e-6 * variances[0])


def test_a_projection_repeats_whatever_its_scale_and_leaves_the_global_seed_alone(blobs):
    vectors = blobs[0][:40]
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()
    first = project(vectors, seed=3)
    assert np.random.get_state()[1].tolist() == before
    assert np.array_equal(project(vectors, seed=3), first)
    assert np.array_equal(project(torch.from_numpy(vectors).requires_grad_(), seed=3), first)
    assert np.array_equal(project(vectors * 2.0**80, seed=3), first)


@pytest.mark.parametrize("method", ["tsne", "pca"])
@pytest.mark.parametrize(("count", "width"), [(1, 3), (2, 2), (3, 1), (3, 3), (5, 1), (5, 3), (6, 2)])
def test_few_points_and_few_columns_are_enough(tmp_path, method, count, width):
    vectors = np.random.default_rng(0).normal(size=(count, width))
    with warnings.catch_warnings(action="error"):
        points = project(vectors, method=method)
        assert embedding_map(vectors, tmp_path / "map.svg", labels=range(count), method=method) == count
    assert points.shape == (count, 2)
    assert np.isfinite(points).all()
    assert len(np.unique(points, axis=0)) == count
    assert texts(tmp_path / "map.svg") == [str(i) for i in range(count)]
    if method == "pca" and width == 1:
        np.testing.assert_allclose(np.abs(points), np.abs(np.pad(vectors - vectors.mean(), ((0, 0), (0, 1)))))


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_equal_vectors_lie_on_one_point(tmp_path, method):
    with warnings.catch_warnings(action="error"):
        assert project(np.ones((9, 3)), method=method).tolist() == [[0.0, 0.0]] * 9
        draw_map(np.zeros((9, 2)), tmp_path / "map.png")
    assert same_colour(imread(tmp_path / "map.png"), FEW[0]).any()


@pytest.mark.parametrize(("kind", "signature"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("pdf", b"%PDF-")])
def test_a_picture_is_of_the_kind_its_name_says_and_repeats_byte_for_byte(tmp_path, monkeypatch, kind, signature):
    options = dict(labels=["b", "a", "b", ""], title="Four", note="4 of 9")
    draw_map(FOUR, tmp_path / f"one.{kind.upper()}", **options)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")  # a day matplotlib would write, had it been left to
    with matplotlib.rc_context({"figure.facecolor": "red", "font.size": 20, "savefig.dpi": 30, "pdf.fonttype": 3}):
        before = dict(matplotlib.rcParams)
        draw_map(FOUR, tmp_path / f"two.{kind}", **options)
        assert dict(matplotlib.rcParams) == before
    first, second = (tmp_path / f"one.{kind.upper()}").read_bytes(), (tmp_path / f"two.{kind}").read_bytes()
    assert first.startswith(signature)
    assert first == second
    assert len(list(tmp_path.iterdir())) == 2


def test_a_picture_is_1600_pixels_wide_and_as_high_as_its_points_ask_for(tmp_path):
    heights = []
    for spread in (0.01, 0.9, 1.0, 100.0):
        draw_map(FOUR * [1, spread], tmp_path / "map.png", labels=[1, 1, 2, 2])
        height, width, _ = imread(tmp_path / "map.png").shape
        assert width == 1600
        heights.append(height)
    assert 0.6 * 1600 <= heights[0] < heights[1] < heights[2] == heights[3] <= 1600


def test_distances_are_true_in_both_directions(tmp_path):
    draw_map(FOUR, tmp_path / "map.png", labels=[0, 1, 2, 3])
    points, _ = map_and_legend(imread(tmp_path / "map.png"))
    centres = []
    for colour in FEW[:4]:
        rows, columns = np.nonzero(same_colour(points, colour, alpha=0.75))
        centres.append([columns.mean(), len(points) - rows.mean()])
    (left, bottom), (right, top) = centres[0], centres[3]
    np.testing.assert_allclose(centres, [[left, bottom], [right, bottom], [left, top], [right, top]], atol=1)
    assert right - left == pytest.approx(top - bottom, abs=2)


@pytest.mark.parametrize(("classes", "palette"), [(8, FEW), (9, MANY), (20, MANY)])
def test_every_class_has_its_colour_on_the_map_and_in_the_legend(tmp_path, classes, palette):
    labels = np.arange(classes)
    draw_map(np.stack([labels % 5, labels // 5], axis=1), tmp_path / "map.png", labels=labels)
    points, legend = (part[::3, ::3] for part in map_and_legend(imread(tmp_path / "map.png")))
    for colour in palette[:classes]:
        assert same_colour(points, colour, alpha=0.75).any(), colour
        assert same_colour(legend, colour).any(), colour
    assert len(set(palette)) == len(palette)


def test_past_twenty_classes_the_largest_are_coloured_and_the_others_grey(tmp_path):
    labels = np.repeat(np.arange(25), [1 if label % 4 == 0 and label < 24 else 3 for label in range(25)])
    points = np.random.default_rng(0).normal(size=(len(labels), 2))
    draw_map(points, tmp_path / "map.svg", labels=labels)
    coloured = [str(label) for label in range(25) if label % 4 or label == 24]
    assert len(coloured) == 19
    assert texts(tmp_path / "map.svg") == [*coloured, "other (6 classes)"]
    fills = re.findall(r"<use[^>]*fill: (#\w+); fill-opacity", (tmp_path / "map.svg").read_text())
    assert fills.count(OTHER) == 6
    assert fills[:6] == [OTHER] * 6
    assert {fills.count(colour) for colour in MANY[:19]} == {3}


def test_points_without_a_label_lie_grey_behind_the_others(tmp_path):
    labels = np.array(["a", "b", "a", ""])
    draw_map(np.zeros((4, 2)), tmp_path / "map.svg", labels=labels)
    fills = re.findall(r"<use[^>]*fill: (#\w+); fill-opacity", (tmp_path / "map.svg").read_text())
    assert fills[0] == UNLABELLED
    assert sorted(fills[1:]) == sorted(colour.lower() for colour in (FEW[0], FEW[0], FEW[1]))
    assert texts(tmp_path / "map.svg") == ["a", "b", "unlabelled"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["Rule_Learning", "Theory", "Case_Based", "Theory"], ["Case Based", "Rule Learning", "Theory"]),
        ([10, 9, 10, 2], ["2", "9", "10"]),
        (np.array([1.0, np.nan, 0.0, 2.5]), ["0", "1", "2.5", "unlabelled"]),
        (np.array([True, False, True, True]), ["False", "True"]),
        (["nan", None, None, "None"], ["None", "nan", "unlabelled"]),
        (["b", "b", float("nan"), "a"], ["a", "b", "unlabelled"]),
        ([3, "x", " ", "x"], ["3", "x", "unlabelled"]),
        (torch.tensor([1, 0, 1, 0]), ["0", "1"]),
        (["a & b", "$x^$", "line\nbreak", "\x00bell"], ["bell", "$x^$", "a &amp; b", "line break"]),
        (["w" * 99, "_b", "a", "a"], ["b", "a", "w" * 29 + "…"]),
        ([None] * 4, ["unlabelled"]),
        (None, []),
    ],
    ids=str,
)
def test_the_legend_names_the_classes_in_order(tmp_path, labels, names):
    draw_map(FOUR, tmp_path / "map.svg", labels=labels)
    assert texts(tmp_path / "map.svg") == names


def test_the_legend_stays_beside_the_map_and_inside_the_picture(tmp_path):
    long = ["m" * 30, "a", "b", "c"]
    draw_map(FOUR, tmp_path / "map.png", labels=long, title="$ A title with_an underscore " + "and more " * 20)
    ink = imread(tmp_path / "map.png")[..., :3].min(axis=-1) < 0.95
    assert ink.any()
    assert not ink[:30].any()
    assert not ink[-30:].any()
    assert not ink[:, :30].any()
    assert not ink[:, -30:].any()
    points, _ = map_and_legend(imread(tmp_path / "map.png"))
    sizes = [same_colour(points, colour, alpha=0.75).sum() for colour in FEW[:4]]
    assert max(sizes) < 1.05 * min(sizes)  # no point is cut or covered


def test_the_longest_legend_fits_beside_the_flattest_map(tmp_path):
    labels = [*np.arange(25).repeat(2).tolist(), None]
    draw_map(np.stack([np.arange(51), np.zeros(51)], axis=1), tmp_path / "map.png", labels=labels, note="51 of 99")
    _, legend = map_and_legend(imread(tmp_path / "map.png"))
    rows = np.flatnonzero((legend[..., :3].min(axis=-1) < 0.95).any(axis=1))
    assert 30 < rows[0] < rows[-1] < len(legend) - 30
    dots = [np.flatnonzero(same_colour(legend, colour).any(axis=1)) for colour in (*MANY[:19], OTHER, UNLABELLED)]
    assert [len(dot) > 10 for dot in dots] == [True] * 21


def test_title_and_note_are_text(tmp_path):
    draw_map(FOUR, tmp_path / "map.svg", title="cora_linqs: $5 or $6 a paper", note="4 of 9")
    assert texts(tmp_path / "map.svg") == ["cora_linqs: $5 or $6 a paper", "4 of 9"]


def test_of_too_many_points_a_sample_is_drawn_and_noted(tmp_path, blobs):
    vectors = np.tile(blobs[0], (10, 1))
    labels = np.tile(blobs[1], 10)
    options = dict(labels=labels, method="pca", limit=1200)
    assert embedding_map(vectors, tmp_path / "one.svg", **options) == 1200
    assert texts(tmp_path / "one.svg") == ["1,200 of 1,500", "0", "1", "2", "3"]
    assert (tmp_path / "one.svg").read_text().count("fill-opacity") == 1200
    embedding_map(vectors, tmp_path / "two.svg", **options)
    embedding_map(vectors, tmp_path / "three.svg", **options, seed=1)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.svg").read_bytes() != (tmp_path / "three.svg").read_bytes()


def test_a_sample_keeps_each_point_with_its_label(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(300, 1))
    embedding_map(vectors, tmp_path / "map.svg", labels=vectors[:, 0] > 0, method="pca", limit=100)
    drawn = re.findall(r'x="([\d.]+)" y="[\d.]+" style="fill: (#\w+); fill-op', (tmp_path / "map.svg").read_text())
    assert len(drawn) == 100
    low, high = ([float(x) for x, fill in drawn if fill == colour.lower()] for colour in FEW[:2])
    assert max(low) < min(high) or max(high) < min(low)


def test_at_the_limit_every_point_is_drawn_without_a_note(tmp_path):
    assert embedding_map(FOUR, tmp_path / "map.svg", limit=4, title="All") == 4
    assert texts(tmp_path / "map.svg") == ["All"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "t-sne"}, SettingsError, "unknown method 't-sne'; did you mean 'tsne'"),
        ({"limit": 0}, SettingsError, "limit is 0"),
        ({"path": "map.jpeg"}, InputError, r"^map\.jpeg: unsupported file type; use one of \.png, \.svg, \.pdf$"),
        ({"path": "map"}, InputError, "^map: unsupported file type"),
        ({"path": "folder.png"}, InputError, r"folder\.png is a folder"),
        ({"path": "file.txt/map.png"}, InputError, r"map\.png cannot be written: Not a directory"),
        ({"vectors": [1.0, 2.0]}, InputError, r"vectors has shape \(2,\)"),
        ({"vectors": np.zeros((0, 3))}, InputError, r"vectors has shape \(0, 3\)"),
        ({"vectors": [[1.0], [2.0, 3.0]]}, InputError, "vectors is not a table of numbers"),
        ({"vectors": [["a"], ["b"]]}, InputError, "vectors holds <U1; give real numbers"),
        ({"vectors": np.ones((2, 2), dtype=complex)}, InputError, "vectors holds complex128"),
        ({"vectors": [[1.0, 2.0], [3.0, np.inf]]}, InputError, "vectors, row 1, column 1 is inf"),
        ({"vectors": np.full((90, 2), np.nan), "limit": 1, "seed": 1}, InputError, r"row [1-9]\d*, column 0 is nan"),
        ({"labels": [1, 2, 3]}, InputError, r"labels has shape \(3,\), but there are 4 points"),
        ({"labels": [[1, 2, 3, 4]]}, InputError, r"labels has shape \(1, 4\)"),
    ],
    ids=str,
)
def test_what_cannot_be_drawn_is_refused_and_nothing_written(tmp_path, monkeypatch, options, error, message):
    monkeypatch.chdir(tmp_path)
    Path("folder.png").mkdir()
    Path("file.txt").touch()
    with pytest.raises(error, match=message):
        embedding_map(**({"vectors": FOUR, "path": "map.png"} | options))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.txt", "folder.png"]


def test_points_of_another_shape_are_refused(tmp_path):
    with pytest.raises(InputError, match="points has 3 columns; a map has 2"):
        draw_map(np.zeros((4, 3)), tmp_path / "map.png")
    with pytest.raises(InputError, match="points, row 0, column 1 is nan"):
        draw_map([[0.0, np.nan]], tmp_path / "map.png")
    with pytest.raises(SettingsError, match="unknown method 'umap'"):
        project(FOUR, method="umap")
    with pytest.raises(InputError, match="vectors, row 2, column 0 is -inf"):
        project([[0.0], [1.0], [-np.inf]])


def test_without_matplotlib_the_way_out_is_named(tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=re.escape("map.png needs matplotlib; pip install 'mvgrl[plot]'")):
        check_picture(tmp_path / "map.png")
    assert project(FOUR, method="pca").shape == (4, 2)


def test_a_drawing_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    def half(self, path, **options):
        Path(path).write_bytes(b"\x89PNG")
        raise RuntimeError("halfway")

    (tmp_path / "old.png").write_bytes(b"the last one")
    monkeypatch.setattr(Figure, "savefig", half)
    for name in ("old.png", "new.png"):
        with pytest.raises(RuntimeError, match="halfway"):
            draw_map(FOUR, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_bytes() == b"the last one"
