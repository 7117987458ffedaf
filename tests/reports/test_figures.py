"""Line charts: points match their numbers, names are escaped, and an SVG file is self-contained."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from mvgrl.reports.document import Document
from mvgrl.reports.figures import PALETTE, Point, line_chart, picture
from mvgrl.reports.web_page import as_html

SVG = "{http://www.w3.org/2000/svg}"


def chart(series: dict[str, list[Point]] | None = None, places: tuple[str, ...] = ("8", "16", "32")) -> str:
    default: list[Point] = [(0, 88.0, 1.0), (1, 96.0, 1.0), (2, 112.0, 1.0)]
    return line_chart(series or {"mutag": default}, places, across="size", up="accuracy, %", about="Sizes.")


def circles(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', svg)]


def test_points_are_placed_at_their_numbers() -> None:
    svg = chart()
    (x1, y1), (x2, y2), (x3, y3) = circles(svg)
    assert 0 < x2 - x1 == pytest.approx(x3 - x2, abs=0.2)
    assert (y1 - y2) / (y2 - y3) == pytest.approx(8 / 16, abs=0.01)
    assert y1 > y2 > y3  # higher numbers are nearer to the top
    marks = {float(text): float(y) - 4 for y, text in re.findall(r'<text class="end" [^>]*y="([\d.]+)">([\d.]+)<', svg)}
    bottom, top = min(marks), max(marks)
    assert y2 == pytest.approx(marks[bottom] + (marks[top] - marks[bottom]) * (96 - bottom) / (top - bottom), abs=0.2)
    assert re.findall(r'<text class="middle" [^>]*>([^<]+)<', svg) == ["8", "16", "32"]
    assert ">size</text>" in svg
    assert ">accuracy, %</text>" in svg


def test_error_bars_span_one_standard_deviation_each_way() -> None:
    svg = chart({"mutag": [(0, 80.0, 2.0), (1, 84.0, 0.0)]}, ("1", "2"))
    (x, y1), (_, y2) = circles(svg)
    bars = [tuple(map(float, bar)) for bar in re.findall(r'class="bar" d="M([\d.]+) ([\d.]+)V([\d.]+)"', svg)]
    point = (y1 - y2) / 4
    assert bars[0] == pytest.approx((x, y1 - 2 * point, y1 + 2 * point), abs=0.2)
    assert bars[1][1:] == (y2, y2)


def test_controls_are_dashed_in_the_colour_of_their_dataset() -> None:
    names = ("cora-linqs", "cora-linqs, propagated", "citeseer", "citeseer, propagated")
    svg = chart({name: [(0, 80.0, 1.0), (1, 81.0, 1.0)] for name in names}, ("1 %", "2 %"))
    lines = re.findall(r"--ink: var\(--series-(\d)\).*?<title>([^<]+)</title>.*?<path class=\"([a-z ]+)\"", svg, re.S)
    kinds = [("0", "line"), ("0", "line dashed"), ("1", "line"), ("1", "line dashed")]
    assert lines == [(colour, name, kind) for name, (colour, kind) in zip(names, kinds, strict=True)]
    entries = re.findall(r'<text x="(\d+)" y="(\d+)">([^<]+)</text>', svg)
    assert len({x for x, _, _ in entries}) == 2  # two columns: three would not fit
    assert len(set(entries)) == 4


def test_an_svg_file_of_charts_is_self_contained() -> None:
    text = picture("The α of <ppr>", [chart(), chart({"cora": [(0, 70.0, 1.0)]}, ("1",))])
    root = ET.fromstring(text)
    charts = root.findall(f"{SVG}svg")
    edges = [(int(chart.attrib["y"]), int(chart.attrib["height"])) for chart in charts]
    assert len(charts) == 2
    assert edges[0][0] + edges[0][1] <= edges[1][0] < sum(edges[1]) <= int(root.attrib["height"])
    assert root.findtext(f"{SVG}text") == "The α of <ppr>"
    assert PALETTE in (root.findtext(f"{SVG}style") or "")
    assert "href" not in text
    assert "url(" not in text


@pytest.mark.parametrize("text", [picture("T", [chart()]), as_html(Document("T", ()))], ids=["picture", "page"])
def test_every_colour_has_a_light_and_a_dark_value(text: str) -> None:
    assert PALETTE in text
    light, dark = PALETTE.split("@media (prefers-color-scheme: dark)")
    used = {*re.findall(r"var\((--[a-z0-9-]+)\)", text)}
    assert {"--ink", "--paper", "--line"} <= used
    for part in (light, dark):
        assert used <= {*re.findall(r"(--[a-z0-9-]+): #", part)}


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
@pytest.mark.parametrize(("scheme", "paper", "ink"), [(1, (255, 255, 255), 86), (0, (20, 23, 26), 210)])
def test_a_browser_shows_light_and_dark_mode(tmp_path: Path, scheme: int, paper: tuple[int, ...], ink: int) -> None:
    from matplotlib.image import imread

    (tmp_path / "alpha.svg").write_text(picture("The α of ppr", [chart()]), encoding="utf-8")
    shot = tmp_path / "shot.png"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--blink-settings=preferredColorScheme={scheme}"]
    place = [f"--user-data-dir={tmp_path / 'browser'}", "--window-size=520,400", f"--screenshot={shot}"]
    subprocess.run(
        [BROWSER, *flags, *place, (tmp_path / "alpha.svg").as_uri()], capture_output=True, timeout=60, check=True
    )
    pixels = (imread(shot)[:380, :520, :3] * 255).round().astype(int)
    assert tuple(pixels[0, 0]) == paper
    title = pixels[10:36, 40:300].mean(axis=2)  # the letters contrast with the paper
    assert (title.min() < ink) if scheme else (title.max() > ink)
