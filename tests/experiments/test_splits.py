"""Random splits and the default preset: each training once, a line per split, and automatic choices made first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset, load
from mvgrl.errors import SettingsError
from mvgrl.evaluation.random_probe import random_10_accuracy, random_20_accuracy
from mvgrl.evaluation.splits import random_splits
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Experiment, Variant
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.parallel import pieces
from mvgrl.experiments.planner import Task, plan
from mvgrl.experiments.recipes import Recipe
from mvgrl.experiments.reproduce import reproduce, reproduce_all
from mvgrl.experiments.runner import structure_of
from mvgrl.methods import METHODS, Method, Outcome
from mvgrl.settings import Settings

NAME = "default-test"


class Recorded(Method):
    """Vectors of the seed; every call is recorded."""

    name, label = "recorded", "recorded"
    calls: list[tuple[str, Settings, tuple[int, ...], bool]] = []  # noqa: RUF012

    def outcomes(self, dataset: Dataset, settings: Settings, output: Any, seeds: Sequence[int], context: Any) -> Any:
        self.calls.append((dataset.name, settings, tuple(seeds), dataset.graph.features is not None))
        rng = np.random.default_rng(seeds[0] if self.seeded else 9)
        points = np.eye(3)[dataset.target] + rng.normal(size=(dataset.graph.nodes, 3))
        return [Outcome(points.astype(np.float32)) for _ in (seeds if self.seeded else [0])]


class Unseeded(Recorded):
    """The same vectors for all seeds."""

    name, label, seeded = "recorded-unseeded", "recorded", False


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    for method in (Recorded(), Unseeded()):
        monkeypatch.setitem(METHODS, method.name, method)
    Recorded.calls.clear()
    return Ledger(tmp_path / "runs.jsonl")


@pytest.fixture
def places(data: Path) -> dict[str, Any]:
    return {"data_root": data, "device": "cpu"}


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Add an experiment of the default preset to the catalogue."""

    def add_(name: str = NAME, **changes: Any) -> Experiment:
        rows = Variant("seeded", method="recorded"), Variant("unseeded", method="recorded-unseeded")
        usual: dict[str, Any] = dict(
            variants=rows,
            datasets=("cora-linqs",),
            protocols=("random-10-10-80", "random-20-80"),
            runs={"node": 6},
            preset="default",
            splits=3,
        )
        one = Experiment(name, "a test", **(usual | changes))
        monkeypatch.setitem(EXPERIMENTS, name, one)
        return one

    return add_


def test_each_training_runs_once_and_every_split_is_a_line(add: Any, ledger: Ledger, places: dict[str, Any]) -> None:
    add()
    rows = reproduce(NAME, ledger, **places)
    assert [seeds for _, _, seeds, _ in Recorded.calls] == [(0,), (1,), (0, 1)]  # the last is not seeded
    lines = {(run.variant, run.seed): run for run in ledger}
    assert sorted(lines) == [(row, seed) for row in ("seeded", "unseeded") for seed in range(6)]
    cora = load("cora-linqs", places["data_root"])
    assert cora.splits is not None
    exclude = np.setdiff1d(np.arange(cora.graph.nodes), cora.splits["test"])
    method = METHODS["recorded"]
    for run in range(6):
        (outcome,) = method.outcomes(cora, Settings(), None, [run // 3], None)  # type: ignore[arg-type]
        codes = torch.from_numpy(outcome.points())
        expected = {
            "random_10": random_10_accuracy(codes, cora.target, [run % 3], exclude)[0],
            "random_20": random_20_accuracy(codes, cora.target, [run % 3], exclude)[0],
        }
        assert lines["seeded", run].scores == pytest.approx(expected)
    scores = [lines["unseeded", run].scores for run in range(6)]
    assert scores[:3] == scores[3:]
    assert len({score["random_10"] for score in scores}) == 3
    assert [(row.id, row.score.name, row.runs) for row in rows] == [
        (row, score, 6) for row in ("seeded", "unseeded") for score in ("random_10", "random_20")
    ]
    Recorded.calls.clear()
    reproduce(NAME, ledger, **places)
    assert not Recorded.calls


def test_a_supervised_method_learns_from_each_split_of_its_own(
    add: Any, ledger: Ledger, places: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[int, Any]] = []

    @dataclass(frozen=True)
    class Supervised(Method):
        """Always wrong."""

        name, label, supervised, source = "recorded-supervised", "supervised", True, "a test"
        guesses: int = 1

        def outcomes(self, dataset: Dataset, settings: Any, output: Any, seeds: Sequence[int], context: Any) -> Any:
            assert dataset.splits is not None
            given.append((seeds[0], dataset.splits["train"].tolist()))
            return [Outcome(predictions=(dataset.target + 1) % 7)]

    monkeypatch.setitem(METHODS, "recorded-supervised", Supervised())
    experiment = add(variants=(Variant("supervised", method="recorded-supervised"),), runs={"node": 4}, splits=2)
    reproduce(NAME, ledger, **places)
    splits = random_splits(load("cora-linqs", places["data_root"]).target, count=2)
    assert given == [(run // 2, splits[run % 2]["train"].tolist()) for run in range(4)]
    assert [run.scores for run in ledger] == [{"random_10": 0.0}] * 4
    recipe = experiment.recipes("cora-linqs")["supervised"]
    assert recipe.method == {"name": "recorded-supervised", "guesses": 1}
    changed = replace(recipe, settings=replace(recipe.settings, hidden=8))
    assert changed.id == recipe.id != replace(recipe, method={"name": "recorded-supervised", "guesses": 2}).id


def test_a_restart_trains_only_what_is_missing(add: Any, ledger: Ledger, places: dict[str, Any]) -> None:
    add()
    reproduce(NAME, ledger, runs=4, **places)
    before = {run.key: run.scores for run in ledger}
    Recorded.calls.clear()
    reproduce(NAME, ledger, **places)
    assert [seeds for _, _, seeds, _ in Recorded.calls] == [(1,), (1,)]
    assert {key: scores for key, scores in ((run.key, run.scores) for run in ledger) if key in before} == before
    assert len(list(ledger)) == 12


def test_runs_with_another_number_of_splits_are_not_reused(add: Any, ledger: Ledger, places: dict[str, Any]) -> None:
    add()
    reproduce(NAME, ledger, runs=1, **places)
    Recorded.calls.clear()
    add("default-same")
    reproduce("default-same", ledger, runs=1, **places)
    assert not Recorded.calls
    add("default-other", splits=2)
    reproduce("default-other", ledger, runs=1, **places)
    assert len(Recorded.calls) == 2


def test_automatic_settings_are_resolved_before_a_method_sees_them(
    add: Any, ledger: Ledger, places: dict[str, Any]
) -> None:
    experiment = add(runs={"node": 1})
    recipe = experiment.recipes("cora-linqs")["seeded"]
    assert recipe.settings == Settings(task="node")
    assert recipe.setting == "default"
    reproduce(NAME, ledger, **places)
    expected = resolve(load("cora-linqs", places["data_root"]).graph, Settings(task="node")).settings
    assert expected.sampler != "auto"
    assert [settings for _, settings, _, _ in Recorded.calls] == [expected, expected]
    assert {run.recipe for run in ledger} == {recipe.id}
    with pytest.raises(SettingsError, match="starts from the default settings; omit --setting and --recipes"):
        experiment.check_setting("paper")


def test_features_are_removed_where_only_the_structure_counts(add: Any, ledger: Ledger, places: dict[str, Any]) -> None:
    with_features, without = add(runs={"node": 1}), add("default-structure", runs={"node": 1}, structure_only=True)
    ids = [one.recipes("cora-linqs")["seeded"].id for one in (with_features, without)]
    assert ids[0] != ids[1]
    reproduce(NAME, ledger, **places)
    reproduce("default-structure", ledger, **places)
    assert [(name, given) for name, _, _, given in Recorded.calls] == [
        *[("cora-linqs", True)] * 2,
        *[("cora-linqs, structure only", False)] * 2,
    ]
    mutag = load("mutag", places["data_root"])
    bare = structure_of(mutag).graph
    assert (bare.features, bare.node_labels, bare.count) == (None, None, mutag.graph.count)
    assert bare.fingerprint == mutag.graph.fingerprint
    assert mutag.graph.node_labels is not None


def test_a_row_may_be_for_some_datasets_only(add: Any) -> None:
    rows = Variant("all", method="raw"), Variant("few", method="propagated", datasets=("dblp",))
    experiment = add(variants=rows, datasets=("cora-linqs", "dblp"))
    assert [[step.variant.id for step in plan(experiment, [name])] for name in experiment.datasets] == [
        ["all"],
        ["all", "few"],
    ]


def test_runs_of_the_same_training_stay_in_one_piece() -> None:
    recipe = Recipe("dblp", "default", Settings())
    task = Task(recipe, "default", "mvgrl", None, {}, (1, 2, 3, 7), 3)
    found = pieces([task, replace(task, variant="other", seeds=(4,))], torch.device("cpu"))
    assert [[(one.variant, one.seeds) for one in piece] for piece in found] == [
        [("default", (1, 2))],
        [("default", (3,)), ("other", (4,))],
        [("default", (7,))],
    ]


def test_all_omits_datasets_that_cannot_be_had(
    add: Any, ledger: Ledger, places: dict[str, Any], only: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    only()
    add(datasets=("cora-linqs", "dblp"), runs={"node": 1})
    messages: list[str] = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(ledger.path.parent))
    ((name, rows),) = reproduce_all(ledger, tell=messages.append, **places)
    assert (name, {row.dataset for row in rows}) == (NAME, {"cora-linqs"})
    assert "dblp is omitted: it is not on this machine and cannot be downloaded" in messages
