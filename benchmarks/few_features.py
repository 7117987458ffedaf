"""Default vectors of nodes with few features, beside vectors from the features alone and from the structure alone.

Every graph keeps only its 1, 4, 16 or 64 most frequent features. A planted partition has columns of random numbers, and
a graph of random edges has columns that tell its classes apart. Scores are accuracies over 20 random splits of three
trainings (10 % of the nodes for training, 10 % for validation). Nodes on which the defaults were chosen are not scored.

    python benchmarks/few_features.py
    python benchmarks/few_features.py --datasets planted --trainings 1 --json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch

from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset, load
from mvgrl.evaluation.random_probe import random_10_accuracy, tuning_nodes
from mvgrl.graphs import Graph
from mvgrl.method_vectors import PlainContext
from mvgrl.methods import METHODS
from mvgrl.runtime import allow_tf32, resolve_device
from mvgrl.settings import Output
from mvgrl.training import fit

MADE_HERE = ("planted", "random")
DATASETS = (*MADE_HERE, "cora", "citeseer", "dblp")
GROUPS = np.repeat(np.arange(10), 200)
COLUMNS = (1, 4, 16, 64)
SPLITS = 20
OUTPUTS = {  # of one training
    "default": Output(),
    "features alone": Output(beside="propagated"),
    "paper's vector": Output(preset="paper"),
}
FREE = ("propagated-beside", "raw")  # methods that see the features


def made_here(name: str) -> Dataset:
    """Ten groups of 200 nodes: edges tell them apart and features are noise, or the other way round."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((len(GROUPS), max(COLUMNS)))
    network = nx.planted_partition_graph(10, 200, 0.03, 0.002, seed=1)
    if name == "random":
        features += rng.standard_normal((10, max(COLUMNS)))[GROUPS]
        network = nx.gnm_random_graph(len(GROUPS), network.number_of_edges(), seed=1)
    graph = Graph.from_scipy(sp.csr_array(nx.to_scipy_sparse_array(network)), features)
    return Dataset(name, graph, GROUPS, "node", None, tuple("0123456789"), "made here")


def with_columns(dataset: Dataset, count: int) -> Dataset:
    """Return the dataset with its most frequent features only."""
    graph = dataset.graph
    table = sp.csc_array(graph.features)
    kept = np.argsort(-np.diff(table.indptr), kind="stable")[:count]
    return replace(dataset, graph=Graph(graph.adjacency, features=table[:, kept].toarray()))


def vectors_of(dataset: Dataset, trainings: int, device: torch.device) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield the vectors of every row of the table: one array per training, or one in all."""
    context, seeds = PlainContext(device), range(trainings)
    resolved = resolve(dataset.graph, {"task": "node"}, device=device)
    with allow_tf32():
        runs = fit(dataset.graph, resolved, seed=seeds, device=device)
    for name, output in OUTPUTS.items():
        yield name, [run.vectors(output=output) for run in runs]
    for name in FREE:
        (outcome,) = METHODS[name].outcomes(dataset, resolved.settings, Output(), [0], context)
        yield METHODS[name].label, [outcome.points()]


def structure_of(dataset: Dataset, trainings: int, device: torch.device) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield vectors of the graph without its features."""
    graph = Graph(dataset.graph.adjacency)
    resolved = resolve(graph, {"task": "node"}, device=device)
    with allow_tf32():
        runs = fit(graph, resolved, seed=range(trainings), device=device)
    yield "default, no features", [run.vectors() for run in runs]
    bare = replace(dataset, graph=graph)
    (outcome,) = METHODS["netmf"].outcomes(bare, resolved.settings, Output(), [0], PlainContext(device))
    yield METHODS["netmf"].label, [outcome.points()]


def accuracies(vectors: list[np.ndarray], dataset: Dataset, device: torch.device) -> list[float]:
    exclude: np.ndarray = np.empty(0, np.int64)
    if dataset.name not in MADE_HERE:  # nothing was chosen on these
        nodes, splits = np.arange(len(dataset.target)), dataset.splits
        exclude = tuning_nodes(len(nodes)) if splits is None else np.setdiff1d(nodes, splits["test"])
    found = [
        random_10_accuracy(torch.from_numpy(one).to(device), dataset.labels, range(SPLITS), exclude) for one in vectors
    ]
    return [round(float(one), 2) for one in np.concatenate(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--trainings", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    device, results = resolve_device(options.device), {}
    for name in options.datasets:
        dataset = made_here(name) if name in MADE_HERE else load(name)
        tables = {"none": structure_of(dataset, options.trainings, device)}
        tables |= {str(count): vectors_of(with_columns(dataset, count), options.trainings, device) for count in COLUMNS}
        results[name] = {
            columns: {row: accuracies(vectors, dataset, device) for row, vectors in rows}
            for columns, rows in tables.items()
        }
        if not options.json:
            for columns, rows in results[name].items():
                means = ", ".join(f"{row} {np.mean(one):.1f} ± {np.std(one):.1f}" for row, one in rows.items())
                print(f"{name}, columns {columns}: {means}", flush=True)
    if options.json:
        where = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
        print(json.dumps({"accuracy": results, "splits": SPLITS, "trainings": options.trainings, "device": where}))


if __name__ == "__main__":
    main()
