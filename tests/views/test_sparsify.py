from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mvgrl.views import sparsify
from mvgrl.views.sparsify import collect


def naive(matrix, top_k, threshold):
    out = np.zeros_like(matrix)
    for i, row in enumerate(matrix):
        order = sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))
        for j in order[:top_k]:
            if row[j] > 0 and (threshold is None or row[j] >= threshold):
                out[i, j] = row[j]
    return out


# Few distinct values, so there are many ties.
tied = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 30)),
    elements=st.sampled_from([-1.0, 0.0, 0.25, 0.5, 0.5, 0.75, 1.0]),
)


@given(matrix=tied, top_k=st.none() | st.integers(1, 40), threshold=st.none() | st.sampled_from([0.25, 0.3, 0.5, 2.0]))
@settings(max_examples=200, deadline=None)
def test_the_selection_equals_a_naive_one(matrix, top_k, threshold) -> None:
    result = sparsify(matrix, top_k, threshold)
    np.testing.assert_array_equal(result.toarray(), naive(matrix, top_k, threshold))
    assert result.nnz == np.count_nonzero(result.toarray())
    assert result.has_canonical_format


def test_rows_are_not_rescaled() -> None:
    rows = np.full((2, 4), 0.25)
    np.testing.assert_array_equal(sparsify(rows, top_k=1).toarray().sum(axis=1), 0.25)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_preserved(dtype) -> None:
    assert sparsify(np.ones((2, 2), dtype=dtype)).dtype == dtype


def test_chunks_of_rows_give_the_same_matrix(monkeypatch) -> None:
    module = sys.modules["mvgrl.views.sparsify"]
    matrix = np.random.default_rng(0).random((50, 20))
    unchunked = sparsify(matrix, top_k=7)
    chunks = []
    monkeypatch.setattr(module, "_BUFFER", 30)
    monkeypatch.setattr(
        module, "collect", lambda shape, capacity, dtype, fill: collect(shape, capacity, dtype, spy(fill, chunks))
    )
    chunked = sparsify(matrix, top_k=7)
    assert len(chunks) == 13
    assert max(chunks) == 4
    np.testing.assert_array_equal(chunked.toarray(), unchunked.toarray())


def spy(fill, chunks):
    def filled(first, last, *rest):
        chunks.append(last - first)
        fill(first, last, *rest)

    return filled
