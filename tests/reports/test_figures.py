"""Figures of sweeps: the points stand where their numbers say, and a file of them is whole without a page."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mvgrl.errors import InputError, SettingsError
from mvgrl.experiments.ablations import ABLATIONS, LABELS, Ablation
from mvgrl.reports.comparison import ablation_sections, sweep_figures
from mvgrl.reports.document import Document, Figure
from mvgrl.reports.figures import PALETTE
from mvgrl.reports.plot import check_plot, write_plot
from mvgrl.reports.web_page import as_html

SIZES = Ablation("sweep-size", "Sizes", {"8": {}, "16": {}, "32": {}, "64": {}}, axis="size")


def row(name: str, mean: float | None, dataset: str = "mutag", metric: str = "nested") -> dict[str, Any]:
    more = dict(runs=1, paper=None, paper_std=None, seconds=1.0, failed=None if mean else "lost", note=None)
    return {"row": name, "dataset": dataset, "metric": metric, "mean": mean, "std": mean and 1.0, **more}


def points(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)]


def places(svg: str) -> list[str]:
    return re.findall(r'<text class="middle" [^>]*>([^<]+)<', svg)


def test_a_sweep_is_drawn_over_its_axis_in_the_order_it_declares() -> None:
    (figure,) = sweep_figures(SIZES, [row("8", 88.0), row("32", 112.0), row("16", 96.0), row("64", None)])
    assert places(figure.svg) == ["8", "16", "32"]  # what failed has no place
    found = points(figure.svg)
    assert found == sorted(found)
    heights = [y for _, y in found]
    assert heights == sorted(heights, reverse=True)  # the higher the number, the nearer to the top
    assert (heights[0] - heights[1]) / (heights[1] - heights[2]) == pytest.approx(8 / 16, abs=0.01)
    assert ">size</text>" in figure.svg


def test_only_what_declares_an_axis_is_drawn() -> None:
    bounds = ABLATIONS["ablation-bounds"]
    assert sweep_figures(bounds, [row(name, 80.0) for name in bounds.rows]) == []
    assert sweep_figures(SIZES, [row("8", None)]) == []


def test_nodes_and_graphs_have_a_chart_each_and_controls_are_dashed_in_their_datasets_colour() -> None:
    rows = [
        row(f"{share}{control}", 80.0, dataset, metric)
        for dataset, metric, shares in (
            ("cora-linqs", "accuracy", ("1 %", "2 %")),
            ("citeseer", "accuracy", ("1 %", "2 %")),
            ("mutag", "nested", ("2 %", "50 %")),
        )
        for share in shares
        for control in ("", ", propagated")
    ]
    nodes, graphs = (figure.svg for figure in sweep_figures(ABLATIONS[LABELS], rows))
    assert (places(nodes), places(graphs)) == (["1 %", "2 %"], ["2 %", "50 %"])
    lines = re.findall(r"--ink: var\(--series-(\d)\).*?<title>([^<]+)</title>.*?<path class=\"([a-z ]+)\"", nodes, re.S)
    assert lines == [
        ("0", "cora-linqs", "line"),
        ("0", "cora-linqs, propagated", "line dashed"),
        ("1", "citeseer", "line"),
        ("1", "citeseer, propagated", "line dashed"),
    ]
    entries = re.findall(r'<text x="(\d+)" y="(\d+)">([^<]+)</text>', nodes)
    assert len({x for x, _, _ in entries}) == 2  # in two columns: side by side they would not fit in three
    assert len(set(entries)) == 4


def test_the_report_has_sweeps_after_the_ablations_each_with_its_figure() -> None:
    rows = [row("0.1", 80.0), row("0.2", 82.0)]
    found = ablation_sections(
        [(ablation, rows if name == "sweep-alpha" else []) for name, ablation in ABLATIONS.items()]
    )
    assert [section.title for section in found] == ["Ablations", "Sweeps beyond the paper", "The α of ppr"]
    _, figure = found[-1].parts
    assert isinstance(figure, Figure)
    assert places(figure.svg) == ["0.1", "0.2"]


def written(path: Path, rows: Sequence[dict[str, Any]]) -> ET.Element:
    assert write_plot(path, "sweep-alpha", rows)
    return ET.fromstring(path.read_text(encoding="utf-8"))


def test_a_file_is_whole_and_its_charts_stand_below_each_other(tmp_path: Path) -> None:
    rows = [row("0.1", 80.0), row("0.2", 82.0), row("0.1", 70.0, "cora-linqs", "accuracy")]
    picture = written(tmp_path / "new" / "alpha.SVG", rows)
    space = "{http://www.w3.org/2000/svg}"
    charts = picture.findall(f"{space}svg")
    edges = [(int(chart.attrib["y"]), int(chart.attrib["height"])) for chart in charts]
    assert len(charts) == 2
    assert edges[0][0] + edges[0][1] <= edges[1][0] < sum(edges[1]) <= int(picture.attrib["height"])
    assert picture.findtext(f"{space}text") == "The α of ppr"
    style = picture.findtext(f"{space}style")
    assert style is not None
    assert PALETTE in style
    text = (tmp_path / "new" / "alpha.SVG").read_text(encoding="utf-8")
    used = {*re.findall(r"var\((--[a-z0-9-]+)\)", text)}
    light, dark = PALETTE.split("@media (prefers-color-scheme: dark)")
    assert all(f"{name}: #" in part for name in used for part in (light, dark))
    assert "href" not in text
    assert "url(" not in text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["alpha.SVG"]


def test_the_page_has_the_same_colours() -> None:
    assert PALETTE in as_html(Document("T", ()))


def test_nothing_is_written_of_nothing(tmp_path: Path) -> None:
    assert not write_plot(tmp_path / "alpha.svg", "sweep-alpha", [row("0.1", None)])
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ablation-bounds has no axis to be drawn over.* sweep-alpha, sweep-t"):
        check_plot(tmp_path / "a.svg", "ablation-bounds")
    with pytest.raises(SettingsError, match="unknown table 'sweep-alfa'; did you mean 'sweep-alpha'"):
        check_plot(tmp_path / "a.svg", "sweep-alfa")
    with pytest.raises(InputError, match=r"a\.png is of no kind .* ends in \.svg"):
        check_plot(tmp_path / "a.png", "sweep-alpha")
    (tmp_path / "there.svg").mkdir()
    with pytest.raises(InputError, match=r"there\.svg is a folder"):
        check_plot(tmp_path / "there.svg", "sweep-alpha")


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium to open the file with")
@pytest.mark.parametrize(("scheme", "paper", "ink"), [(1, (255, 255, 255), 86), (0, (20, 23, 26), 210)])
def test_a_browser_shows_it_by_day_and_by_night(tmp_path: Path, scheme: int, paper: tuple[int, ...], ink: int) -> None:
    from matplotlib.image import imread

    written(tmp_path / "alpha.svg", [row("0.1", 80.0), row("0.2", 82.0)])
    shot = tmp_path / "shot.png"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--blink-settings=preferredColorScheme={scheme}"]
    place = [f"--user-data-dir={tmp_path / 'browser'}", "--window-size=520,400", f"--screenshot={shot}"]
    subprocess.run(
        [BROWSER, *flags, *place, (tmp_path / "alpha.svg").as_uri()], capture_output=True, timeout=60, check=True
    )
    pixels = (imread(shot)[:380, :520, :3] * 255).round().astype(int)
    assert tuple(pixels[0, 0]) == paper
    title = pixels[10:36, 40:300].mean(axis=2)  # letters, as far from the paper as ink is
    assert (title.min() < ink) if scheme else (title.max() > ink)
