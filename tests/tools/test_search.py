"""The search scores candidates on data that no table is scored on."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tools.search import DECAYS, main, ranking, search

from mvgrl import fit
from mvgrl.datasets import Dataset, load
from mvgrl.errors import SettingsError
from mvgrl.evaluation import cross_validate, linear_probe
from mvgrl.experiments.experiment import GRAPH_DATASETS, NODE_DATASETS
from mvgrl.experiments.recipes import load_recipe
from mvgrl.folds import shuffled_folds
from mvgrl.settings import Output, literal
from tools import search as module

ROOT = Path(__file__).resolve().parents[2]
CANDIDATES = ROOT / "results" / "search" / "candidates"
TINY = dict(views=["adjacency", "ppr:top_k=8"], hidden=32, epochs=20)


def test_labels_of_test_nodes_do_not_affect_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DRAWS", 2)
    cora = load("cora-linqs")
    assert cora.splits is not None

    def scores(dataset: Dataset) -> dict:
        monkeypatch.setattr(module, "load", lambda name, root: dataset)
        (line,) = search("cora-linqs", {"tiny": TINY}, seeds=(100,), device="cpu")
        return line

    plain, target = scores(cora), cora.target.copy()
    target[cora.splits["test"]] = np.random.default_rng(0).permutation(target[cora.splits["test"]])
    hidden = scores(replace(cora, target=target))
    for output in ("projected, sum, False", "projected, concatenate, True"):
        assert hidden[output] == plain[output]
        assert {name: len(values) for name, values in plain[output].items()} == {
            **dict.fromkeys(("pool", "rest", "val"), len(DECAYS)),
            **dict.fromkeys(("nmi", "ari"), 1),
        }
    target[cora.splits["val"]] = np.random.default_rng(0).permutation(target[cora.splits["val"]])
    seen = scores(replace(cora, target=target))
    assert max(seen[output]["val"]) < max(plain[output]["val"]) - 10


def test_a_candidate_has_the_scores_of_a_separate_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DRAWS", 2)
    (line,) = search("cora-linqs", {"tiny": TINY}, seeds=(100,), device="cpu")
    cora = load("cora-linqs")
    assert cora.splits is not None
    output = Output(preset="paper", join="concatenate", unit_length=True)
    codes = fit(cora.graph, literal(TINY), seed=100, device="cpu").vectors(output=output)
    parts = cora.splits["train"], cora.splits["val"]
    separate = [100 * float(linear_probe(codes, cora.target, *parts, weight_decay=decay, seed=100)) for decay in DECAYS]
    np.testing.assert_allclose(line["projected, concatenate, True"]["val"], separate, atol=0.34)  # one node of 300
    assert (line["candidate"], line["seeds"], line["epochs"]) == ("tiny", 1, 20.0)


def test_graphs_are_scored_inside_a_training_part(monkeypatch: pytest.MonkeyPatch) -> None:
    mutag = load("mutag")
    train, held = next(shuffled_folds(10, 100, 0).split(mutag.target, mutag.target))
    hidden = mutag.target.copy()
    hidden[held] = 1 - hidden[held]
    lines = []
    for target in (mutag.target, hidden):
        # split by the true labels, so that the same tenth is held out
        monkeypatch.setattr(module, "load", lambda name, root, target=target: replace(mutag, target=target))
        monkeypatch.setattr(module, "shuffled_folds", lambda *_: _Fixed(train, held))
        lines += search("mutag", {"tiny": dict(hidden=8, epochs=1)}, seeds=(100,), device="cpu")
    trained = fit(mutag.graph, literal({"task": "graph", "hidden": 8, "epochs": 1}), seed=100, device="cpu")
    codes = trained.vectors(output=Output(preset="paper"))
    found = cross_validate(codes[train], mutag.target[train], seed=100)
    expected = {"nested": [found.nested_accuracy[0], 0.0], "best_c": [found.best_c_accuracy[0], 0.0]}
    for line in lines:
        assert line["projected, sum, False"] == {name: pytest.approx(values) for name, values in expected.items()}
    assert len([key for key in lines[0] if "," in key]) == 12


class _Fixed:
    """A fixed split that ignores the labels."""

    def __init__(self, *parts: np.ndarray) -> None:
        self.parts = parts

    def split(self, *_: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        yield self.parts


def test_an_unknown_setting_is_rejected_before_training(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="did you mean 'hidden'"):
        next(search("cora-linqs", {"fine": TINY, "wrong": dict(hiden=3)}))


@pytest.mark.parametrize("path", sorted(CANDIDATES.glob("*.toml")), ids=lambda path: path.stem)
def test_our_candidates_are_valid_and_unique(path: Path) -> None:
    assert path.stem in (*NODE_DATASETS, *GRAPH_DATASETS)
    task = "graph" if path.stem in GRAPH_DATASETS else "node"
    candidates = tomllib.loads(path.read_text(encoding="utf-8"))
    assert len({literal({"task": task, **values}).id for values in candidates.values()}) == len(candidates) > 2


@pytest.mark.parametrize("dataset", ["mutag", "ptc-mr", "imdb-binary", "imdb-multi"])
def test_our_recipes_for_small_graphs_are_the_best_trained_candidates(dataset: str) -> None:
    found = (json.loads(line) for line in (ROOT / "results" / "search" / "graph-search.jsonl").read_text().splitlines())
    lines = {
        line["candidate"]: line
        for line in found
        if line["dataset"] == dataset and line["device"] != "cpu" and "nested" in line.get("layers, sum, False", {})
    }
    assert len(lines) > 5
    _, candidate, output = next(row for row in ranking(lines.values()) if lines[row[1]]["epochs"])
    codes, join, unit = output.split(", ")
    recipe = load_recipe(dataset, table="graph-classification")
    trained = {key: value for key, value in lines[candidate]["settings"].items() if key not in ("codes", "join")}
    assert recipe.settings == literal(trained)
    assert recipe.output.for_task("graph") == Output(
        preset="paper", dim=0, beside="none", codes=codes, join=join, unit_length=unit == "True"
    )


def test_the_ranking_averages_scores_of_graphs_but_not_of_nodes() -> None:
    lucky = {
        "candidate": "lucky",
        "settings": {},
        "seconds": 1.0,
        "a": {"nested": [90.0, 1.0]},
        "b": {"nested": [80.0, 1.0]},
    }
    steady = {"candidate": "steady", "a": {"nested": [89.0, 1.0]}, "b": {"nested": [89.0, 1.0]}}
    # 89 / 2 + 89 / 4 + 89.5 / 4, and so on
    assert ranking([lucky, steady]) == [
        (89.12, "steady", "a"),
        (88.62, "lucky", "a"),
        (87.88, "steady", "b"),
        (82.38, "lucky", "b"),
    ]
    node = {
        "candidate": "one",
        "a": {"pool": [80.0, 84.0], "rest": [83.0, 80.0]},
        "b": {"pool": [82.0], "rest": [82.001]},
    }
    assert ranking([node]) == [(82.0, "one", "a"), (82.0, "one", "b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[wide\n", "candidates.toml is not TOML"),
        ("hidden = 8\n", "hidden is outside a candidate"),
        ("[wide]\nhiden = 8\n", "did you mean 'hidden'"),
        (None, "candidates.toml cannot be read"),
    ],
)
def test_an_invalid_file_of_candidates_gives_a_one_line_error(
    text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / "candidates.toml").write_text(text)
    assert main(["mutag", str(tmp_path / "candidates.toml"), str(tmp_path / "found.jsonl")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "found.jsonl").exists()


def test_lines_are_appended_to_the_file_and_ranked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "candidates.toml").write_text("[small]\nhidden = 4\nepochs = 0\n")
    words = ["mutag", str(tmp_path / "candidates.toml"), str(tmp_path / "found.jsonl"), "--device", "cpu"]
    assert main([*words, "--seeds", "1"]) == main([*words, "--seeds", "2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.startswith("score")] == ["score  candidate: codes, join, unit length"] * 2
    assert all("  small: " in line for line in shown[1:11])
    assert len(shown) == 2 * 11
    assert main([*words, "--seeds", "0"]) == 2
    lines = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    assert [(line["candidate"], line["seeds"]) for line in lines] == [("small", 1), ("small", 2)]
