"""The commands of docs/cluster.md run as printed, without a cluster of their own; tests/cluster has real ones."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import networkx as nx
import pytest

from mvgrl.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cluster.md"


def test_commands_run_as_printed(tmp_path, monkeypatch, capsys):
    pytest.importorskip("ray", reason="needs the extra cluster")
    pytest.importorskip("optuna", reason="needs the extra tune")
    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    Path("edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in graph.edges))
    Path("labels.csv").write_text("id,label\n" + "".join(f"{i},{graph.nodes[i]['club']}\n" for i in graph))
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) for line in block.splitlines()
    ]
    assert len(lines) == 6
    here = [line.replace(" --cluster local", "") for line in lines]
    assert sum(line != other for line, other in zip(lines, here, strict=True)) == 4
    assert main(["import", "edges.csv", "-o", "GRAPH"]) == 0
    for line in here:
        quick = ["--epochs", "2", "--hidden", "4"] if line.startswith(("mvgrl search", "mvgrl embed")) else []
        if line.startswith("mvgrl reproduce"):
            continue  # trains for a minute
        assert main([*shlex.split(line)[1:], *quick, "--device", "cpu"]) == 0, (line, capsys.readouterr().err)
    assert {"recipe.toml", "compare.jsonl", "vectors.parquet"} <= {path.name for path in tmp_path.iterdir()}
