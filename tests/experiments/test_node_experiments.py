"""The node tables: what is run, what is not repeated, and their rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mvgrl import fit
from mvgrl.datasets import load
from mvgrl.evaluation import clustering_scores, linear_probe, logistic_probe, untrained
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.recipes import load_recipe
from mvgrl.experiments.reproduce import reproduce
from mvgrl.experiments.summary import summarise
from mvgrl.settings import Output

PAPER = Output(preset="paper")


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes" / "node"
    folder.mkdir(parents=True)
    text = '[best]\nviews = ["adjacency", "ppr:top_k=8"]\nhidden = 16\nepochs = 5\nweight_decay = 0.001\n'
    (folder / "cora-linqs.toml").write_text(text)
    return folder.parent


def test_a_table_is_run_once_and_continues_where_it_stopped(recipes: Path, data: Path, tmp_path: Path) -> None:
    ledger, messages = Ledger(tmp_path / "runs.jsonl"), []
    options = dict(datasets=["cora-linqs"], device="cpu", recipes=recipes, data_root=data, tell=messages.append)
    first = reproduce("node-classification", ledger, runs=2, **options)
    assert len(messages) == 5  # propagated features are the same for all seeds
    assert len(list(ledger)) == 2 * 3 * 2  # seeds × variants × tables
    assert reproduce("node-classification", ledger, runs=2, **options) == first
    clusters = reproduce("node-clustering", ledger, runs=2, **options)  # from the same runs
    assert len(messages) == 5
    assert [row.score.name for row in clusters] == ["nmi", "ari"]
    assert all(-1 < row.mean < 1 and row.paper == {"nmi": 0.629, "ari": 0.57}[row.score.name] for row in clusters)
    more = reproduce("node-classification", ledger, runs=3, **options)
    assert messages[5] == "cora-linqs, best, trained: seed 2"
    assert more[0].runs == 3
    assert summarise(EXPERIMENTS["node-classification"], ledger, ["cora-linqs"], runs=2, recipes=recipes) == first


def test_scores_equal_those_of_separate_runs(recipes: Path, data: Path, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    options = dict(datasets=["cora-linqs"], runs=2, device="cpu", recipes=recipes, data_root=data)
    row, tuned = reproduce("node-classification", ledger, **options)
    cora, recipe = load("cora-linqs", data), load_recipe("cora-linqs", folder=recipes)

    def accuracy(codes: np.ndarray, seed: int) -> float:
        assert cora.splits is not None
        parts = cora.splits["train"], cora.splits["test"]
        return 100 * float(linear_probe(codes, cora.target, *parts, weight_decay=0.001, seed=seed))

    settings = recipe.settings
    vectors = [fit(cora.graph, settings, seed=seed, device="cpu").vectors(output=PAPER) for seed in (0, 1)]
    separate = [accuracy(codes, seed) for seed, codes in enumerate(vectors)]
    assert row.mean == pytest.approx(np.mean(separate), abs=0.11)  # one test node of a thousand may change class
    assert row.std == pytest.approx(np.std(separate), abs=0.11)
    starts = [untrained(cora.graph, settings, output=PAPER, seed=seed, device="cpu") for seed in (0, 1)]
    control = [accuracy(codes, seed) for seed, codes in enumerate(starts)]
    assert row.controls["untrained"] == pytest.approx(np.mean(control), abs=0.11)
    assert row.paper == 86.8
    assert row.runs == 2
    assert row.seconds > 0
    assert cora.splits is not None
    train, val, test = (cora.splits[part] for part in ("train", "val", "test"))
    best = [100 * float(logistic_probe(codes, cora.target, train, test, val=val)) for codes in vectors]
    assert (tuned.score.name, tuned.paper) == ("logistic", None)
    assert tuned.mean == pytest.approx(np.mean(best), abs=0.11)


def test_a_table_can_override_settings(recipes: Path, data: Path, tmp_path: Path) -> None:
    path = recipes / "node" / "cora-linqs.toml"
    path.write_text(path.read_text() + "[best.clustering]\nunit_length = true\n")
    ledger = Ledger(tmp_path / "runs.jsonl")
    options = dict(datasets=["cora-linqs"], runs=1, device="cpu", recipes=recipes, data_root=data)
    reproduce("node-classification", ledger, **options)
    assert {run.experiment for run in ledger} == {"node-classification"}
    rows = reproduce("node-clustering", ledger, **options)
    assert len({run.recipe for run in ledger}) == 2
    codes = fit(
        load("cora-linqs", data).graph, load_recipe("cora-linqs", folder=recipes).settings, device="cpu"
    ).vectors(output=PAPER)
    unit = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    expected = clustering_scores(unit, load("cora-linqs", data).target, runs=1, seed=0)
    assert rows[0].mean == pytest.approx(expected["nmi"][0], abs=1e-3)


def test_a_changed_recipe_is_run_again(recipes: Path, data: Path, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    options = dict(datasets=["cora-linqs"], runs=1, device="cpu", recipes=recipes, data_root=data)
    reproduce("node-classification", ledger, **options)
    path = recipes / "node" / "cora-linqs.toml"
    path.write_text(path.read_text().replace("epochs = 5", "epochs = 4"))
    reproduce("node-classification", ledger, **options)
    trained = [run for run in ledger if run.variant == "trained" and run.experiment == "node-classification"]
    assert [run.epochs for run in trained] == [5, 4]
    assert trained[0].recipe != trained[1].recipe
