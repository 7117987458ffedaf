from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.pretrained import load_model, save_model
from mvgrl.settings import Settings
from mvgrl.training import fit

SETTINGS = Settings(hidden=8, epochs=3, normalise="standard", sampler="full")


def random_graph(nodes: int = 20, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    links = sp.random(nodes, nodes, 0.15, random_state=rng)
    return Graph.from_scipy(links, rng.normal(size=(nodes, 4)), node_labels=["C", "N"] * (nodes // 2))


def graph_set() -> Graph:
    return Graph.join([random_graph(n, n) for n in (8, 12, 6)])


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        replace(SETTINGS, features="labels"),
        replace(SETTINGS, readout="diffpool-2", mode="multi-scale", norm="batch", views=("adjacency", "ppr", "heat")),
        Settings(task="graph", hidden=8, epochs=2, features="labels+degree", normalise="row", sampler="full"),
    ],
    ids=["standard-score", "labels", "diffpool", "graphs"],
)
def test_a_saved_model_gives_the_same_bits(settings: Settings, tmp_path: Path) -> None:
    graph = random_graph() if settings.task == "node" else graph_set()
    trained = fit(graph, settings, device="cpu")
    save_model(trained, tmp_path / "model", about={"accuracy": 0.9})
    loaded, _, about = load_model(tmp_path / "model", device="cpu")
    for ours, theirs in zip(loaded.represent(graph), trained.represent(graph), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.model.settings == settings
    assert loaded.history == trained.history
    assert about == {"accuracy": 0.9}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_the_card_says_what_it_is(tmp_path: Path) -> None:
    save_model(fit(random_graph(), SETTINGS, device="cpu"), tmp_path / "model", about={"trained on": "20 nodes"})
    card = (tmp_path / "model" / "README.md").read_text()
    for words in ("node embedder", "adjacency, ppr", "| epochs | 3 |", "| trained on | 20 nodes |", "Hassani"):
        assert words in card
    assert json.loads((tmp_path / "model" / "config.json").read_text())["settings"]["hidden"] == 8


def test_a_model_is_replaced_and_anything_else_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(fit(random_graph(), SETTINGS, device="cpu"), folder)  # an empty folder is free
    save_model(fit(random_graph(), replace(SETTINGS, hidden=4), device="cpu"), folder)
    assert load_model(folder, device="cpu")[0].model.settings.hidden == 4
    mine = tmp_path / "thesis"
    mine.mkdir()
    (mine / "chapter.tex").write_text("years of work")
    with pytest.raises(InputError, match="nothing was written"):
        save_model(fit(random_graph(), SETTINGS, device="cpu"), mine)
    assert [path.name for path in mine.iterdir()] == ["chapter.tex"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("no folder", "there is no folder"),
        ("no config", "config.json cannot be read"),
        ("broken config", "config.json cannot be read"),
        ("foreign config", "belongs to something else"),
        ("newer format", "update mvgrl"),
        ("unknown setting", "unknown setting 'hiden'"),
        ("no weights", "does not contain a complete model"),
        ("cut weights", "does not contain a complete model"),
        ("other weights", "does not contain a complete model"),
        ("missing key", "does not contain a complete model"),
    ],
)
def test_a_damaged_or_foreign_folder_is_refused(damage: str, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(fit(random_graph(), SETTINGS, device="cpu"), folder)
    config, weights = folder / "config.json", folder / "model.safetensors"
    values = json.loads(config.read_text())
    if damage == "no folder":
        folder = tmp_path / "nowhere"
    elif damage == "no config":
        config.unlink()
    elif damage == "broken config":
        config.write_text(config.read_text()[:50])
    elif damage == "foreign config":
        config.write_text('{"model_type": "bert"}')
    elif damage == "newer format":
        config.write_text(json.dumps({**values, "format": "mvgrl-model-9"}))
    elif damage == "unknown setting":
        config.write_text(json.dumps({**values, "settings": {**values["settings"], "hiden": 3}}))
    elif damage == "missing key":
        del values["width"]
        config.write_text(json.dumps(values))
    elif damage == "no weights":
        weights.unlink()
    elif damage == "cut weights":
        weights.write_bytes(weights.read_bytes()[:-10])
    elif damage == "other weights":
        from safetensors.torch import save_file

        save_file({"model/x": torch.zeros(2)}, weights)
    with pytest.raises(InputError, match=message):
        load_model(folder, device="cpu")


def test_ones_own_functions_cannot_be_saved(tmp_path: Path) -> None:
    def own(views):
        yield views[0].nodes, views[1].graphs

    trained = fit(random_graph(), replace(SETTINGS, mode=own), device="cpu")
    with pytest.raises(SettingsError, match="mode has a component of your own"):
        save_model(trained, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_loaded_model_asks_for_the_graph(tmp_path: Path) -> None:
    save_model(fit(random_graph(), SETTINGS, device="cpu"), tmp_path / "model")
    with pytest.raises(InputError, match="give the graph"):
        load_model(tmp_path / "model", device="cpu")[0].represent()
