"""Python and the command line give the same bits for the same graph."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from mvgrl import Graph, GraphEmbedder, NodeEmbedder
from mvgrl.cli import main

FEW = dict(hidden=16, epochs=8, device="cpu")
FLAGS = ["--hidden", "16", "--epochs", "8", "--device", "cpu", "-q"]


def by_shell(*words: str) -> np.ndarray:
    assert main(["embed", *words, "-o", "vectors.npy", *FLAGS]) == 0
    return np.load("vectors.npy")


def wine() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Scikit-learn's wine data as an 8-nearest-neighbour graph; its columns differ in scale by a factor of 1,000."""
    data = load_wine()
    neighbours = kneighbors_graph(StandardScaler().fit_transform(data.data), 8).tocoo()
    edges = pd.DataFrame({"source": neighbours.row, "target": neighbours.col})
    nodes = pd.DataFrame({"id": np.arange(len(data.data))}).join(pd.DataFrame(data.data, columns=data.feature_names))
    return edges, nodes, data.target


def test_python_and_shell_agree_for_dense_features() -> None:
    edges, nodes, target = wine()
    edges.to_csv("edges.csv", index=False)
    nodes.to_csv("nodes.csv", index=False)
    embedder = NodeEmbedder(**FEW).fit((edges, nodes))
    np.testing.assert_array_equal(embedder.embedding_, by_shell("edges.csv", "--nodes", "nodes.csv"))
    assert embedder.choices_["normalise"] == "13 features scaled by column"
    clusters = KMeans(3, n_init=10, random_state=0).fit_predict(embedder.embedding_)
    assert normalized_mutual_info_score(target, clusters) > 0.6


def test_python_and_shell_agree_for_sparse_features() -> None:
    rng = np.random.default_rng(0)
    links = sp.random(60, 60, 0.05, random_state=rng, data_rvs=np.ones, format="csr")
    words = sp.csr_array(sp.random(60, 40, 0.1, random_state=rng, data_rvs=np.ones))
    sp.save_npz("links.npz", links)
    sp.save_npz("words.npz", words)
    embedder = NodeEmbedder(**FEW).fit(Graph.from_scipy(links, words))
    np.testing.assert_array_equal(embedder.embedding_, by_shell("links.npz", "--nodes", "words.npz"))
    assert "by row" in embedder.choices_["normalise"]


def test_python_and_shell_agree_without_features() -> None:
    edges, _, _ = wine()
    edges.to_parquet("edges.parquet")
    embedder = NodeEmbedder(**FEW).fit(edges)
    np.testing.assert_array_equal(embedder.embedding_, by_shell("edges.parquet"))
    assert "positions" in embedder.choices_["features"]


def test_python_and_shell_agree_for_many_graphs() -> None:
    rng = np.random.default_rng(0)
    parts = [
        pd.DataFrame({"graph": f"g{graph}", "source": rng.integers(8, size=14), "target": rng.integers(8, size=14)})
        for graph in range(12)
    ]
    edges = pd.concat(parts, ignore_index=True)
    edges.to_csv("edges.csv", index=False)
    embedder = GraphEmbedder(**FEW, batch_size=5).fit(edges)
    np.testing.assert_array_equal(embedder.embedding_, by_shell("edges.csv", "--batch-size", "5"))
    assert embedder.ids_.tolist() == [f"g{graph}" for graph in range(12)]
