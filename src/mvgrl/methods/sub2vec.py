"""sub2vec: document vectors of a long random walk in each graph (Adhikari et al., 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.words import document_vectors
from mvgrl.settings import Output, Settings

# Upper ends of the classes of a node's degree divided by the size of its graph, in the authors' code.
_CLASSES = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 0.75])


@dataclass(frozen=True)
class Sub2Vec(Method):
    """PV-DM over a walk whose words are classes of relative degree: the structural variant.

    Node numbers, the words of the other variant, mean nothing across graphs. The authors' walks have 100,000 steps;
    1,000 already give the frequency of each of the eight words to about 2 %, and take minutes instead of hours.
    """

    name, label, tasks = "sub2vec", "sub2vec", ("graph",)
    source = "the authors' code, github.com/bijayaVT/sub2vec (128 dimensions, window 2, 20 iterations, PV-DM)"
    size: int = 128
    walk_length: int = 1000
    window: int = 2
    passes: int = 20

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Walk and train once per seed."""
        graph = dataset.graph
        words = [str(one) for one in range(len(_CLASSES) + 1)]
        found = []
        for seed in seeds:
            walks = degree_classes(graph)[one_walk_per_graph(graph, self.walk_length, seed)]
            documents = [[words[one] for one in walk] for walk in walks.tolist()]
            options = dict(dm=1, window=self.window, epochs=self.passes, min_count=1)
            vectors = document_vectors(documents, needed_by="sub2vec", size=self.size, seed=seed, **options)
            found.append(Outcome(vectors))
        return found


def degree_classes(graph: Graph) -> np.ndarray:
    """Return the class of each node's degree divided by the number of nodes in its graph.

    >>> degree_classes(Graph.from_edges([0, 0, 0], [1, 2, 3])).tolist()  # 3 / 4 and 1 / 4
    [6, 4, 4, 4]
    """
    return np.searchsorted(_CLASSES, graph.degrees / np.repeat(graph.sizes, graph.sizes) - 1e-12)


def one_walk_per_graph(graph: Graph, length: int, seed: int) -> np.ndarray:
    """Return a walk of ``length`` nodes in each graph from a random start, graphs × length; weights are not used.

    >>> one_walk_per_graph(Graph.join([Graph.from_edges([0], [1])] * 2), 3, seed=0).tolist()
    [[1, 0, 1], [2, 3, 2]]
    """
    generator = np.random.default_rng(seed)
    indptr, indices, degrees = graph.adjacency.indptr, graph.adjacency.indices, graph.degrees
    nodes = np.empty((graph.count, length), dtype=np.int64)
    nodes[:, 0] = graph.offsets[:-1] + (generator.random(graph.count) * graph.sizes).astype(np.int64)
    for step in range(1, length):
        here = nodes[:, step - 1]
        at = indptr[here] + (generator.random(graph.count) * degrees[here]).astype(np.int64)
        stays = degrees[here] == 0
        nodes[:, step] = np.where(stays, here, indices[np.where(stays, 0, at)] if len(indices) else here)
    return nodes
