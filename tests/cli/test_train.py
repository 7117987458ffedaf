"""train: write the folder of a model, or print its settings."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np

from mvgrl.graphs.read import read
from mvgrl.pretrained import load_model
from mvgrl.tables.embeddings import read_embeddings

KEYS = ["task", "nodes", "edges", "graphs", "dim", "parts", "epochs", "loss", "seconds", "peak_memory_mb", "output"]


def test_model_gives_the_same_vectors_as_embed(run, graph, small):
    run(f"train {graph} -o model {small} --seed 3")
    run(f"embed {graph} -o v.npy {small} --seed 3")
    trained, _, about = load_model("model", device="cpu")
    nodes = trained.vectors(read("edges.csv", nodes="nodes.csv", label_column="topic").graph)
    assert np.array_equal(nodes, read_embeddings("v.npy").vectors)
    assert about == {"trained on": "edges.csv: one graph, 12 nodes, 13 edges", "seed": 3}


def test_folder_contains_the_model_and_its_card(run, graph, small):
    run(f"train {graph} -o model {small}")
    assert sorted(path.name for path in Path("model").iterdir()) == ["README.md", "config.json", "model.safetensors"]
    assert "edges.csv: one graph, 12 nodes, 13 edges" in Path("model/README.md").read_text()
    assert sorted(path.name for path in Path().iterdir()) == ["edges.csv", "model", "nodes.csv"]


def test_json_result_has_these_keys(run, graph, small):
    result = run(f"train {graph} -o model {small} --json").json
    assert [key for key in result if key in KEYS] == KEYS
    assert (result["task"], result["nodes"], result["edges"], result["graphs"]) == ("node", 12, 13, 1)
    assert (result["dim"], result["epochs"], result["output"]) == (11, 3, "model")


def test_stdout_is_empty_without_json(run, graph, small):
    outcome = run(f"train {graph} -o model {small}")
    assert outcome.out == ""
    assert outcome.err.splitlines()[-1].endswith("the model is in model")


def test_existing_model_is_only_replaced_with_overwrite(refused, run, graph, small):
    run(f"train {graph} -o model {small}")
    refused(f"train {graph} -o model --hidden 8 --epochs 3", "model is already a model", "--overwrite")
    run(f"train {graph} -o model --hidden 8 --epochs 3 --overwrite")
    assert json.loads(Path("model/config.json").read_text())["settings"]["hidden"] == 8


def test_model_depends_on_the_seed_only(run, graph, small):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(f"train {graph} -o {name} {small} --seed {seed}")
    a, b, c = (Path(name, "model.safetensors").read_bytes() for name in "abc")
    assert a == b != c


def test_print_config_prints_toml_and_writes_nothing(run, graph, small):
    outcome = run(f"train {graph} --print-config {small} --seed 3")
    values = tomllib.loads(outcome.out)
    assert (values["hidden"], values["epochs"], values["seed"], values["device"]) == (4, 3, 3, "cpu")
    assert (values["task"], values["normalise"], values["sampler"]) == ("node", "standard", "full")
    assert sorted(path.name for path in Path().iterdir()) == ["edges.csv", "nodes.csv"]
    assert run(f"train {graph} --print-config {small} --seed 3 --json").json == {"config": outcome.out}


def test_missing_output_is_rejected(refused, graph):
    refused(f"train {graph}", "-o")
