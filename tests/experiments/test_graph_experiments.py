"""The graph table: what is run, what is not repeated, and its rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mvgrl import fit
from mvgrl.datasets import load
from mvgrl.errors import SettingsError
from mvgrl.evaluation import cross_validate, propagated, untrained
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.recipes import load_recipe
from mvgrl.experiments.reproduce import reproduce
from mvgrl.experiments.summary import summarise
from mvgrl.settings import Output

PAPER = Output(preset="paper")
TABLE = "graph-classification"
ROWS = [variant.id for variant in EXPERIMENTS["graph-classification"].variants]
TINY = 'hidden = 8\nepochs = 2\nlearning_rate = 0.01\nfeatures = "labels+degree"\n'


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes" / "graph"
    folder.mkdir(parents=True)
    (folder / "mutag.toml").write_text(f"[best]\n{TINY}\n[released]\nfrozen_encoder = true\n{TINY}")
    return folder.parent


def test_an_interrupted_table_resumes_without_repeating_or_losing_a_run(
    recipes: Path, data: Path, tmp_path: Path
) -> None:
    ledger, messages = Ledger(tmp_path / "runs.jsonl"), []

    def stop_at_the_second(text: str) -> None:
        messages.append(text)
        if text.endswith("untrained: seed 1"):
            raise KeyboardInterrupt

    options = dict(datasets=["mutag"], device="cpu", recipes=recipes, data_root=data)
    with pytest.raises(KeyboardInterrupt):
        reproduce(TABLE, ledger, runs=2, tell=stop_at_the_second, **options)
    assert messages[0] == "mutag, best, trained: seed 0"
    done = list(ledger)
    assert [(run.variant, run.seed) for run in done] == [("trained", 0), ("trained", 1), ("untrained", 0)]
    assert all(set(run.scores) == {"nested", "best_c"} and run.seconds > 0 for run in done)
    assert [run.epochs for run in done] == [2, 2, 0]

    messages.clear()
    rows = reproduce(TABLE, ledger, runs=2, tell=messages.append, **options)
    left = [("untrained", 1), *((row, seed) for row in ROWS[2:] for seed in (0, 1))]
    assert messages == [f"mutag, best, {row}: seed {seed}" for row, seed in left]
    assert len(ledger.path.read_text().splitlines()) == len(list(ledger)) == 2 * len(ROWS)
    assert list(ledger)[:3] == done
    assert reproduce(TABLE, ledger, runs=2, tell=messages.append, **options) == rows
    assert len(messages) == len(left)
    assert [row.runs for row in reproduce(TABLE, ledger, runs=3, tell=messages.append, **options)] == [3, 3]
    assert messages[len(left) :] == [f"mutag, best, {row}: seed 2" for row in ROWS]
    assert summarise(EXPERIMENTS[TABLE], ledger, ["mutag"], runs=2, recipes=recipes) == rows


def test_scores_equal_those_of_separate_runs(recipes: Path, data: Path, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    rows = reproduce(TABLE, ledger, datasets=["mutag"], runs=2, device="cpu", recipes=recipes, data_root=data)
    mutag, settings = load("mutag", data), load_recipe("mutag", table="graph-classification", folder=recipes).settings
    separate = {
        "trained": [fit(mutag.graph, settings, seed=seed, device="cpu").vectors(output=PAPER) for seed in (0, 1)],
        "untrained": [untrained(mutag.graph, settings, seed=seed, output=PAPER, device="cpu") for seed in (0, 1)],
        "propagated": [propagated(mutag.graph, settings, device="cpu")] * 2,
    }
    scores = {variant: [] for variant in separate}
    for run in (run for run in ledger if run.variant in separate):
        found = cross_validate(separate[run.variant][run.seed], mutag.target, folds=10, seed=run.seed)
        expected = {"nested": float(found.nested_accuracy[0]), "best_c": float(found.best_c_accuracy[0])}
        assert run.scores == pytest.approx(expected), run
        scores[run.variant].append(run.scores)
    assert [row.score.name for row in rows] == ["nested", "best_c"]
    for row in rows:
        trained, start, plain = ([score[row.score.name] for score in scores[variant]] for variant in separate)
        assert (row.mean, row.std) == pytest.approx((np.mean(trained), np.std(trained)))
        assert (row.controls["untrained"], row.controls["propagated"]) == pytest.approx(
            (np.mean(start), np.mean(plain))
        )
        assert (row.dataset, row.paper, row.runs) == ("mutag", 89.7, 2)
        assert row.controls["propagated"] > 80  # rings and stars


def test_released_does_not_train_the_encoders(recipes: Path, data: Path, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    options = dict(datasets=["mutag"], runs=1, device="cpu", recipes=recipes, data_root=data)
    reproduce(TABLE, ledger, setting="released", **options)
    reproduce(TABLE, ledger, **options)
    assert [(run.setting, run.variant) for run in ledger][:: len(ROWS)] == [
        ("released", "trained"),
        ("best", "trained"),
    ]
    assert len({run.recipe for run in ledger}) == 2
    graph = load("mutag", data).graph
    ours, theirs = (
        load_recipe("mutag", setting, table="graph-classification", folder=recipes) for setting in ("best", "released")
    )
    start = fit(graph, replace(ours.settings, epochs=0), device="cpu").model.state_dict()
    for recipe in (ours, theirs):
        for name, tensor in fit(graph, recipe.settings, device="cpu").model.state_dict().items():
            kept = recipe is theirs and name.startswith("encoders.")
            assert torch.equal(tensor, start[name]) == kept, name


@pytest.mark.parametrize("line", ["hiden = 8", "weight_decay = 0.1"])  # graph recipes have no linear probe
def test_a_recipe_with_an_unknown_key_is_rejected(line: str, recipes: Path, data: Path, tmp_path: Path) -> None:
    (recipes / "graph" / "mutag.toml").write_text(f"[best]\n{line}\n")
    ledger = Ledger(tmp_path / "runs.jsonl")
    with pytest.raises(SettingsError, match=rf"mutag\.toml, \[best\]: unknown setting '{line.split()[0]}'"):
        reproduce(TABLE, ledger, datasets=["mutag"], runs=1, device="cpu", recipes=recipes, data_root=data)
    assert not ledger.path.exists()
