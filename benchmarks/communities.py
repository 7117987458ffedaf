"""Communities in graphs without features: NMI of K-Means on default vectors, over several seeds of model and graph.

Planted partitions, a ring of cliques and the karate club; beside them the same with degrees in place of positions, and
spectral clustering, which is made for such graphs.

    python benchmarks/communities.py
    python benchmarks/communities.py --json --seeds 2
"""

from __future__ import annotations

import argparse
import json

import networkx as nx
import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import normalized_mutual_info_score

from mvgrl import NodeEmbedder
from mvgrl.graphs import Graph


def planted(groups: int, size: int, inside: float, outside: float, seed: int) -> tuple[nx.Graph, np.ndarray]:
    return nx.planted_partition_graph(groups, size, inside, outside, seed=seed), np.repeat(np.arange(groups), size)


def karate(seed: int) -> tuple[nx.Graph, np.ndarray]:
    club = nx.karate_club_graph()
    return club, np.array([club.nodes[node]["club"] == "Officer" for node in club])


GRAPHS = {
    "planted partition, 10 groups of 30, 0.3 / 0.02": lambda seed: planted(10, 30, 0.3, 0.02, seed),
    "planted partition, 20 groups of 50, 0.2 / 0.005": lambda seed: planted(20, 50, 0.2, 0.005, seed),
    "ring of 12 cliques of 8": lambda seed: (nx.ring_of_cliques(12, 8), np.repeat(np.arange(12), 8)),
    "karate club": karate,
}


def agreement(vectors: np.ndarray, groups: np.ndarray, seed: int) -> float:
    found = KMeans(len(np.unique(groups)), n_init=10, random_state=seed).fit_predict(vectors)
    return float(normalized_mutual_info_score(groups, found))


def scores(network: nx.Graph, groups: np.ndarray, seed: int) -> dict[str, float]:
    """The NMI of every kind of vectors on one graph."""
    adjacency = sp.csr_array(nx.to_scipy_sparse_array(network, nodelist=sorted(network), weight=None))
    graph = Graph.from_scipy(adjacency)
    spectral = SpectralClustering(len(np.unique(groups)), affinity="precomputed", random_state=seed)
    return {
        "default": agreement(NodeEmbedder(random_state=seed).fit_transform(graph), groups, seed),
        "degrees": agreement(
            NodeEmbedder(random_state=seed, features="degree-one-hot").fit_transform(graph), groups, seed
        ),
        "spectral clustering": float(
            normalized_mutual_info_score(groups, spectral.fit_predict(sp.csr_matrix(adjacency)))
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON only")
    options = parser.parse_args()
    results = {}
    for name, make in GRAPHS.items():
        found = [scores(*make(seed), seed) for seed in range(options.seeds)]
        results[name] = {kind: [round(one[kind], 4) for one in found] for kind in found[0]}
        if not options.json:
            means = ", ".join(f"{kind} {np.mean(values):.3f}" for kind, values in results[name].items())
            print(f"{name}: {means}", flush=True)
    if options.json:
        print(json.dumps({"nmi": results, "seeds": options.seeds}, indent=2))


if __name__ == "__main__":
    main()
