"""The commands of docs/using_vectors.md run as printed."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import networkx as nx
import pytest

from mvgrl.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "using_vectors.md"


def test_commands_run_as_printed(tmp_path, monkeypatch, capsys):
    pytest.importorskip("umap", reason="UMAP is an extra")
    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    with Path("edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *((f"p{one}", f"p{other}") for one, other in graph.edges)])
    with Path("nodes.csv").open("w", newline="") as file:
        rows = [(f"p{node}", 20 + node, graph.nodes[node]["club"]) for node in graph]
        csv.writer(file).writerows([("id", "age", "topic"), *rows])
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) == 10
    for line in lines:
        assert main(shlex.split(line, comments=True)[1:]) == 0, (line, capsys.readouterr().err)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"neighbors.csv", "clusters.csv", "links.csv", "map.png", "map.svg", "map.pdf"} <= made
