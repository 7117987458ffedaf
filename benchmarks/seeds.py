"""Training time of many seeds as one stack, relative to one after the other, as a ratio in one run.

Cora, default settings, the same seeds both ways, a fixed number of epochs without early stopping, views computed once
in advance. The losses of both ways are compared too. Then all seeds once as a table trains them, with early stopping,
and both probes: from the graph to the scores.

    python benchmarks/seeds.py
    python benchmarks/seeds.py --json --seeds 5 --epochs 20 --device cpu
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mvgrl.datasets import Dataset, load
from mvgrl.evaluation.protocols import Evaluation, measure
from mvgrl.inputs import prepare
from mvgrl.methods import Outcome
from mvgrl.runtime import allow_tf32, resolve_device
from mvgrl.settings import literal
from mvgrl.training import PAPER, Trained, fit


def timed(function: Callable[[], list[Trained]], device: torch.device) -> tuple[list[Trained], float]:
    started = time.perf_counter()
    runs = function()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return runs, time.perf_counter() - started


def with_probes(dataset: Dataset, device: torch.device, seeds: Sequence[int]) -> list[Trained]:
    """Train all seeds as a table does, with early stopping, and run both probes on their vectors."""
    with allow_tf32():
        runs = fit(dataset.graph, literal({}), seed=seeds, device=device, stack=len(seeds))
    outcomes = [Outcome(run.vectors(output=PAPER)) for run in runs]
    measure(["linear-probe", "converged-probe"], Evaluation(dataset, outcomes, seeds, device))
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    dataset, device = load("cora-linqs", options.data_root), resolve_device(options.device)
    graph = dataset.graph
    inputs = prepare(graph, literal({"epochs": options.epochs, "patience": options.epochs}), device=device)
    seeds = range(options.seeds)
    fit(graph, literal({"epochs": 2}), seed=seeds[:2], device=device, stack=2)  # a warm-up
    stacked, together = timed(lambda: fit(inputs, seed=seeds, stack=len(seeds)), device)
    alone, one_by_one = timed(lambda: fit(inputs, seed=seeds, stack=1), device)
    whole, probed = timed(lambda: with_probes(dataset, device, seeds), device)
    pairs = zip(stacked, alone, strict=True)
    results: dict[str, Any] = {
        "seeds": options.seeds,
        "epochs": options.epochs,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "stacked_seconds": together,
        "sequential_seconds": one_by_one,
        "ratio": one_by_one / together,
        "trained_and_probed_seconds": probed,
        "trained_and_probed_epochs": [min(lengths := [len(run.history.losses) for run in whole]), max(lengths)],
        "largest_relative_difference_of_losses": max(
            float(np.max(np.abs(np.subtract(a.history.losses, b.history.losses)) / np.abs(b.history.losses)))
            for a, b in pairs
        ),
    }
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    else:
        print(
            f"{options.seeds} seeds: {together:.1f} s stacked, {one_by_one:.1f} s sequentially: {results['ratio']:.1f}×"
            f"; with early stopping and probes {probed:.1f} s"
        )


if __name__ == "__main__":
    main()
