"""Figures of sweeps: drawn over the axis in order, and written to a file or rejected."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from mvgrl.errors import InputError, SettingsError
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Experiment, Variant
from mvgrl.experiments.summary import Row
from mvgrl.reports.comparison import sweep_figures
from mvgrl.reports.plot import check_plot, write_plot

SWEEP, LABELS, BOUNDS = (EXPERIMENTS[name] for name in ("sweep-alpha", "sweep-labels", "ablation-bounds"))
SIZES = replace(SWEEP, variants=tuple(Variant(size, value=size) for size in ("8", "16", "32", "64")), axis="size")


def row(name: str, mean: float | None, dataset: str = "mutag", *, experiment: Experiment = SIZES) -> Row:
    variant = next(one for one in experiment.variants if one.id == name)
    (score,) = experiment.scores_for(dataset)
    return Row(experiment, dataset, variant, score, mean, mean and 1.0, 1, failed=None if mean else "lost")


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
    assert sweep_figures(BOUNDS, [row(one.id, 80.0, experiment=BOUNDS) for one in BOUNDS.variants]) == []
    assert sweep_figures(SIZES, [row("8", None)]) == []


def test_nodes_and_graphs_have_separate_charts_with_their_controls() -> None:
    rows = [
        row(f"{share}{control}", 80.0, dataset, experiment=LABELS)
        for dataset, shares in (("citeseer", ("1 %", "2 %")), ("mutag", ("2 %", "50 %")))
        for share in shares
        for control in ("", ", propagated")
    ]
    nodes, graphs = (figure.svg for figure in sweep_figures(LABELS, rows))
    assert (places(nodes), places(graphs)) == (["1 %", "2 %"], ["2 %", "50 %"])
    assert re.findall("<title>([^<]+)</title>", nodes) == ["citeseer", "citeseer, propagated"]


def test_a_file_has_a_chart_per_metric(tmp_path: Path) -> None:
    numbers = (("0.1", 80.0, "mutag"), ("0.2", 82.0, "mutag"), ("0.1", 70.0, "cora-linqs"))
    rows = [row(*some, experiment=SWEEP) for some in numbers]
    assert write_plot(tmp_path / "new" / "alpha.SVG", "sweep-alpha", rows)
    root = ET.fromstring((tmp_path / "new" / "alpha.SVG").read_text(encoding="utf-8"))
    assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == 2
    assert root.findtext("{http://www.w3.org/2000/svg}text") == "The α of ppr"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["alpha.SVG"]


def test_no_file_is_written_if_all_runs_failed(tmp_path: Path) -> None:
    assert not write_plot(tmp_path / "alpha.svg", "sweep-alpha", [row("0.1", None, experiment=SWEEP)])
    assert list(tmp_path.iterdir()) == []


def test_a_plot_that_cannot_be_drawn_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ablation-bounds has no axis to plot over.* sweep-alpha, sweep-t"):
        check_plot(tmp_path / "a.svg", "ablation-bounds")
    with pytest.raises(SettingsError, match="unknown experiment 'sweep-alfa'; did you mean 'sweep-alpha'"):
        check_plot(tmp_path / "a.svg", "sweep-alfa")
    with pytest.raises(InputError, match=r"a\.png: unsupported file type; use one of \.svg"):
        check_plot(tmp_path / "a.png", "sweep-alpha")
    (tmp_path / "there.svg").mkdir()
    with pytest.raises(InputError, match=r"there\.svg is a folder"):
        check_plot(tmp_path / "there.svg", "sweep-alpha")
