"""InfoGraph, graph2vec, sub2vec, summed node2vec and the deep graph kernel, against naive versions."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from typing import Any

import numpy as np
import pytest
import torch

from mvgrl.datasets import Dataset
from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.methods import METHODS
from mvgrl.methods.deep_graph_kernel import colour_counts, deep_kernel
from mvgrl.methods.infograph import InfoGraphModel, batches_of
from mvgrl.methods.skip_gram import SkipGram
from mvgrl.methods.sub2vec import degree_classes, one_walk_per_graph
from mvgrl.methods.words import colour_numbers
from mvgrl.settings import Output, literal

SETTINGS = literal(dict(task="graph"))
BY_GENSIM = ["kernel-dgk", "graph2vec", "sub2vec"]


def two_kinds(count: int = 16) -> Dataset:
    """Paths and complete graphs of 4 to 7 nodes."""
    every = []
    for number in range(count):
        n = 4 + number // 2 % 4
        ends = np.nonzero(np.triu(np.ones((n, n)), 1)) if number % 2 else (np.arange(n - 1), np.arange(1, n))
        every.append(Graph.from_edges(*ends))
    return Dataset("any", Graph.join(every), np.arange(count) % 2, "graph", None, ("path", "complete"), "")


def outcome(method: Any, data: Dataset, context: Any, seed: int = 0) -> Any:
    return method.outcomes(data, SETTINGS, Output(), [seed], context)[0]


def test_the_loss_of_infograph_equals_a_double_loop() -> None:
    data = two_kinds(3)
    batches = batches_of(data.graph, np.arange(data.graph.nodes) % 3, torch.device("cpu"))
    batch = batches.of_graphs(torch.arange(3))
    model = InfoGraphModel(3, 4, 2, torch.Generator().manual_seed(0)).eval()
    nodes, graphs = model(batch)
    left, right = model.of_nodes(nodes).tolist(), model.of_graphs(graphs).tolist()
    together, apart = [], []
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            score = sum(x * y for x, y in zip(a, b, strict=True))
            if batch.owner[i] == j:
                together.append(log(1 + exp(-score)))
            else:
                apart.append(log(1 + exp(score)))
    expected = sum(together) / len(together) + sum(apart) / len(apart)
    assert model.loss(batch).item() == pytest.approx(expected, rel=1e-5)
    for number in range(3):
        torch.testing.assert_close(graphs[number], nodes[batch.owner == number].sum(0))


def test_infograph_tells_kinds_of_graphs_apart_and_trains(context: Any) -> None:
    data, method = two_kinds(), METHODS["infograph"]
    vectors = [outcome(replace(method, epochs=epochs), data, context).vectors for epochs in (0, 5, 5)]
    assert vectors[0].shape == (16, 160)
    assert (vectors[0] != vectors[1]).any()
    np.testing.assert_array_equal(vectors[1], vectors[2])
    assert (outcome(method, data, context, seed=1).vectors != outcome(method, data, context).vectors).any()
    # graphs 0 and 8, 2 and 10, … are equal
    np.testing.assert_allclose(vectors[1][:8], vectors[1][8:], rtol=1e-4, atol=1e-4)


def test_the_deep_kernel_is_the_product_of_counts_and_similarities() -> None:
    data = two_kinds(4)
    numbers = colour_numbers(data.graph, 1)
    vectors = np.random.default_rng(0).standard_normal((numbers.max() + 1, 3))
    counts = np.zeros((4, numbers.max() + 1))
    for node, colours in enumerate(numbers):
        for colour in colours:
            counts[np.searchsorted(data.graph.offsets, node, side="right") - 1, colour] += 1
    found = colour_counts(data.graph, numbers)
    np.testing.assert_array_equal(found.toarray(), counts)
    similar = vectors @ vectors.T  # M
    np.testing.assert_allclose(deep_kernel(found, vectors), counts @ similar @ counts.T)


def test_colours_have_numbers_of_their_own_in_each_round() -> None:
    numbers = colour_numbers(two_kinds().graph, 2)
    rounds = [set(column.tolist()) for column in numbers.T]
    assert sorted(set().union(*rounds)) == list(range(sum(map(len, rounds))))
    assert len(rounds[0]) <= len(rounds[1]) <= len(rounds[2])


def test_the_words_of_sub2vec_are_classes_of_relative_degree() -> None:
    star = Graph.from_edges(np.zeros(30, int), np.arange(1, 31))
    complete = Graph.from_edges(*np.nonzero(np.triu(np.ones((4, 4)), 1)))
    assert degree_classes(star)[[0, 1]].tolist() == [7, 0]  # 30 / 31, 1 / 31
    assert set(degree_classes(complete).tolist()) == {6}  # 3 / 4, the upper end of its class


def test_walks_of_sub2vec_stay_in_their_graph_and_follow_edges() -> None:
    graph = Graph.join([two_kinds().graph, Graph.from_edges([0], [1], nodes=3)])
    walks = one_walk_per_graph(graph, 50, seed=3)
    assert walks.shape == (graph.count, 50)
    dense = graph.adjacency.toarray() > 0
    for first, last, walk in zip(graph.offsets[:-1], graph.offsets[1:], walks, strict=True):
        assert ((first <= walk) & (walk < last)).all()
        alone = graph.degrees[walk[0]] == 0
        assert (walk == walk[0]).all() if alone else dense[walk[:-1], walk[1:]].all()


@pytest.mark.parametrize("name", BY_GENSIM)
def test_a_seed_always_gives_the_same_vectors(name: str, context: Any) -> None:
    pytest.importorskip("gensim")
    data, method = two_kinds(), METHODS[name]
    first, again, other = (outcome(method, data, context, seed).points() for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or (first != other).any()


def test_graph2vec_tells_kinds_of_graphs_apart(context: Any) -> None:
    pytest.importorskip("gensim")
    data = two_kinds(32)
    vectors = outcome(replace(METHODS["graph2vec"], size=16), data, context).vectors
    scaled = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = scaled @ scaled.T
    same = data.target[:, None] == data.target
    assert similar[same].mean() > similar[~same].mean() + 0.2


def test_the_vector_of_node2vec_is_the_sum_over_nodes(context: Any) -> None:
    data = two_kinds(4)
    nodes = SkipGram(size=128, walks=10, length=80, window=10).fit(data.graph, seed=5)
    expected = [nodes[first:last].sum(0) for first, last in pairwise(data.graph.offsets.tolist())]
    found = outcome(METHODS["graph-node2vec"], data, context, seed=5).vectors
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("name", BY_GENSIM)
def test_without_gensim_the_extra_is_named(name: str, context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(InputError, match=r"needs gensim; pip install 'mvgrl\[arena\]'"):
        outcome(METHODS[name], two_kinds(4), context)
