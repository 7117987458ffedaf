"""Every recipe reads, says why, and its hash tells it from the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mvgrl.errors import InputError, SettingsError
from mvgrl.experiments.published import NODE_DATASETS
from mvgrl.experiments.recipes import NAMED, load_recipe


@pytest.mark.parametrize("dataset", NODE_DATASETS)
@pytest.mark.parametrize("setting", NAMED)
def test_the_nodes_recipes(dataset: str, setting: str) -> None:
    recipe = load_recipe(dataset, setting)
    assert recipe.settings.task == "node"
    assert len(recipe.why.split()) > 10
    assert len({load_recipe(dataset, other).id for other in NAMED}) == 3
    if setting == "paper":
        assert recipe.settings.normalise == "standard"
        assert recipe.settings.sampler == "nodes"
    if setting == "best":
        assert "validation" in recipe.why
        assert "test" not in recipe.why.split()


def test_both_forms_of_cora_have_one_recipe() -> None:
    assert load_recipe("cora").id == load_recipe("cora-linqs").id


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
        ("[paper]\n", InputError, "cora.toml has no [best]"),
        ("[best\n", InputError, "cora.toml is not TOML"),
    ],
)
def test_a_broken_recipe_is_refused_by_name(text: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "cora.toml").write_text(text)
    with pytest.raises(kind, match=re.escape(message)):
        load_recipe("cora", folder=tmp_path)


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown node recipe 'coar'; did you mean 'cora'"):
        load_recipe("coar")
    with pytest.raises(SettingsError, match="unknown setting 'ours'"):
        load_recipe("cora", "ours")
