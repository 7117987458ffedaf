"""Nearest vectors by cosine: exact, in order, within bounded memory; approximate on demand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import mvgrl.neighbors
from mvgrl.errors import InputError, SettingsError
from mvgrl.neighbors import nearest


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 16)) * np.random.default_rng(1).uniform(0.1, 50, size=(300, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [2**25, 1000])
def test_neighbours_are_those_of_brute_force(vectors, dtype, block, monkeypatch):
    monkeypatch.setattr(mvgrl.neighbors, "_BLOCK", block)
    vectors = vectors.astype(dtype)
    distances, rows = NearestNeighbors(n_neighbors=8, metric="cosine", algorithm="brute").fit(vectors).kneighbors()
    found = nearest(vectors, np.arange(300), k=8)
    assert found.exact
    assert np.array_equal(found.rows, rows)
    np.testing.assert_allclose(found.cosines, 1 - distances, atol=1e-6)


def test_ties_are_in_the_order_of_the_rows():
    direction = np.random.default_rng(0).normal(size=33).astype(np.float32)
    same = np.outer(np.tile([1, 2, 7, 0.1], 40), direction).astype(np.float32)
    assert nearest(same, [50], k=5).rows.tolist() == [[0, 1, 2, 3, 4]]
    assert nearest(same, [2], k=4).rows.tolist() == [[0, 1, 3, 4]]


def test_zero_vectors_are_nobodys_neighbour_and_no_query():
    vectors = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    found = nearest(vectors, [0], k=10)
    assert found.rows.tolist() == [[2, 3]]
    assert found.cosines.tolist() == [[0.0, -1.0]]
    with pytest.raises(InputError, match="row 1 is all zeros"):
        nearest(vectors, [0, 1])


def test_a_single_vector_has_no_neighbours():
    assert nearest(np.ones((1, 2)), [0]).rows.shape == (1, 0)
    assert nearest(np.ones((3, 2)), [], k=2).rows.shape == (0, 0)


def test_memory_is_bounded_by_a_block(monkeypatch):
    import tracemalloc

    monkeypatch.setattr(mvgrl.neighbors, "_BLOCK", 2**16)
    monkeypatch.setattr(mvgrl.neighbors, "_GATHERED", 2**16)
    vectors = np.random.default_rng(0).normal(size=(20_000, 32)).astype(np.float32)  # 2.6 MB
    tracemalloc.start()
    nearest(vectors, np.arange(200), k=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * 2**20  # all cosines at once would be 16 MB


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones((3, 2)), [3]), InputError, "there is no row 3; rows are numbered 0 to 2"),
        ((np.ones((3, 2)), [-1]), InputError, "there is no row -1"),
        ((np.ones((3, 2)), [0], 0), SettingsError, "k is 0"),
        ((np.ones(3), [0]), InputError, r"shape \(3,\)"),
        ((np.array([["a"]]), [0]), InputError, "holds <U1"),
    ],
)
def test_bad_arguments_are_rejected(arguments, error, message):
    with pytest.raises(error, match=message):
        nearest(*arguments)


def test_approximate_neighbours_are_almost_the_exact_ones_and_repeat(vectors):
    pytest.importorskip("usearch", reason="usearch is an extra")
    vectors[7] = 0
    rows = np.flatnonzero(vectors.any(axis=1))
    exact, found = (nearest(vectors, rows, k=8, approximate=kind) for kind in (False, True))
    assert not found.exact
    assert (found.rows == exact.rows).mean() > 0.95
    assert not (found.rows == 7).any()
    assert np.array_equal(found.rows, nearest(vectors, rows, k=8, approximate=True).rows)


def test_beyond_a_million_vectors_the_search_is_approximate(vectors, monkeypatch):
    pytest.importorskip("usearch", reason="usearch is an extra")
    assert mvgrl.neighbors.EXACT_UP_TO == 1_000_000
    monkeypatch.setattr(mvgrl.neighbors, "EXACT_UP_TO", 299)
    assert not nearest(vectors, [0]).exact
    assert nearest(vectors, [0], approximate=False).exact


def test_usearch_that_is_not_installed_is_an_error_with_the_remedy(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(InputError, match=r"pip install 'mvgrl\[search\]', or compare all vectors with --exact"):
        nearest(vectors, [0], approximate=True)
