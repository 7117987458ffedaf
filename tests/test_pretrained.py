from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import load_file, save_file

import mvgrl
from mvgrl.errors import InputError, SettingsError
from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named
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
    assert loaded.model.settings == replace(settings, similar=0)
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
    assert loaded.output == trained.output_of(output)
    assert (loaded.output.dim, loaded.output.join, loaded.output.unit_length) == (512, "concatenate", True)
    assert loaded.trained.model.settings == replace(SETTINGS, similar=0)


def changed_config(folder: Path, **values: object) -> None:
    """Replace entries of config.json; ``settings_x`` and ``features_x`` are entries of those mappings."""
    config = json.loads((folder / "config.json").read_text())
    for name, value in values.items():
        part, _, key = name.partition("_")
        if key:
            config[part][key] = value
        else:
            config[part] = value
    (folder / "config.json").write_text(json.dumps(config))


def changed_tensors(folder: Path, **values: torch.Tensor | None) -> None:
    """Replace tensors of ``features/``, or remove them."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name, value in values.items():
        tensors.pop(f"features/{name}", None)
        if value is not None:
            tensors[f"features/{name}"] = value
    save_file(tensors, path)


def text(value: object) -> torch.Tensor:
    return torch.tensor(list(json.dumps(value).encode()), dtype=torch.uint8)


@pytest.fixture(scope="module")
def on_columns() -> Trained:
    """A model trained on a table with a number, a category and a text."""
    edges = pd.DataFrame({"source": range(6), "target": [1, 2, 3, 4, 5, 0]})
    words = ["a small red cat", "a large dog here", "some other words follow"] * 2
    nodes = pd.DataFrame({"id": range(6), "n": [1.0, None, 3, 4, 5, 6], "city": ["Rome", "Oslo"] * 3, "bio": words})
    return fit(to_named((edges, nodes)), Settings(hidden=2, epochs=1, sampler="full", normalise="row"), device="cpu")


COLUMNS = [
    {"name": "n", "kind": "number", "median": 4.0, "missing": True, "low": [1.0], "high": [6.0]},
    {"name": "city", "kind": "category", "levels": ["Oslo", "Rome"]},
    {"name": "bio", "kind": "text"},
]


def without(number: int, **changes: object) -> list[dict]:
    return [*COLUMNS[:number], *([{**COLUMNS[number], **changes}] if changes else []), *COLUMNS[number + 1 :]]


DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    "values",
    [
        {"settings_hidden": 30_000},
        {"settings_hidden": 10**12},
        {"settings_hidden": 10**400},
        {"settings_layers": 20_000},
        {"settings_layers": 10**9},
        {"settings_readout": "diffpool-2", "largest": 2**31 - 1, "settings_mode": "multi-scale"},
        {"settings_encoder": "shared"},
        {"settings_discriminator": "dot"},
        {"settings_norm": "batch"},
        {"width": 2**31 - 1},
        {"width": 5},
        {"width": True},
        {"width": 4.0},
        {"width": [4]},
        {"width": 10**400},
        {"largest": 0},
        {"largest": 2**40},
        {"largest": None},
        {"settings": []},
        {"settings": None},
        {"settings_views": 5},
        {"settings_views": [5, None]},
        {"settings_views": [{"name": "ppr", "top_k": 10**400}, "adjacency"]},
        {"settings_views": [{"name": []}, "adjacency"]},
        {"settings_learning": 1},
        {"settings_task": {}},
        {"settings_sampler": [1]},
        {"settings_epochs": 1e400},
        {"settings_l2": 10**400},
        {"output": "sum"},
        {"output": {"join": ["sum"]}},
        {"features": ["auto"]},
        {"features": {"kind": "auto", "width": 3}},
        {"features_kind": "labels"},
        {"features_kind": ["auto"]},
        {"features_normalise": "none"},
        {"features_degree_cap": 10**400},
        {"losses": 3},
        {"losses": [[1.0]]},
        {"losses": [float("inf")]},
        {"losses": [10**400]},
        {"losses": [True]},
        {"about": [["a", 1]]},
        {"about": "text"},
        {"version": ["x"] * 5000, "width": 0},
        {"version": "x" * 5000, "width": 0},
    ],
    ids=lambda values: ",".join(f"{key}={str(value)[:20]}" for key, value in values.items()),
)
def test_config_that_does_not_fit_is_refused_at_once(values: dict, trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(trained, folder)
    changed_config(folder, **values)
    started = time.perf_counter()
    with pytest.raises(InputError, match="does not contain a complete model") as caught:
        load_model(folder, device="cpu")
    assert time.perf_counter() - started < 1
    assert len(str(caught.value)) < len(str(folder)) + 600
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("deep", [DEEP, '{"a":' * 200_000, "[" * 40 + "]" * 40], ids=["5,000", "200,000", "40"])
def test_deeply_nested_config_is_refused(deep: str, trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(trained, folder)
    (folder / "config.json").write_text(deep)
    with pytest.raises(InputError, match=r"config\.json cannot be read"):
        load_model(folder, device="cpu")
    (folder / "config.json").write_text('{"format": "mvgrl-model-2", "about": ' + deep + "}")
    with pytest.raises(InputError, match=r"config\.json cannot be read"):
        mvgrl.load(folder)
    with pytest.raises(InputError, match="is not an mvgrl model"):
        save_model(trained, folder)


def test_config_that_is_a_pipe_or_too_long_is_refused(trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(trained, folder)
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    with pytest.raises(InputError, match="not a regular file"):
        load_model(folder, device="cpu")
    (folder / "config.json").unlink()
    with (folder / "config.json").open("wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(InputError, match="longer than"):
        load_model(folder, device="cpu")


@pytest.mark.parametrize(
    "values",
    [
        {"width": torch.tensor(4)},
        {"width": torch.tensor([4, 4])},
        {"width": torch.tensor([], dtype=torch.int64)},
        {"width": torch.tensor([[4]])},
        {"width": torch.tensor([4.0])},
        {"width": torch.tensor([5])},
        {"width": torch.tensor([-4])},
        {"width": None},
        {"degrees": torch.tensor([3])},
        {"degrees": None},
        {"kind": text("labels")},
        {"kind": text("auto")},
        {"kind": text("nonsense")},
        {"kind": text(["given"])},
        {"kind": text(5)},
        {"kind": torch.tensor(list(DEEP.encode()), dtype=torch.uint8)},
        {"kind": torch.tensor([255, 254], dtype=torch.uint8)},
        {"kind": torch.zeros(3)},
        {"kind": None},
        {"mean": None},
        {"mean": torch.zeros(3, dtype=torch.float64)},
        {"mean": torch.zeros(4, 1, dtype=torch.float64)},
        {"mean": torch.full((4,), torch.nan, dtype=torch.float64)},
        {"mean": torch.zeros(4, dtype=torch.int64)},
        {"mean": None, "scale": None},
        {"scale": torch.full((4,), -1.0, dtype=torch.float64)},
        {"scale": torch.full((4,), torch.inf, dtype=torch.float64)},
        {"scale": torch.zeros(4, dtype=torch.bfloat16)},
        {"labels": torch.arange(2)},
        {"names": text(["a", "b", "c"])},
        {"names": text(["a", "b", "c", "a"])},
        {"names": text(["a", "b", "c", 4])},
        {"names": text("abcd")},
        {"more": torch.zeros(1)},
    ],
    ids=lambda values: ",".join(f"{key}={value}"[:30] for key, value in values.items()),
)
def test_feature_arrays_that_do_not_fit_are_refused(values: dict, trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(trained, folder)
    changed_tensors(folder, **values)
    with pytest.raises(InputError, match="does not contain a complete model") as caught:
        load_model(folder, device="cpu")
    assert len(str(caught.value)) < len(str(folder)) + 400


@pytest.mark.parametrize(
    "values",
    [
        {"label_text": text(["N", "C"])},
        {"label_text": text(["C", "C"])},
        {"label_text": text(["C"])},
        {"label_text": text([])},
        {"label_text": text({"C": 1})},
        {"label_text": text(["C", ["N"]])},
        {"label_text": text(["C", "C\0"])},
        {"label_text": text(["a" * 10**6, *(f"b{i:05}" for i in range(10**4))])},
        {"label_text": None, "labels": torch.tensor([[1], [2]])},
        {"label_text": None, "labels": torch.tensor([2, 1])},
        {"label_text": None, "labels": torch.tensor([1.0, torch.nan])},
        {"label_text": None, "labels": torch.tensor([1, 2, 3])},
        {"labels": torch.tensor([1, 2])},
        {"label_text": None},
    ],
    ids=lambda values: ",".join(f"{key}={value}"[:30] for key, value in values.items()),
)
def test_label_vocabularies_that_do_not_fit_are_refused(values: dict, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(fit(random_graph(), replace(SETTINGS, features="labels", epochs=1), device="cpu"), folder)
    load_model(folder, device="cpu")
    changed_tensors(folder, **values)
    with pytest.raises(InputError, match="does not contain a complete model"):
        load_model(folder, device="cpu")


@pytest.mark.parametrize("damage", ["shape", "type", "not finite", "unknown", "missing", "pipe"])
def test_weights_that_do_not_fit_are_refused(damage: str, trained: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(trained, folder)
    path, name = folder / "model.safetensors", "model/encoders.0.weights.0"
    tensors = load_file(path)
    if damage == "shape":
        tensors[name] = tensors[name].flatten()
    elif damage == "type":
        tensors[name] = tensors[name].double()
    elif damage == "not finite":
        tensors[name] = tensors[name] * torch.inf
    elif damage == "unknown":
        tensors["extra"] = torch.zeros(1)
    else:
        del tensors[name]
    save_file(tensors, path)
    if damage == "pipe":
        path.unlink()
        os.mkfifo(path)
    with pytest.raises(InputError, match="does not contain a complete model"):
        load_model(folder, device="cpu")


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("labels", [3, 1] * 10),
        ("labels", [0.5, np.inf] * 10),
        ("labels", [True, False] * 10),
        ("labels", ["", "é\U0001f600"] * 10),
        ("labels+degree", list(range(20))),
        ("degree", None),
        ("degree-one-hot", None),
    ],
)
def test_every_kind_of_features_survives_saving(kind: str, labels, tmp_path: Path) -> None:
    graph = replace(random_graph(), node_labels=None if labels is None else np.array(labels))
    for normalise in ("row", "standard"):
        model = fit(graph, replace(SETTINGS, features=kind, normalise=normalise, epochs=1), device="cpu")
        save_model(model, tmp_path / "model")
        loaded = load_model(tmp_path / "model", device="cpu").trained
        np.testing.assert_array_equal(loaded.vectors(graph), model.vectors())


@pytest.mark.parametrize(
    "values",
    [
        {"columns": None},
        {"word_weights": None},
        {"columns": text(without(0))},
        {"columns": text(without(0, name="m"))},
        {"columns": text(without(0, median=None))},
        {"columns": text(without(0, kind="list", length=2**31 - 1))},
        {"columns": text([{"name": "n", "kind": "list", "length": 2**31 - 1}, *COLUMNS[1:]])},
        {"columns": text(without(1, levels=["Rome", "Oslo"]))},
        {"columns": text(without(1, levels=["Oslo"]))},
        {"columns": text(COLUMNS[::-1])},
        {"columns": text("abc")},
        {"columns": torch.tensor(list(DEEP.encode()), dtype=torch.uint8)},
        {"columns": torch.zeros(3)},
        {"word_weights": torch.ones(2, 4096, dtype=torch.float64)},
        {"word_weights": torch.ones(1, 4096)},
        {"word_weights": torch.full((1, 4096), torch.nan, dtype=torch.float64)},
    ],
    ids=lambda values: ",".join(f"{key}={value}"[:30] for key, value in values.items()),
)
def test_columns_that_do_not_fit_are_refused_at_once(values: dict, on_columns: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(on_columns, folder)
    load_model(folder, device="cpu")
    changed_tensors(folder, columns=text(COLUMNS))
    assert load_model(folder, device="cpu").trained.feature_encoder.columns_ is not None  # this is what it holds
    changed_tensors(folder, **values)
    started = time.perf_counter()
    with pytest.raises(InputError, match="does not contain a complete model"):
        load_model(folder, device="cpu")
    assert time.perf_counter() - started < 1
