"""The folds of the graph protocol: the same for every method, different for each seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sklearn.model_selection import StratifiedKFold

FOLDS = 10


def shuffled_folds(folds: int, seed: int, run: int) -> StratifiedKFold:
    """Return the folds of a run: the same for all embeddings, different for each run."""
    from sklearn.model_selection import StratifiedKFold

    state = int(np.random.SeedSequence([seed, run]).generate_state(1)[0])
    return StratifiedKFold(folds, shuffle=True, random_state=state)


def fold_of_each(truth: np.ndarray, seed: int, folds: int = FOLDS) -> np.ndarray:
    """Return the number of the fold that holds each graph out.

    >>> np.bincount(fold_of_each(np.arange(30) % 2, seed=0)).tolist()
    [3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
    """
    found = np.empty(len(truth), dtype=np.int64)
    for number, (_, held) in enumerate(shuffled_folds(folds, seed, 0).split(truth, truth)):
        found[held] = number
    return found
