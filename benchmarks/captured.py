"""A training step recorded as a CUDA graph, relative to the same step launched kernel by kernel: a ratio in one run.

Default settings, the same seed both ways, a fixed number of epochs without early stopping. The losses of both ways are
compared too. Needs a GPU.

    python benchmarks/captured.py
    python benchmarks/captured.py --dataset pubmed --json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from mvgrl import training
from mvgrl.captured import can_be_captured
from mvgrl.datasets import load
from mvgrl.inputs import Inputs, prepare
from mvgrl.runtime import allow_tf32, resolve_device
from mvgrl.settings import literal
from mvgrl.training import fit


def trained(inputs: Inputs, *, captured: bool) -> tuple[list[float], float]:
    """The losses, and the median seconds per epoch."""
    ends: list[float] = []
    with patch.object(training, "can_be_captured", lambda *given: captured and can_be_captured(*given)), allow_tf32():
        run = fit(inputs, seed=0, callbacks=[lambda epoch: ends.append(epoch.seconds)])
    return run.history.losses, statistics.median(np.diff(ends[5:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", action="append", help="may be repeated (cora-linqs)")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    device = resolve_device("cuda")
    results: dict[str, Any] = {"device": torch.cuda.get_device_name(device), "epochs": options.epochs, "datasets": {}}
    for name in options.dataset or ["cora-linqs"]:
        settings = literal({"epochs": options.epochs, "patience": options.epochs})
        inputs = prepare(load(name, options.data_root).graph, settings, device=device)
        plain, slow = trained(inputs, captured=False)
        recorded, fast = trained(inputs, captured=True)
        again, _ = trained(inputs, captured=False)
        apart, repeated = (
            float(np.max(np.abs(np.subtract(plain, other)) / np.abs(plain))) for other in (recorded, again)
        )
        results["datasets"][name] = {
            "launched_ms": 1000 * slow,
            "captured_ms": 1000 * fast,
            "ratio": slow / fast,
            "largest_relative_difference_of_losses": apart,
            "the_same_between_two_launched_runs": repeated,
        }
        print(
            f"{name}: {1000 * slow:.2f} ms per step, captured {1000 * fast:.2f} ms, {slow / fast:.1f}× as fast; "
            f"losses differ by {apart:.1e}, those of two launched runs by {repeated:.1e}",
            file=sys.stderr if options.json else sys.stdout,
        )
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()
