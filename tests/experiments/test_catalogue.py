"""The catalogue: rows have the settings they name, and published numbers match the paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mvgrl.datasets import DATASETS
from mvgrl.evaluation.protocols import PROTOCOLS
from mvgrl.evaluation.scores import SCORES
from mvgrl.experiments.catalogue import EXPERIMENTS, PUBLISHED
from mvgrl.experiments.experiment import task_of
from mvgrl.experiments.recipes import load_recipe
from mvgrl.methods import METHODS
from mvgrl.settings import Output, Settings

ROOT = Path(__file__).resolve().parents[2]
STARTING_FROM_BEST = [name for name, one in EXPERIMENTS.items() if not one.own_recipes and not one.has_start]
EVERY = [(name, dataset) for name in STARTING_FROM_BEST for dataset in EXPERIMENTS[name].datasets]


def ids(name: str, dataset: str) -> list[str]:
    return [variant.id for variant in EXPERIMENTS[name].variants_for(dataset)]


def test_everything_an_experiment_refers_to_exists() -> None:
    for name, one in EXPERIMENTS.items():
        assert set(one.protocols) <= set(PROTOCOLS)
        assert set(one.shown) <= set(SCORES)
        assert set(one.datasets) <= set(DATASETS)
        assert all(task_of(dataset) == DATASETS[dataset].task for dataset in one.datasets)
        assert all(set(variant.datasets) <= set(one.datasets) for variant in one.variants)
        assert {variant.method for variant in one.variants} <= set(METHODS)
        assert len({variant.id for variant in one.variants}) == len(one.variants)
        assert all(bool(variant.value) == bool(one.axis) for variant in one.variants), name
        for dataset in one.datasets:
            assert one.runs_for(dataset) >= 1
            assert one.scores_for(dataset)


@pytest.mark.parametrize(("name", "dataset"), EVERY)
def test_rows_are_the_recipe_with_their_changes_and_are_unique(name: str, dataset: str) -> None:
    experiment, start = EXPERIMENTS[name], load_recipe(dataset, table=f"{task_of(dataset)}-classification").settings
    recipes = experiment.recipes(dataset)
    rows = {variant.id: variant for variant in experiment.variants_for(dataset)}
    assert list(recipes) == list(rows)
    different = {(recipe.id, rows[row].method, rows[row].share) for row, recipe in recipes.items()}
    assert len(different) == len(rows) >= 1
    before = start.to_dict()
    for row, recipe in recipes.items():
        assert (recipe.dataset, recipe.setting, recipe.tables) == (dataset, "best", (name,))
        after = recipe.settings.to_dict()
        asked = dict(rows[row].changes)
        if diffusion := asked.pop("diffusion", None):
            asked["views"] = ("adjacency", diffusion.partition(":")[0])
        assert [view.name for view in recipe.settings.views] == list(
            asked.pop("views", [view.name for view in start.views])
        )
        assert {key: after[key] for key in asked} == asked
        named = {*rows[row].changes, "views" if diffusion else ""}
        moved = {key for key in after if after[key] != before[key]} - named
        assert bool(moved) <= bool(recipe.why), (row, moved)  # any other change has a note


def test_rows_depend_on_the_task() -> None:
    assert ids("ablation-modes", "cora-linqs") == ["local-global", "multi-scale", "ensemble"]
    assert len(ids("ablation-modes", "mutag")) == 5
    assert ids("ablation-batch-size", "pubmed") == ["2", "4", "8"]
    assert ids("ablation-batch-size", "mutag") == ["16", "32", "64", "128", "256"]
    assert ids("ablation-bounds", "citeseer") == ids("ablation-bounds", "mutag") == ["NCE", "JSD", "NT-Xent", "DV"]


def test_sweeps_have_the_expected_values() -> None:
    for name, values in {
        "sweep-alpha": ["0.05", "0.1", "0.15", "0.2", "0.3", "0.5"],
        "sweep-t": ["1", "2", "5", "10", "20"],
        "sweep-top-k": ["8", "16", "32", "64", "128", "256"],
        "sweep-hidden": ["64", "128", "256", "512", "1024", "2048"],
    }.items():
        assert ids(name, "cora-linqs") == ids(name, "mutag") == values
    assert [ids("sweep-layers", dataset) for dataset in ("pubmed", "mutag")] == [list("1234"), list("1248")]
    labels = {dataset: EXPERIMENTS["sweep-labels"].variants_for(dataset) for dataset in ("citeseer", "mutag")}
    assert [row.value for row in labels["citeseer"]][::2] == ["0.5 %", "1 %", "2 %", "5 %", "10 %", "20 %"]
    assert [row.value for row in labels["mutag"]][::2] == ["2 %", "5 %", "10 %", "20 %", "50 %", "100 %"]
    for rows in labels.values():
        assert [row.method for row in rows] == ["mvgrl", "propagated"] * 6
        assert all(row.share == pytest.approx(float(row.value.removesuffix(" %")) / 100) for row in rows)


def test_the_number_of_runs_depends_on_the_dataset() -> None:
    bounds = EXPERIMENTS["ablation-bounds"]
    assert [bounds.runs_for(dataset) for dataset in ("citeseer", "mutag", "reddit-binary")] == [5, 3, 1]
    assert EXPERIMENTS["node-classification"].runs_for("cora") == 50


def test_experiments_of_default_vectors_start_from_the_default_settings() -> None:
    found = {name: one for name, one in EXPERIMENTS.items() if one.preset and one.group != "Arena"}
    assert all(name.startswith("default-") for name in found)
    assert all(one.axis or one.variants[0].id == "default" for one in found.values())
    for one in found.values():
        for dataset in one.datasets:
            recipes, rows = one.recipes(dataset), {row.id: row for row in one.variants_for(dataset)}
            assert list(recipes) == list(rows)
            for name, recipe in recipes.items():
                assert recipe.settings == Settings(task=task_of(dataset))
                expected = Output(**rows[name].output)  # the default but for what the row changes
                assert (recipe.output, recipe.structure_only) == (expected, "structure" in one.name)
            outputs = {recipe.output for recipe in recipes.values()}
            assert len({recipe.id for recipe in recipes.values()}) == len(outputs)
            assert one.runs_for(dataset) % one.splits == 0
    assert ids("default-vectors-random", "dblp") != ids("default-vectors-random", "wordnet-text")
    split = [name for name, one in found.items() if one.splits > 1]
    assert split == ["default-vectors-random", "default-sizes-random", "default-vectors-structure-random"]


@pytest.mark.parametrize("name", ["arena-nodes", "arena-clusters", "arena-graphs"])
def test_systems_of_the_arena_differ_only_in_what_is_theirs(name: str) -> None:
    one = EXPERIMENTS[name]
    for dataset in one.datasets:
        recipes, rows = one.recipes(dataset), {row.id: row for row in one.variants_for(dataset)}
        assert len({(recipe.id, rows[row].method) for row, recipe in recipes.items()}) == len(rows)
        for row, recipe in recipes.items():
            assert (recipe.settings, recipe.weight_decay) == (Settings(task=task_of(dataset)), 0.0)
            system = rows[row].how.for_dataset(dataset)
            assert recipe.method == ({"name": system.name, **system.parameters} if system.source else {})


def test_each_ablation_has_a_row_equal_to_the_recipe_where_the_paper_does() -> None:
    for name, row in {"bounds": "JSD", "modes": "local-global", "views": "adj-ppr", "encoders": "dedicated"}.items():
        for dataset in ("cora-linqs", "citeseer", "pubmed"):
            found = EXPERIMENTS[f"ablation-{name}"].recipes(dataset)[row]
            assert found.id == load_recipe(dataset).id
            assert found.why == ""


# Parts of published.json, a transcription of the paper's tables, and the experiments that have them.
PARTS = {
    ("ablation_accuracy", "MI Est."): "ablation-bounds",
    ("ablation_accuracy", "Mode"): "ablation-modes",
    ("ablation_accuracy", "Views"): "ablation-views",
    ("appendix_hyper_pooling_encoder", "Pooling"): "ablation-readouts",
    ("appendix_hyper_pooling_encoder", "Enc."): "ablation-encoders",
    ("number_of_views_accuracy", None): "ablation-view-count",
}


ARENA_PARTS = {
    "node_classification_accuracy": ("arena-nodes", "accuracy"),
    "node_clustering": ("arena-clusters", ""),
    "graph_classification_accuracy": ("arena-graphs", "nested"),
}
# Rows of the arena under other names than in the paper. Its DeepWalk has the features beside (its inputs are X and A).
SYSTEMS: dict[object, str] = {
    "Ours": "MVGRL",
    "LP": "label propagation",
    "Planetoid": "Planetoid-T",
    "Linear": "raw features",
    "DeepWalk": "DeepWalk and features",
    ("DGI", "S"): "DGI on the diffusion",
    "random walk": "RW",
    "GIN-eps": "GIN-ε",
}


def test_published_numbers_match_the_paper() -> None:
    path = ROOT.parent / "shared" / "paper" / "published.json"
    if not path.exists():
        pytest.skip("no transcription of the paper's tables next to the repository")
    paper = json.loads(path.read_text())
    expected: dict[tuple[str, str, str, str], list[float]] = {}

    def add(experiment: str, row: str, score: str, dataset: str, result: dict[str, float], digits: int = 1) -> None:
        expected[experiment, row, score, dataset] = [round(value, digits) for value in result.values()]

    for part, lines in paper.items():
        for line in lines:
            ours = line["name"] == "Ours"
            if part in ARENA_PARTS:
                experiment, usual = ARENA_PARTS[part]
                row = SYSTEMS.get((line["name"], *line.get("input", ())[1:2]), SYSTEMS.get(line["name"], line["name"]))
                for place, result in line["results"].items():
                    dataset, _, score = place.partition(".")
                    add(experiment, row, score or usual, dataset, result, digits=3 if score else 1)
                    if row == "MVGRL" and (experiment, dataset) == ("arena-nodes", "cora"):  # measured on this split
                        add(experiment, row, usual, "cora-linqs", result)
            for place, result in line["results"].items():
                dataset, _, score = place.replace("cora", "cora-linqs").partition(".")
                task = task_of(dataset)
                if (part, line["group"]) in PARTS:
                    row = next(
                        one.id
                        for one in EXPERIMENTS[PARTS[part, line["group"]]].variants
                        if one.id.lower() == line["name"].lower()
                    )
                    add(PARTS[part, line["group"]], row, "nested" if task == "graph" else "accuracy", dataset, result)
                elif part == "node_classification_accuracy" and ours:
                    add("node-classification", "trained", "accuracy", dataset, result)
                elif part == "graph_classification_accuracy" and ours:
                    add("graph-classification", "trained", "nested", dataset, result)
                    add("graph-classification", "trained", "best_c", dataset, result)
                elif part == "node_clustering" and ours:
                    add("node-clustering", "trained", score, dataset, result, digits=3)
                    if dataset == "cora-linqs":  # the same graph
                        add("node-clustering", "trained", score, "cora", result, digits=3)
    found = {
        (experiment, row, score, dataset): numbers
        for experiment, rows in PUBLISHED.items()
        for row, scores in rows.items()
        for score, datasets in scores.items()
        for dataset, numbers in datasets.items()
    }
    assert found == expected


def test_published_numbers_belong_to_existing_rows_and_scores() -> None:
    for experiment, rows in PUBLISHED.items():
        one = EXPERIMENTS[experiment]
        for row, scores in rows.items():
            for score, datasets in scores.items():
                for dataset in datasets:
                    assert row in ids(experiment, dataset)
                    assert score in [shown.name for shown in one.scores_for(dataset)]
