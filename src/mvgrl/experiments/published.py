"""What the paper prints for its own method (Hassani & Khasahmadi, ICML 2020, Tables 2 and 3)."""

from __future__ import annotations

NODE_DATASETS = ("cora-linqs", "cora", "citeseer", "pubmed")

# The paper's Cora accuracy is on the LINQS split, as the authors' code shows; clusters know no split, and both forms of
# Cora are the same graph.
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "node-classification": {
        "cora-linqs": {"accuracy": 86.8},
        "citeseer": {"accuracy": 73.3},
        "pubmed": {"accuracy": 80.1},
    },
    "node-clustering": {
        "cora-linqs": {"nmi": 0.629, "ari": 0.570},
        "cora": {"nmi": 0.629, "ari": 0.570},
        "citeseer": {"nmi": 0.470, "ari": 0.450},
        "pubmed": {"nmi": 0.361, "ari": 0.339},
    },
}
METRICS = {"node-classification": ("accuracy",), "node-clustering": ("nmi", "ari")}
