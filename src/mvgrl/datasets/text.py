"""Features of texts: hashed words, weighted by how rare they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

COLUMNS = 4096


def hashed_text(texts: Sequence[str] | np.ndarray, columns: int = COLUMNS) -> sp.csr_array:
    """TF-IDF of hashed words, texts × columns, in rows of length 1.

    A fixed hash assigns each word a column, so there is no vocabulary; the logarithm of a word's count is weighted by
    how few texts contain its column.

    >>> hashed_text(["a small graph", "a large graph", ""]).shape
    (3, 4096)
    """
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    counts = HashingVectorizer(n_features=columns, alternate_sign=False, norm=None).transform(texts)
    return sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts), dtype=np.float32)
