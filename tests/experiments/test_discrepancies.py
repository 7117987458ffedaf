"""Where the paper's text and code differ: the views of the authors' code, and each change separately."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mvgrl.errors import SettingsError
from mvgrl.experiments import discrepancies
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Variant
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.reproduce import reproduce
from mvgrl.graphs import Graph
from mvgrl.settings import literal
from mvgrl.views import Heat

PATH = Graph.from_edges([0, 1], [1, 2])


def test_self_loops_are_added_twice() -> None:
    adjacency = PATH.adjacency.toarray() + 2 * np.eye(3)
    root = np.diag(adjacency.sum(1) ** -0.5)
    np.testing.assert_allclose(discrepancies.LoopedTwice()(PATH).toarray(), root @ adjacency @ root, rtol=1e-12)


def test_the_exponential_is_applied_to_each_entry() -> None:
    looped = PATH.adjacency.toarray() + np.eye(3)
    walk = looped / looped.sum(0)
    np.testing.assert_allclose(discrepancies.HeatByEntry(t=2.0)(PATH), np.exp(2 * walk - 2), rtol=1e-12)
    assert abs(discrepancies.HeatByEntry()(PATH) - Heat()(PATH)).max() > 0.1


def test_a_change_is_run_once_and_compared_with_the_defaults(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {
        "nothing": {},
        "standard": dict(normalise="standard"),
        "loops": dict(views=(discrepancies.LoopedTwice(), "ppr")),
    }
    variants = tuple(Variant(row, changes) for row, changes in rows.items())
    start = literal(dict(views=("adjacency", "ppr:top_k=4"), hidden=8, epochs=2))
    experiment = replace(EXPERIMENTS["node-slips"], variants=variants, start=start)
    monkeypatch.setitem(EXPERIMENTS, "node-slips", experiment)
    ledger, messages = Ledger(tmp_path / "runs.jsonl"), []
    options = dict(datasets=["cora-linqs"], runs=2, device="cpu", data_root=data, tell=messages.append)
    table = reproduce("node-slips", ledger, **options)
    assert [row.id for row in table] == list(rows)
    assert table[0].difference == 0
    assert table[1].difference == pytest.approx(table[1].mean - table[0].mean)
    assert len(messages) == 6
    assert reproduce("node-slips", ledger, **options) == table
    assert len(messages) == 6
    assert {run.experiment for run in ledger} == {"node-slips"}


def test_other_settings_and_recipes_are_rejected(tmp_path: Path) -> None:
    for options in (dict(setting="paper"), dict(recipes=tmp_path)):
        with pytest.raises(SettingsError, match="starts from the default settings; omit --setting and --recipes"):
            reproduce("node-slips", Ledger(tmp_path / "runs.jsonl"), **options)
