"""Real graphs, embedded in memory and out of core with the same settings and seeds: the accuracy of both.

In memory, everything is as mvgrl embed chooses it. Out of core, views are sparse and every step has a sample; with
--sampler walk, steps in memory have the same samples. A logistic regression is trained on a tenth of the nodes and
tested on the rest, for the same random splits.

    python benchmarks/scale_datasets.py pubmed --seeds 3 --json
    python benchmarks/scale_datasets.py wordnet-text --sampler walk --data-root FOLDER --json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from mvgrl.datasets import load
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.embedding import plan_job
from mvgrl.training import fit

SPLITS = 5


def accuracy(vectors: np.ndarray, target: np.ndarray) -> float:
    """The mean accuracy over the splits, in percent."""
    known, scores = np.flatnonzero(target >= 0), []
    scale = vectors.std() * vectors.shape[1] ** 0.5 / 3
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(known)
        train, test = np.split(order, [len(order) // 10])
        model = LogisticRegression(max_iter=1000).fit(vectors[train] / scale, target[train])
        scores.append(model.score(vectors[test] / scale, target[test]))
    return 100 * float(np.mean(scores))


def out_of_core(stored: StoredGraph, folder: Path, settings: dict[str, Any], seed: int, device: str) -> np.ndarray:
    """The vectors of a job, whether or not the graph would fit into memory."""
    job = plan_job(stored, folder, settings, memory="4GB", seed=seed, device=device)
    job.start()
    job.diffuse()
    shards = job.vectors(job.train())
    found = np.concatenate([shards.read(shard) for shard in range(len(shards.ranges))])
    job.remove()
    return found


def compare(name: str, seeds: int, settings: dict[str, Any], root: Path | None, device: str) -> dict[str, Any]:
    """Both paths on one dataset."""
    dataset = load(name, root)
    scores: dict[str, list[float]] = {"in memory": [], "out of core": []}
    seconds = dict.fromkeys(scores, 0.0)
    with TemporaryDirectory() as folder:
        stored = StoredGraph.write(Path(folder) / "graph", dataset.named())
        for seed in range(seeds):
            for path in scores:
                started = time.perf_counter()
                if path == "in memory":
                    vectors = fit(dataset.named(), settings, seed=seed, device=device).vectors()
                else:
                    vectors = out_of_core(stored, Path(folder) / "job", settings, seed, device)
                seconds[path] += time.perf_counter() - started
                scores[path].append(round(accuracy(vectors, dataset.target), 2))
    means = {path: round(float(np.mean(found)), 2) for path, found in scores.items()}
    return {"dataset": name, "accuracy": means, "seeds": scores, "seconds": {k: round(v) for k, v in seconds.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--epochs", type=int, help="at most; by default as mvgrl embed")
    parser.add_argument("--sampler", help="by default as mvgrl embed; on a CPU, whole graphs of 10⁵ nodes take hours")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = {"hidden": given.hidden, "epochs": given.epochs, "sampler": given.sampler}
    settings = {"task": "node", **{name: value for name, value in chosen.items() if value is not None}}
    found = [compare(name, given.seeds, settings, given.data_root, given.device) for name in given.datasets]
    if given.json:
        print(json.dumps({"settings": settings, "datasets": found}, indent=1))
        return
    for one in found:
        print(
            one["dataset"], "; ".join(f"{path} {score:.2f}" for path, score in one["accuracy"].items()), one["seconds"]
        )


if __name__ == "__main__":
    main()
