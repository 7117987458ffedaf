"""Default vectors beside free alternatives where features, edges or neither can be trusted.

Planted graphs with six classes: words that tell classes apart or nothing, and edges that stay within a class, lead to
two other classes, or join random nodes. Mean accuracy of the converged probe over ten splits (10 % train, 10 %
validation nodes), for several seeds of graph and model.

    python benchmarks/planted.py
    python benchmarks/planted.py --json --seeds 2 --nodes 1000
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from mvgrl import NodeEmbedder
from mvgrl.evaluation.random_probe import random_10_accuracy
from mvgrl.graphs import Graph

CLASSES, DEGREE, WORDS, DRAWN = 6, 8, 400, 20
# How much of a node's words come from the topic of its class, and which classes its edges lead to.
GRAPHS = {
    "words and edges agree": (0.2, "same"),
    "words tell nothing": (0.0, "same"),
    "edges tell nothing": (0.4, "any"),
    "edges lead to other classes": (0.4, "next"),
}
SHARE = {"same": 0.6, "next": 0.75, "any": 0.0}  # of the edges that do not join random nodes
OUTPUTS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, 64 numbers": {"dim": 64},
    "the paper's": {"dim": None, "preset": "paper"},
}
FREE = {"raw features": "raw", "propagated features": "propagated-beside", "NetMF": "netmf"}


def planted(topic: float, edges: str, nodes: int, seed: int) -> tuple[Graph, np.ndarray]:
    """A graph and the classes of its nodes."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(CLASSES, size=nodes)
    members = [np.flatnonzero(classes == one) for one in range(CLASSES)]
    sources = rng.integers(nodes, size=nodes * DEGREE // 2)
    wanted = classes[sources] + (rng.choice([-1, 1], len(sources)) if edges == "next" else 0)
    anywhere = rng.random(len(sources)) >= SHARE[edges]
    targets = np.array([rng.choice(members[one % CLASSES]) for one in wanted])
    targets[anywhere] = rng.integers(nodes, size=anywhere.sum())
    kept = sources != targets
    common, topics = rng.dirichlet(np.full(WORDS, 0.3)), rng.dirichlet(np.full(WORDS, 0.3), CLASSES)
    drawn = [rng.multinomial(DRAWN, (1 - topic) * common + topic * topics[one]) for one in classes]
    words = sp.csr_array(np.minimum(np.stack(drawn), 1).astype(np.float32))
    return Graph.from_edges(sources[kept], targets[kept], nodes=nodes, features=words), classes


def accuracies(graph: Graph, classes: np.ndarray, seed: int) -> dict[str, float]:
    """The mean accuracy of every kind of vectors on one graph."""
    embedder = NodeEmbedder(random_state=seed).fit(graph)
    found = {name: embedder.set_params(**output).transform(graph) for name, output in OUTPUTS.items()}
    found |= {name: NodeEmbedder(method=method).fit_transform(graph) for name, method in FREE.items()}
    scores = {name: random_10_accuracy(torch.as_tensor(vectors), classes, range(10)) for name, vectors in found.items()}
    return {name: round(float(score.mean()), 2) for name, score in scores.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    results = {}
    for name, (topic, edges) in GRAPHS.items():
        found = [accuracies(*planted(topic, edges, options.nodes, seed), seed) for seed in range(options.seeds)]
        results[name] = {kind: [one[kind] for one in found] for kind in found[0]}
        if not options.json:
            means = ", ".join(f"{kind} {np.mean(values):.1f}" for kind, values in results[name].items())
            print(f"{name}: {means}", flush=True)
    if options.json:
        print(json.dumps({"accuracy": results, "nodes": options.nodes, "seeds": options.seeds}, indent=2))


if __name__ == "__main__":
    main()
