"""Embed Cora's 2,708 papers without labels, then measure how well a linear classifier predicts their topics.

MVGRL contrasts two views of the citation graph: which papers cite each other (adjacency), and which are reached by a
random walk with restarts (personalised PageRank). A paper's vector in one view must match the summary of the graph in
the other view, and must not match it when the papers' words are shuffled. No labels are used.

    python examples/cora.py [number of seeds] [dataset]

The dataset ``cora`` (downloaded, or read from the folder in MVGRL_DATA) has the split that later papers use. The
paper's 86.8 is on ``cora-linqs``, which the paper does not say, but which the authors' code loads.
"""

import sys
from dataclasses import replace

import numpy as np
import torch

from mvgrl import Settings, fit
from mvgrl.datasets import load
from mvgrl.evaluation import linear_probe
from mvgrl.inputs import prepare
from mvgrl.progress import ProgressBar

seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
cora = load(sys.argv[2] if len(sys.argv) > 2 else "cora-linqs")  # included in a package, no download
# One layer, 512 dimensions, the full graph in every step.
settings = Settings(task="node", views=("adjacency", "ppr"), normalise="row", sampler="full")


def accuracy(embeddings: np.ndarray, seed: int) -> float:
    """The test accuracy, in percent, of a linear classifier trained on 140 papers."""
    assert cora.splits is not None
    return 100 * float(linear_probe(embeddings, cora.target, cora.splits["train"], cora.splits["test"], seed=seed))


print(f"{cora.name}: {cora.graph.nodes} papers, {cora.graph.edges} citations, {len(cora.classes)} topics")
scores: dict[str, list[float]] = {"MVGRL, trained": [], "the same, untrained": [], "propagated features": []}
inputs = prepare(cora.graph, settings)  # X and the matrix V of each view, computed once for all seeds
features = inputs.features.dense()
both = torch.stack([view.multiply(features) for view in inputs.views])
propagated = both.sum(0).cpu().numpy()  # V·X, the sum over both views; nothing is learned
for seed in seeds:
    with ProgressBar(settings, f"seed {seed}") as bar:
        trained = fit(inputs, seed=seed, callbacks=[bar])
    papers, _ = trained.represent()  # a vector per paper, the sum over both views
    scores["MVGRL, trained"].append(accuracy(papers, seed))
    initial, _ = fit(replace(inputs, settings=replace(settings, epochs=0)), seed=seed).represent()
    scores["the same, untrained"].append(accuracy(initial, seed))
    scores["propagated features"].append(accuracy(propagated, seed))
    print(f"seed {seed}: {len(trained.history.losses)} epochs, loss {trained.history.best_loss:.3f}")

print("\nAccuracy on the 1,000 test papers, in percent")
for name, values in scores.items():
    print(f"  {name:<22} {np.mean(values):5.1f} ± {np.std(values):.1f}")
if cora.name == "cora-linqs":
    print(f"  {'the paper':<22}  86.8")
