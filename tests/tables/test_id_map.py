"""The hash table of ids: a dictionary, in compiled code, that may hold a share of the ids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mvgrl.tables import id_map
from mvgrl.tables.id_map import IdMap, MapTooLargeError

INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), max_size=60)
TEXTS = st.lists(st.text(max_size=20) | st.sampled_from(["", "a", "aa", "\x00", "a\x00"]), max_size=60)


@settings(max_examples=60, deadline=None)
@given(INTEGERS | TEXTS, st.integers(1, 4), st.integers(1, 7), st.integers(0, 2**62))
def test_ids_have_the_numbers_of_a_dictionary(ids, shares, step, seed):
    text = bool(ids) and isinstance(ids[0], str)
    array = pa.array(ids, pa.large_string() if text else pa.int64())
    expected: dict = {}
    for row, one in enumerate(ids):
        expected.setdefault(one, row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_map, "_FIRST", 1)
        found = np.full(len(ids), -2)
        for share in range(shares):
            known = IdMap(text=text, share=share, shares=shares, seed=seed)
            parts = [known.add(array.slice(start, step), start) for start in range(0, len(ids), step)]
            added = np.concatenate([*parts, np.empty(0, np.int64)]).astype(np.int64)
            assert ((found == -2) | (added == -2)).all()  # every id belongs to one share
            found = np.where(added == -2, found, added)
            assert np.array_equal(known.find(array), added)
            other = pa.array(["not there"], pa.large_string()) if text else pa.array([123456789])
            assert known.find(other)[0] in (-1, -2)
    assert found.tolist() == [expected[one] for one in ids]


def test_a_map_that_outgrows_its_memory_says_so():
    known = IdMap(text=False, limit=10 * 2**20)
    known.add(pa.array(np.arange(10**5)), 0)
    with pytest.raises(MapTooLargeError):
        known.add(pa.array(np.arange(10**6)), 10**5)
    assert known.size <= 10 * 2**20
