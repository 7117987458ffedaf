from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

import mvgrl
from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.pretrained import load_model, save_model
from mvgrl.settings import Output, Settings
from mvgrl.training import Trained, fit

SETTINGS = Settings(hidden=8, epochs=3, normalise="standard", sampler="full")


def random_graph(nodes: int = 20, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    links = sp.random(nodes, nodes, 0.15, random_state=rng)
    return Graph.from_scipy(links, rng.normal(size=(nodes, 4)), node_labels=["C", "N"] * (nodes // 2))


def graph_set() -> Graph:
    return Graph.join([random_graph(n, n) for n in (8, 12, 6)])


@pytest.fixture(scope="module")
def trained() -> Trained:
    return fit(random_graph(), SETTINGS, device="cpu")


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
def test_loaded_model_gives_the_same_bits(settings: Settings, tmp_path: Path) -> None:
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


def test_model_card_describes_the_model(trained: Trained, tmp_path: Path) -> None:
    save_model(trained, tmp_path / "model", about={"trained on": "20 nodes"})
    card = (tmp_path / "model" / "README.md").read_text()
    for words in ("node embedder", "adjacency, ppr", "| epochs | 3 |", "| trained on | 20 nodes |", "Hassani"):
        assert words in card
    assert json.loads((tmp_path / "model" / "config.json").read_text())["settings"]["hidden"] == 8


def test_saving_replaces_a_model_but_no_other_folder(trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    save_model(trained, folder)  # an empty folder may be used
    save_model(fit(random_graph(), replace(SETTINGS, hidden=4), device="cpu"), folder)
    assert load_model(folder, device="cpu")[0].model.settings.hidden == 4
    mine = tmp_path / "thesis"
    mine.mkdir()
    (mine / "chapter.tex").write_text("text")
    with pytest.raises(InputError, match="nothing was written"):
        save_model(trained, mine)
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
def test_damaged_or_foreign_folder_is_rejected(damage: str, message: str, trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(trained, folder)
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


def test_model_with_a_custom_function_cannot_be_saved(tmp_path: Path) -> None:
    def own_mode(views):
        yield views[0].nodes, views[1].graphs

    trained = fit(random_graph(), replace(SETTINGS, mode=own_mode), device="cpu")
    with pytest.raises(SettingsError, match=r"mode has a custom component, .*own_mode, which cannot be saved"):
        save_model(trained, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_loaded_model_needs_a_graph_to_embed(trained: Trained, tmp_path: Path) -> None:
    save_model(trained, tmp_path / "model")
    with pytest.raises(InputError, match="give the graph"):
        load_model(tmp_path / "model", device="cpu")[0].represent()


def test_model_saved_by_0_1_gives_the_same_bits() -> None:
    data = Path(__file__).parent / "data"
    embedder = mvgrl.load(data / "model-0.1.0", device="cpu")
    assert (str(embedder.bound), embedder.join, embedder.unit_length) == (
        "nt-xent:temperature=0.2",
        "concatenate",
        True,
    )
    vectors = embedder.transform(nx.karate_club_graph())
    np.testing.assert_array_equal(vectors, np.load(data / "model-0.1.0-vectors.npy"))


def test_output_options_are_saved_with_the_model(trained: Trained, tmp_path: Path) -> None:
    output = Output(join="concatenate", unit_length=True)
    save_model(trained, tmp_path / "model", output=output)
    loaded = load_model(tmp_path / "model", device="cpu")
    assert loaded.output == output
    assert loaded.trained.model.settings == SETTINGS
