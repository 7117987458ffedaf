"""What text and code do otherwise: the wrong views are wrong as the authors' are, and each change stands alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mvgrl.errors import SettingsError
from mvgrl.experiments import discrepancies
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.reproduce import reproduce
from mvgrl.graphs import Graph
from mvgrl.settings import Settings
from mvgrl.views import Heat

PATH = Graph.from_edges([0, 1], [1, 2])


def test_the_loops_are_there_twice() -> None:
    adjacency = PATH.adjacency.toarray() + 2 * np.eye(3)
    root = np.diag(adjacency.sum(1) ** -0.5)
    np.testing.assert_allclose(discrepancies.LoopedTwice()(PATH).toarray(), root @ adjacency @ root, rtol=1e-12)


def test_the_exponential_is_of_each_entry() -> None:
    looped = PATH.adjacency.toarray() + np.eye(3)
    walk = looped / looped.sum(0)
    np.testing.assert_allclose(discrepancies.HeatByEntry(t=2.0)(PATH), np.exp(2 * walk - 2), rtol=1e-12)
    assert abs(discrepancies.HeatByEntry()(PATH) - Heat()(PATH)).max() > 0.1


def test_a_change_is_run_once_and_measured_against_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {
        "nothing": {},
        "standard": dict(normalise="standard"),
        "loops": dict(views=(discrepancies.LoopedTwice(), "ppr")),
    }
    monkeypatch.setattr(discrepancies, "ROWS", rows)
    monkeypatch.setattr(discrepancies, "DEFAULTS", Settings(views=("adjacency", "ppr:top_k=4"), hidden=8, epochs=2))
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    options = dict(datasets=["cora-linqs"], runs=2, device="cpu", tell=told.append)
    table = reproduce("node-slips", ledger, **options)
    assert [row["change"] for row in table] == list(rows)
    assert table[0]["difference"] == 0
    assert table[1]["difference"] == pytest.approx(table[1]["mean"] - table[0]["mean"])
    assert len(told) == 6
    assert reproduce("node-slips", ledger, **options) == table
    assert len(told) == 6
    assert {run.experiment for run in ledger} == {"node-slips"}


def test_without_the_first_row_there_is_no_difference(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    change = next(name for name in discrepancies.ROWS if discrepancies.ROWS[name])
    recipe = discrepancies.recipes("cora")[change].id
    ledger.add([Run("node-slips", "cora", "best", change, 0, {"accuracy": 80.0}, 9, 0.1, "cpu", recipe)])
    (row,) = discrepancies.table(ledger, ["cora"])
    assert (row["mean"], row["difference"]) == (80.0, None)


def test_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="leave setting and recipes away"):
        reproduce("node-slips", Ledger(tmp_path / "runs.jsonl"), setting="paper")
