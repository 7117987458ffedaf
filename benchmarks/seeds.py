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
from mvgrl.runtime import resolve_device
from mvgrl.settings import Settings
from mvgrl.stacking import fit_seeds
from mvgrl.training import Trained, fit
from mvgrl.views import ViewCache


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
    graph, device, cache = load("cora-linqs").graph, resolve_device(options.device), ViewCache()
    settings = Settings(epochs=options.epochs, patience=options.epochs)
    seeds = range(options.seeds)
    fit_seeds(
        graph, Settings(epochs=2), seeds[:2], device=device, cache=cache
    )  # a warm-up that also computes the views
    stacked, together = timed(
        lambda: fit_seeds(graph, settings, seeds, device=device, at_once=len(seeds), cache=cache), device
    )
    alone, one_by_one = timed(
        lambda: [fit(graph, settings, seed=seed, device=device, cache=cache) for seed in seeds], device
    )
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
