"""K-Means and logistic regression of our own against scikit-learn's, as ratios in one run.

K-Means: the best of ten starts, on vectors of Cora's and PubMed's size, ours with all starts as one batch. Logistic
regression: a fit for each seed and each of seven strengths, then predictions for 1,500 nodes, for 140 and for 2,000
train nodes, ours with all fits as one batch. scikit-learn's newton-cg gets the same coordinates as ours, the principal
axes, and a tolerance that leads to the same optimum; lbfgs gets the columns, at a tight tolerance and at its default.

All variants of a case run in turn, several times over; a ratio is the median over the repeats of theirs / ours in the
same repeat: above 1, ours is faster. On the CPU each runs on one thread: only then does scikit-learn's K-Means give
the same bits in every run, and on a busy machine threads that wait for each other measure the other processes. With
--all-threads, K-Means is also timed on all cores. Of many seeds, scikit-learn is timed on the first few, and its time
is scaled to all. ``gradient`` is the norm of the objective's gradient relative to C·n, the largest over all fits: 0 at
the optimum.

    python benchmarks/probes.py
    python benchmarks/probes.py --output results/benchmarks/probes.json
    python benchmarks/probes.py --device cuda --json
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import interleaved
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from mvgrl.evaluation import newton
from mvgrl.evaluation.kmeans import kmeans
from mvgrl.evaluation.logistic import STRENGTHS, principal_axes, solve_with_sklearn
from mvgrl.evaluation.threads import one_thread
from mvgrl.tables.atomic import atomic_write

COLUMNS, CLASSES, ASKED = 512, 7, 1500
CLUSTERINGS = {"cora": (2708, 7), "pubmed": (19717, 3)}  # nodes, clusters
REGRESSIONS = {  # train nodes, seeds, how many of them scikit-learn is timed on
    "140 nodes, 1 seed": (140, 1, 1),
    "140 nodes, 10 seeds": (140, 10, 10),
    "140 nodes, 50 seeds": (140, 50, 10),
    "2000 nodes, 1 seed": (2000, 1, 1),
    "2000 nodes, 10 seeds": (2000, 10, 1),
}
CPU = torch.device("cpu")

Variants = dict[str, Callable[[], Any]]
Coordinates = Callable[..., tuple[Tensor, Tensor]]
Solver = Callable[[Tensor, Tensor, int, Tensor], Tensor]


def vectors(nodes: int, classes: int, apart: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors around a centre per class, with variances that fall along the principal axes; and the classes."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(nodes) % classes)
    axes = np.arange(1, COLUMNS + 1)
    centres = np.where(axes <= 32, apart * rng.normal(size=(classes, COLUMNS)), 0.0)
    points = (rng.normal(size=(nodes, COLUMNS)) + centres[truth]) / (1 + (axes / 6) ** 1.5)
    rotation = np.linalg.qr(rng.normal(size=(COLUMNS, COLUMNS)))[0]
    return (points @ rotation).astype(np.float32), truth


def on_one_thread(function: Callable[[], Any]) -> Any:
    with one_thread():
        return function()


def clustering(
    nodes: int, clusters: int, device: torch.device, repeats: int, all_threads: bool = False
) -> dict[str, Any]:
    points, _ = vectors(nodes, clusters, apart=1.0)
    tensor = torch.from_numpy(points)
    seconds: dict[str, list[float]] = {}
    inertias: dict[str, list[float]] = {}

    def ours(repeat: int, where: Tensor) -> np.ndarray:
        return kmeans(where, clusters, seed=repeat).cpu().numpy()

    def theirs(repeat: int) -> np.ndarray:
        return KMeans(clusters, n_init=10, random_state=repeat).fit(points).labels_

    for repeat in range(repeats):
        threaded: Variants = {"ours": partial(ours, repeat, tensor), "scikit_learn": partial(theirs, repeat)}
        variants: Variants = {name: partial(on_one_thread, function) for name, function in threaded.items()}
        if all_threads:
            variants |= {f"{name}_all_threads": function for name, function in threaded.items()}
        if device != CPU:
            variants[f"ours_{device.type}"] = partial(ours, repeat, tensor.to(device))
        for name, (labels, times) in interleaved(variants, 1, warm_up=repeat == 0).items():
            seconds.setdefault(name, []).extend(times)
            inertias.setdefault(name, []).append(inertia(points, labels))
    return {
        "nodes": nodes,
        "columns": COLUMNS,
        "clusters": clusters,
        **compared(seconds),
        "inertia_ratio": statistics.median(np.divide(inertias["scikit_learn"], inertias["ours"])),
    }


def inertia(points: np.ndarray, labels: np.ndarray) -> float:
    """The sum of squared distances to the centres, in double precision."""
    parts = (points[labels == k].astype(np.float64) for k in np.unique(labels))
    return float(sum(np.square(part - part.mean(0)).sum() for part in parts))


def compared(seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Median seconds of each variant, and the median ratio of each of theirs to each of ours."""
    ours, theirs = ([name for name in seconds if name.startswith("ours") == mine] for mine in (True, False))
    return {
        "time_ratio": {
            f"{one} / {other}": statistics.median(np.divide(seconds[one], seconds[other]))
            for one in theirs
            for other in ours
        },
        "seconds": {name: statistics.median(values) for name, values in seconds.items()},
        "repeats": len(next(iter(seconds.values()))),
    }


def columns(stack: Tensor, train: np.ndarray, asked: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
    """The columns themselves, scaled as the principal axes are."""
    trained, others = (stack[:, torch.from_numpy(part)].to(device, torch.float64) for part in (train, asked))
    centre = trained.mean(1, keepdim=True)
    scale = (trained - centre).square().sum(2).mean(1)[:, None, None].rsqrt()
    trained, others = ((part - centre) * scale for part in (trained, others))
    return tuple(torch.cat([part, torch.ones_like(part[..., :1])], 2) for part in (trained, others))  # type: ignore[return-value]


def lbfgs(points: Tensor, truth: Tensor, classes: int, grid: Tensor, *, tol: float) -> Tensor:
    weights = np.empty((len(points), len(grid), classes, points.shape[2]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry, rows in enumerate(points[..., :-1].numpy()):
            for place, C in enumerate(grid.tolist()):
                machine = LogisticRegression(C=C, tol=tol, max_iter=100_000).fit(rows, truth.numpy())
                weights[entry, place] = np.column_stack([machine.coef_, machine.intercept_])
    return torch.from_numpy(weights)


def gradient(points: Tensor, weights: Tensor, truth: Tensor, grid: Tensor) -> float:
    """The largest norm of the objective's gradient, relative to C·n."""
    target = torch.nn.functional.one_hot(truth, CLASSES).T
    strength, penalised = grid[:, None, None], torch.ones(points.shape[2], dtype=points.dtype)
    penalised[-1] = 0.0
    error = newton.batched_product(weights, points).softmax(2) - target
    slope = strength * newton.batched_product(error, points.mT) + penalised * weights
    return float((slope.square().sum((2, 3)).sqrt() / (grid * points.shape[1])).max())


def regression(train_nodes: int, seeds: int, timed: int, device: torch.device, repeats: int) -> dict[str, Any]:
    points, truth = vectors(train_nodes + ASKED, CLASSES, apart=0.7)
    rng = np.random.default_rng(1)
    noise = 0.02 * rng.normal(size=(seeds, 1, COLUMNS)).astype(np.float32)
    stack = torch.from_numpy(points * (1 + noise))  # the seeds' vectors differ, but are of one kind
    train, asked = np.split(rng.permutation(len(points)), [train_nodes])
    numbers, grid = torch.from_numpy(truth[train]), torch.tensor(STRENGTHS, dtype=torch.float64)

    def fitted(make: Coordinates, solve: Solver, entries: int, where: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Train points, weights, and the probabilities of the asked nodes; in chunks that suit a CPU's cache."""
        size = max(1, 2**26 // (8 * stack[0].numel())) if where == CPU else entries
        parts = []
        for first in range(0, entries, size):
            rows, others = make(stack[first : min(first + size, entries)], train, asked, where)
            weights = solve(rows, numbers.to(where), CLASSES, grid.to(where))
            parts.append((rows, weights, newton.batched_product(weights, others).softmax(2)))
        rows, weights, probabilities = (torch.cat(part).cpu() for part in zip(*parts, strict=True))
        return rows, weights, probabilities

    threaded: Variants = {
        "ours": partial(fitted, principal_axes, newton.solve, seeds, CPU),
        "newton_cg": partial(fitted, principal_axes, solve_with_sklearn, timed, CPU),
        "lbfgs_tight": partial(fitted, columns, partial(lbfgs, tol=1e-10), timed, CPU),
        "lbfgs_default": partial(fitted, columns, partial(lbfgs, tol=1e-4), timed, CPU),
    }
    variants: Variants = {name: partial(on_one_thread, function) for name, function in threaded.items()}
    if device != CPU:
        variants[f"ours_{device.type}"] = partial(fitted, principal_axes, newton.solve, seeds, device)
    results = interleaved(variants, repeats)
    seconds = {
        name: [spent * (1 if name.startswith("ours") else seeds / timed) for spent in times]
        for name, (_, times) in results.items()
    }
    best = results["ours"][0][2][:timed]
    return {
        "train_nodes": train_nodes,
        "seeds": seeds,
        "timed_seeds": timed,
        "strengths": len(STRENGTHS),
        **compared(seconds),
        "gradient": {name: gradient(rows, weights, numbers, grid) for name, ((rows, weights, _), _) in results.items()},
        "largest_difference_of_probabilities": {
            name: float((probabilities[:timed] - best).abs().max())
            for name, ((_, _, probabilities), _) in results.items()
        },
        "accuracy": {
            name: 100 * float((probabilities[:timed].argmax(2).numpy() == truth[asked]).mean(axis=(0, 2)).max())
            for name, ((_, _, probabilities), _) in results.items()
        },
    }


def show(result: dict[str, Any]) -> str:
    lines = []
    for name, case in {**result["kmeans"], **result["logistic"]}.items():
        lines.append(f"{name}:")
        for variant, seconds in case["seconds"].items():
            extra = f"   gradient {case['gradient'][variant]:.0e}" if "gradient" in case else ""
            lines.append(f"  {variant:<26}{1000 * seconds:10.0f} ms{extra}")
        lines += [f"  {pair}: {ratio:.2f}" for pair, ratio in case["time_ratio"].items()]
        if "inertia_ratio" in case:
            lines.append(f"  inertia, scikit_learn / ours: {case['inertia_ratio']:.4f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="also time ours on this device (default: cpu alone)")
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats of each case (default: 5)")
    parser.add_argument("--all-threads", action="store_true", help="also time K-Means on all cores")
    parser.add_argument("--quick", action="store_true", help="one repeat of the smaller cases")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--output", type=Path, help="also write the JSON to a file")
    options = parser.parse_args()
    device, repeats = torch.device(options.device), 1 if options.quick else options.repeats
    clusterings = {"cora": CLUSTERINGS["cora"]} if options.quick else CLUSTERINGS
    regressions = dict(list(REGRESSIONS.items())[:1]) if options.quick else REGRESSIONS
    result: dict[str, Any] = {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "kmeans": {name: clustering(*size, device, repeats, options.all_threads) for name, size in clusterings.items()},
        "logistic": {name: regression(*size, device, repeats) for name, size in regressions.items()},
    }
    text = json.dumps(result, indent=2)
    if options.output is not None:
        with atomic_write(options.output) as temporary:
            temporary.write_text(text + "\n")
    sys.stdout.write((text if options.json else show(result)) + "\n")


if __name__ == "__main__":
    main()
