"""Figures of sweeps: drawn over the axis in order, and written to a file or refused."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from mvgrl.errors import InputError, SettingsError
from mvgrl.experiments.ablations import ABLATIONS, LABELS, Ablation
from mvgrl.reports.comparison import ablation_sections, sweep_figures
from mvgrl.reports.document import Figure
from mvgrl.reports.plot import check_plot, write_plot

SIZES = Ablation("sweep-size", "Sizes", {"8": {}, "16": {}, "32": {}, "64": {}}, axis="size")


def row(name: str, mean: float | None, dataset: str = "mutag", metric: str = "nested") -> dict[str, Any]:
    more = dict(runs=1, paper=None, paper_std=None, seconds=1.0, failed=None if mean else "lost", note=None)
    return {"row": name, "dataset": dataset, "metric": metric, "mean": mean, "std": mean and 1.0, **more}


def places(svg: str) -> list[str]:
    return re.findall(r'<text class="middle" [^>]*>([^<]+)<', svg)


def test_a_sweep_is_drawn_over_its_axis_in_declared_order() -> None:
    (figure,) = sweep_figures(SIZES, [row("8", 88.0), row("32", 112.0), row("16", 96.0), row("64", None)])
    assert places(figure.svg) == ["8", "16", "32"]  # failed rows are omitted
    found = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', figure.svg)]
    assert found == sorted(found)
    assert [y for _, y in found] == sorted((y for _, y in found), reverse=True)
    assert ">size</text>" in figure.svg


def test_only_experiments_with_an_axis_are_drawn() -> None:
    bounds = ABLATIONS["ablation-bounds"]
    assert sweep_figures(bounds, [row(name, 80.0) for name in bounds.rows]) == []
    assert sweep_figures(SIZES, [row("8", None)]) == []


def test_nodes_and_graphs_have_separate_charts_with_their_controls() -> None:
    rows = [
        row(f"{share}{control}", 80.0, dataset, metric)
        for dataset, metric, shares in (("citeseer", "accuracy", ("1 %", "2 %")), ("mutag", "nested", ("2 %", "50 %")))
        for share in shares
        for control in ("", ", propagated")
    ]
    nodes, graphs = (figure.svg for figure in sweep_figures(ABLATIONS[LABELS], rows))
    assert (places(nodes), places(graphs)) == (["1 %", "2 %"], ["2 %", "50 %"])
    assert re.findall("<title>([^<]+)</title>", nodes) == ["citeseer", "citeseer, propagated"]


def test_the_report_has_sweeps_after_the_ablations_each_with_its_figure() -> None:
    rows = [row("0.1", 80.0), row("0.2", 82.0)]
    found = ablation_sections(
        [(ablation, rows if name == "sweep-alpha" else []) for name, ablation in ABLATIONS.items()]
    )
    assert [section.title for section in found] == ["Ablations", "Sweeps beyond the paper", "The α of ppr"]
    _, figure = found[-1].parts
    assert isinstance(figure, Figure)
    assert places(figure.svg) == ["0.1", "0.2"]


def test_a_file_has_a_chart_per_metric(tmp_path: Path) -> None:
    rows = [row("0.1", 80.0), row("0.2", 82.0), row("0.1", 70.0, "cora-linqs", "accuracy")]
    assert write_plot(tmp_path / "new" / "alpha.SVG", "sweep-alpha", rows)
    root = ET.fromstring((tmp_path / "new" / "alpha.SVG").read_text(encoding="utf-8"))
    assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == 2
    assert root.findtext("{http://www.w3.org/2000/svg}text") == "The α of ppr"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["alpha.SVG"]


def test_no_file_is_written_if_all_runs_failed(tmp_path: Path) -> None:
    assert not write_plot(tmp_path / "alpha.svg", "sweep-alpha", [row("0.1", None)])
    assert list(tmp_path.iterdir()) == []


def test_a_plot_that_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ablation-bounds has no axis to be drawn over.* sweep-alpha, sweep-t"):
        check_plot(tmp_path / "a.svg", "ablation-bounds")
    with pytest.raises(SettingsError, match="unknown table 'sweep-alfa'; did you mean 'sweep-alpha'"):
        check_plot(tmp_path / "a.svg", "sweep-alfa")
    with pytest.raises(InputError, match=r"a\.png is of no kind .* ends in \.svg"):
        check_plot(tmp_path / "a.png", "sweep-alpha")
    (tmp_path / "there.svg").mkdir()
    with pytest.raises(InputError, match=r"there\.svg is a folder"):
        check_plot(tmp_path / "there.svg", "sweep-alpha")
