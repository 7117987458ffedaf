"""The commands of docs/compare.md run as printed, on a small graph."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import networkx as nx
import pytest

import mvgrl.experiments.compare
from mvgrl.cli import main
from mvgrl.experiments.contest_process import results_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "compare.md"


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("line", commands())
def test_commands_run_as_printed(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    with Path("edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *graph.edges])
    with Path("labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *((node, graph.nodes[node]["club"]) for node in graph)])
    with Path("nodes.csv").open("w", newline="") as file:
        rows = [(node, 20 + node, graph.nodes[node]["club"]) for node in graph]
        csv.writer(file).writerows([("id", "age", "topic"), *rows])
    with Path("splits.csv").open("w", newline="") as file:
        rows = [(node, *(("train", "val", "test")[(node // step) % 3] for step in (1, 2))) for node in graph]
        csv.writer(file).writerows([("id", "first", "second"), *rows])
    # In this process, so that the page does not take a minute; tests/cli has processes.
    monkeypatch.setattr(mvgrl.experiments.compare, "separate_results", results_of)
    few = [] if "--epochs" in line else ["--epochs", "2"]
    if "--methods" not in line:
        few += ["--methods", "raw,netmf,default"]
    assert main([*shlex.split(line)[1:], *few, "--device", "cpu"]) == 0, capsys.readouterr().err
    assert "default vectors" in capsys.readouterr().out
    assert Path("compare.html").exists() == ("-o" in line)
    assert Path("compare.jsonl").exists()


def test_there_are_commands():
    assert len(commands()) == 6
