"""The paired test over splits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

from mvgrl.errors import InputError
from mvgrl.evaluation.paired import paired_p_value


def test_without_overlap_it_is_the_paired_t_test():
    one, other = np.random.default_rng(0).normal([[0.4], [0.0]], size=(2, 12))
    assert paired_p_value(one, other, parts=None) == pytest.approx(ttest_rel(one, other).pvalue)


def test_overlap_widens_the_variance_as_in_the_paper():
    one, other = np.random.default_rng(1).normal([[0.5], [0.0]], size=(2, 10))
    plain = ttest_rel(one, other)
    corrected = 2 * t.sf(abs(plain.statistic) * np.sqrt((1 / 10) / (1 / 10 + 1 / 9)), 9)
    assert paired_p_value(one, other, parts=(0.1, 0.9)) == pytest.approx(corrected)
    assert corrected > plain.pvalue


def test_the_order_of_the_parts_and_of_the_methods_does_not_matter():
    one, other = [80.0, 81, 84, 80], [79.0, 81, 80, 79]
    found = paired_p_value(one, other, parts=(0.1, 0.8))
    assert found == paired_p_value(other, one, parts=(0.8, 0.1)) != paired_p_value(one, other, parts=(0.1, 0.9))


def test_scores_without_spread_and_too_few_splits():
    assert paired_p_value([80, 81, 82], [79, 80, 81], parts=None) == 0.0
    assert paired_p_value([80, 81, 82], [80, 81, 82], parts=None) == 1.0
    assert paired_p_value([80, 81], [19, 31], parts=None) is None
    with pytest.raises(InputError, match="one number per split"):
        paired_p_value([[80, 81]], [[79, 80]], parts=None)
