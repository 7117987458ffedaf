"""The sweeps: each is its dataset's recipe with one number changed, and the labels' rows share their trainings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mvgrl import fit
from mvgrl.datasets import load
from mvgrl.datasets.registry import _CORA_CLASSES, KNOWN
from mvgrl.evaluation import cross_validate, propagated
from mvgrl.experiments.ablations import EXPERIMENTS, CONTROL, LABELS, recipes
from mvgrl.experiments.few_labels import graph_accuracy, node_accuracy
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.recipes import load_recipe
from mvgrl.experiments.reproduce import overview, reproduce
from mvgrl.mutual_information import Bound, jsd

SWEEPS = [name for name in EXPERIMENTS if name.startswith("sweep-")]
TASKS = {"cora-linqs": "node", "mutag": "graph"}
TINY = {
    "node": '[best]\nviews = ["adjacency", "ppr:top_k=4:scale=columns"]\nhidden = 4\nepochs = 2\n',
    "graph": "[best]\nhidden = 4\nlayers = 1\nepochs = 1\n",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recipes, and data in the forms of Cora and MUTAG: 1,600 papers of six words, 40 rings and stars."""
    root = tmp_path_factory.mktemp("sweeps")
    for (dataset, task), text in zip(TASKS.items(), TINY.values(), strict=True):
        (root / "recipes" / task).mkdir(parents=True)
        (root / "recipes" / task / f"{dataset}.toml").write_text(text)
    rng = np.random.default_rng(0)
    cora = root / KNOWN["cora-linqs"].folder
    cora.mkdir(parents=True)
    subjects = rng.integers(3, size=1600)
    words = (np.arange(6) // 2 == subjects[:, None]) ^ (rng.random((1600, 6)) < 0.2)
    lines = (
        f"{i}\t" + "\t".join(map(str, words[i].astype(int))) + f"\t{_CORA_CLASSES[subjects[i]]}" for i in range(1600)
    )
    (cora / "cora.content").write_text("\n".join(lines) + "\n")
    (cora / "cora.cites").write_text("".join(f"{i}\t{(i + 3) % 1600}\n" for i in range(1600)))
    mutag = root / KNOWN["mutag"].folder
    mutag.mkdir(parents=True)
    sizes = rng.integers(4, 9, size=40)
    starts = np.cumsum(sizes) - sizes + 1
    edges = [
        (start + i, start + (i + 1) % size if graph % 2 else start)
        for graph, (start, size) in enumerate(zip(starts, sizes, strict=True))
        for i in range(size)
        if graph % 2 or i
    ]
    for name, rows in {
        "A": [f"{a}, {b}\n{b}, {a}" for a, b in edges],
        "graph_indicator": np.repeat(np.arange(1, 41), sizes),
        "graph_labels": np.arange(40) % 2,
    }.items():
        (mutag / f"MUTAG_{name}.txt").write_text("\n".join(map(str, rows)) + "\n")
    return {"data_root": root, "recipes": root / "recipes"}


def test_they_are_those_that_go_beyond_the_paper() -> None:
    assert {name: [EXPERIMENTS[name].rows_of(task) for task in ("node", "graph")] for name in SWEEPS[:-1]} == {
        "sweep-alpha": [["0.05", "0.1", "0.15", "0.2", "0.3", "0.5"]] * 2,
        "sweep-t": [["1", "2", "5", "10", "20"]] * 2,
        "sweep-top-k": [["8", "16", "32", "64", "128", "256"]] * 2,
        "sweep-hidden": [["64", "128", "256", "512", "1024", "2048"]] * 2,
        "sweep-layers": [["1", "2", "3", "4"], ["1", "2", "4", "8"]],
    }
    nodes, graphs = (EXPERIMENTS[LABELS].rows_of(task) for task in ("node", "graph"))
    assert nodes[::2] == ["0.5 %", "1 %", "2 %", "5 %", "10 %", "20 %"]
    assert graphs[::2] == ["2 %", "5 %", "10 %", "20 %", "50 %", "100 %"]
    assert [f"{row}, {CONTROL}" for row in nodes[::2] + graphs[::2]] == nodes[1::2] + graphs[1::2]


def test_of_a_diffusion_that_alone_is_changed() -> None:
    citeseer = load_recipe("citeseer").settings.views[1]
    for row, recipe in EXPERIMENTS["sweep-alpha"].recipes("citeseer").items():
        ppr = recipe.settings.views[1]
        assert (ppr.alpha, ppr.threshold, ppr.scale, ppr.top_k) == (float(row), 0.01, "columns", None)
        assert (ppr == citeseer, recipe.why) == (row == f"{citeseer.alpha:g}", "")
    for row, recipe in EXPERIMENTS["sweep-top-k"].recipes("citeseer").items():
        ppr = recipe.settings.views[1]
        assert (ppr.alpha, ppr.threshold, ppr.scale, ppr.top_k) == (citeseer.alpha, None, "columns", int(row))
        assert recipe.why == "in place of the recipe's entries from 0.01 up"
    assert EXPERIMENTS["sweep-top-k"].recipes("pubmed")["64"].id == load_recipe("pubmed").id


def test_heat_takes_the_place_of_the_diffusion_and_its_sparsification(tmp_path: Path) -> None:
    for row, recipe in EXPERIMENTS["sweep-t"].recipes("pubmed").items():
        adjacency, heat = recipe.settings.views
        assert (adjacency.name, heat.name, heat.t, heat.top_k, heat.scale) == (
            "adjacency",
            "heat",
            float(row),
            64,
            "columns",
        )
        assert recipe.why == "heat sparsified: 64 largest entries of a row, columns scaled"
    assert {recipe.why for recipe in EXPERIMENTS["sweep-t"].recipes("mutag").values()} == {""}
    (tmp_path / "graph").mkdir()
    for views, expected in {
        '"adjacency", "ppr", "heat:top_k=3"': "adjacency ppr heat",
        '"distance", "ppr", "adjacency"': "distance heat adjacency",
        '"adjacency", "distance"': "adjacency heat",
    }.items():
        (tmp_path / "graph" / "mutag.toml").write_text(f"[best]\nviews = [{views}]\n")
        found = EXPERIMENTS["sweep-t"].recipes("mutag", folder=tmp_path)["20"].settings.views
        assert " ".join(view.name for view in found) == expected
        (heat,) = (view for view in found if view.name == "heat")
        assert (heat.t, heat.top_k) == (20.0, 3 if "top_k" in views else None)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dataset", TASKS)
def test_all_of_them_run_once_and_a_restart_repeats_nothing(
    dataset: str, places: dict[str, Path], tmp_path: Path
) -> None:
    ledger, told = Ledger(tmp_path / "runs.jsonl"), []
    options = dict(datasets=[dataset], runs=1, device="cpu", tell=told.append, **places)
    tables = {name: reproduce(name, ledger, **options) for name in SWEEPS}
    for name, rows in tables.items():
        assert [row.id for row in rows] == EXPERIMENTS[name].rows_of(TASKS[dataset])
        assert all(row.failed is None and 0 < row.mean <= 100 and row.runs == 1 for row in rows), rows
    assert len(list(ledger)) == sum(map(len, tables.values()))
    settings = {run.recipe for run in ledger if run.experiment != LABELS}  # what several sweeps have is run once
    assert len(told) == len(settings) + len(tables[LABELS])
    told.clear()
    assert {name: reproduce(name, ledger, **options) for name in SWEEPS} == tables
    assert told == []
    listed = {row["experiment"]: row for row in overview(ledger, datasets=[dataset], runs=2, recipes=places["recipes"])}
    for name, rows in tables.items():
        assert (listed[name]["runs"], listed[name]["done"]) == (2 * len(rows), len(rows))
    labels = [run.seconds for run in ledger if run.experiment == LABELS]
    others = [run.seconds for run in ledger if run.experiment != LABELS]
    assert listed[LABELS]["seconds_left"] == pytest.approx(sum(labels))
    assert listed["sweep-t"]["seconds_left"] == pytest.approx(len(tables["sweep-t"]) * np.mean(others))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """An entry a step of the trainings for rows of labels, which fail where the last entry says so."""
    taken: list[bool] = []

    def bound(*scored: torch.Tensor | None) -> torch.Tensor:
        fails = bool(taken and taken[-1])
        taken.append(fails)
        if fails:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return jsd(*scored)

    rows = {row: dict(bound=Bound(bound)) for row in EXPERIMENTS[LABELS].rows}
    monkeypatch.setitem(EXPERIMENTS, LABELS, replace(EXPERIMENTS[LABELS], rows=rows))
    return taken


def test_a_seed_is_trained_once_for_all_shares_and_only_where_it_is_missing(
    places: dict[str, Path], tmp_path: Path, steps: list[bool]
) -> None:
    ledger = Ledger(tmp_path / "runs.jsonl")
    options = dict(datasets=["mutag"], device="cpu", **places)
    reproduce(LABELS, ledger, runs=1, **options)
    each = len(steps)
    rows = reproduce(LABELS, ledger, runs=2, **options)
    assert len(steps) == 2 * each > 0
    assert Counter(run.epochs for run in ledger) == {1: 12, 0: 12}
    lines = ledger.path.read_text().splitlines(keepends=True)
    ledger.path.write_text("".join(lines[:-2]))  # a kill before the last row of the last seed, and its control
    assert reproduce(LABELS, ledger, runs=2, **options)[-2]["mean"] == rows[-2]["mean"]
    assert len(steps) == 3 * each


def test_a_training_that_fails_is_not_tried_again_for_every_share(
    places: dict[str, Path], tmp_path: Path, steps: list[bool]
) -> None:
    steps.append(True)
    rows = reproduce(LABELS, Ledger(tmp_path / "a.jsonl"), datasets=["mutag"], runs=1, device="cpu", **places)
    assert len(steps) == 2
    assert [row.failed for row in rows] == ["out of memory", None] * 6


@pytest.mark.parametrize("dataset", TASKS)
def test_a_row_is_what_its_seeds_alone_give(dataset: str, places: dict[str, Path], tmp_path: Path) -> None:
    rows = reproduce(LABELS, Ledger(tmp_path / "a.jsonl"), datasets=[dataset], runs=2, device="cpu", **places)
    named, task = load(dataset, places["data_root"]), TASKS[dataset]
    settings = load_recipe(dataset, table=f"{task}-classification", folder=places["recipes"]).settings

    def score(codes: np.ndarray, seed: int) -> float:
        if task == "graph":
            return graph_accuracy(torch.from_numpy(codes), named.target, 0.1, seed=seed)
        test = named.splits["test"]
        return node_accuracy(torch.from_numpy(codes), named.target, test, 0.1, seed=seed)

    found = {row.id: (row.mean, row.std) for row in rows}
    for seen, vectors in {
        "10 %": [fit(named.graph, settings, seed=seed, device="cpu").represent()[task == "graph"] for seed in (0, 1)],
        f"10 %, {CONTROL}": [propagated(named.graph, settings, device="cpu")] * 2,
    }.items():
        alone = [score(codes, seed) for seed, codes in enumerate(vectors)]
        assert found[seen] == pytest.approx((np.mean(alone), np.std(alone)))


def test_test_nodes_teach_nothing_and_the_share_is_of_all_nodes() -> None:
    rng = np.random.default_rng(0)
    truth, test = np.repeat([0, 1], 500), np.arange(250, 750)
    codes = torch.from_numpy(rng.normal(size=(1000, 3)) + truth[:, None]).float()
    plain = [node_accuracy(codes, truth, test, share, seed=5) for share in (0.004, 0.2)]
    assert plain[0] < plain[1]
    other = truth.copy()
    other[test] = 1 - other[test]
    swapped = [node_accuracy(codes, other, test, share, seed=5) for share in (0.004, 0.2)]
    assert swapped == pytest.approx([100 - score for score in plain])  # the same predictions
    drawn = [node_accuracy(codes, truth, test, 1e-6, seed=seed) for seed in (5, 6)]
    assert drawn[0] != drawn[1]  # one of each class, others by another seed
    # Half of the nodes are to be drawn from; each of the others is like one of them, and is known where that was drawn.
    twins, labels = torch.eye(500).repeat(2, 1), rng.integers(2, size=500)
    known = node_accuracy(twins, np.tile(labels, 2), np.arange(500, 1000), 0.2, seed=0)
    assert known == pytest.approx(100 * (0.4 + 0.6 / 2), abs=4)


def test_the_decay_of_the_probe_is_the_one_that_suits_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    truth, test = np.repeat([0, 1], [150, 50]), np.arange(0, 200, 2)
    codes = torch.from_numpy(rng.normal(size=(200, 3)) + 2.0 * truth[:, None]).float()
    found = {}
    for decays in ((0.0,), (100.0,), (100.0, 0.0), (0.0, 100.0)):
        monkeypatch.setattr("mvgrl.experiments.few_labels.DECAYS", decays)
        found[decays] = node_accuracy(codes, truth, test, 0.2, seed=0)
    assert found[(100.0,)] < found[(0.0,)] == found[(100.0, 0.0)] == found[(0.0, 100.0)]
    # Of a node a class nothing can be held out to choose by.
    monkeypatch.setattr("mvgrl.experiments.few_labels.DECAYS", (0.0, 100.0))
    monkeypatch.setattr("mvgrl.experiments.few_labels.linear_predictions", lambda *_, **__: 1 / 0)
    assert node_accuracy(codes, truth, test, 1e-6, seed=0) > 50


def test_with_all_labels_graphs_are_scored_as_in_the_table_of_graphs() -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], [40, 30, 25])
    codes = torch.from_numpy(rng.normal(size=(95, 4)) + 0.7 * np.eye(4)[truth])
    for seed in (0, 1):
        nested = cross_validate(codes, truth, seed=seed).nested_accuracy[0]
        assert graph_accuracy(codes, truth, 1.0, seed=seed) == pytest.approx(nested)
    few, more = ([graph_accuracy(codes, truth, share, seed=seed) for seed in range(5)] for share in (0.001, 0.5))
    assert 33 < np.mean(few) < np.mean(more)  # two graphs of each class
