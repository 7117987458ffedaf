"""Reproducing experiments: every run once, failures do not stop others, and identical rows are copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mvgrl import fit
from mvgrl.datasets import load
from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation import cross_validate, propagated
from mvgrl.evaluation.few_labels import graph_accuracy, node_accuracy
from mvgrl.experiments import reproduce as reproducing
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.experiment import Experiment, Variant, task_of
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.planner import Step, reused_runs
from mvgrl.experiments.recipes import load_recipe
from mvgrl.experiments.reproduce import overview, reproduce, reproduce_all
from mvgrl.experiments.summary import summarise
from mvgrl.mutual_information import jsd
from mvgrl.settings import Output

PAPER = Output(preset="paper")
DATASETS = ("cora-linqs", "mutag")
Only = Callable[..., None]
LABELS = "sweep-labels"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "runs.jsonl")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dataset", DATASETS)
def test_all_experiments_run_once_and_a_restart_repeats_nothing(
    dataset: str, places: dict[str, Any], ledger: Ledger, only: Only
) -> None:
    ablations = [name for name, one in EXPERIMENTS.items() if one.group and not one.preset]
    only(*(name for name in ablations if name != LABELS or dataset == "mutag"))
    messages: list[str] = []
    options = dict(datasets=[dataset], runs=1, tell=messages.append, **places)
    tables = dict(reproduce_all(ledger, **options))
    assert list(tables) == [name for name, one in EXPERIMENTS.items() if dataset in one.datasets]
    for name, rows in tables.items():
        assert [row.variant for row in rows] == EXPERIMENTS[name].variants_for(dataset)
        assert all(row.failed is None and 0 < row.mean <= 100 and row.runs == 1 for row in rows), rows
        assert {row.score.name for row in rows} == {"accuracy" if dataset == "cora-linqs" else "nested"}
        assert summarise(EXPERIMENTS[name], ledger, [dataset], runs=1, recipes=places["recipes"]) == rows
    runs = list(ledger)
    assert len(runs) == len(ledger.path.read_text().splitlines()) == sum(map(len, tables.values()))
    different = {run.recipe for run in runs if run.experiment != LABELS}  # shared by experiments: run once
    assert len(messages) == len(different) + len(tables.get(LABELS, []))
    messages.clear()
    assert dict(reproduce_all(ledger, **options)) == tables
    assert messages == []

    listed = {row["experiment"]: row for row in overview(ledger, datasets=[dataset], runs=2, recipes=places["recipes"])}
    labels, others = ([run.seconds for run in runs if (run.experiment == LABELS) == wanted] for wanted in (True, False))
    for name, rows in tables.items():
        row = listed[name]
        assert (row["runs"], row["done"], row["failed"]) == (2 * len(rows), len(rows), 0)
        expected = len(rows) * np.mean(labels if name == LABELS else others)
        assert row["seconds_left"] == pytest.approx(expected)


def test_controls_that_never_ran_have_no_expected_time(places: dict[str, Any], ledger: Ledger) -> None:
    reproduce("ablation-view-count", ledger, datasets=["cora-linqs"], runs=1, **places)
    listed = {row["experiment"]: row for row in overview(ledger, datasets=["cora-linqs"], recipes=places["recipes"])}
    assert listed["node-classification"]["done"] == 0
    assert listed["node-classification"]["seconds_left"] is None


def test_a_row_has_the_scores_of_its_settings(places: dict[str, Any], ledger: Ledger) -> None:
    rows = reproduce("ablation-bounds", ledger, datasets=["mutag"], runs=2, **places)
    mutag = load("mutag", places["data_root"])
    start = load_recipe("mutag", table="graph-classification", folder=places["recipes"]).settings
    runs = fit(mutag.graph, replace(start, bound="dv"), seed=(0, 1), device="cpu")
    codes = [run.vectors(output=PAPER) for run in runs]
    separate = [
        float(cross_validate(some, mutag.target, seed=seed).nested_accuracy[0]) for seed, some in enumerate(codes)
    ]
    assert (rows[3].id, rows[3].paper, rows[3].paper_std, rows[3].runs) == ("DV", 83.4, 1.9, 2)
    assert (rows[3].mean, rows[3].std) == pytest.approx((np.mean(separate), np.std(separate)))
    first = summarise(EXPERIMENTS["ablation-bounds"], ledger, ["mutag"], runs=1, recipes=places["recipes"])[3]
    assert (first.mean, first.runs) == (pytest.approx(separate[0]), 1)


def exhausted(*_: object) -> torch.Tensor:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 TiB")


def lost(scores: torch.Tensor, *_: object) -> torch.Tensor:
    return scores.sum() * float("nan")


def experiment(name: str, rows: dict[str, dict[str, Any]], datasets: tuple[str, ...] = DATASETS) -> Experiment:
    """An ablation with these rows."""
    variants = tuple(Variant(row, changes) for row, changes in rows.items())
    return replace(EXPERIMENTS["ablation-bounds"], name=name, variants=variants, datasets=datasets)


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_failed_run_is_recorded_with_its_reason_and_the_others_continue(
    dataset: str, places: dict[str, Any], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, messages = "ablation-failing", []
    rows = {"exhausted": dict(bound=exhausted), "lost": dict(bound=lost), "fine": dict(bound="jsd")}
    monkeypatch.setitem(EXPERIMENTS, name, experiment(name, rows))
    options = dict(datasets=[dataset], runs=2, tell=messages.append, **places)
    found = reproduce(name, ledger, **options)
    assert [row.failed for row in found][0::2] == ["out of memory", None]
    assert found[1].failed.startswith("the loss became nan")
    assert [(row.mean is None, row.std is None, row.runs) for row in found] == [
        (True, True, 0),
        (True, True, 0),
        (False, False, 2),
    ]
    assert [(run.variant, run.seed, run.scores == {}) for run in ledger] == [
        (row, seed, row != "fine") for row in ("exhausted", "lost", "fine") for seed in (0, 1)
    ]
    assert f"{dataset}, best, exhausted: seed 0 failed: out of memory" in messages
    (listed,) = (
        row for row in overview(ledger, datasets=[dataset], recipes=places["recipes"]) if row["experiment"] == name
    )
    assert (listed["done"], listed["failed"]) == (2, 4)

    messages.clear()
    assert reproduce(name, ledger, **options) == found
    assert messages == []
    again = reproduce(name, ledger, retry_failed=True, **options)
    assert [row.failed for row in again] == [row.failed for row in found]
    assert len(messages) == 8  # both seeds of two rows: started, and failed
    assert len(list(ledger)) == 6


@pytest.mark.parametrize(
    ("dataset", "features", "message"),
    [("mutag", "given", "the graph has no features"), ("cora-linqs", "labels", "the graph has no node labels")],
)
def test_errors_that_a_user_must_fix_are_raised(
    dataset: str,
    features: str,
    message: str,
    places: dict[str, Any],
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = {"foreign": dict(features=features), "fine": {}}  # not available for the dataset
    monkeypatch.setitem(EXPERIMENTS, "ablation-wrong", experiment("ablation-wrong", rows, (dataset,)))
    with pytest.raises(InputError, match=message):
        reproduce("ablation-wrong", ledger, runs=1, **places)
    assert list(ledger) == []

    def stop(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("ablation-bounds", ledger, datasets=[dataset], runs=1, tell=stop, **places)
    assert list(ledger) == []


def test_all_runs_the_main_tables_first_and_then_the_others(places: dict[str, Any], ledger: Ledger, only: Only) -> None:
    few = ["graph-classification", "ablation-bounds", "ablation-encoders", "ablation-batch-size", "sweep-layers"]
    only(*few)
    messages: list[str] = []
    options = dict(datasets=["mutag"], runs=1, tell=messages.append, **places)
    tables = reproduce_all(ledger, **options)
    name, rows = next(tables)
    assert (name, [row.score.name for row in rows]) == ("graph-classification", ["nested", "best_c"])
    assert {run.experiment for run in ledger} == {"graph-classification"}
    name, rows = next(tables)
    assert (name, len(rows)) == ("ablation-bounds", 4)
    assert {run.experiment for run in ledger} == set(few)
    assert [(name, len(rows)) for name, rows in tables] == [
        ("ablation-encoders", 3),
        ("ablation-batch-size", 5),
        ("sweep-layers", 4),
    ]
    controls = [one.id for one in EXPERIMENTS["graph-classification"].controls]
    trained = {run.recipe for run in ledger if run.variant not in controls}
    assert len(messages) == len(trained) + len(controls)  # each recipe once for all experiments
    messages.clear()
    assert [name for name, _ in reproduce_all(ledger, **options)] == few
    assert not messages
    with pytest.raises(SettingsError, match="starts from the recipes named best; omit --setting"):
        next(reproduce_all(ledger, datasets=["mutag"], setting="paper"))
    with pytest.raises(SettingsError, match="unknown dataset 'mutga'; did you mean 'mutag'"):
        next(reproduce_all(ledger, datasets=["mutga"]))
    with pytest.raises(SettingsError, match="jobs is 0; it must be at least 1"):
        next(reproduce_all(ledger, jobs=0))


def test_runs_missing_from_two_experiments_are_run_once_unless_they_fail(
    places: dict[str, Any], ledger: Ledger, tmp_path: Path, only: Only, monkeypatch: pytest.MonkeyPatch
) -> None:
    only("ablation-bounds", "ablation-encoders")  # JSD and dedicated are the recipe
    messages: list[str] = []
    options = dict(datasets=["mutag"], runs=1, tell=messages.append, **places)
    dict(reproduce_all(ledger, **options))
    assert [text for text in messages if "JSD" in text or "dedicated" in text] == ["mutag, best, JSD: seed 0"]
    scores = {run.variant: run.scores for run in ledger}
    assert scores["dedicated"] == scores["JSD"]

    failing = Ledger(tmp_path / "failed.jsonl")
    messages.clear()
    monkeypatch.setattr("mvgrl.evaluation.protocols.choose_and_validate", lambda *_, **__: 1 / 0)
    tables = dict(reproduce_all(failing, **options))
    assert {row.failed for rows in tables.values() for row in rows} == {"ZeroDivisionError: division by zero"}
    assert len([text for text in messages if text == "mutag, best, dedicated: seed 0"]) == 1
    assert len([run for run in failing if run.failed]) == 4 + 3


def test_all_tasks_of_a_round_form_one_list_with_nodes_first(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []
    monkeypatch.setattr(reproducing, "run_tasks", lambda tasks, *_, **__: rounds.append(tasks))
    tables = dict(reproduce_all(ledger, datasets=["cora", "mutag"], runs=2, device="cpu"))
    assert not any(tables.values())
    kinds = [[task.recipe.settings.task for task in tasks] for tasks in rounds]
    assert kinds == [sorted(some, reverse=True) for some in kinds]
    main = EXPERIMENTS["graph-classification"].variants
    assert kinds[0] == ["node"] * 3 + ["graph"] * len(main)  # both node tables share the runs of Cora
    assert all(set(task.protocols) == {"node-classification", "node-clustering"} for task in rounds[0][:3])
    assert set(kinds[2]) == {"node", "graph"}
    assert len(kinds[2]) > 50


def test_an_unknown_experiment_is_rejected(ledger: Ledger) -> None:
    with pytest.raises(SettingsError, match="unknown experiment 'ablation-bound'; did you mean 'ablation-bounds'"):
        reproduce("ablation-bound", ledger)


def test_a_row_of_another_experiment_is_copied(places: dict[str, Any], ledger: Ledger) -> None:
    messages: list[str] = []
    options = dict(datasets=["mutag"], tell=messages.append, **places)
    reproduce("graph-classification", ledger, runs=1, **options)
    messages.clear()
    rows = {row.id: row for row in reproduce("ablation-encoders", ledger, runs=2, **options)}
    assert [text for text in messages if "dedicated" in text] == ["mutag, best, dedicated: seed 1"]
    assert len([text for text in messages if "best, shared: seed" in text]) == 2
    trained, untrained = (next(run for run in ledger if run.variant == variant) for variant in ("trained", "untrained"))
    copied = next(run for run in ledger if run.variant == "dedicated" and run.seed == 0)
    assert copied == replace(trained, experiment="ablation-encoders", variant="dedicated")
    assert copied.seconds != untrained.seconds
    assert (rows["dedicated"].runs, rows["shared"].runs) == (2, 2)

    messages.clear()
    reproduce("ablation-bounds", ledger, runs=2, **options)
    assert not [text for text in messages if "JSD" in text]
    assert len(messages) == 6  # the three others
    messages.clear()
    reproduce(LABELS, ledger, runs=1, **options)
    assert any("100 %: seed 0" in text for text in messages)  # scores with other labels: neither copied
    reproduce("ablation-modes", ledger, runs=3, **options)
    kept = {run.variant: run for run in ledger if run.experiment == "ablation-modes" and run.seed == 0}
    assert kept["local-global"].scores == trained.scores  # nor copied from


def test_a_row_only_reuses_runs_that_have_its_scores() -> None:
    recipe = load_recipe("cora-linqs")
    done = Run("node-classification", "cora-linqs", "best", "trained", 0, {"accuracy": 80.0}, 9, 1.0, "cpu", recipe.id)
    clusters = replace(done, experiment="node-clustering", scores={"nmi": 0.5, "ari": 0.4})
    others = [
        replace(clusters, seed=1),
        replace(done, seed=2, failed="out of memory", scores={}),
        replace(done, seed=3, dataset="cora"),
        replace(done, seed=4, recipe="another"),
        replace(done, seed=5, variant="untrained"),
        replace(done, seed=6, experiment="retired"),
        replace(done, seed=7, experiment=LABELS, variant="5 %"),
    ]
    bounds = EXPERIMENTS["ablation-bounds"]
    step = Step(bounds, next(one for one in bounds.variants if one.id == "JSD"), recipe, 9)
    found = reused_runs([done, clusters, *others], step, range(9))
    assert found == [replace(done, experiment="ablation-bounds", variant="JSD")]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list with an entry per training step for rows of labels; a step fails if the last entry is true."""
    taken: list[bool] = []

    def counted(*arguments: Any) -> torch.Tensor:
        taken.append(bool(taken and taken[-1]))
        if taken[-1]:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return jsd(*arguments)

    labels = EXPERIMENTS[LABELS]
    rows = tuple(replace(one, changes=dict(bound=counted)) for one in labels.variants)
    monkeypatch.setitem(EXPERIMENTS, LABELS, replace(labels, variants=rows))
    return taken


def test_label_shares_use_the_same_training_per_seed(places: dict[str, Any], ledger: Ledger, steps: list[bool]) -> None:
    options = dict(datasets=["mutag"], **places)
    reproduce(LABELS, ledger, runs=1, **options)
    each = len(steps)
    rows = reproduce(LABELS, ledger, runs=2, **options)
    assert len(steps) == 2 * each > 0
    assert Counter(run.epochs for run in ledger) == {1: 12, 0: 12}
    lines = ledger.path.read_text().splitlines(keepends=True)
    last = [line for line in lines if '"seed": 1' in line and f'"{rows[-2].id}"' in line]
    ledger.path.write_text("".join(line for line in lines if line not in last))  # as if killed before they were written
    assert [row.mean for row in reproduce(LABELS, ledger, runs=2, **options)] == [row.mean for row in rows]
    assert len(steps) == 3 * each


def test_a_failed_training_is_not_repeated_for_every_share(
    places: dict[str, Any], ledger: Ledger, steps: list[bool]
) -> None:
    steps.append(True)
    rows = reproduce(LABELS, ledger, datasets=["mutag"], runs=1, **places)
    assert len(steps) == 2
    assert [row.failed for row in rows] == ["out of memory", None] * 6


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_share_of_labels_has_the_scores_of_its_vectors(
    dataset: str, places: dict[str, Any], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tuple(one for one in EXPERIMENTS[LABELS].variants if one.share == 0.1)
    monkeypatch.setitem(EXPERIMENTS, LABELS, replace(EXPERIMENTS[LABELS], variants=few))
    rows = reproduce(LABELS, ledger, datasets=[dataset], runs=2, **places)
    named, task = load(dataset, places["data_root"]), task_of(dataset)
    settings = load_recipe(dataset, table=f"{task}-classification", folder=places["recipes"]).settings

    def score(codes: np.ndarray, seed: int) -> float:
        if task == "graph":
            return graph_accuracy(torch.from_numpy(codes), named.target, 0.1, seed=seed)
        return node_accuracy(torch.from_numpy(codes), named.target, named.splits["test"], 0.1, seed=seed)

    found = {row.variant.method: (row.mean, row.std) for row in rows}
    for method, vectors in {
        "mvgrl": [fit(named.graph, settings, seed=seed, device="cpu").vectors(output=PAPER) for seed in (0, 1)],
        "propagated": [propagated(named.graph, settings, device="cpu")] * 2,
    }.items():
        separate = [score(codes, seed) for seed, codes in enumerate(vectors)]
        assert found[method] == pytest.approx((np.mean(separate), np.std(separate)))
