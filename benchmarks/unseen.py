"""Default vectors beside free alternatives on graphs on which nothing was chosen.

Both come inside the package graphdatascience (in the extra ``demo``):

- IMDB: movies, actors and directors, with the keywords of plots as features. The genre of 2,939 movies is predicted.
- Last.fm: users and the artists they listen to, without features. An artist's most frequent tag is predicted, if it is
  among the 20 most frequent ones and the artist was tagged at least three times.

Accuracy of the converged probe over 20 random splits of three trainings, 10 % of the labelled nodes for training and
10 % for validation.

    python benchmarks/unseen.py
    python benchmarks/unseen.py --datasets imdb --trainings 1 --json
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
import torch

from mvgrl.automatic import resolve
from mvgrl.datasets import Dataset
from mvgrl.evaluation.random_probe import random_10_accuracy
from mvgrl.graphs import Graph
from mvgrl.method_vectors import PlainContext
from mvgrl.methods import METHODS
from mvgrl.runtime import allow_tf32, resolve_device
from mvgrl.settings import Output
from mvgrl.training import fit

SPLITS = 20
PRESETS = {"default": "default", "paper's vector": "paper"}
FREE = {  # methods that need no training
    "imdb": ("beside-alone", "propagated-beside", "raw", "netmf"),
    "lastfm": ("beside-alone", "netmf", "spectral", "deepwalk"),
}
TAGS, LEAST = 20, 3


def imdb(folder: Path) -> Dataset:
    """Movies, actors and directors; only movies with a genre have a label."""
    tables = ("movies_with_genre", "movies_without_genre", "actors", "directors")
    nodes = [pq.read_table(folder / f"imdb_{name}.parquet.gzip") for name in tables]
    ids = np.concatenate([table["nodeId"].to_numpy() for table in nodes])
    keywords = np.concatenate([np.stack(table["plot_keywords"].to_pylist()) for table in nodes]).astype(np.float32)
    genres = np.full(len(ids), np.nan)
    genres[: nodes[0].num_rows] = nodes[0]["genre"].to_numpy()
    edges = [pq.read_table(folder / f"imdb_{name}.parquet.gzip") for name in ("acted_in", "directed_in")]
    return _dataset("imdb", ids, edges, genres, keywords)


def lastfm(folder: Path) -> Dataset:
    """Users and artists; artists have the most frequent of their tags as label."""
    listened = pq.read_table(folder / "user_listen_artist_rels.parquet.gzip")
    tagged = pq.read_table(folder / "user_tag_artist_rels.parquet.gzip")
    tags: dict[int, Counter[int]] = {}
    for artist, tag in zip(tagged["targetNodeId"].to_pylist(), tagged["tagID"].to_pylist(), strict=True):
        tags.setdefault(artist, Counter())[tag] += 1
    first = {artist: counts.most_common(1)[0][0] for artist, counts in tags.items() if counts.total() >= LEAST}
    kept = {tag for tag, _ in Counter(first.values()).most_common(TAGS)}
    ids = np.unique(np.concatenate([listened[end].to_numpy() for end in ("sourceNodeId", "targetNodeId")]))
    labels = np.array([first[one] if first.get(one) in kept else np.nan for one in ids.tolist()])
    return _dataset("lastfm", ids, [listened], labels, None)


def _dataset(name: str, ids: np.ndarray, edges: list, labels: np.ndarray, features: np.ndarray | None) -> Dataset:  # type: ignore[type-arg]
    order = np.argsort(ids)
    ends = [
        order[np.searchsorted(ids, np.concatenate([table[end].to_numpy() for table in edges]), sorter=order)]
        for end in ("sourceNodeId", "targetNodeId")
    ]
    table = None if features is None else sp.csr_array(features)
    graph = Graph.from_edges(*ends, nodes=len(ids), features=table)
    return Dataset(name, graph, labels, "node", None, (), "graphdatascience")


def accuracies(dataset: Dataset, trainings: int, device: torch.device) -> dict[str, list[float]]:
    """The accuracy of every kind of vectors on every split; several trainings one after the other."""
    resolved = {
        preset: resolve(dataset.graph, {"task": "node"}, device=device, preset=preset) for preset in PRESETS.values()
    }
    vectors = {}
    with allow_tf32():
        for name, preset in PRESETS.items():
            trained = fit(dataset.graph, resolved[preset], seed=range(trainings), device=device)
            vectors[name] = [run.vectors(output=Output(preset=preset)) for run in trained]
        untrained = fit(dataset.graph, {"task": "node", "epochs": 0}, seed=range(trainings), device=device)
    vectors["untrained"] = [run.vectors() for run in untrained]
    for name in FREE[dataset.name]:
        (outcome,) = METHODS[name].outcomes(dataset, resolved["default"].settings, Output(), [0], PlainContext(device))
        vectors[METHODS[name].label] = [outcome.points()]
    found = {}
    for name, runs in vectors.items():
        points = (torch.from_numpy(one).to(device) for one in runs)
        scores = [random_10_accuracy(one, dataset.target, range(SPLITS)) for one in points]
        found[name] = [round(float(one), 2) for one in np.concatenate(scores)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["imdb", "lastfm"], choices=["imdb", "lastfm"])
    parser.add_argument("--resources", type=Path, help="the package's folder of this name, if it is not installed")
    parser.add_argument("--trainings", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    folder = options.resources
    if folder is None:
        spec = find_spec("graphdatascience")
        if spec is None or spec.origin is None:
            parser.error("the graphs are in the package graphdatascience; pip install '.[demo]'")
        folder = Path(spec.origin).parent / "resources"
    device, results = resolve_device(options.device), {}
    for name in options.datasets:
        dataset = {"imdb": imdb, "lastfm": lastfm}[name](folder / name)
        results[name] = accuracies(dataset, options.trainings, device)
        if not options.json:
            means = ", ".join(f"{row} {np.mean(one):.1f} ± {np.std(one):.1f}" for row, one in results[name].items())
            print(f"{name}: {means}", flush=True)
    if options.json:
        where = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
        print(json.dumps({"accuracy": results, "splits": SPLITS, "trainings": options.trainings, "device": where}))


if __name__ == "__main__":
    main()
