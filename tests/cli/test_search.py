"""``mvgrl search``: a recipe that the other verbs read, trials that are kept, and mistakes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import networkx as nx
import pytest

pytest.importorskip("optuna", reason="needs the extra tune")
QUICK = "--epochs 3 --hidden 8 --device cpu"


@pytest.fixture
def clubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    graph = nx.planted_partition_graph(3, 20, 0.4, 0.03, seed=1)
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in graph.edges))
    labels = "".join(f"n{node},{'abc'[node // 20]}\n" for node in range(60))
    (tmp_path / "labels.csv").write_text("id,label\n" + labels)
    return tmp_path


def test_the_recipe_is_read_by_embed(run, clubs):
    found = run(f"search edges.csv --labels labels.csv --trials 3 {QUICK} -o recipe.toml --json")
    values = json.loads(found.out)
    assert values["criterion"] == "labels"
    assert values["trials"] == 3
    assert values["best"] >= values["default"]
    recipe = tomllib.loads((clubs / "recipe.toml").read_text())
    assert recipe["hidden"] == 8
    assert recipe["learning_rate"] == values["settings"]["learning_rate"]
    assert "of 3: accuracy in five folds of the labels" in (clubs / "recipe.toml").read_text()
    run("embed edges.csv --config recipe.toml -o vectors.parquet")


def test_without_labels_hidden_edges_decide_and_more_trials_are_added(run, clubs):
    first = run(f"search edges.csv --trials 2 {QUICK} -o recipe.toml --json")
    assert json.loads(first.out)["criterion"] == "hidden-edges"
    lines = (clubs / "recipe.trials.jsonl").read_text().splitlines()
    run(f"search edges.csv --trials 3 {QUICK} -o recipe.toml")
    assert (clubs / "recipe.trials.jsonl").read_text().splitlines()[:-1] == lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o recipe.json", "a recipe is a .toml file"),
        ("-o recipe.toml --trials 0", "--trials is 0; it must be at least 1"),
        ("-o recipe.toml --labels edges.csv", "edges.csv has no column 'id'"),
        ("-o recipe.toml --views adjacency,nothing", "nothing"),
        ("-o recipe.toml --cluster 127.0.0.1:1", "no Ray cluster answers"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(run, clubs, words, message):
    before = sorted(path.name for path in clubs.iterdir())
    assert message in run(f"search edges.csv {QUICK} {words}", 2).err
    assert sorted(path.name for path in clubs.iterdir()) == before
