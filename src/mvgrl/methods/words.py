"""Graphs as documents for gensim: Weisfeiler–Lehman colours as words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType

import numpy as np

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.refinement import wl_colours

LONGEST = 10_000  # words of a sentence that gensim reads; it ignores the rest


def gensim_models(needed_by: str) -> ModuleType:
    """Return gensim's models; say how to install them if they are missing."""
    try:
        from gensim import models
    except ImportError:
        raise InputError(f"{needed_by} needs gensim; pip install 'mvgrl[arena]'") from None
    return models


def in_pieces(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield a long document in pieces that gensim reads completely.

    >>> [len(piece) for piece in in_pieces(["a"] * 25_000)]
    [10000, 10000, 5000]
    """
    for first in range(0, len(words), LONGEST):
        yield words[first : first + LONGEST]


def colour_numbers(graph: Graph, rounds: int) -> np.ndarray:
    """Return the colour of every node in rounds 0 to ``rounds`` as a number from 0: nodes × (rounds + 1).

    >>> colour_numbers(Graph.from_edges([0, 1], [1, 2]), 1).tolist()
    [[0, 2], [1, 3], [0, 2]]
    """
    found, first = [], 0
    for colours in wl_colours(graph, rounds=rounds).T:
        _, number = np.unique(colours, return_inverse=True)
        _, earliest, rank = np.unique(number, return_index=True, return_inverse=True)
        order = np.empty(len(earliest), dtype=np.int64)
        order[np.argsort(earliest)] = np.arange(len(earliest))  # by first occurrence, not by hash
        found.append(first + order[rank])
        first += len(earliest)
    return np.stack(found, axis=1)


def document_vectors(
    documents: Sequence[Sequence[str]], *, needed_by: str, size: int, seed: int, **options: float
) -> np.ndarray:
    """Return a vector per document by gensim's Doc2Vec, with one worker, so that a seed always gives the same."""
    doc2vec = gensim_models(needed_by).doc2vec
    tagged = [
        doc2vec.TaggedDocument(piece, [number]) for number, words in enumerate(documents) for piece in in_pieces(words)
    ]
    model = doc2vec.Doc2Vec(tagged, vector_size=size, workers=1, seed=seed, **options)
    found: np.ndarray = model.dv.vectors[: len(documents)]
    return found
