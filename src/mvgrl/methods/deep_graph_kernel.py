"""Deep graph kernels: Weisfeiler–Lehman colours that occur together are similar (Yanardag and Vishwanathan, 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mvgrl.datasets import Dataset
from mvgrl.graphs import Graph
from mvgrl.methods.base import Context, Method, Outcome
from mvgrl.methods.kernels import offered, owners_of
from mvgrl.methods.words import colour_numbers, gensim_models, in_pieces
from mvgrl.settings import Output, Settings


@dataclass(frozen=True)
class DeepGraphKernel(Method):
    """K = Φ M Φᵀ with the counts Φ of each colour and M = E Eᵀ, where E has a skip-gram vector per colour.

    A sentence holds the colours that the nodes of a graph have in one round. The number of dimensions is chosen inside
    the training folds.
    """

    name, label, tasks = "kernel-dgk", "deep graph kernel", ("graph",)
    source = (
        "Yanardag and Vishwanathan, 2015, section 5: Weisfeiler–Lehman colours of two rounds, the number of dimensions "
        "chosen by cross-validation from 2, 5, 10, 25, 50; window 5 and 5 epochs are gensim's defaults"
    )
    rounds: int = 2
    sizes: tuple[int, ...] = (2, 5, 10, 25, 50)
    window: int = 5
    passes: int = 5

    def outcomes(
        self, dataset: Dataset, settings: Settings, output: Output, seeds: Sequence[int], context: Context
    ) -> Sequence[Outcome]:
        """Train the vectors of the colours once per seed and number of dimensions."""
        numbers = colour_numbers(dataset.graph, self.rounds)
        counts = colour_counts(dataset.graph, numbers)
        return [
            offered(
                [deep_kernel(counts, self._vectors(dataset.graph, numbers, size, seed)) for size in self.sizes],
                default=len(self.sizes) - 1,
            )
            for seed in seeds
        ]

    def _vectors(self, graph: Graph, numbers: np.ndarray, size: int, seed: int) -> np.ndarray:
        """Return a vector per colour."""
        names = [str(number) for number in range(int(numbers.max()) + 1)]
        sentences = [
            piece
            for first, last in zip(graph.offsets[:-1], graph.offsets[1:], strict=True)
            for colours in numbers[first:last].T.tolist()
            for piece in in_pieces([names[one] for one in colours])
        ]
        about = dict(vector_size=size, window=self.window, sg=1, min_count=0, workers=1, epochs=self.passes)
        model = gensim_models("the deep graph kernel").Word2Vec(sentences, seed=seed, **about)
        found: np.ndarray = model.wv[names]
        return found


def colour_counts(graph: Graph, numbers: np.ndarray) -> sp.csr_array:
    """Return Φ, how often each colour occurs in each graph in any round."""
    rows = np.repeat(owners_of(graph), numbers.shape[1])
    shape = (graph.count, int(numbers.max()) + 1)
    return sp.csr_array((np.ones(numbers.size), (rows, numbers.reshape(-1))), shape=shape)


def deep_kernel(counts: sp.csr_array, vectors: np.ndarray) -> np.ndarray:
    """Return Φ E Eᵀ Φᵀ without the matrix of all pairs of colours.

    >>> deep_kernel(sp.csr_array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])).tolist()
    [[13.0, 5.0], [5.0, 2.0]]
    """
    codes = counts @ vectors.astype(np.float64)
    return np.asarray(codes @ codes.T)
