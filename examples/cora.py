"""Embed Cora's 2,708 papers without labels, then measure how well a linear classifier predicts their topics.

MVGRL contrasts two views of the citation graph: which papers cite each other (adjacency), and which are reached by a
random walk with restarts (personalised PageRank). A paper's vector in one view must match the summary of the graph in
the other view, and must not match it when the papers' words are shuffled. No labels are used.

    python examples/cora.py [number of seeds] [dataset]

The dataset ``cora`` (downloaded, or read from the folder in MVGRL_DATA) has the split that later papers use. The
paper's 86.8 is on ``cora-linqs``, which the paper does not say, but which the authors' code loads.
"""

import sys

import numpy as np

from mvgrl import Output, Settings, fit
from mvgrl.datasets import load
from mvgrl.evaluation import linear_probe, propagated, untrained
from mvgrl.progress import ProgressBar

seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
cora = load(sys.argv[2] if len(sys.argv) > 2 else "cora-linqs")  # included in a package, no download
# The 64 largest entries per row of the diffusion: a step takes a fraction of the time that all 2,708 would take.
# The default vectors also join papers with similar words; the paper's do not.
settings = Settings(views=("adjacency", "ppr:top_k=64"), normalise="row", sampler="full", similar=0)
paper = Output(preset="paper")  # the sum over both views


def accuracy(vectors: np.ndarray, seed: int) -> float:
    """The test accuracy, in percent, of a linear classifier trained on 140 papers."""
    assert cora.splits is not None
    return 100 * float(linear_probe(vectors, cora.target, cora.splits["train"], cora.splits["test"], seed=seed))


print(f"{cora.name}: {cora.graph.nodes} papers, {cora.graph.edges} citations, {len(cora.classes)} topics")
scores: dict[str, list[float]] = {"MVGRL, trained": [], "the same, untrained": [], "propagated features": []}
for seed in seeds:
    with ProgressBar(settings, f"seed {seed}") as bar:
        trained = fit(cora.graph, settings, seed=seed, callbacks=[bar])
    scores["MVGRL, trained"].append(accuracy(trained.vectors(output=paper), seed))  # a vector per paper
    scores["the same, untrained"].append(accuracy(untrained(cora.graph, settings, output=paper, seed=seed), seed))
    scores["propagated features"].append(accuracy(propagated(cora.graph, settings), seed))
    print(f"seed {seed}: {len(trained.history.losses)} epochs, loss {trained.history.best_loss:.3f}")

print("\nAccuracy on the 1,000 test papers, in percent")
for name, values in scores.items():
    print(f"  {name:<22} {np.mean(values):5.1f} ± {np.std(values):.1f}")
if cora.name == "cora-linqs":
    print(f"  {'the paper':<22}  86.8")
