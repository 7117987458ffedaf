"""Skip-gram over random walks: each part against a naive version, and the vectors against gensim's."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.methods.planted import accuracy, planted, vectors_of

from mvgrl.graphs import Graph
from mvgrl.methods import METHODS, skip_gram
from mvgrl.methods.random_walks import draw_walk, walker_of
from mvgrl.methods.skip_gram import SkipGram, alias_table, walks_of


def drawn(graph: Graph, start: int, length: int, count: int, p: float = 1.0, q: float = 1.0) -> list[list[int]]:
    state, walk, found = np.array([7], dtype=np.uint64), np.empty(length, np.int32), []
    for _ in range(count):
        draw_walk(walker_of(graph, p, q), start, walk, state)
        found.append(walk.tolist())
    return found


def test_walks_follow_edges() -> None:
    graph = planted().graph
    edges = {tuple(pair) for pair in np.argwhere(graph.adjacency.toarray()).tolist()}
    for walk in drawn(graph, 3, 12, 50):
        assert walk[0] == 3
        assert all(pair in edges for pair in pairwise(walk))


def test_every_node_with_neighbours_starts_a_walk_in_every_round() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], nodes=5)
    walks = walks_of(graph, SkipGram(4, walks=3, length=6), seed=1)
    assert Counter(walks[:, 0].tolist()) == {0: 3, 1: 3, 2: 3}
    assert not np.array_equal(walks, walks_of(graph, SkipGram(4, walks=3, length=6), seed=2))


def test_walks_take_edges_in_proportion_to_their_weights() -> None:
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], [3.0, 1.0, 4.0])
    steps = Counter(walk[1] for walk in drawn(graph, 0, 2, 4000))
    assert [steps[node] / 4000 for node in (1, 2, 3)] == pytest.approx([0.375, 0.125, 0.5], abs=0.03)


def test_biased_walks_have_the_chances_of_node2vec() -> None:
    graph = Graph.from_edges([0, 0, 1, 1], [1, 2, 2, 3])  # from 1, having come from 0: back, near (2), away (3)
    steps = Counter(walk[2] for walk in drawn(graph, 0, 3, 20_000, p=4.0, q=0.5) if walk[1] == 1)
    total = 1 / 4 + 1 + 2
    share = [steps[node] / steps.total() for node in (0, 2, 3)]
    assert share == pytest.approx([1 / 4 / total, 1 / total, 2 / total], abs=0.02)


def test_the_alias_table_has_the_given_chances() -> None:
    weights = np.array([1.0, 5.0, 0.0, 2.0, 2.0])
    chances, others = alias_table(weights)
    found = np.zeros(5)
    np.add.at(found, np.arange(5), chances / 5)
    np.add.at(found, others, (1 - chances) / 5)
    np.testing.assert_allclose(found, weights / 10, atol=1e-12)


@pytest.mark.parametrize("negatives", [2, 5, 7])
def test_an_update_equals_a_naive_step(negatives: int) -> None:
    rng = np.random.default_rng(0)
    vectors, contexts = rng.normal(size=(2, 12, 10)).astype(np.float32)
    nodes, rate = np.array([1, 2, 1, 4, 5, 6, 7, 8, 2], np.int32), np.float32(0.1)  # two nodes occur twice
    targets = np.full(-(-(negatives + 1) // 6) * 6, 3, np.int32)
    targets[: negatives + 1] = [3, *rng.choice([0, 1, 2, 4, 5, 6, 7], negatives, replace=False)]
    real = targets[: negatives + 1]
    scores = vectors[nodes] @ contexts[real].T
    steps = 0.1 * ((np.arange(negatives + 1) == 0) - 1 / (1 + np.exp(-scores)))
    steps[np.abs(scores) >= 6] = 0
    expected, expected_contexts = vectors.copy(), contexts.copy()
    np.add.at(expected, nodes, steps @ contexts[real])
    expected_contexts[real] += steps.T @ vectors[nodes]
    scratch = np.empty((20, len(targets)), np.float32), np.empty((len(targets), 10), np.float32)
    skip_gram._update(vectors, nodes, contexts, targets, negatives + 1, *scratch, rate, skip_gram._SIGMOID)
    np.testing.assert_allclose(vectors, expected, atol=2e-3)
    np.testing.assert_allclose(contexts, expected_contexts, atol=2e-3)


def test_negatives_are_unique_and_follow_their_chances() -> None:
    chances, others = alias_table(np.array([1.0, 1.0, 2.0, 6.0]))
    state, targets, counts = np.array([3], np.uint64), np.empty(6, np.int32), Counter[int]()
    for _ in range(5000):
        count = skip_gram._draw_targets(0, 1, chances, others, targets, state)
        assert len(set(targets[:count].tolist())) == count
        counts.update(targets[1:count].tolist())
    assert [counts[node] / 5000 for node in (1, 2, 3)] == pytest.approx([0.1, 0.2, 0.6], abs=0.02)


def test_vectors_depend_on_the_seed_alone() -> None:
    graph = planted().graph
    engine = SkipGram(size=8, walks=2, length=10)
    np.testing.assert_array_equal(engine.fit(graph, 0), engine.fit(graph, 0))
    assert not np.allclose(engine.fit(graph, 0), engine.fit(graph, 1))


def test_isolated_nodes_and_graphs_without_edges_have_finite_vectors() -> None:
    engine = SkipGram(size=4, walks=2, length=5)
    for graph in (Graph.from_edges([], [], nodes=3), Graph.from_edges([0], [1], nodes=3)):
        found = engine.fit(graph, 0)
        assert found.shape == (3, 4)
        assert np.isfinite(found).all()


def test_vectors_classify_as_well_as_those_of_gensim() -> None:
    models = pytest.importorskip("gensim.models", reason="gensim is an extra")
    data = planted(4, 40, seed=2)
    engine = SkipGram(16, walks=20, length=20, window=5)
    sentences = [[str(node) for node in walk] for walk in walks_of(data.graph, engine, 0).tolist()]
    model = models.Word2Vec(
        sentences, vector_size=16, window=5, sg=1, negative=5, min_count=0, sample=0, workers=1, epochs=1, seed=0
    )
    theirs = accuracy(model.wv[[str(node) for node in range(160)]], data)
    ours = [accuracy(engine.fit(data.graph, seed), data) for seed in range(3)]
    assert theirs > 0.9
    assert np.mean(ours) > theirs - 0.03


def test_node2vec_classifies_planted_groups(context: Any) -> None:
    data = planted(4, 40, seed=2)
    found = vectors_of(METHODS["node2vec"], data, context)
    assert found.shape == (160, 128)
    assert accuracy(found, data) > 0.95
