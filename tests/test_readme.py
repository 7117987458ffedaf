"""Everything the README prints works as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["vectors"].shape == (34, 64)
    assert names["members"].tolist() == list(range(34))
    np.testing.assert_array_equal(names["again"], names["vectors"])
    assert names["large"]._settings().sampler == "walk"


def test_its_numbers_are_those_of_the_results() -> None:
    step = json.loads((ROOT / "results" / "benchmarks" / "step.json").read_text())
    views = json.loads((ROOT / "results" / "benchmarks" / "views.json").read_text())
    for name in ("full_top32", "sampled_exact"):
        assert f"| {step[name]['time_ratio']:.0f}× faster | 1/{step[name]['memory_ratio']:.0f} |" in README
    text = " ".join(README.split())
    assert f"to the power {step['exponent']:.2f} (" in text
    assert f"{step['exponent_no_locality']:.2f} where edges join any two nodes" in text
    assert f"1/{views['ppr']['time_ratio_dense']:.0f} of the dense inverse's time" in text
    assert f"1/{views['ppr']['time_ratio_pyg']:.0f} of PyTorch Geometric's" in text
    demo = (ROOT / "results" / "cora-example.txt").read_text()
    scores = re.findall(r"([\d.]+) ± ([\d.]+)$", demo, re.MULTILINE)
    assert "| " + " | ".join(f"{mean} ± {spread}" for mean, spread in scores) + " | 86.8 |" in README


def test_its_commands_exist() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    used = re.findall(r"\bmake (\w+)", README)
    assert {"demo", "test"} <= set(used) <= set(targets)


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?:)([^)]+)\)", README))
def test_what_it_links_to_is_there(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_files_it_names_are_there() -> None:
    for name in re.findall(r"`(\w+(?:\.py|/))`", README):
        assert (ROOT / "src" / "mvgrl" / name).exists(), name
