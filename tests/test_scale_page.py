"""The commands of docs/scale.md run as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import networkx as nx
import pandas as pd

from mvgrl.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"


def test_commands_run_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    pd.DataFrame(list(graph.edges), columns=["source", "target"]).to_parquet("edges.parquet")
    clubs = [graph.nodes[node]["club"] for node in graph]
    pd.DataFrame({"id": list(graph), "age": [20 + node for node in graph], "label": clubs}).to_parquet("nodes.parquet")
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for line in block.splitlines():
        more = ["--epochs", "2", "--hidden", "4", "--device", "cpu"] if line.startswith("mvgrl embed") else []
        assert main([*shlex.split(line)[1:], *more]) == 0, (line, capsys.readouterr().err)
    assert {"GRAPH", "vectors.parquet", "clusters.csv", "map.png"} <= {path.name for path in tmp_path.iterdir()}
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    Path("vectors.parquet").unlink()
    exec(code.replace("dim=256", "dim=4, hidden=4, epochs=2, sample_size=20"), {})
    assert len(pd.read_parquet("vectors.parquet")) == len(graph)
