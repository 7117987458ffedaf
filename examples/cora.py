"""Embed Cora's 2,708 papers without looking at a label, then see how well a linear classifier reads their topics.

MVGRL contrasts two views of the citation graph: who cites whom (adjacency), and who can be reached by a random walk
that keeps coming home (personalised PageRank). A paper's vector in one view must fit the summary of the whole graph
in the other, and must not fit when the papers' words are shuffled. No label takes part.

    python examples/cora.py [number of seeds] [dataset]

With ``cora`` for the dataset (downloaded, or from the folder MVGRL_DATA names) it is the split that later papers use.
The paper's 86.8 is on ``cora-linqs``, though it does not say so: that is what the authors' code loads.
"""

import sys

import numpy as np

from mvgrl import Settings, fit
from mvgrl.datasets import load
from mvgrl.evaluation import linear_probe, propagated, untrained
from mvgrl.progress import ProgressBar

seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
cora = load(sys.argv[2] if len(sys.argv) > 2 else "cora-linqs")  # this one comes inside a package: no download
settings = Settings(task="node", views=("adjacency", "ppr"))  # one layer, 512 dimensions, the whole graph at once


def accuracy(embeddings: np.ndarray, seed: int) -> float:
    """The share of test papers whose topic a linear classifier, fitted on 140 papers, gets right."""
    assert cora.splits is not None
    return 100 * float(linear_probe(embeddings, cora.target, cora.splits["train"], cora.splits["test"], seed=seed))


print(f"{cora.name}: {cora.graph.nodes} papers, {cora.graph.edges} citations, {len(cora.classes)} topics")
scores: dict[str, list[float]] = {"MVGRL, trained": [], "the same, untrained": [], "propagated features": []}
for seed in seeds:
    with ProgressBar(settings, f"seed {seed}") as bar:
        trained = fit(cora.graph, settings, seed=seed, callbacks=[bar])
    papers, _ = trained.represent()  # one vector a paper, the sum of its two views' codes
    scores["MVGRL, trained"].append(accuracy(papers, seed))
    scores["the same, untrained"].append(accuracy(untrained(cora.graph, settings, seed=seed), seed))
    scores["propagated features"].append(accuracy(propagated(cora.graph, settings), seed))
    print(f"seed {seed}: {len(trained.history.losses)} epochs, loss {trained.history.best_loss:.3f}")

print("\nAccuracy on the 1,000 test papers, in percent")
for name, values in scores.items():
    print(f"  {name:<22} {np.mean(values):5.1f} ± {np.std(values):.1f}")
if cora.name == "cora-linqs":
    print(f"  {'the paper':<22}  86.8")
