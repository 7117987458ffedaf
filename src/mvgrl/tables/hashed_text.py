"""Features of texts: hashed words, weighted by how rare they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

COLUMNS = 4096


class HashedText:
    """TF-IDF of hashed words, texts × columns, in rows of length 1; the rarity of words is that of the training texts.

    A fixed hash assigns each word a column, so there is no vocabulary, and ``idf``, a number per column, is all there
    is to save. The logarithm of a word's count is weighted by how few training texts contain its column.

    >>> words = HashedText.fit(["a small graph", "a large graph"])
    >>> words.transform(["an unknown graph"]).shape
    (1, 4096)
    """

    def __init__(self, idf: np.ndarray) -> None:
        self.idf = idf

    @classmethod
    def fit(cls, texts: Sequence[str] | np.ndarray, columns: int = COLUMNS) -> HashedText:
        """Learn how rare the words are."""
        return cls.fit_transform(texts, columns)[0]

    @classmethod
    def fit_transform(
        cls, texts: Sequence[str] | np.ndarray, columns: int = COLUMNS
    ) -> tuple[HashedText, sp.csr_array]:
        """Learn how rare the words are, and return the features of the same texts."""
        counts = _counts(texts, columns)
        weights = _weights().fit(counts)
        return cls(np.asarray(weights.idf_, dtype=np.float64)), _table(weights, counts)

    @classmethod
    def from_counts(cls, texts_with: np.ndarray, texts: int) -> HashedText:
        """Learn how rare the words are from the number of texts with a word of each column, and that of all texts.

        >>> counted = HashedText.from_counts(HashedText.texts_with(["a graph", "graph"]), 2)
        >>> bool((counted.idf == HashedText.fit(["a graph", "graph"]).idf).all())
        True
        """
        return cls(np.log((texts + 1.0) / (texts_with + 1.0)) + 1.0)

    @staticmethod
    def texts_with(texts: Sequence[str] | np.ndarray, columns: int = COLUMNS) -> np.ndarray:
        """Count the texts with a word of each column."""
        return np.bincount(_counts(texts, columns).indices, minlength=columns)

    def transform(self, texts: Sequence[str] | np.ndarray) -> sp.csr_array:
        """Return the features of texts, with the weights of the training texts."""
        weights = _weights()
        weights.idf_ = self.idf
        return _table(weights, _counts(texts, len(self.idf)))


def hashed_text(texts: Sequence[str] | np.ndarray, columns: int = COLUMNS) -> sp.csr_array:
    """TF-IDF of hashed words, texts × columns, of a collection that does not change.

    >>> hashed_text(["a small graph", "a large graph", ""]).shape
    (3, 4096)
    """
    return HashedText.fit_transform(texts, columns)[1]


def _counts(texts: Sequence[str] | np.ndarray, columns: int) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=columns, alternate_sign=False, norm=None).transform(texts)


def _weights() -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(sublinear_tf=True)


def _table(weights: Any, counts: Any) -> sp.csr_array:
    return sp.csr_array(weights.transform(counts), dtype=np.float32)
