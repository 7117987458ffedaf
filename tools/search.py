"""Candidates for a recipe, compared without a look at what the tables are scored on.

Node sets: on all nodes outside the test nodes. Graph sets: by cross-validation inside a training part. Seeds and folds
are others than the tables'. Each candidate is trained once a seed, and its vectors are finished in several ways.

    python -m tools.search citeseer candidates.toml found.jsonl

A candidate is a part of the file, with the settings that differ from the defaults: ``[wide]``, then ``hidden = 1024``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.datasets import Dataset, load
from mvgrl.errors import InputError, MVGRLError, SettingsError
from mvgrl.evaluation import cluster, cross_validate, linear_predictions
from mvgrl.evaluation.linear_probe import DECAYS
from mvgrl.evaluation.svm import shuffled_folds
from mvgrl.experiments.published import GRAPH_DATASETS
from mvgrl.runtime import allow_tf32, resolve_device
from mvgrl.settings import CODES, JOINS, Settings
from mvgrl.stacking import fit_seeds
from mvgrl.tables.atomic import check_writable
from mvgrl.training import Trained
from mvgrl.views import ViewCache

SEEDS = range(100, 108)  # that no table uses
_DRAWS = 8  # of train nodes
_SHOWN = 10  # of the ranking


def search(
    name: str,
    candidates: Mapping[str, Mapping[str, Any]],
    *,
    seeds: Sequence[int] = SEEDS,
    device: str = "auto",
    data_root: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """A line a candidate, as soon as it is done: its settings, and the scores of each way to finish its vectors."""
    task = "graph" if name in GRAPH_DATASETS else "node"
    chosen = {label: Settings.from_dict({"task": task, **values}) for label, values in candidates.items()}
    dataset, where, cache = load(name, data_root), resolve_device(device), ViewCache(memory=2**33)
    for label, settings in chosen.items():
        started = time.perf_counter()
        with allow_tf32():
            runs = fit_seeds(dataset.graph, settings, seeds, device=where, cache=cache)
        line = {
            "dataset": name,
            "candidate": label,
            "settings": settings.content,
            "seeds": len(seeds),
            "epochs": float(np.mean([len(run.history.losses) for run in runs])),
            "device": torch.cuda.get_device_name(where) if where.type == "cuda" else "cpu",
        }
        scores = _graph_scores if task == "graph" else _node_scores
        for finish in _finishes(settings):
            vectors = _vectors(runs, finish, where)
            line[", ".join(map(str, finish.values()))] = scores(vectors, dataset, seeds)
        yield line | {"seconds": time.perf_counter() - started}


def _finishes(settings: Settings) -> Iterator[dict[str, Any]]:
    """All of codes, join and unit_length that can be told apart: without heads, codes of one layer are the same."""
    same = settings.task == "node" and settings.layers == 1 and settings.discriminator == "bilinear"
    for codes, join, unit in itertools.product(CODES[:1] if same else CODES, JOINS, (False, True)):
        yield {"codes": codes, "join": join, "unit_length": unit}


def _vectors(runs: Sequence[Trained], finish: Mapping[str, Any], device: torch.device) -> list[Tensor]:
    found = []
    for run in runs:
        run.model.settings = replace(run.model.settings, **finish)
        nodes, graphs = run.represent()
        found.append(torch.from_numpy(graphs if run.model.settings.task == "graph" else nodes).to(device))
    return found


def _graph_scores(vectors: Sequence[Tensor], dataset: Dataset, seeds: Sequence[int]) -> dict[str, list[float]]:
    """Mean and deviation over the seeds of the accuracies that the table has, within a training part.

    A tenth of the graphs, another for every seed, is held out and not looked at.
    """
    found, truth = [], dataset.target
    for codes, seed in zip(vectors, seeds, strict=True):
        part, _ = next(shuffled_folds(10, seed, 0).split(truth, truth))
        found.append(cross_validate(codes[torch.from_numpy(part)], truth[part], seed=seed))
    scores = {"nested": [one.nested_accuracy for one in found], "best_c": [one.best_c_accuracy for one in found]}
    return {name: [float(np.mean(values)), float(np.std(values))] for name, values in scores.items()}


def _node_scores(vectors: Sequence[Tensor], dataset: Dataset, seeds: Sequence[int]) -> dict[str, list[float]]:
    """Accuracies, a mean over the seeds for each of DECAYS; NMI and ARI of the nodes outside the test nodes.

    ``pool``: train nodes drawn anew, as many as the split has, the rest of the pool predicted. ``rest``: with the
    split's own train nodes. ``val``: with these, the validation nodes alone.
    """
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    splits, truth = dataset.splits, dataset.target
    assert splits is not None
    pool = np.setdiff1d(np.arange(len(truth)), splits["test"])
    stack = torch.stack(list(vectors))
    drawn = [_accuracies(stack, truth, train, pool, splits["val"], seeds) for train in _draws(truth, splits, pool)]
    own = _accuracies(stack, truth, splits["train"], pool, splits["val"], seeds)
    found = [cluster(codes, len(np.unique(truth)), seed=seed)[pool] for codes, seed in zip(vectors, seeds, strict=True)]
    return {
        "pool": np.mean([every for every, _ in drawn], axis=0).tolist(),
        "rest": own[0].tolist(),
        "val": own[1].tolist(),
        "nmi": [float(np.mean([normalized_mutual_info_score(truth[pool], one) for one in found]))],
        "ari": [float(np.mean([adjusted_rand_score(truth[pool], one) for one in found]))],
    }


def ranking(lines: Iterable[Mapping[str, Any]]) -> list[tuple[float, str, str]]:
    """Score, candidate and finish, best first; where two are the same to a hundredth, as they stand in the lines.

    Of nodes the score is the mean of ``pool`` and ``rest`` at the best decay. Of graphs, where seeds differ by more
    than candidates do, half of it is the nested accuracy, a quarter the mean of the candidate's four best finishes, and
    a quarter the mean of the finish over all candidates.
    """
    found = {
        (line["candidate"], finish): scores
        for line in lines
        for finish, scores in line.items()
        if isinstance(scores, dict) and finish != "settings"
    }
    graphs = {key: scores["nested"][0] for key, scores in found.items() if "nested" in scores}
    ranked = _with_their_like(graphs) if graphs else {key: _at_best_decay(scores) for key, scores in found.items()}
    return sorted(((round(score, 2), *key) for key, score in ranked.items()), key=lambda row: -row[0])


def _at_best_decay(scores: Mapping[str, Sequence[float]]) -> float:
    return float(np.mean([scores["pool"], scores["rest"]], axis=0).max())


def _with_their_like(scores: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    candidates, finishes = defaultdict(list), defaultdict(list)
    for (candidate, finish), score in scores.items():
        candidates[candidate].append(score)
        finishes[finish].append(score)
    return {
        (candidate, finish): score / 2
        + float(np.mean(sorted(candidates[candidate])[-4:])) / 4
        + float(np.mean(finishes[finish])) / 4
        for (candidate, finish), score in scores.items()
    }


def _draws(truth: np.ndarray, splits: Mapping[str, np.ndarray], pool: np.ndarray) -> list[np.ndarray]:
    """Train nodes from the pool, as many of each class as the split has."""
    rng = np.random.default_rng(1)
    wanted = {label: int((truth[splits["train"]] == label).sum()) for label in np.unique(truth)}
    return [
        np.concatenate(
            [rng.choice(pool[truth[pool] == label], count, replace=False) for label, count in wanted.items()]
        )
        for _ in range(_DRAWS)
    ]


def _accuracies(
    stack: Tensor, truth: np.ndarray, train: np.ndarray, pool: np.ndarray, val: np.ndarray, seeds: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """On the pool less the train nodes, and on the val nodes, for each decay; all probes at once."""
    rest = np.setdiff1d(pool, train)
    many = stack[None].expand(len(DECAYS), -1, -1, -1)
    decays = np.repeat(DECAYS, len(seeds)).tolist()
    predicted = linear_predictions(many, truth, train, rest, weight_decay=decays, seed=list(seeds) * len(DECAYS))
    hits = 100.0 * (predicted == truth[rest])
    return hits.mean((1, 2)), hits[:, :, np.isin(rest, val)].mean((1, 2))


def main(words: Sequence[str] | None = None) -> int:
    """Read the candidates, append a line for each as soon as it is done, and rank them; 2 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("candidates", type=Path, help="TOML, a part a candidate")
    parser.add_argument("found", type=Path, help="the lines are added to this file")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many a candidate")
    options = parser.parse_args(words)
    try:
        check_writable(options.found)
        if options.seeds < 1:
            raise SettingsError(f"seeds is {options.seeds}; ask for at least one")
        seeds = range(SEEDS.start, SEEDS.start + options.seeds)
        lines = []
        for line in search(options.dataset, _read(options.candidates), seeds=seeds, device=options.device):
            with options.found.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            lines.append(line)
    except MVGRLError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("score  candidate: codes, join, unit length")
    for score, candidate, finish in ranking(lines)[:_SHOWN]:
        print(f"{score:5.2f}  {candidate}: {finish}")
    return 0


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); give a file of candidates") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}; correct it") from None
    for label, values in found.items():
        if not isinstance(values, dict):
            raise InputError(f"{path}: {label} stands outside of a candidate; put it under a [name] of its own")
    return found


if __name__ == "__main__":
    sys.exit(main())
