"""The page and the table of a comparison."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mvgrl.experiments.compare import Number, Row
from mvgrl.experiments.contest import contest, own_dataset
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.reports.compare import as_text, document, write_page
from mvgrl.reports.document import as_markdown
from mvgrl.reports.scatter import Point, scatter_chart


@pytest.fixture
def compared():
    ends = np.arange(30)
    named = NamedGraph(Graph.from_edges(ends, (ends + 1) % 30), ends)
    plan = contest(own_dataset(named, ends % 2, name="ring.csv"), ["raw", "spectral", "netmf"], device="cpu")
    raw, spectral, netmf = plan.contenders
    rows = [
        Row(spectral, {"random_10": Number(82.0, 1.0, best=True)}, 10, 3.2, 120.0),
        Row(raw, {"random_10": Number(81.5, 2.0, tied=True, p=0.4)}, 10, 0.01, 12.0),
        Row(netmf, failed="out of memory"),
    ]
    return plan, rows


def test_the_best_is_bold_and_ties_and_failures_are_marked(compared):
    text = as_text(*compared, bold=True)
    assert "\033[1m82.0 ± 1.0 *\033[0m" in text
    assert text.count("\033[1m") == 1
    assert "81.5 ± 2.0 ≈" in text
    assert "NetMF: out of memory" in text
    lines = as_text(*compared).splitlines()[:4]
    assert len({len(line) for line in lines}) == 1


def test_the_page_says_who_is_best_and_who_is_tied(compared, tmp_path):
    write_page(tmp_path / "compare.html", *compared)
    page = (tmp_path / "compare.html").read_text()
    assert "spectral vectors has the highest accuracy (10 % train), 82.0 ± 1.0." in page
    assert "The test cannot tell raw features from it." in page
    assert page.count("<circle") == 2
    assert '<td class="number failed">failed</td>' in page
    assert "≈ tied, p = 0.40" in as_markdown(document(*compared))
    assert "Accuracy (10 % train) against time" in page
    write_page(tmp_path / "compare.md", *compared)
    assert "against time" not in (tmp_path / "compare.md").read_text()  # Markdown has no figures


def test_names_of_points_do_not_overlap():
    points = [Point(f"method {i}", 1.0 + i / 100, 80.0 + i / 100) for i in range(6)]
    chart = scatter_chart([*points, Point("far", 900.0, 70.0, 2.0)], across="s", up="%", about="…")
    placed = re.findall(r'x="([\d.]+)" y="([\d.]+)">method', chart)
    heights = sorted(float(y) for _, y in placed)
    assert len(placed) == 6
    assert min(np.diff(heights)) >= 14.9
