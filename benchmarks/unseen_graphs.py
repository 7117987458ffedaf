"""Default vectors of whole graphs beside free alternatives, on molecules on which nothing was chosen.

The measured activity of 1,017 molecules (ChEMBL's CHEMBL2321810) in three classes of equal size: low, medium and high.
Atoms have their element as label. The molecules come inside the package rdkit, which also reads them: install it first.

Nested accuracy of the linear SVM over ten folds, with a shuffle of the folds and a training per repeat.

    python benchmarks/unseen_graphs.py
    python benchmarks/unseen_graphs.py --repeats 1 --json
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import torch

from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset
from mvgrl.evaluation import cross_validate
from mvgrl.graphs import Graph
from mvgrl.method_vectors import PlainContext
from mvgrl.methods import METHODS
from mvgrl.settings import Output
from mvgrl.training import fit

NAME = "CHEMBL2321810"
FREE = ("beside-alone", "propagated", "histogram", "wl")  # methods that need no training
PAPER = Output(preset="paper")


def molecules() -> Dataset:
    """All molecules of the set, as graphs of atoms and bonds."""
    from rdkit import Chem, RDConfig

    folder = Path(RDConfig.RDContribDir) / "FreeWilson" / "data"
    with (folder / f"{NAME}_act.csv").open(encoding="utf-8") as file:
        activity = {row["Name"]: float(row["Act"]) for row in csv.DictReader(file)}
    lines = [line.split() for line in (folder / f"{NAME}.smi").read_text(encoding="utf-8").splitlines()]
    found = [Chem.MolFromSmiles(text) for text, _ in lines]
    offsets = np.cumsum([0] + [molecule.GetNumAtoms() for molecule in found])
    ends = np.array(
        [
            (start + bond.GetBeginAtomIdx(), start + bond.GetEndAtomIdx())
            for molecule, start in zip(found, offsets[:-1], strict=True)
            for bond in molecule.GetBonds()
        ]
    )
    elements = [atom.GetSymbol() for molecule in found for atom in molecule.GetAtoms()]
    graph = Graph.from_edges(*ends.T, nodes=int(offsets[-1]), node_labels=elements, offsets=offsets)
    values = np.array([activity[name] for _, name in lines])
    target = np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values)
    return Dataset(NAME, graph, target, "graph", None, ("low", "medium", "high"), "rdkit")


def accuracies(dataset: Dataset, repeats: int) -> dict[str, list[float]]:
    """The nested accuracy of every kind of vectors, in percent, for every repeat."""
    device, found = torch.device("cpu"), {}
    settings = resolve(dataset.graph, {"task": "graph"}, device=device).settings
    for name in FREE:
        given = PAPER if name == "propagated" else Output()
        (outcome,) = METHODS[name].outcomes(dataset, settings, given, [0], PlainContext(device))
        points = torch.from_numpy(outcome.points())
        found[METHODS[name].label] = [_nested(points, dataset, seed) for seed in range(repeats)]
    for seed in range(repeats):
        trained, untrained = (
            fit(dataset.graph, {"task": "graph"} | more, seed=seed, device=device) for more in ({}, {"epochs": 0})
        )
        runs = {"default": trained.vectors(), "paper's vector": trained.vectors(output=PAPER)}
        for name, vectors in (runs | {"untrained": untrained.vectors()}).items():
            found.setdefault(name, []).append(_nested(torch.from_numpy(vectors), dataset, seed))
    return found


def _nested(points: torch.Tensor, dataset: Dataset, seed: int) -> float:
    return round(float(cross_validate(points, dataset.target, runs=1, seed=seed).nested_accuracy.mean()), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="shuffles of the folds, each with a training (20)")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    dataset = molecules()
    found = accuracies(dataset, options.repeats)
    if options.json:
        print(json.dumps({"nested": found, "graphs": dataset.graph.count, "repeats": options.repeats, "device": "cpu"}))
        return
    for name, scores in sorted(found.items(), key=lambda one: -np.mean(one[1])):
        print(f"{name}: {np.mean(scores):.1f} ± {np.std(scores):.1f}")


if __name__ == "__main__":
    main()
