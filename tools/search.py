"""Compare candidates for a recipe without using the data that the tables are scored on.

Node datasets: on all nodes outside the test nodes. Graph datasets: by cross-validation inside a training part. Seeds
and folds differ from those of the tables. Each candidate is trained once per seed, and its vectors are scored for
every kind of output.

    python tools/search.py citeseer results/search/candidates/citeseer.toml found.jsonl

A candidate is a table of the file, with the settings that differ from the defaults: ``[wide]``, ``hidden = 1024``.
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
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mvgrl.datasets import Dataset, load
from mvgrl.errors import InputError, MVGRLError, SettingsError
from mvgrl.evaluation import cluster, cross_validate, linear_predictions
from mvgrl.evaluation.linear_probe import DECAYS
from mvgrl.experiments.experiment import task_of
from mvgrl.folds import shuffled_folds
from mvgrl.inputs import prepare
from mvgrl.runtime import allow_tf32, resolve_device
from mvgrl.settings import CODES, JOINS, Output, Settings, literal
from mvgrl.tables.atomic import check_writable
from mvgrl.training import fit
from mvgrl.views import ViewCache

SEEDS = range(100, 108)  # used by no table
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
    """Yield a line per candidate as soon as it is done: its settings, and the scores of each kind of output."""
    task = task_of(name)
    chosen = {label: literal({"task": task, **values}) for label, values in candidates.items()}
    dataset, where, cache = load(name, data_root), resolve_device(device), ViewCache(memory=2**33)
    for label, settings in chosen.items():
        started = time.perf_counter()
        with allow_tf32():
            runs = fit(prepare(dataset.graph, settings, device=where, cache=cache), seed=seeds)
        line = {
            "dataset": name,
            "candidate": label,
            "settings": settings.content,
            "seeds": len(seeds),
            "epochs": float(np.mean([len(run.history.losses) for run in runs])),
            "device": torch.cuda.get_device_name(where) if where.type == "cuda" else "cpu",
        }
        scores = _graph_scores if task == "graph" else _node_scores
        for output in _outputs(settings):
            vectors = [torch.from_numpy(run.vectors(output=output)).to(where) for run in runs]
            line[f"{output.codes}, {output.join}, {output.unit_length}"] = scores(vectors, dataset, seeds)
        yield line | {"seconds": time.perf_counter() - started}


def _outputs(settings: Settings) -> Iterator[Output]:
    """Yield all outputs that can differ: without heads, all codes of one layer are the same."""
    same = settings.task == "node" and settings.layers == 1 and str(settings.discriminator) == "bilinear"
    for codes, join, unit in itertools.product(CODES[:1] if same else CODES, JOINS, (False, True)):
        yield Output(preset="paper", codes=codes, join=join, unit_length=unit)


def _graph_scores(vectors: Sequence[Tensor], dataset: Dataset, seeds: Sequence[int]) -> dict[str, list[float]]:
    """Return mean and standard deviation over the seeds of the table's accuracies, within a training part.

    A tenth of the graphs, different for every seed, is held out and never used.
    """
    found, truth = [], dataset.target
    for codes, seed in zip(vectors, seeds, strict=True):
        part, _ = next(shuffled_folds(10, seed, 0).split(truth, truth))
        found.append(cross_validate(codes[torch.from_numpy(part)], truth[part], seed=seed))
    scores = {"nested": [one.nested_accuracy for one in found], "best_c": [one.best_c_accuracy for one in found]}
    return {name: [float(np.mean(values)), float(np.std(values))] for name, values in scores.items()}


def _node_scores(vectors: Sequence[Tensor], dataset: Dataset, seeds: Sequence[int]) -> dict[str, list[float]]:
    """Return mean accuracies for each of DECAYS, and NMI and ARI, of the nodes outside the test nodes.

    ``pool``: with newly drawn train nodes, as many as the split has; the rest of the pool is predicted.
    ``rest``: with the train nodes of the split. ``val``: the same, on the validation nodes only.
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
    """Return score, candidate and output, best first; ties to a hundredth keep the order of the lines.

    For nodes, the score is the mean of ``pool`` and ``rest`` at the best decay. For graphs, where seeds differ by more
    than candidates do, half of it is the nested accuracy, a quarter the mean of the candidate's four best outputs, and
    a quarter the mean of the output over all candidates.
    """
    found = {
        (line["candidate"], output): scores
        for line in lines
        for output, scores in line.items()
        if isinstance(scores, dict) and output != "settings"
    }
    graphs = {key: scores["nested"][0] for key, scores in found.items() if "nested" in scores}
    ranked = _averaged(graphs) if graphs else {key: _at_best_decay(scores) for key, scores in found.items()}
    return sorted(((round(score, 2), *key) for key, score in ranked.items()), key=lambda row: -row[0])


def _at_best_decay(scores: Mapping[str, Sequence[float]]) -> float:
    return float(np.mean([scores["pool"], scores["rest"]], axis=0).max())


def _averaged(scores: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    candidates, outputs = defaultdict(list), defaultdict(list)
    for (candidate, output), score in scores.items():
        candidates[candidate].append(score)
        outputs[output].append(score)
    return {
        (candidate, output): score / 2
        + float(np.mean(sorted(candidates[candidate])[-4:])) / 4
        + float(np.mean(outputs[output])) / 4
        for (candidate, output), score in scores.items()
    }


def _draws(truth: np.ndarray, splits: Mapping[str, np.ndarray], pool: np.ndarray) -> list[np.ndarray]:
    """Draw train nodes from the pool, as many per class as the split has."""
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
    """Score the pool without the train nodes, and the val nodes, for each decay; all probes train together."""
    rest = np.setdiff1d(pool, train)
    many = stack[None].expand(len(DECAYS), -1, -1, -1)
    decays = np.repeat(DECAYS, len(seeds)).tolist()
    predicted = linear_predictions(many, truth, train, rest, weight_decay=decays, seed=list(seeds) * len(DECAYS))
    hits = 100.0 * (predicted == truth[rest])
    return hits.mean((1, 2)), hits[:, :, np.isin(rest, val)].mean((1, 2))


def main(words: Sequence[str] | None = None) -> int:
    """Read the candidates, append a line for each as soon as it is done, and rank them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("candidates", type=Path, help="TOML, a table per candidate")
    parser.add_argument("found", type=Path, help="lines are appended to this file")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="number of seeds per candidate")
    options = parser.parse_args(words)
    try:
        check_writable(options.found)
        if options.seeds < 1:
            raise SettingsError(f"seeds is {options.seeds}; it must be at least 1")
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
    for score, candidate, output in ranking(lines)[:_SHOWN]:
        print(f"{score:5.2f}  {candidate}: {output}")
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
            raise InputError(f"{path}: {label} is outside a candidate; put it under a [name]")
    return found


if __name__ == "__main__":
    sys.exit(main())
