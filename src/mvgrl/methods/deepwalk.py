"""DeepWalk: skip-gram vectors of random walks (Perozzi et al., 2014), without features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mvgrl.datasets import Dataset
from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.factorisation import VECTOR_SIZE
from mvgrl.settings import Output, Settings

WALKS, LENGTH, WINDOW = 80, 40, 10


class DeepWalk(Method):
    """80 walks of 40 nodes from every node, as sentences for gensim's Word2Vec: skip-gram, 5 negatives, window 10.

    One epoch with one worker, so that a seed always gives the same vectors. Frequent nodes are not subsampled.
    """

    name, label, tasks = "deepwalk", "DeepWalk", ("node",)

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Walk and train once per seed."""
        return [Outcome(_vectors(dataset.graph, seed)) for seed in seeds]


class Walks:
    """The walks of a seed as sentences of node numbers; every iteration gives the same ones, so none are stored.

    A step goes to a neighbour with a probability proportional to the weight of the edge. The nodes are visited in a new
    random order in each of the rounds. The walk from an isolated node is that node.

    >>> list(Walks(Graph.from_edges([0], [1], nodes=3), walks=1, length=3, seed=0))
    [['2'], ['0', '1', '0'], ['1', '0', '1']]
    """

    def __init__(self, graph: Graph, *, walks: int = WALKS, length: int = LENGTH, seed: int = 0) -> None:
        self.graph, self.walks, self.length, self.seed = graph, walks, length, seed
        self.totals = np.cumsum(graph.adjacency.data, dtype=np.float64)  # of the weights, over all edges
        self.names = [str(node) for node in range(graph.nodes)]

    def __iter__(self) -> Iterator[list[str]]:
        generator = np.random.default_rng(self.seed)
        isolated = self.graph.degrees == 0
        for _ in range(self.walks):
            starts = generator.permutation(self.graph.nodes)
            steps = self._walk(starts[~isolated[starts]], generator)
            position = np.cumsum(~isolated[starts]) - 1  # of a start among those that are not isolated
            for start, row in zip(starts.tolist(), position.tolist(), strict=True):
                nodes = [start] if isolated[start] else steps[row].tolist()
                yield [self.names[node] for node in nodes]

    def _walk(self, starts: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return one walk per start, all walks advanced together: starts × length."""
        indptr, indices = self.graph.adjacency.indptr, self.graph.adjacency.indices
        before = np.concatenate([[0.0], self.totals])  # total weight of the edges before each one
        nodes = np.empty((len(starts), self.length), dtype=np.int64)
        nodes[:, 0] = starts
        for step in range(1, self.length):
            first, last = indptr[nodes[:, step - 1]], indptr[nodes[:, step - 1] + 1]
            drawn = before[first] + generator.random(len(starts)) * (before[last] - before[first])
            edge = np.searchsorted(self.totals, drawn, side="right")
            nodes[:, step] = indices[edge.clip(first, last - 1)]  # rounding may lead to the next node's edges
        return nodes


def _vectors(graph: Graph, seed: int) -> np.ndarray:
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise InputError("DeepWalk needs gensim; pip install 'mvgrl[arena]'") from None
    model = Word2Vec(
        Walks(graph, seed=seed),
        vector_size=min(VECTOR_SIZE, graph.nodes),
        window=WINDOW,
        sg=1,
        hs=0,
        negative=5,
        min_count=0,
        sample=0,
        workers=1,
        epochs=1,
        seed=seed,
    )
    found: np.ndarray = model.wv[[str(node) for node in range(graph.nodes)]]
    return found
