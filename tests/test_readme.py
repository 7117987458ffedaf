"""The commands, code, numbers and links of the README are correct."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from mvgrl.cli import main
from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.experiments.ledger import Ledger
from mvgrl.experiments.summary import summarise

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["vectors"].shape == (34, 16)
    assert names["members"].tolist() == list(range(34))
    np.testing.assert_array_equal(names["again"], names["vectors"])
    assert str(names["large"]._settings().sampler) == "walk"


@pytest.fixture
def example_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the commands of the README use: a graph of people, and the same graph with new nodes."""
    monkeypatch.chdir(tmp_path)
    for prefix, nodes in (("", 30), ("new_", 34)):
        graph = nx.karate_club_graph().subgraph(range(nodes))
        with Path(f"{prefix}edges.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerows([("source", "target"), *((f"p{a}", f"p{b}") for a, b in graph.edges)])
        with Path(f"{prefix}nodes.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("id", "age", "height", "topic"))
            rows.writerows((f"p{n}", n, 100 + n % 7, graph.nodes[n]["club"]) for n in graph)
    return tmp_path


def test_shell_examples_run(example_files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("mvgrl ")]
    assert len(lines) == 8
    for line in lines:
        words = shlex.split(line, comments=True)
        target = words[words.index(">") + 1] if ">" in words else None
        assert main(words[1 : words.index(">") if target else None]) == 0, (line, capsys.readouterr().err)
        printed = capsys.readouterr().out
        if target:
            Path(target).write_text(printed)
    made = {path.name for path in example_files.iterdir()}
    assert {"vectors.parquet", "vectors.csv", "map.png", "model", "new.parquet", "run.toml"} <= made
    assert main(["train", "edges.csv", "--config", "run.toml", "--epochs", "2", "-o", "other"]) == 0


def test_numbers_match_the_results() -> None:
    step = json.loads((ROOT / "results" / "benchmarks" / "step.json").read_text())
    views = json.loads((ROOT / "results" / "benchmarks" / "views.json").read_text())
    for name in ("full_top32", "sampled_exact"):
        assert f"| {step[name]['time_ratio']:.0f}× faster | 1/{step[name]['memory_ratio']:.0f} |" in README
    text = " ".join(README.split())
    assert f"to the power {step['exponent']:.2f} (" in text
    assert f"{step['exponent_no_locality']:.2f} where edges join any two nodes" in text
    assert f"1/{views['ppr']['time_ratio_dense']:.0f} of the dense inverse's time" in text
    assert f"1/{views['ppr']['time_ratio_pyg']:.0f} of PyTorch Geometric's" in text
    found = summarise(EXPERIMENTS["graph-classification"], Ledger(ROOT / "results" / "runs.jsonl"))
    rows = [row.to_dict() for row in found]
    assert "With C chosen on the test folds, as in the paper, all five graph datasets reach its numbers." in text
    assert [row["mean"] >= row["paper"] for row in rows if row["metric"] == "best_c"] == [True] * 5
    nested = next(row for row in rows if (row["dataset"], row["metric"]) == ("reddit-binary", "nested"))
    assert f"on REDDIT-BINARY, training adds {nested['mean'] - nested['untrained']:.1f} points" in text


def test_make_targets_exist() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    used = re.findall(r"\bmake (\w+)", README)
    assert {"demo", "test"} <= set(used) <= set(targets)


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?:)([^)]+)\)", README))
def test_link_targets_exist(link: str) -> None:
    assert (ROOT / link).exists()


def test_named_files_exist() -> None:
    for name in re.findall(r"`(\w+(?:\.py|/))`", README):
        assert (ROOT / "src" / "mvgrl" / name).exists(), name
