"""Hashed words as features: the same columns for the same words, and rare words weigh more."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from mvgrl.tables.hashed_text import HashedText, hashed_text


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


def test_features_are_those_of_scikit_learn_to_the_bit():
    texts = ["the cat sat on the mat", "a dog and a cat", "", "the the the end"] * 5
    counts = HashingVectorizer(n_features=4096, alternate_sign=False, norm=None).transform(texts)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(counts).astype(np.float32)
    for found in (hashed_text(texts), HashedText.fit(texts).transform(texts)):
        assert np.array_equal(found.indptr, expected.indptr)
        assert np.array_equal(found.indices, expected.indices)
        assert np.array_equal(found.data, expected.data)


def test_later_texts_get_the_weights_of_the_training_texts():
    words = HashedText.fit(["rare common", "common", "common"])
    one, other = words.transform(["rare common"]), words.transform(["rare common", "rare", "rare", "rare"])
    assert np.array_equal(one.data, other[[0]].data)
