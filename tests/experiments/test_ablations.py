"""The ablations: every row is what it says, none is lost to another's failure, and none is run twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mvgrl import fit
from mvgrl.datasets import load
from mvgrl.errors import InputError, SettingsError
from mvgrl.evaluation import cross_validate
from mvgrl.experiments import reproduce as reproducing
from mvgrl.experiments.ablations import ABLATIONS, LABELS, LARGE, Ablation, recipes, table
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.recipes import load_recipe
from mvgrl.experiments.reproduce import overview, reproduce, reproduce_all
from mvgrl.experiments.runs import known_already
from mvgrl.mutual_information import Bound
from mvgrl.settings import Settings

EVERY = [(name, dataset) for name, ablation in ABLATIONS.items() for dataset in ablation.datasets]
TINY = {
    "node": '[best]\nviews = ["adjacency", "ppr:top_k=4"]\nhidden = 4\nepochs = 1\n',
    "graph": "[best]\nhidden = 4\nlayers = 1\nepochs = 1\n",
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write(tmp_path / "recipes", TINY)


def write(folder: Path, texts: dict[str, str]) -> Path:
    for (task, text), dataset in zip(texts.items(), ("cora-linqs", "mutag"), strict=True):
        (folder / task).mkdir(parents=True)
        (folder / task / f"{dataset}.toml").write_text(text)
    return folder


def base(dataset: str) -> Settings:
    task = "graph" if dataset in ABLATIONS["ablation-bounds"].datasets[3:] else "node"
    return load_recipe(dataset, table=f"{task}-classification").settings


@pytest.mark.parametrize(("name", "dataset"), EVERY)
def test_every_row_is_the_recipe_with_what_it_names_and_no_two_are_the_same(name: str, dataset: str) -> None:
    ablation, start = ABLATIONS[name], base(dataset)
    rows = recipes(ablation, dataset)
    assert list(rows) == ablation.rows_of(start.task)
    assert len({recipe.id for recipe in rows.values()}) == (1 if name == LABELS else len(rows)) >= 1
    before = start.to_dict()
    for row, recipe in rows.items():
        assert (recipe.dataset, recipe.setting, recipe.tables) == (dataset, "best", (name,))
        after = recipe.settings.to_dict()
        asked = dict(ablation.rows[row])
        if diffusion := asked.pop("diffusion", None):
            asked["views"] = ("adjacency", diffusion.partition(":")[0])
        assert [view.name for view in recipe.settings.views] == list(
            asked.pop("views", [view.name for view in start.views])
        )
        assert {key: after[key] for key in asked} == asked
        moved = {key for key in after if after[key] != before[key]} - {
            *ablation.rows[row],
            "views" if diffusion else "",
        }
        assert bool(moved) <= bool(recipe.why), (row, moved)  # whatever else gives way is said


def test_the_rows_are_those_of_the_tasks() -> None:
    rows = {name: [ablation.rows_of(task) for task in ("node", "graph")] for name, ablation in ABLATIONS.items()}
    assert rows["ablation-modes"][0] == ["local-global", "multi-scale", "ensemble"]
    assert len(rows["ablation-modes"][1]) == 5
    assert rows["ablation-batch-size"] == [["2", "4", "8"], ["16", "32", "64", "128", "256"]]
    assert rows["ablation-bounds"][0] == rows["ablation-bounds"][1] == ["NCE", "JSD", "NT-Xent", "DV"]


def test_one_row_of_each_is_the_recipe_itself_where_the_paper_says_so() -> None:
    for name, row in {"bounds": "JSD", "modes": "local-global", "views": "adj-ppr", "encoders": "dedicated"}.items():
        for dataset in ("cora-linqs", "citeseer", "pubmed"):
            found = recipes(ABLATIONS[f"ablation-{name}"], dataset)[row]
            assert found.id == load_recipe(dataset).id
            assert found.why == ""


def test_views_are_sparsified_as_the_recipe_has_them() -> None:
    views = ABLATIONS["ablation-views"]
    ppr = base("citeseer").views[1]
    found = recipes(views, "citeseer")["heat-dist"]
    heat, distance = found.settings.views
    assert (heat.threshold, heat.scale, heat.t) == (ppr.threshold, ppr.scale, 5.0) == (0.01, "columns", 5.0)
    assert (distance.top_k, distance.threshold) == (None, None)  # no entry of a softmax would be left
    assert found.why == "heat sparsified: entries from 0.01 up, columns scaled"
    for dataset in LARGE:
        found = recipes(views, dataset)["adj-dist"]
        assert found.settings.views[1].top_k == 64
        assert found.why == "distance sparsified: 64 largest entries of a row"
    assert recipes(views, "mutag")["adj-dist"].why == ""


def test_what_cannot_work_together_gives_way(tmp_path: Path) -> None:
    for ablation, row in (("ablation-readouts", "diffpool-2"), ("ablation-modes", "multi-scale")):
        found = recipes(ABLATIONS[ablation], "pubmed")[row]
        assert (found.settings.sampler, found.settings.sample_size, found.settings.batch_size) == ("nodes", 2000, 1)
        assert "2,000 nodes" in found.why
    drawn = 'encoder = "shared"\ndraw_two_views = true\nviews = ["adjacency", "ppr", "heat"]\n'
    clusters = 'mode = "multi-scale"\nreadout = "diffpool-2"\ncodes = "layers"\n'
    folder = write(tmp_path / "odd", {"node": f"[best]\n{drawn}", "graph": f"[best]\n{clusters}"})
    for ablation in ABLATIONS.values():
        for dataset in {"cora-linqs", "mutag"} & {*ablation.datasets}:
            rows = recipes(ablation, dataset, folder=folder)
            assert len({recipe.id for recipe in rows.values()}) == (1 if ablation.name == LABELS else len(rows))
    ensemble = recipes(ABLATIONS["ablation-modes"], "cora-linqs", folder=folder)["ensemble"]
    assert not ensemble.settings.draw_two_views
    assert ensemble.why == "without the recipe's draw of two views"
    summed = recipes(ABLATIONS["ablation-readouts"], "mutag", folder=folder)["sum"]
    assert summed.settings.mode == "local-global"
    assert "the readout is in the training alone" in summed.why


@pytest.mark.parametrize("dataset", ["cora-linqs", "mutag"])
def test_all_of_them_run_once_and_a_restart_repeats_nothing(dataset: str, tiny: Path, tmp_path: Path) -> None:
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    ours = [name for name, ablation in ABLATIONS.items() if dataset in ablation.datasets and "ablation" in name]
    options = dict(datasets=[dataset], runs=1, device="cpu", recipes=tiny, tell=told.append)
    tables = {name: reproduce(name, ledger, **options) for name in ours}
    task = "graph" if dataset == "mutag" else "node"
    for name, rows in tables.items():
        assert [row["row"] for row in rows] == ABLATIONS[name].rows_of(task)
        assert all(row["failed"] is None and 0 < row["mean"] <= 100 and row["runs"] == 1 for row in rows), rows
        assert {row["metric"] for row in rows} == {"accuracy" if task == "node" else "nested"}
        assert table(name, ledger, [dataset], runs=1, folder=tiny) == rows
    runs = list(ledger)
    assert len(runs) == sum(map(len, tables.values()))
    assert len(told) == len({run.recipe for run in runs}) < len(runs)  # what several tables have is run once
    assert told[0] == f"{dataset}, best, NCE: seed 0"
    told.clear()
    assert {name: reproduce(name, ledger, **options) for name in ours} == tables
    assert told == []
    listed = {row["experiment"]: row for row in overview(ledger, datasets=[dataset], runs=2, recipes=tiny)}
    for name, rows in tables.items():
        row, seconds = listed[name], np.mean([run.seconds for run in runs])
        assert (row["runs"], row["done"], row["failed"]) == (2 * len(rows), len(rows), 0)
        assert row["seconds_left"] == pytest.approx(len(rows) * seconds)
    assert listed[f"{task}-classification"]["done"] == 0
    assert listed[f"{task}-classification"]["seconds_left"] is None  # of controls nothing is known


def test_a_row_is_scored_as_its_settings_alone_are(tiny: Path, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    rows = reproduce("ablation-bounds", ledger, datasets=["mutag"], runs=2, device="cpu", recipes=tiny)
    mutag, start = load("mutag"), load_recipe("mutag", table="graph-classification", folder=tiny).settings
    codes = [fit(mutag.graph, replace(start, bound="dv"), seed=seed, device="cpu").represent()[1] for seed in (0, 1)]
    alone = [float(cross_validate(some, mutag.target, seed=seed).nested_accuracy[0]) for seed, some in enumerate(codes)]
    assert (rows[3]["row"], rows[3]["paper"], rows[3]["paper_std"], rows[3]["runs"]) == ("DV", 83.4, 1.9, 2)
    assert (rows[3]["mean"], rows[3]["std"]) == pytest.approx((np.mean(alone), np.std(alone)))
    first = table("ablation-bounds", ledger, ["mutag"], runs=1, folder=tiny)[3]
    assert (first["mean"], first["runs"]) == (pytest.approx(alone[0]), 1)


def exhausted(*_: object) -> torch.Tensor:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 TiB")


def lost(scores: torch.Tensor, *_: object) -> torch.Tensor:
    return scores.sum() * float("nan")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> str:
    rows = {
        "exhausted": dict(bound=Bound(exhausted)),
        "lost": dict(bound=Bound(lost)),
        "fine": dict(bound="jsd"),
    }
    ablation = Ablation("ablation-failing", "Some fail", rows, ("cora-linqs", "mutag"))
    monkeypatch.setitem(ABLATIONS, ablation.name, ablation)
    return ablation.name


@pytest.mark.parametrize("dataset", ["cora-linqs", "mutag"])
def test_a_run_that_fails_is_kept_with_its_reason_and_the_others_go_on(
    dataset: str, failing: str, tiny: Path, tmp_path: Path
) -> None:
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    options = dict(datasets=[dataset], runs=2, device="cpu", recipes=tiny, tell=told.append)
    rows = reproduce(failing, ledger, **options)
    assert [row["failed"] for row in rows][0::2] == ["out of memory", None]
    assert rows[1]["failed"].startswith("the loss became nan")
    assert [(row["mean"] is None, row["std"] is None, row["runs"]) for row in rows] == [
        (True, True, 0),
        (True, True, 0),
        (False, False, 2),
    ]
    assert [(run.variant, run.seed, run.scores == {}) for run in ledger] == [
        (row, seed, row != "fine") for row in ("exhausted", "lost", "fine") for seed in (0, 1)
    ]
    assert f"{dataset}, best, exhausted: seed 0 failed: out of memory" in told
    (listed,) = (row for row in overview(ledger, datasets=[dataset], recipes=tiny) if row["experiment"] == failing)
    assert (listed["done"], listed["failed"]) == (2, 4)

    told.clear()
    assert reproduce(failing, ledger, **options) == rows
    assert told == []
    again = reproduce(failing, ledger, retry_failed=True, **options)
    assert [row["failed"] for row in again] == [row["failed"] for row in rows]
    assert len(told) == 8  # both seeds of two rows: begun, and failed
    assert len(list(ledger)) == 6


@pytest.mark.parametrize(
    ("dataset", "features", "message"),
    [("mutag", "given", "the graph has no features"), ("cora-linqs", "labels", "the graph has no node labels")],
)
def test_what_a_user_has_to_mend_is_raised(
    dataset: str, features: str, message: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"foreign": dict(features=features), "fine": {}}  # which the dataset has none of
    monkeypatch.setitem(ABLATIONS, "ablation-wrong", Ablation("ablation-wrong", "", rows, (dataset,)))
    ledger = Ledger(tmp_path / "runs.jsonl")
    with pytest.raises(InputError, match=message):
        reproduce("ablation-wrong", ledger, runs=1, device="cpu", recipes=tiny)
    assert list(ledger) == []

    def stop(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("ablation-bounds", ledger, datasets=[dataset], runs=1, device="cpu", recipes=tiny, tell=stop)
    assert list(ledger) == []


def test_a_row_that_lost_some_of_its_runs_says_so(tiny: Path, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    recipe = recipes(ABLATIONS["ablation-regularisers"], "mutag", folder=tiny)["dropout"]
    done = Run("ablation-regularisers", "mutag", "best", "dropout", 0, {"nested": 80.0}, 1, 2.0, "cpu", recipe.id)
    ledger.add([done, replace(done, seed=1, scores={}, seconds=9.0, failed="out of memory")])
    (row,) = table("ablation-regularisers", ledger, ["mutag"], folder=tiny)
    assert (row["mean"], row["runs"], row["failed"], row["seconds"]) == (80.0, 1, None, 2.0)
    assert row["note"] == "the paper names no strength; 0.5 here; 1 of 2 runs failed: out of memory"
    assert (row["paper"], row["paper_std"]) == (None, None)


def test_all_runs_the_main_tables_and_then_all_others_at_once(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("graph-classification", "ablation-bounds", "ablation-batch-size", "ablation-encoders", "sweep-layers")
    monkeypatch.setattr(reproducing, "experiments", lambda: dict.fromkeys(few, ("mutag", "imdb-binary")))
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    options = dict(datasets=["mutag"], recipes=tiny, device="cpu")
    tables = reproduce_all(ledger, runs=1, tell=told.append, **options)
    name, rows = next(tables)
    assert (name, [row["metric"] for row in rows]) == ("graph-classification", ["nested", "best_c"])
    assert {run.experiment for run in ledger} == {"graph-classification"}
    name, rows = next(tables)
    assert (name, len(rows)) == ("ablation-bounds", 4)
    assert {run.experiment for run in ledger} == set(few)
    assert [(name, len(rows)) for name, rows in tables] == [
        ("ablation-batch-size", 5),
        ("ablation-encoders", 3),
        ("sweep-layers", 4),
    ]
    trained = {run.recipe for run in ledger if run.variant not in ("untrained", "propagated")}
    assert len(told) == len(trained) + 2  # every recipe once, whatever tables have it, and the two controls
    told.clear()
    assert [name for name, _ in reproduce_all(ledger, runs=1, tell=told.append, **options)] == list(few)
    assert not told
    with pytest.raises(SettingsError, match="departs from the recipes named best; leave setting away"):
        next(reproduce_all(ledger, datasets=["mutag"], setting="paper"))
    with pytest.raises(SettingsError, match="unknown dataset 'mutga'; did you mean 'mutag'"):
        next(reproduce_all(ledger, datasets=["mutga"]))
    with pytest.raises(SettingsError, match="jobs is 0; ask for at least one"):
        next(reproduce_all(ledger, jobs=0))
    with pytest.raises(SettingsError, match="runs is 0; ask for at least one"):
        overview(ledger, runs=0)


def test_what_two_tables_lack_is_run_once_and_again_where_it_failed(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("ablation-bounds", "ablation-encoders")  # no main table before them: JSD and dedicated are the recipe
    monkeypatch.setattr(reproducing, "experiments", lambda: dict.fromkeys(few, ("mutag",)))
    options = dict(runs=1, recipes=tiny, device="cpu")
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    dict(reproduce_all(ledger, tell=told.append, **options))
    assert [text for text in told if "JSD" in text or "dedicated" in text] == ["mutag, best, JSD: seed 0"]
    scores = {run.variant: run.scores for run in ledger}
    assert scores["dedicated"] == scores["JSD"]

    ledger, told = Ledger(tmp_path / "failed.jsonl"), []
    monkeypatch.setattr("mvgrl.experiments.graph_tables.cross_validate", lambda *_, **__: 1 / 0)
    tables = dict(reproduce_all(ledger, tell=told.append, **options))
    assert {row["failed"] for rows in tables.values() for row in rows} == {"ZeroDivisionError: division by zero"}
    assert len([text for text in told if text == "mutag, best, dedicated: seed 0"]) == 1
    assert len([run for run in ledger if run.failed]) == 4 + 3


def test_all_of_a_round_is_one_list_with_nodes_first(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = []
    monkeypatch.setattr(reproducing, "work_off", lambda steps, *_, **__: rounds.append(steps))
    ledger = Ledger(tmp_path / "runs.jsonl")
    tables = dict(reproduce_all(ledger, datasets=["cora", "mutag"], runs=2, device="cpu"))
    assert not any(tables.values())
    tasks = [[recipe.settings.task for recipe, _ in steps] for steps in rounds]
    assert tasks == [sorted(some, reverse=True) for some in tasks]
    assert tasks[0] == ["node", "node", "graph"]  # the node tables' recipes of Cora, and MUTAG's
    assert rounds[0][1][1] == {"trained": [], "untrained": [], "propagated": []}  # which the first step has done
    assert set(tasks[2]) == {"node", "graph"}
    assert len(tasks[2]) > 50


def test_of_an_ablation_that_there_is_not_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="unknown ablation 'ablation-bound'; did you mean 'ablation-bounds'"):
        table("ablation-bound", Ledger(tmp_path / "runs.jsonl"))


def test_a_row_that_another_table_has_is_not_run_again(tiny: Path, tmp_path: Path) -> None:
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    options = dict(datasets=["mutag"], device="cpu", recipes=tiny, tell=told.append)
    reproduce("graph-classification", ledger, runs=1, **options)
    told.clear()
    rows = {row["row"]: row for row in reproduce("ablation-encoders", ledger, runs=2, **options)}
    assert [text for text in told if "dedicated" in text] == ["mutag, best, dedicated: seed 1"]
    assert len([text for text in told if "best, shared: seed" in text]) == 2
    trained, untrained = (next(run for run in ledger if run.variant == variant) for variant in ("trained", "untrained"))
    copied = next(run for run in ledger if run.variant == "dedicated" and run.seed == 0)
    assert copied == replace(trained, experiment="ablation-encoders", variant="dedicated")
    assert copied.scores != untrained.scores
    assert (rows["dedicated"]["runs"], rows["shared"]["runs"]) == (2, 2)

    told.clear()
    reproduce("ablation-bounds", ledger, runs=2, **options)
    assert not [text for text in told if "JSD" in text]
    assert len(told) == 6  # the three others
    told.clear()
    reproduce("sweep-labels", ledger, runs=1, **options)
    assert any("100 %: seed 0" in text for text in told)  # whose scores are of other labels: neither copied
    reproduce("ablation-modes", ledger, runs=3, **options)
    kept = {run.variant: run for run in ledger if run.experiment == "ablation-modes" and run.seed == 0}
    assert kept["local-global"].scores == trained.scores  # nor copied from


def test_only_a_run_with_the_score_of_the_table_serves_it() -> None:
    recipe = load_recipe("cora-linqs")
    done = Run("node-classification", "cora-linqs", "best", "trained", 0, {"accuracy": 80.0}, 9, 1.0, "cpu", recipe.id)
    clusters = replace(done, experiment="node-clustering", scores={"nmi": 0.5, "ari": 0.4})
    others = [
        replace(clusters, seed=1),
        replace(done, seed=2, failed="out of memory", scores={}),
        replace(done, seed=3, dataset="cora"),
        replace(done, seed=4, recipe="another"),
    ]
    found = known_already([done, clusters, *others], "ablation-bounds", recipe, "JSD", range(6))
    assert found == [replace(done, experiment="ablation-bounds", variant="JSD")]
