"""Maps of embeddings: neighbours stay neighbours, each class has a colour and a name, and bytes repeat."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
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
from mvgrl.reports.colours import FEW, MANY, OTHER, UNLABELLED, colours_of

SQUARE = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])


@pytest.fixture(scope="module")
def blobs():
    """Return 60 vectors in four clusters, and the cluster of each."""
    return make_blobs(60, n_features=64, centers=4, cluster_std=2.0, random_state=0)


@dataclass(frozen=True)
class Drawing:
    """The content of an SVG map: its size, texts, points (x, y, colour) and the colours of the legend, in order."""

    size: tuple[float, float]
    texts: list[str]
    points: list[tuple[float, float, str]]
    legend: list[str]


def read(path: Path) -> Drawing:
    svg = path.read_text()
    width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    dots = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"(?: style="([^"]*)")?/>', svg)
    colours = [(re.findall(r"fill: (#\w+)", style) or ["#000000"])[0] for *_, style in dots]
    points = [
        (float(x), height - float(y), colour)
        for (x, y, style), colour in zip(dots, colours, strict=True)
        if "opacity: 0.75" in style
    ]
    legend = [colour for (*_, style), colour in zip(dots, colours, strict=True) if "opacity" not in style]
    return Drawing((width, height), re.findall(r"<text[^>]*>([^<]*)</text>", svg), points, legend)


@pytest.fixture
def drawn(tmp_path):
    """Return a function that draws a map and reads it back."""

    def draw(points=SQUARE, **options):
        draw_map(points, tmp_path / "drawn.svg", **options)
        return read(tmp_path / "drawn.svg")

    return draw


def lower(colours):
    return [colour.lower() for colour in colours]


def has_colour(picture: np.ndarray, colour: str, alpha: float = 1.0) -> np.ndarray:
    """Return a mask of the pixels with this colour, blended with white."""
    wanted = np.array(to_rgb(colour)) * alpha + 1 - alpha
    return (np.abs(picture[..., :3] - wanted) < 0.02).all(axis=-1)


def map_and_legend(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split a picture in two: the legend begins with the dot of the first class; only legend dots are opaque."""
    (first,) = (palette[0] for palette in (FEW, MANY) if has_colour(picture, palette[0]).any())
    edge = np.flatnonzero(has_colour(picture, first).any(axis=0))[0] - 10
    return picture[:, :edge], picture[:, edge:]


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_separate_clusters_stay_separate(blobs, method):
    vectors, labels = blobs
    points = project(vectors, method=method)
    assert points.shape == (60, 2)
    assert points.dtype == np.float64
    nearest = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points, return_distance=False)[:, 1]
    assert (labels[nearest] == labels).mean() > 0.95


def test_pca_gives_the_two_directions_of_largest_variance(blobs):
    vectors, _ = blobs
    points = project(vectors, method="pca")
    centred = vectors - vectors.mean(axis=0)
    variances = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    np.testing.assert_allclose(points.T @ points, np.diag(variances[:2]), rtol=1e-6, atol=1e-6 * variances[0])


def test_a_projection_repeats_at_any_scale_and_does_not_touch_the_global_seed(blobs):
    vectors = blobs[0][:12]
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()
    first = project(vectors, seed=3)
    assert np.random.get_state()[1].tolist() == before
    assert np.array_equal(project(vectors, seed=3), first)
    assert np.array_equal(project(torch.from_numpy(vectors * 2.0**80).requires_grad_(), seed=3), first)


@pytest.mark.parametrize("method", ["tsne", "pca"])
@pytest.mark.parametrize(("count", "width"), [(1, 3), (2, 2), (3, 1), (3, 3), (5, 1), (5, 3), (6, 2)])
def test_few_points_and_few_columns_are_enough(drawn, method, count, width):
    vectors = np.random.default_rng(0).normal(size=(count, width))
    with warnings.catch_warnings(action="error"):
        points = project(vectors, method=method)
        assert drawn(points, labels=range(count)).texts == [str(i) for i in range(count)]
    assert points.shape == (count, 2)
    assert np.isfinite(points).all()
    assert len(np.unique(points, axis=0)) == count
    if method == "pca" and width == 1:
        np.testing.assert_allclose(np.abs(points), np.abs(np.pad(vectors - vectors.mean(), ((0, 0), (0, 1)))))


def test_equal_vectors_share_one_point(drawn):
    with warnings.catch_warnings(action="error"):
        for method in ("tsne", "pca"):
            assert project(np.ones((9, 3)), method=method).tolist() == [[0.0, 0.0]] * 9
        points = drawn(np.zeros((9, 2))).points
    assert len(points) == 9
    assert {colour for *_, colour in points} == {FEW[0].lower()}
    assert len(set(points)) == 1


@pytest.mark.parametrize(("kind", "signature"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("pdf", b"%PDF-")])
def test_the_suffix_selects_the_format_and_bytes_repeat(tmp_path, monkeypatch, kind, signature):
    options = dict(labels=["b", "a", "b", ""], title="Four", note="4 of 9")
    draw_map(SQUARE, tmp_path / f"one.{kind.upper()}", **options)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")  # matplotlib would write this date by default
    with matplotlib.rc_context({"figure.facecolor": "red", "font.size": 20, "savefig.dpi": 30, "pdf.fonttype": 3}):
        before = dict(matplotlib.rcParams)
        draw_map(SQUARE, tmp_path / f"two.{kind}", **options)
        assert dict(matplotlib.rcParams) == before
    first, second = (tmp_path / f"one.{kind.upper()}").read_bytes(), (tmp_path / f"two.{kind}").read_bytes()
    assert first.startswith(signature)
    assert first == second
    assert len(list(tmp_path.iterdir())) == 2


def test_a_picture_is_8_inches_wide_and_as_high_as_its_points_need(drawn):
    sizes = [drawn(SQUARE * [1, spread], labels=[1, 1, 2, 2]).size for spread in (0.01, 0.9, 1.0, 100.0)]
    assert {width for width, _ in sizes} == {8 * 72}
    heights = [height / 72 for _, height in sizes]
    assert 0.6 * 8 <= heights[0] < heights[1] < heights[2] == heights[3] <= 8


def test_distances_have_the_same_scale_in_both_directions(drawn):
    places = {colour: np.array(place) for *place, colour in drawn(labels=[0, 1, 2, 3]).points}
    first, right, up, both = (places[colour] for colour in lower(FEW[:4]))
    side = right[0] - first[0]
    assert side > 0
    np.testing.assert_allclose([right - first, up - first, both - first], [[side, 0], [0, side], [side, side]])


@pytest.mark.parametrize(("classes", "palette"), [(8, FEW), (9, MANY), (20, MANY)])
def test_each_class_has_its_own_colour_on_the_map_and_in_the_legend(drawn, classes, palette):
    labels = np.arange(classes)
    drawing = drawn(np.stack([labels, labels % 2], axis=1), labels=labels)
    assert drawing.legend == lower(palette[:classes])
    assert [colour for *_, colour in sorted(drawing.points)] == lower(palette[:classes])
    assert len(set(palette)) == len(palette)


def test_beyond_twenty_classes_the_largest_are_coloured_and_the_others_grey(drawn):
    labels = np.repeat(np.arange(25), [1 if label % 4 == 0 and label < 24 else 3 for label in range(25)])
    drawing = drawn(np.random.default_rng(0).normal(size=(len(labels), 2)), labels=labels)
    coloured = [str(label) for label in range(25) if label % 4 or label == 24]
    assert len(coloured) == 19
    assert drawing.texts == [*coloured, "other (6 classes)"]
    colours = [colour for *_, colour in drawing.points]
    assert colours.count(OTHER) == 6
    assert colours[:6] == [OTHER] * 6
    assert {colours.count(colour) for colour in MANY[:19]} == {3}


def test_unlabelled_points_are_grey_and_behind_the_others(drawn):
    drawing = drawn(np.zeros((4, 2)), labels=np.array(["a", "b", "a", ""]))
    first, *others = [colour for *_, colour in drawing.points]
    assert first == UNLABELLED
    assert sorted(others) == sorted(lower([FEW[0], FEW[0], FEW[1]]))
    assert drawing.texts == ["a", "b", "unlabelled"]


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
def test_the_legend_names_the_classes_in_order(drawn, labels, names):
    assert drawn(labels=labels).texts == names


def test_classes_with_the_same_short_name_keep_their_own_entries(drawn):
    drawing = drawn(labels=["w" * 40 + "a", "w" * 40 + "b", 1, "1"])
    assert drawing.texts == ["1", "1", "w" * 29 + "…", "w" * 29 + "…"]
    assert drawing.legend == lower(FEW[:4])


def test_the_legend_is_beside_the_map_and_inside_the_picture(tmp_path):
    labels = ["m" * 30, "a", "b", "c"]
    draw_map(SQUARE, tmp_path / "map.png", labels=labels, title="$ A title with_an underscore " + "and more " * 20)
    picture = imread(tmp_path / "map.png")
    assert picture.shape[1] == 1600
    ink = picture[..., :3].min(axis=-1) < 0.95
    assert ink.any()
    assert not ink[:30].any()
    assert not ink[-30:].any()
    assert not ink[:, :30].any()
    assert not ink[:, -30:].any()
    points, _ = map_and_legend(picture)
    sizes = [has_colour(points, colour, alpha=0.75).sum() for colour in FEW[:4]]
    assert 0 < max(sizes) < 1.05 * min(sizes)  # no point is cut off or covered


def test_the_longest_legend_fits_beside_the_flattest_map(tmp_path):
    labels = [*np.arange(25).repeat(2).tolist(), None]
    draw_map(np.stack([np.arange(51), np.zeros(51)], axis=1), tmp_path / "map.png", labels=labels, note="51 of 99")
    _, legend = map_and_legend(imread(tmp_path / "map.png"))
    rows = np.flatnonzero((legend[..., :3].min(axis=-1) < 0.95).any(axis=1))
    assert 30 < rows[0] < rows[-1] < len(legend) - 30
    dots = [np.flatnonzero(has_colour(legend, colour).any(axis=1)) for colour in (*MANY[:19], OTHER, UNLABELLED)]
    assert [len(dot) > 10 for dot in dots] == [True] * 21


def test_title_and_note_are_drawn_as_text(drawn):
    drawing = drawn(title="cora_linqs: $5 or $6 per paper", note="4 of 9")
    assert drawing.texts == ["cora_linqs: $5 or $6 per paper", "4 of 9"]


def test_a_large_table_is_sampled_and_the_picture_says_so(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(1001, 3))
    options = dict(labels=np.arange(1001) % 4, method="pca")
    assert embedding_map(vectors, tmp_path / "map.svg", **options, limit=1000) == 1000
    drawing = read(tmp_path / "map.svg")
    assert drawing.texts == ["1,000 of 1,001", "0", "1", "2", "3"]
    assert len(drawing.points) == 1000
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        embedding_map(vectors, tmp_path / f"{name}.svg", **options, limit=20, seed=seed)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.svg").read_bytes() != (tmp_path / "three.svg").read_bytes()


def test_a_sample_keeps_each_point_with_its_label(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(300, 1))
    embedding_map(vectors, tmp_path / "map.svg", labels=vectors[:, 0] > 0, method="pca", limit=100)
    points = read(tmp_path / "map.svg").points
    assert len(points) == 100
    low, high = ([x for x, _, colour in points if colour == wanted.lower()] for wanted in FEW[:2])
    assert max(low) < min(high) or max(high) < min(low)


def test_at_the_limit_all_points_are_drawn_without_a_note(tmp_path):
    assert embedding_map(SQUARE, tmp_path / "map.svg", limit=4, title="All") == 4
    assert read(tmp_path / "map.svg").texts == ["All"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "t-sne"}, SettingsError, "unknown method 't-sne'; did you mean 'tsne'"),
        ({"limit": 0}, SettingsError, "limit is 0"),
        ({"path": "map.jpeg"}, InputError, r"^map\.jpeg: unsupported file type; use one of \.png, \.svg, \.pdf$"),
        ({"path": "map"}, InputError, "^map has no file extension; use one of"),
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
def test_invalid_input_is_rejected_and_nothing_is_written(tmp_path, monkeypatch, options, error, message):
    monkeypatch.chdir(tmp_path)
    Path("folder.png").mkdir()
    Path("file.txt").touch()
    with pytest.raises(error, match=message):
        embedding_map(**({"vectors": SQUARE, "path": "map.png"} | options))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.txt", "folder.png"]


def test_invalid_points_and_methods_are_rejected(tmp_path):
    with pytest.raises(InputError, match="points has 3 columns; a map has 2"):
        draw_map(np.zeros((4, 3)), tmp_path / "map.png")
    with pytest.raises(InputError, match="points, row 0, column 1 is nan"):
        draw_map([[0.0, np.nan]], tmp_path / "map.png")
    with pytest.raises(SettingsError, match="unknown method 'isomap'"):
        project(SQUARE, method="isomap")
    with pytest.raises(InputError, match="vectors, row 2, column 0 is -inf"):
        project([[0.0], [1.0], [-np.inf]])


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=re.escape("map.png needs matplotlib; pip install 'mvgrl[plot]'")):
        check_picture(tmp_path / "map.png")
    assert project(SQUARE, method="pca").shape == (4, 2)


def test_a_failed_drawing_keeps_the_existing_file(tmp_path, monkeypatch):
    def fail_halfway(self, path, **options):
        Path(path).write_bytes(b"\x89PNG")
        raise RuntimeError("halfway")

    (tmp_path / "old.png").write_bytes(b"the last one")
    monkeypatch.setattr(Figure, "savefig", fail_halfway)
    for name in ("old.png", "new.png"):
        with pytest.raises(RuntimeError, match="halfway"):
            draw_map(SQUARE, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_bytes() == b"the last one"


def test_umap_keeps_clusters_apart_and_repeats(blobs):
    pytest.importorskip("umap", reason="UMAP is an extra")
    vectors, labels = blobs
    points = project(vectors, method="umap", seed=1)
    nearest = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points, return_distance=False)[:, 1]
    assert (labels[nearest] == labels).mean() > 0.95
    assert np.array_equal(project(vectors, method="umap", seed=1), points)
    for count in (2, 5, 6):
        assert np.isfinite(project(vectors[:count], method="umap")).all()


def test_umap_that_is_not_installed_is_an_error_with_the_remedy(monkeypatch):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "umap" else found(name, *more))
    with pytest.raises(InputError, match=r"needs umap-learn; pip install 'mvgrl\[umap\]', or use tsne"):
        project(SQUARE, method="umap")


@pytest.mark.parametrize(
    ("labels", "scaled"),
    [
        (np.linspace(0.5, 3, 13), True),
        (np.linspace(0.5, 3, 12), False),  # too few values
        (np.arange(40), False),  # integers are classes
        (np.arange(40.0), False),
        ([f"{i}.5" for i in range(40)], False),  # text
        ([*np.linspace(0.5, 3, 13), None, float("nan")], True),
        ([*np.linspace(0.5, 3, 13), "many"], False),
    ],
)
def test_only_many_fractional_numbers_have_a_colour_scale(labels, scaled):
    assert (colours_of(np.array(labels, dtype=object)).scale is not None) == scaled
    assert colours_of(np.array(labels, dtype=object), "classes").scale is None


def test_a_colour_scale_runs_from_the_lowest_to_the_highest_number(drawn):
    labels = np.array([np.nan, 0.0, 5.0, 10.0])
    drawing = drawn(labels=labels, colours="scale")
    assert len({colour for *_, colour in drawing.points}) == 4
    ends = [matplotlib.colors.to_hex(matplotlib.colormaps["viridis"](place)) for place in (0.0, 0.5, 1.0)]
    assert {colour for *_, colour in drawing.points} == {UNLABELLED, *ends}
    assert {"unlabelled", "0", "10"} <= set(drawing.texts)


def test_equal_numbers_and_infinite_ones_on_a_scale(drawn):
    assert len({colour for *_, colour in drawn(labels=[2.5] * 4, colours="scale").points}) == 1
    with pytest.raises(InputError, match="finite"):
        drawn(labels=[1.0, 2.0, 3.0, np.inf], colours="scale")
    with pytest.raises(InputError, match="give labels"):
        drawn(colours="scale")
    with pytest.raises(InputError, match="'a' is not a number"):
        drawn(labels=["a", 1, 2, 3], colours="scale")


def test_up_to_sixty_points_have_names(drawn, tmp_path):
    assert drawn(names=["ann", "$bob$", "cy", "w" * 50]).texts == ["ann", "$bob$", "cy", "w" * 19 + "…"]
    many = np.random.default_rng(0).normal(size=(61, 2))
    assert drawn(many[:60], names=range(60)).texts == [str(i) for i in range(60)]
    assert drawn(many, names=range(61)).texts == []
    with pytest.raises(InputError, match=r"names has shape \(2,\), but there are 4 points"):
        draw_map(SQUARE, tmp_path / "map.svg", names=["a", "b"])


def test_names_do_not_cover_each_other_where_there_is_room():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from mvgrl.reports.point_names import write_names

    figure = Figure(figsize=(8, 8), dpi=200)
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 8), ylim=(0, 8))
    close = np.array([[4.0, 4.0], [4.15, 4.0], [7.9, 1.0]])
    write_names(axes, close, ["first", "second", "at the end"], (0.2, 8.0), renderer)
    first, second, last = (text.get_window_extent(renderer) for text in axes.texts)
    assert not first.overlaps(second)
    assert last.x1 <= 8 * 200
