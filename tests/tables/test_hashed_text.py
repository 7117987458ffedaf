"""Hashed words as features: the same columns for the same words, and rare words weigh more."""

from __future__ import annotations

import numpy as np
import pytest

from mvgrl.tables.hashed_text import hashed_text


def test_a_word_has_the_same_column_in_every_collection():
    one, other = hashed_text(["graph"]), hashed_text(["something else", "graph"])
    assert one.indices.tolist() == other[[1]].indices.tolist()


def test_weights_follow_the_definition_of_tf_idf():
    found = hashed_text(["cat cat cat dog", "dog"], columns=2**18).toarray()
    cat, dog = 1 + np.log(3), 1.0
    idf = {"cat": np.log(3 / 2) + 1, "dog": np.log(3 / 3) + 1}
    expected = np.array([cat * idf["cat"], dog * idf["dog"]])
    assert sorted(found[0][found[0] > 0]) == pytest.approx(sorted(expected / np.linalg.norm(expected)))
    assert found[1].max() == pytest.approx(1.0)
    assert hashed_text([""]).nnz == 0
