"""Every recipe can be read, gives a reason, and has a unique hash."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mvgrl.errors import InputError, SettingsError
from mvgrl.experiments.experiment import GRAPH_DATASETS, NODE_DATASETS
from mvgrl.experiments.recipes import NAMED, load_recipe


@pytest.mark.parametrize("dataset", NODE_DATASETS)
@pytest.mark.parametrize("setting", NAMED)
def test_node_recipes(dataset: str, setting: str) -> None:
    recipe = load_recipe(dataset, setting)
    assert recipe.settings.task == "node"
    assert len(recipe.why.split()) > 10
    assert len({load_recipe(dataset, other).id for other in NAMED}) == 3
    if setting == "paper":
        assert recipe.settings.normalise == "standard"
        assert str(recipe.settings.sampler) == "nodes"
    if setting == "best":
        assert "validation" in recipe.why
        assert "test" not in recipe.why.split()


@pytest.mark.parametrize("dataset", GRAPH_DATASETS)
def test_graph_recipes(dataset: str) -> None:
    recipes = {setting: load_recipe(dataset, setting, table="graph-classification") for setting in NAMED}
    assert len({recipe.id for recipe in recipes.values()}) == 3
    assert all(recipe.settings.task == "graph" and len(recipe.why.split()) > 10 for recipe in recipes.values())
    assert [recipes[setting].settings.frozen_encoder for setting in NAMED] == [False, True, False]
    paper, released = recipes["paper"].settings, recipes["released"].settings
    assert replace(released, frozen_encoder=False, head_shortcut=False, features="auto") == paper
    assert released.head_shortcut
    assert released.features == ("labels+degree" if dataset in ("mutag", "ptc-mr") else "auto")
    assert (paper.layers, paper.epochs, paper.batch_size) == {
        "mutag": (4, 20, 256),
        "ptc-mr": (4, 40, 128),
        "imdb-binary": (2, 20, 256),
        "imdb-multi": (4, 40, 128),
        "reddit-binary": (2, 20, 32),
    }[dataset]


def test_recipe_hashes_do_not_change() -> None:
    assert load_recipe("pubmed").settings.id != replace(load_recipe("pubmed").settings, frozen_encoder=True).id
    assert load_recipe("cora-linqs").id == "177e1d26721b"


def test_a_sub_table_applies_only_to_its_table() -> None:
    both = ("node-classification", "node-clustering")
    assert {load_recipe("cora", table=table).tables for table in both} == {both}
    one, other = (load_recipe("pubmed", table=table) for table in both)
    assert (one.tables, other.tables) == (both[:1], both[1:])
    assert (one.settings.views[1].top_k, other.settings.views[1].top_k) == (64, 256)
    assert "wider" in other.why
    assert "wider" not in one.why


def test_the_probe_is_part_of_the_hash(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    folder.mkdir()
    ids = []
    for decay in (0.0, 0.01):
        (folder / "cora.toml").write_text(f"[best]\nhidden = 8\nweight_decay = {decay}\n")
        ids.append(load_recipe("cora", folder=tmp_path).id)
    assert ids[0] != ids[1]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("[best]\nhiden = 3\n", SettingsError, "cora.toml, [best]: unknown setting 'hiden'; did you mean 'hidden'?"),
        ("[best]\nclustering = 3\n", SettingsError, "clustering is 3; it must be a sub-table of settings"),
        ("[best.clustering]\nhiden = 3\n", SettingsError, "unknown setting 'hiden'; did you mean 'hidden'?"),
        ("[paper]\n", InputError, "cora.toml has no [best]"),
        ("[best\n", InputError, "cora.toml is not TOML"),
        ("best = 3\n", InputError, "best is 3; it must be a table"),
        ("best = [{hidden = 8}]\n", InputError, "best is [{'hidden': 8}]; it must be a table"),
        ("[best]\ntask = 'graph'\n", SettingsError, "remove task"),
        ("[best]\ntask = ['node']\n", SettingsError, "remove task"),
        ("[best]\nwhy = 3\n", SettingsError, "why is 3; it must be text"),
        ("[best]\nweight_decay = '0.1'\n", SettingsError, "weight_decay is '0.1'; it must be a number"),
        ("[best]\nweight_decay = nan\n", SettingsError, "weight_decay is nan; it must be a number"),
        ("[best]\nviews = 3\n", SettingsError, "views is 3; it must be a list"),
        ("[best]\nviews = [[1]]\n", SettingsError, "view is [1] (list)"),
        ("[best]\nhidden = 2020-01-01\n", SettingsError, "hidden is datetime.date(2020, 1, 1); it must be an integer"),
        (f"[best]\nhidden = {'9' * 5000}\n", InputError, "cora.toml is not TOML"),
        (f"[best]\nviews = {'[' * 5000}{']' * 5000}\n", InputError, "nested more than 32 levels deep"),
        (f"[best]\nviews = {'{a=' * 5000}1{'}' * 5000}\n", InputError, "nested more than 32 levels deep"),
        (f"[best]\n{'a.' * 5000}a = 1\n", InputError, "nested more than 32 levels deep"),
    ],
)
def test_an_invalid_recipe_is_rejected_by_name(text: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "cora.toml").write_text(text)
    with pytest.raises(kind, match=re.escape(message)):
        load_recipe("cora", table="node-clustering", folder=tmp_path)


def test_unknown_names_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown node recipe 'coar'; did you mean 'cora'"):
        load_recipe("coar")
    with pytest.raises(SettingsError, match="unknown setting 'ours'"):
        load_recipe("cora", "ours")
