"""The commands of docs/explorer.md run as printed, on a small graph, and its numbers are those of the results."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from mvgrl.cli import main
from mvgrl.tables.embeddings import Embeddings, write_embeddings

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "explorer.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run_as_printed(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("vectors", "others"):
        write_embeddings(f"{name}.parquet", Embeddings(np.arange(12), rng.normal(size=(12, 4)).astype(np.float32)))
    Path("nodes.csv").write_text("id,left,up,kind\n" + "".join(f"{i},{i},{i * i},{i % 3}\n" for i in range(12)))
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 12}\n" for i in range(12)))
    if "explore model" in line:
        train = "train edges.csv --nodes nodes.csv -o model --hidden 4 --epochs 2 --device cpu"
        assert main(shlex.split(train)) == 0
    assert main(shlex.split(line)[1:]) == 0
    assert Path("page.html").stat().st_size > 100_000
    assert Path("points.parquet").exists() == ("--parquet" in line)


def test_numbers_match_the_results() -> None:
    found = json.loads((ROOT / "results" / "benchmarks" / "explorer.json").read_text())
    rows = [
        f"| {int(count):,} | {one['bytes'] / 1e6:.1f} MB | {one['bytes_per_point']:.0f} bytes "
        f"| {one['first_picture_s']:.1f} s | {one['frames_per_second']:.1f} "
        f"| {one['frames_per_second_all_points']:.1f} |"
        for count, one in found["points"].items()
    ]
    assert len(rows) == 3
    for row in rows:
        assert row in PAGE
    assert "SwiftShader" in found["renderer"]
    assert found["browser"].split("/")[1] in PAGE


def test_named_files_exist() -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
