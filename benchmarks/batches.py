"""Graphs per second of our loader and of PyTorch Geometric's DataLoader with the views attached to each graph.

Both shuffle the same random graphs, of IMDB-BINARY's size or with REDDIT-BINARY's long tail, into batches of features
and two views. Ours refers to blocks of matrices that were prepared once and multiplies them in place; PyG's collates
a list of objects. A ratio above 1 means that ours is faster. To show that no work is merely deferred, the product with
a batch's views is also timed against the product with a copy of them, and the contents of a batch are compared.

    python benchmarks/batches.py
    python benchmarks/batches.py --json --graphs 200
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from mvgrl.graphs import Graph
from mvgrl.inputs import prepare
from mvgrl.matrices import DiagonalBlocks
from mvgrl.sampling import GraphBatches
from mvgrl.settings import Settings, literal
from mvgrl.views import PPR, Adjacency

BATCH = 64
KINDS = {"imdb-like": (20, 97, PPR()), "reddit-like": (430, 500, PPR(top_k=64))}


def random_graphs(count: int, nodes: int, edges: int, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    sizes = np.maximum(4, rng.geometric(1 / nodes, count))
    graphs = []
    for size in sizes:
        ends = rng.integers(0, size, (2, max(1, round(edges * size / nodes))))
        graphs.append(Graph.from_edges(*ends, nodes=int(size)))
    return Graph.join(graphs)


def prepared(graph: Graph, settings: Settings) -> tuple[GraphBatches, list[Data]]:
    batches = prepare(graph, settings, device="cpu").batches()
    assert isinstance(batches, GraphBatches)
    features = batches.features.dense()
    matrices = [view(graph).tocsr() for view in settings.views]
    data = []
    for start, stop in zip(graph.offsets[:-1], graph.offsets[1:], strict=True):
        parts: dict[str, Any] = {"x": features[start:stop], "num_nodes": int(stop - start)}
        for number, matrix in enumerate(matrices):
            block = matrix[start:stop, start:stop].tocoo()
            parts[f"edge_index_{number}"] = torch.from_numpy(np.stack(block.coords).astype(np.int64))
            parts[f"weight_{number}"] = torch.from_numpy(block.data.astype(np.float32))
        data.append(Data(**parts))
    return batches, data


def same_content(batches: GraphBatches, data: list[Data]) -> bool:
    ours = next(iter(batches.whole()))
    theirs = next(iter(DataLoader(data, batch_size=BATCH)))
    equal = torch.equal(ours.features.dense(), theirs.x)
    for number, view in enumerate(ours.views):
        dense = torch.zeros(view.shape)
        dense[tuple(theirs[f"edge_index_{number}"])] = theirs[f"weight_{number}"]
        equal &= torch.equal(view.dense(), dense)
    return bool(equal)


def product_ratio(batches: GraphBatches) -> float:
    """The time of V·Z with copies of the blocks, divided by the time without copies; both views together."""
    generator = torch.Generator().manual_seed(0)
    ours: list[float] = []
    copies: list[float] = []
    for batch in batches.epoch(generator):
        z = torch.rand(sum(batch.sizes), 512, generator=generator)
        for view in batch.views:
            assert isinstance(view, DiagonalBlocks)
            for seconds, matrix in ((ours, view), (copies, view.copied())):
                started = time.perf_counter()
                matrix.multiply(z)
                seconds.append(time.perf_counter() - started)
    return sum(copies) / sum(ours)


def rate(epoch: Callable[[], Iterator[Any]], graphs: int, epochs: int) -> float:
    seconds = []
    for _ in range(epochs + 1):  # the first is a warm-up
        started = time.perf_counter()
        for _ in epoch():
            pass
        seconds.append(time.perf_counter() - started)
    return graphs / statistics.median(seconds[1:])


def compare(kind: str, count: int, epochs: int) -> dict[str, Any]:
    nodes, edges, ppr = KINDS[kind]
    graph = random_graphs(count, nodes, edges)
    settings = literal({"task": "graph", "views": (Adjacency(), ppr), "batch_size": BATCH})
    batches, data = prepared(graph, settings)
    generator = torch.Generator().manual_seed(0)
    ours = rate(lambda: batches.epoch(generator), count, epochs)
    theirs = rate(lambda: iter(DataLoader(data, batch_size=BATCH, shuffle=True)), count, epochs)
    return {
        "graphs": count,
        "nodes": graph.nodes,
        "ours_graphs_per_second": ours,
        "pyg_graphs_per_second": theirs,
        "ratio": ours / theirs,
        "product_ratio": product_ratio(batches),
        "same_content": same_content(batches, data),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    results = {kind: compare(kind, options.graphs, options.epochs) for kind in KINDS}
    if options.json:
        json.dump(results, sys.stdout, indent=2)
        print()
        return
    for kind, found in results.items():
        print(
            f"{kind}: {found['ours_graphs_per_second']:,.0f} graphs per second, PyG "
            f"{found['pyg_graphs_per_second']:,.0f}: "
            f"{found['ratio']:.1f}×"
        )


if __name__ == "__main__":
    main()
