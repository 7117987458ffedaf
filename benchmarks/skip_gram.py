"""Skip-gram over random walks, compared with gensim's Word2Vec: tokens per second, and how well the vectors classify.

Both get the same hyper-parameters and one thread: a walk of 40 nodes from every node of a planted partition, 512
dimensions, window 10, 5 negatives, one epoch. Ours draws the walks twice while it trains, which its time includes;
gensim is given finished sentences. Repeats alternate, so that whatever slows the machine down slows both. A ratio is
theirs / ours: above 1, ours is faster. The accuracy is that of a logistic regression on a tenth of the nodes, over
several graphs with more walks and shorter vectors.

    python benchmarks/skip_gram.py
    python benchmarks/skip_gram.py --output results/benchmarks/skip_gram.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import Word2Vec
from measure import interleaved
from sklearn.linear_model import LogisticRegression

from mvgrl.graphs import Graph
from mvgrl.methods.skip_gram import SkipGram, walks_of
from mvgrl.tables.atomic import atomic_write


def planted(groups: int, size: int, degree: float, mixed: float, seed: int) -> tuple[Graph, np.ndarray]:
    """A graph whose nodes have most of their neighbours in their own group, and the groups."""
    rng = np.random.default_rng(seed)
    nodes = groups * size
    ends = rng.integers(0, nodes, (2, int(nodes * degree / 2)))
    inside = rng.random(ends.shape[1]) >= mixed
    ends[1, inside] = ends[0, inside] // size * size + rng.integers(0, size, int(np.count_nonzero(inside)))
    return Graph.from_edges(*ends, nodes=nodes), np.arange(nodes) // size


def gensim_vectors(sentences: list[list[str]], nodes: int, engine: SkipGram, seed: int) -> np.ndarray:
    model = Word2Vec(
        sentences,
        vector_size=engine.size,
        window=engine.window,
        negative=engine.negatives,
        sg=1,
        hs=0,
        min_count=0,
        sample=0,
        workers=1,
        epochs=1,
        seed=seed,
    )
    return np.stack([model.wv[str(node)] if str(node) in model.wv else np.zeros(engine.size) for node in range(nodes)])


def sentences_of(graph: Graph, engine: SkipGram, seed: int) -> list[list[str]]:
    return [[str(node) for node in walk] for walk in walks_of(graph, engine, seed).tolist()]


def speed(nodes: int, size: int, repeats: int) -> dict[str, Any]:
    graph, _ = planted(10, nodes // 10, 4, 0.2, 0)
    engine = SkipGram(size, walks=1, length=40)
    sentences = sentences_of(graph, engine, 0)
    found = interleaved(
        {
            "ours": lambda: engine.fit(graph, 0),
            "theirs": lambda: gensim_vectors(sentences, graph.nodes, engine, 0),
        },
        repeats,
    )
    tokens = sum(map(len, sentences))
    seconds = {name: times for name, (_, times) in found.items()}
    ratios = [theirs / ours for ours, theirs in zip(seconds["ours"], seconds["theirs"], strict=True)]
    return {
        "nodes": graph.nodes,
        "size": size,
        "tokens": tokens,
        "time_ratio": float(np.median(ratios)),
        "time_ratios": ratios,
        "tokens_per_second": {name: tokens / min(times) for name, times in seconds.items()},
        "seconds": seconds,
    }


def quality(graphs: int) -> dict[str, list[float]]:
    """The accuracy of both on some graphs, in percent."""
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    engine = SkipGram(64, walks=10, length=40)
    for seed in range(graphs):
        graph, groups = planted(8, 60, 6, 0.5, seed)
        both = {
            "ours": engine.fit(graph, seed),
            "theirs": gensim_vectors(sentences_of(graph, engine, seed), graph.nodes, engine, seed),
        }
        train = np.arange(graph.nodes) % 10 == 0
        for name, vectors in both.items():
            scaled = (vectors - vectors.mean(axis=0)) / vectors.std()
            model = LogisticRegression(max_iter=1000).fit(scaled[train], groups[train])
            found[name].append(100 * float(model.score(scaled[~train], groups[~train])))
    return found


def show(result: dict[str, Any]) -> str:
    lines = []
    for one in result["speed"]:
        rates = one["tokens_per_second"]
        lines.append(
            f"{one['nodes']:,} nodes, {one['size']} dimensions: ours {rates['ours']:,.0f} tokens/s, "
            f"gensim {rates['theirs']:,.0f}; ratio {one['time_ratio']:.2f}"
        )
    for name, scores in result["accuracy"].items():
        lines.append(f"accuracy, {name}: {np.mean(scores):.1f} ± {np.std(scores):.1f} on {len(scores)} graphs")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=3000, help="nodes of the timed graph (default: 3000)")
    parser.add_argument("--repeats", type=int, default=3, help="timed repeats (default: 3)")
    parser.add_argument("--graphs", type=int, default=5, help="graphs for the accuracy (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--output", type=Path, help="also write the JSON to a file")
    options = parser.parse_args()
    result = {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "speed": [speed(options.nodes, size, options.repeats) for size in (128, 512)],
        "accuracy": quality(options.graphs),
    }
    text = json.dumps(result, indent=2)
    if options.output is not None:
        with atomic_write(options.output) as temporary:
            temporary.write_text(text + "\n")
    sys.stdout.write((text if options.json else show(result)) + "\n")


if __name__ == "__main__":
    main()
