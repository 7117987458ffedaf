"""The examples reach their accuracy, and the benchmark's dense reference computes the same loss as the library."""

from __future__ import annotations

import json
import re
import runpy
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]


RunExample = Callable[..., str]


@pytest.fixture
def run_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunExample:
    """Run an example as a program in this process, and return what it prints; user warnings are errors."""

    def run(name: str, *arguments: str) -> str:
        path = str(ROOT / "examples" / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            runpy.run_path(path, run_name="__main__")
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run


def test_cora_example_reaches_its_accuracy(run_example: RunExample) -> None:
    """One seed on the CPU: an end-to-end test of training."""
    printed = run_example("cora", "1")
    found = {name.strip(): float(mean) for name, mean in re.findall(r"^  (\S.*?)\s{2,}([\d.]+)", printed, re.M)}
    assert found["MVGRL, trained"] >= 85.5
    assert found["the same, untrained"] < found["propagated features"] < found["MVGRL, trained"]


@pytest.mark.parametrize("name", ["FULL", "SAMPLED"])
def test_dense_reference_has_the_same_loss_and_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import step

    settings = replace(getattr(step, name), hidden=16, sample_size=40)
    model, batches = step.prepared(settings, 80)
    batch = next(batches.epoch(torch.Generator().manual_seed(0)))
    plain = step.DenseMVGRL(step.WIDTH, 16)
    plain.take_weights(model)
    ours, theirs = model(batch), plain(*step.dense_inputs(batch))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)
    ours.backward()
    theirs.backward()
    torch.testing.assert_close(
        model.encoders[1].weights[0].grad.T, plain.second.project.weight.grad, rtol=1e-3, atol=1e-7
    )


@pytest.mark.parametrize(("name", "least"), [("classify_graphs", 80.0), ("classify_nodes", 83.0)])
def test_scikit_learn_examples_reach_their_accuracy(name: str, least: float, run_example: RunExample) -> None:
    printed = run_example(name)
    assert float(re.findall(r"([\d.]+) %", printed)[0]) >= least


def test_notebook_runs_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown_picture = types.ModuleType("IPython.display")
    shown_picture.Image = lambda path, width: (path, width)  # type: ignore[attr-defined]  # IPython is not installed here
    monkeypatch.setitem(sys.modules, "IPython.display", shown_picture)
    monkeypatch.chdir(tmp_path)
    cells = json.loads((ROOT / "examples" / "messy_table.ipynb").read_text())["cells"]
    names: dict = {}
    printed = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["execution_count"], "the notebook was not executed"
        assert not [one for one in cell["outputs"] if one["output_type"] == "error"]
        with warnings.catch_warnings():
            exec(compile("".join(cell["source"]), "messy_table.ipynb", "exec"), names)
        stored = "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream")
        printed.append((capsys.readouterr().out, stored))
    assert [out for out, _ in printed[:2]] == [stored for _, stored in printed[:2]]  # the files, and the notes
    ours, table = (int(value) for value in re.findall(r"(\d+) % accuracy", "".join(out for out, _ in printed)))
    assert ours >= 90 > table
    assert printed[-1][0] == "True\n"
    assert Path("map.png").stat().st_size > 10_000


def test_wordnet_example_walks_the_whole_way(tmp_path: Path, run_example: RunExample) -> None:
    """On 400 made-up synsets of four classes in WordNet's format."""
    rng = np.random.default_rng(0)
    classes = np.arange(400) % 4
    vocabulary = [
        ["sound", "song", "music"],
        ["leaf", "root", "green"],
        ["fur", "paw", "tail"],
        ["road", "wheel", "car"],
    ]
    glosses = [" ".join([*rng.choice(vocabulary[one], 2), *rng.choice(np.ravel(vocabulary), 3)]) for one in classes]
    inside, other = rng.integers(100, size=(400, 2)), rng.integers(400, size=(100, 2))
    edges = [(4 * a + i % 4, 4 * b + i % 4) for i, (a, b) in enumerate(inside.tolist())]
    ids = [f"n{i}" for i in range(400)]
    names = ["jazz" if i == 8 else f"word{i}" for i in range(400)]
    pq.write_table(
        pa.table({"id": ids, "lexicographer": [f"class{one}" for one in classes], "words": names, "gloss": glosses}),
        tmp_path / "synsets.parquet",
    )
    ends = [(ids[a], ids[b]) for a, b in [*edges, *other.tolist()]]
    pq.write_table(
        pa.table(dict(zip(("source", "target"), zip(*ends, strict=True), strict=True))), tmp_path / "relations.parquet"
    )
    printed = run_example("wordnet", str(tmp_path), str(tmp_path))
    assert "note: features: gloss (text, 4,096 hashed words)" in printed
    accuracy = {name: float(value) for value, name in re.findall(r"accuracy +([\d.]+) %  (.+)", printed)}
    assert set(accuracy) == {"our vectors", "words of the gloss", "propagated, two steps"}
    assert accuracy["our vectors"] > 60
    assert re.search(r"near n8 \(jazz\): word\d+, word", printed)
    assert "a cluster around word" in printed
    assert pq.read_table(tmp_path / "vectors.parquet").num_rows == 400
    assert (tmp_path / "map.png").exists()
