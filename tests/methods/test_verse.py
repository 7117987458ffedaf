"""VERSE: its update against a naive step, its walks against personalised PageRank, its vectors on planted groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.methods.planted import accuracy, planted, vectors_of

from mvgrl.graphs import Graph
from mvgrl.methods import METHODS, verse


def test_an_update_equals_a_naive_step() -> None:
    one, other = np.random.default_rng(0).normal(size=(2, 6)).astype(np.float32)
    for truth, bias in ((1.0, np.log(50.0)), (0.0, np.log(50.0 / 3))):
        step = 0.1 * (truth - 1 / (1 + np.exp(bias - one @ other)))
        changed = other + step * one
        expected = one + step * changed
        verse._update(one, other, np.float32(truth), np.float32(bias), np.float32(0.1))
        np.testing.assert_allclose(other, changed, atol=1e-6)
        np.testing.assert_allclose(one, expected, atol=1e-6)


def test_inner_products_approach_the_logarithm_of_pagerank() -> None:
    graph = Graph.from_edges([0, 1, 2, 0, 3, 4, 5, 3, 2], [1, 2, 0, 6, 4, 5, 3, 7, 3])
    found = replace(METHODS["verse"], size=8, epochs=20_000, rate=0.005).vectors(graph, seed=0)
    walk = graph.adjacency.toarray() / graph.adjacency.sum(axis=1)[:, None]
    pagerank = 0.15 * np.linalg.inv(np.eye(8) - 0.85 * walk)
    wanted = np.log(
        pagerank + pagerank.T
    )  # products are symmetric; nor can they have negative eigenvalues, as this has
    above = np.triu_indices(8, 1)
    assert np.corrcoef((found @ found.T)[above], wanted[above])[0, 1] > 0.85


def test_vectors_are_those_of_the_seed_and_classify_planted_groups(context: Any) -> None:
    data, method = planted(), replace(METHODS["verse"], size=16, epochs=1000, rate=0.02)
    found = vectors_of(method, data, context)
    assert found.shape == (60, 16)
    assert accuracy(found, data) > 0.9
    np.testing.assert_array_equal(found, vectors_of(method, data, context))
    assert not np.allclose(found, vectors_of(method, data, context, seed=1))


def test_isolated_nodes_have_finite_vectors() -> None:
    found = replace(METHODS["verse"], epochs=20).vectors(Graph.from_edges([0], [1], nodes=4), seed=0)
    assert np.isfinite(found).all()
