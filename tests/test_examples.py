"""The examples reach their accuracy, and the benchmark's dense reference computes the same loss as the library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]


def run_example(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an example on one thread, which is fastest on a busy machine; user warnings are errors."""
    command = [sys.executable, "-W", "error::UserWarning", str(ROOT / "examples" / f"{name}.py"), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done


def test_cora_example_reaches_its_accuracy() -> None:
    """One seed on the CPU: an end-to-end test of training."""
    done = run_example("cora", "1")
    assert done.stderr == ""
    found = {name.strip(): float(mean) for name, mean in re.findall(r"^  (\S.*?)\s{2,}([\d.]+)", done.stdout, re.M)}
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
def test_scikit_learn_examples_reach_their_accuracy(name: str, least: float) -> None:
    printed = run_example(name).stdout
    assert float(re.findall(r"([\d.]+) %", printed)[0]) >= least
