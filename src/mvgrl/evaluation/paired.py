"""Compare two methods over the same random splits: a paired t-test that allows for splits that overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mvgrl.errors import InputError

LEVEL = 0.05  # a difference with a larger p-value may be chance: a tie
LEAST = 3  # splits; with two, even a difference of fifty points may be chance


def paired_p_value(
    one: Sequence[float] | np.ndarray, other: Sequence[float] | np.ndarray, *, parts: tuple[float, float] | None
) -> float | None:
    """Return the two-sided p-value of a paired t-test with the correction of Nadeau and Bengio (2003).

    Entry i of both are scores on split i. Random splits of the same nodes overlap, so their scores are correlated, and
    a plain t-test would find differences too often. The variance of the mean difference over J splits is estimated as
    S²·(1/J + r) instead of S²/J. In the paper, r = test / train for splits with a small test part, whose choice is
    what varies most; r / (1 + r) is the share of it that two splits have in common. Where the train part is the smaller
    one, as in 10 % train and 80 % test nodes, it is the part that varies most, and r = train / test. ``parts`` are the
    sizes of the two in any order; None if the runs share the same split and are independent training runs: then r = 0.

    None if there are fewer than three splits. Without any spread, the p-value is 1 for equal scores and 0 for others.

    >>> round(paired_p_value([80, 82, 81, 83], [79, 80, 80, 81], parts=(1, 9)), 4)
    0.0228
    >>> paired_p_value([80, 82, 81], [80, 82, 81], parts=(1, 9))
    1.0
    """
    from scipy.stats import t

    differences = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    if differences.ndim != 1:
        raise InputError(f"scores have shape {differences.shape}; give one number per split")
    if len(differences) < LEAST:
        return None
    ratio = 0.0 if parts is None else min(parts) / max(parts)
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    if variance < 1e-18:  # rounding
        return 1.0 if abs(mean) < 1e-9 else 0.0
    statistic = abs(mean) / np.sqrt(variance * (1 / len(differences) + ratio))
    return float(2 * t.sf(statistic, len(differences) - 1))
