"""Changes to a recipe: conflicting settings are adjusted, with a note."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.changes import LARGE
from mvgrl.experiments.recipes import Recipe, load_recipe

Write = Callable[[Path, dict[str, str]], Path]


def rows(name: str, dataset: str, folder: Path | None = None) -> dict[str, Recipe]:
    return EXPERIMENTS[name].recipes(dataset, folder=folder)


def test_views_are_sparsified_like_the_recipes_views() -> None:
    ppr = load_recipe("citeseer").settings.views[1]
    found = rows("ablation-views", "citeseer")["heat-dist"]
    heat, distance = found.settings.views
    assert (heat.threshold, heat.scale, heat.t) == (ppr.threshold, ppr.scale, 5.0) == (0.01, "columns", 5.0)
    assert (distance.top_k, distance.threshold) == (None, None)  # a threshold would remove every entry of a softmax
    assert found.why == "heat sparsified: entries of at least 0.01, columns scaled"
    for dataset in LARGE:
        found = rows("ablation-views", dataset)["adj-dist"]
        assert found.settings.views[1].top_k == 64
        assert found.why == "distance sparsified: 64 largest entries per row"
    assert rows("ablation-views", "mutag")["adj-dist"].why == ""


def test_conflicting_settings_are_adjusted(tmp_path: Path, write_recipes: Write) -> None:
    for ablation, row in (("ablation-readouts", "diffpool-2"), ("ablation-modes", "multi-scale")):
        found = rows(ablation, "pubmed")[row]
        assert (str(found.settings.sampler), found.settings.sample_size, found.settings.batch_size) == (
            "nodes",
            2000,
            1,
        )
        assert "2,000 nodes" in found.why
    drawn = '[best]\nencoder = "shared"\ndraw_two_views = true\nviews = ["adjacency", "ppr", "heat"]\n'
    clusters = '[best]\nmode = "multi-scale"\nreadout = "diffpool-2"\ncodes = "layers"\n'
    folder = write_recipes(tmp_path, {"node/cora-linqs": drawn, "graph/mutag": clusters})
    for name, one in EXPERIMENTS.items():
        if one.group and not one.preset:
            for dataset in {"cora-linqs", "mutag"} & {*one.datasets}:
                found = rows(name, dataset, folder)
                kinds = {(found[row.id].id, row.method, row.share) for row in one.variants_for(dataset)}
                assert len(kinds) == len(found)
    ensemble = rows("ablation-modes", "cora-linqs", folder)["ensemble"]
    assert not ensemble.settings.draw_two_views
    assert ensemble.why == "all views in every step; the recipe draws two at random"
    summed = rows("ablation-readouts", "mutag", folder)["sum"]
    assert str(summed.settings.mode) == "local-global"
    assert "the readout takes part in training only" in summed.why


def test_only_the_named_parameter_of_a_diffusion_changes() -> None:
    citeseer = load_recipe("citeseer").settings.views[1]
    for row, recipe in rows("sweep-alpha", "citeseer").items():
        ppr = recipe.settings.views[1]
        assert (ppr.alpha, ppr.threshold, ppr.scale, ppr.top_k) == (float(row), 0.01, "columns", None)
        assert (ppr == citeseer, recipe.why) == (row == f"{citeseer.alpha:g}", "")
    for row, recipe in rows("sweep-top-k", "citeseer").items():
        ppr = recipe.settings.views[1]
        assert (ppr.alpha, ppr.threshold, ppr.scale, ppr.top_k) == (citeseer.alpha, None, "columns", int(row))
        assert recipe.why == "instead of the recipe's threshold of 0.01"
    assert rows("sweep-top-k", "pubmed")["64"].id == load_recipe("pubmed").id


def test_heat_replaces_the_diffusion_and_keeps_its_sparsification(tmp_path: Path, write_recipes: Write) -> None:
    for row, recipe in rows("sweep-t", "pubmed").items():
        adjacency, heat = recipe.settings.views
        found = (adjacency.name, heat.name, heat.t, heat.top_k, heat.scale)
        assert found == ("adjacency", "heat", float(row), 64, "columns")
        assert recipe.why == "heat sparsified: 64 largest entries per row, columns scaled"
    assert {recipe.why for recipe in rows("sweep-t", "mutag").values()} == {""}
    for views, expected in {
        '"adjacency", "ppr", "heat:top_k=3"': "adjacency ppr heat",
        '"distance", "ppr", "adjacency"': "distance heat adjacency",
        '"adjacency", "distance"': "adjacency heat",
    }.items():
        folder = write_recipes(tmp_path, {"graph/mutag": f"[best]\nviews = [{views}]\n"})
        found = rows("sweep-t", "mutag", folder)["20"].settings.views
        assert " ".join(view.name for view in found) == expected
        (heat,) = (view for view in found if view.name == "heat")
        assert (heat.t, heat.top_k) == (20.0, 3 if "top_k" in views else None)
