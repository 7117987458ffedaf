"""Cost of the default vectors relative to the paper's, from the graph to the vectors, as ratios in one run.

Every measurement is in a process of its own: choosing settings, computing the views, training with early stopping, and
making the vectors. The default also has parts beside the codes, a rotation, and edges between similar nodes.
Numbers are medians over repeats: the peak memory of the same training differs by a fifth from run to run.

    python benchmarks/vectors.py
    python benchmarks/vectors.py --json --datasets cora-linqs
    python benchmarks/vectors.py --positions 1000000   # positional features of a random graph of this size, too
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from measure import alone, spent

from mvgrl.automatic import resolve
from mvgrl.datasets import load
from mvgrl.graphs import Graph
from mvgrl.positions import positions
from mvgrl.settings import Output
from mvgrl.training import fit


def embed(graph: Graph, preset: str, epochs: int | None) -> int:
    resolved = resolve(graph, {} if epochs is None else {"epochs": epochs}, device="cpu", preset=preset)
    trained = fit(graph, resolved, device="cpu")
    return int(trained.vectors(output=Output(preset=preset)).shape[1])


def measured(dataset: str, preset: str, epochs: int | None) -> dict[str, float]:
    """Time and peak memory of one preset; compiled code is loaded first."""
    warm_up = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], features=np.eye(4))
    embed(warm_up, preset, 2)
    return spent(embed, load(dataset).graph, preset, epochs)[1]


def positioned(nodes: int, coarse: bool) -> dict[str, float]:
    """Time and peak memory of the positions of a random graph, five edges per node."""
    positions(Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0]))
    ends = np.random.default_rng(0).integers(0, nodes, (2, 5 * nodes))
    return spent(partial(positions, coarse=coarse), Graph.from_edges(*ends, nodes=nodes))[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["cora-linqs", "pubmed"])
    parser.add_argument("--epochs", type=int, help="at most this many, for a quick look")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--positions", type=int, nargs="*", default=[], metavar="NODES")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for dataset in options.datasets:
        repeats = [
            {preset: alone(measured, dataset, preset, options.epochs) for preset in ("paper", "default")}
            for _ in range(options.repeats)
        ]
        found: dict[str, Any] = {
            preset: {what: median(one[preset][what] for one in repeats) for what in ("seconds", "bytes")}
            for preset in repeats[0]
        }
        ratios = {f"{what}_ratio": found["default"][what] / found["paper"][what] for what in ("seconds", "bytes")}
        results[dataset] = found | ratios
    for nodes in options.positions:
        for coarse, kind in ((False, "positions"), (True, "coarse positions")):
            results[f"{kind} of {nodes:,} nodes"] = alone(positioned, nodes, coarse)
    if options.json:
        print(json.dumps({"epochs": options.epochs, "repeats": options.repeats, **results}, indent=2))
        return
    for name, found in results.items():
        if "paper" in found:
            print(f"{name}: default takes {found['seconds_ratio']:.2f} times the time of the paper's vectors, "
                  f"{found['bytes_ratio']:.2f} times the memory ({found['default']['seconds']:.0f} s)")  # fmt: skip
        else:
            print(f"{name}: {found['seconds']:.0f} s, {found['bytes'] / 2**30:.1f} GB")


if __name__ == "__main__":
    main()
