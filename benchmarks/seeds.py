"""Training time of many seeds as one stack, relative to one after the other, as a ratio in one run.

Cora, default settings, the same seeds both ways, a fixed number of epochs without early stopping, views computed once
in advance. The losses of both ways are compared too.

    python benchmarks/seeds.py
    python benchmarks/seeds.py --json --seeds 5 --epochs 20 --device cpu
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from mvgrl.datasets import load
from mvgrl.inputs import prepare
from mvgrl.runtime import resolve_device
from mvgrl.settings import literal
from mvgrl.training import Trained, fit


def timed(function: Callable[[], list[Trained]], device: torch.device) -> tuple[list[Trained], float]:
    started = time.perf_counter()
    runs = function()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return runs, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    graph, device = load("cora-linqs").graph, resolve_device(options.device)
    inputs = prepare(graph, literal({"epochs": options.epochs, "patience": options.epochs}), device=device)
    seeds = range(options.seeds)
    fit(graph, literal({"epochs": 2}), seed=seeds[:2], device=device, stack=2)  # a warm-up
    stacked, together = timed(lambda: fit(inputs, seed=seeds, stack=len(seeds)), device)
    alone, one_by_one = timed(lambda: fit(inputs, seed=seeds, stack=1), device)
    pairs = zip(stacked, alone, strict=True)
    results: dict[str, Any] = {
        "seeds": options.seeds,
        "epochs": options.epochs,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "stacked_seconds": together,
        "sequential_seconds": one_by_one,
        "ratio": one_by_one / together,
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
        )


if __name__ == "__main__":
    main()
