"""One training step, compared with a plain dense implementation of the same mathematics: ratios of time and memory.

    python benchmarks/step.py [--json] [--quick]

Each measurement runs in a separate process; memory is its peak beyond what it held after all imports.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from dense import DenseMVGRL
from measure import alone, spent

from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.model import MVGRL
from mvgrl.sampling import Batch, NodeBatches
from mvgrl.settings import Settings, literal
from mvgrl.training import train
from mvgrl.views import PPR

NODES, DEGREE, WIDTH, DENSITY = 2708, 3.9, 1433, 0.013  # Cora's size
SAMPLE, SAMPLES = 2000, 4

FULL = literal({"views": ("adjacency", PPR(top_k=32)), "patience": 10**6})
SAMPLED = literal({"sampler": "nodes", "sample_size": SAMPLE, "batch_size": SAMPLES, "patience": 10**6})


def random_graph(nodes: int, local: bool = True) -> Graph:
    """A random graph with Cora's mean degree and features of Cora's sparsity.

    Edges span every distance, short ones more often (a distance above r has probability 1/r), as citations do when
    papers are numbered by date. If not ``local``, they join any two nodes with equal probability.
    """
    rng = np.random.default_rng(0)
    sources, targets = rng.integers(nodes, size=(2, int(nodes * DEGREE / 2)))
    if local:
        span = np.minimum(1 / (1 - rng.random(len(sources))), nodes).astype(np.int64)
        targets = (sources + np.where(rng.random(len(sources)) < 0.5, span, -span)) % nodes
    features = sp.random(nodes, WIDTH, DENSITY, format="csr", dtype=np.float32, random_state=rng)
    features.data[:] = 1.0
    return Graph.from_edges(sources, targets, nodes=nodes, features=features)


def prepared(settings: Settings, nodes: int = NODES, local: bool = True) -> tuple[MVGRL, NodeBatches]:
    graph = random_graph(nodes, local)
    batches = prepare(graph, settings, device="cpu").batches()
    assert isinstance(batches, NodeBatches)
    return MVGRL(settings, WIDTH), batches


def dense_inputs(batch: Batch) -> tuple[torch.Tensor, ...]:
    """Convert one of our batches to dense samples."""
    count, size = len(batch.sizes), batch.sizes[0]
    X = batch.features.dense()
    rows = torch.arange(size) if batch.rows is None else batch.rows
    assert batch.negative_rows is not None
    blocks = [
        torch.stack([v.dense()[i * size : (i + 1) * size, i * size : (i + 1) * size] for i in range(count)])
        for v in batch.views
    ]
    return X[rows].unflatten(0, (count, size)), X[batch.negative_rows].unflatten(0, (count, size)), *blocks


def difference(settings: Settings) -> float:
    """The difference of the two losses for the same inputs and weights."""
    model, batches = prepared(settings)
    batch = next(batches.epoch(torch.Generator().manual_seed(0)))
    plain = DenseMVGRL(WIDTH, settings.hidden)
    plain.take_weights(model)
    with torch.no_grad():
        return abs(float(model(batch)) - float(plain(*dense_inputs(batch))))


def ours(settings: Settings, steps: int, nodes: int = NODES, local: bool = True) -> float:
    """Median seconds per step: sampling, forward, backward and Adam, in the library's own loop."""
    model, batches = prepared(replace(settings, epochs=steps), nodes, local)
    ends: list[float] = []
    train(model, batches, callbacks=[lambda epoch: ends.append(epoch.seconds)])
    return statistics.median(np.diff(ends))


def plain(steps: int) -> float:
    """The same for the dense implementation, with batches of 4 dense samples of 2000 nodes."""
    _, batches = prepared(replace(SAMPLED, epochs=1))
    X, A, S = batches.features.dense(), batches.views[0].dense(), batches.views[1].dense()
    model = DenseMVGRL(WIDTH, SAMPLED.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    seconds = []
    for _ in range(steps):
        started = time.perf_counter()
        samples = [torch.randperm(NODES)[:SAMPLE] for _ in range(SAMPLES)]
        features = torch.stack([X[nodes] for nodes in samples])
        permuted = features[:, torch.randperm(SAMPLE)]
        views = (torch.stack([V[nodes][:, nodes] for nodes in samples]) for V in (A, S))
        optimizer.zero_grad()
        model(features, permuted, *views).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def measured(function: Callable[..., float], *arguments: Any) -> tuple[float, float]:
    """Seconds per step and peak memory in bytes, data and views included; call it in a separate process."""
    # trigger just-in-time compilation
    train(*prepared(replace(SAMPLED, hidden=8, sample_size=50, epochs=1), 200))
    train(*prepared(replace(FULL, hidden=8, epochs=1), 200))
    seconds, cost = spent(function, *arguments)
    return seconds, cost["bytes"]


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer steps and smaller graphs")
    options = parser.parse_args()

    def say(text: str) -> None:
        print(text, file=sys.stderr if options.json else sys.stdout, flush=True)

    apart = {"full_top32": difference(FULL), "sampled_exact": difference(SAMPLED)}
    for name, value in apart.items():
        say(f"{name}: both implementations give the same loss, to {value:.1e}")
        if not value < 1e-4:
            sys.exit(f"{name}: the two losses differ by {value}")
    dense_seconds, dense_memory = alone(measured, plain, 3 if options.quick else 5)
    say(f"plain dense step: {dense_seconds:.2f} s, {dense_memory / 2**20:,.0f} MiB")
    result: dict[str, Any] = {}
    for name, settings, steps in (("full_top32", FULL, 40), ("sampled_exact", SAMPLED, 6)):
        seconds, memory = alone(measured, ours, settings, steps)
        result[name] = {"time_ratio": dense_seconds / seconds, "memory_ratio": dense_memory / memory}
        say(
            f"{name}: {1000 * seconds:.1f} ms, {memory / 2**20:,.0f} MiB; "
            f"{dense_seconds / seconds:.0f}× faster, 1/{dense_memory / memory:.0f} of the memory"
        )
    sizes = [5_000, 10_000, 20_000] if options.quick else [10_000, 20_000, 40_000, 80_000]
    for key, local in (("exponent", True), ("exponent_no_locality", False)):
        times = [alone(measured, ours, FULL, 6, nodes, local)[0] for nodes in sizes]
        result[key] = exponent(sizes, times)
        about = "edges mostly short" if local else "edges between any two nodes: more cache misses the larger the graph"
        listed = ", ".join(f"{n:,} nodes {1000 * s:.0f} ms" for n, s in zip(sizes, times, strict=True))
        say(f"{listed}: fitted exponent {result[key]:.2f} ({about})")
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
