"""What a column holds: the rule for text, and values as numbers."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from mvgrl.tables.column_kinds import kind_of, values_of
from mvgrl.tables.columns import Place, to_array

NODES = Place("nodes")
SENTENCES = [f"the {word} of this node is a sentence about {word}" for word in ["cat", "dog", "tree", "river", "stone"]]


def array(values, dtype=None):
    return to_array(NODES, "c", pa.chunked_array([pa.array(values, dtype)]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "number"),
        ([1.5, float("nan")], "number"),
        ([Decimal("1.5"), None], "number"),
        ([dt.timedelta(hours=1), None], "number"),
        ([True, None], "boolean"),
        ([dt.date(2020, 1, 1), None], "date"),
        ([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)], "date"),
        ([[1, 2], [3, 4]], "list"),
        ([["jazz", "piano"], ["rock"], None], "text"),
        (["1", " 2.5e3 ", "-.5", ""], "number"),
        ([*map(str, range(18)), "?", "n/a"], "number"),
        ([*map(str, range(5)), "?", "n/a"], None),  # mostly numbers, but not nine of ten
        (["2020-01-01", "2021-12-31 10:00", ""], "date"),
        (["2020-01-01T10:00:00Z", "2021-12-31T10:00:00+02:00"], "date"),
        (["Rome", "Oslo", "Rome"], "category"),
        (["New York", "San José del Cabo", "New York", None], "category"),
        ([f"level {i % 100}" for i in range(300)], "category"),
        ([f"level {i % 101}" for i in range(300)], "text"),
        (SENTENCES * 10, "category"),  # few answers, repeated
        ([*SENTENCES, SENTENCES[0]], "text"),  # prose with a duplicate
        (["Ann Smith", "Bob Jones", "Cy Young"], "text"),
        (["ann", "bob", "cy"], None),
        ([f"https://example.org/{i}" for i in range(500)], None),
        (["", "  ", None], None),
        ([None, None], None),
        ([float("nan")] * 2, None),
    ],
    ids=str,
)
def test_a_column_is_recognised(values, kind):
    assert kind_of(NODES, "c", array(values))[0] == kind


def test_a_column_chosen_by_name_is_left_out_only_if_it_is_empty():
    assert kind_of(NODES, "c", array(["ann", "bob", "cy"]), chosen=True)[0] == "text"
    assert kind_of(NODES, "c", array([None, ""]), chosen=True) == (None, "no values")


def test_dates_are_years_since_1970():
    for values in (
        [dt.date(1970, 1, 1), dt.date(2020, 1, 1), None],
        [dt.datetime(1970, 1, 1), dt.datetime(2020, 1, 1), None],
        ["1970-01-01", "2020-01-01", ""],
        ["1970-01-01T02:00:00+02:00", "2020-01-01T00:00:00Z", None],
    ):
        found, _ = values_of(NODES, "c", array(values), "date")
        assert found[:2] == pytest.approx([0, 50], abs=0.01)
        assert np.isnan(found[2])


def test_durations_and_times_of_day_are_seconds():
    assert values_of(NODES, "c", array([dt.timedelta(minutes=2)]), "number")[0].tolist() == [120]
    assert values_of(NODES, "c", array([dt.time(1, 0, 1)]), "number")[0].tolist() == [3601]


def test_numbers_keep_their_precision_and_gaps_are_nan():
    single, _ = values_of(NODES, "c", array([1.5, None], pa.float32()), "number")
    assert single.dtype == np.float32
    assert np.isnan(single[1])
    found, odd = values_of(NODES, "c", array([*map(str, range(10)), "?"]), "number")
    assert found[:10].tolist() == list(range(10))
    assert odd == ["?"]


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ([1.0, np.inf], "number", ["nodes, row 1", "'c' is inf"]),
        ([1.0, 1e39], "number", ["nodes, row 1", "3.4e38"]),
        (["a", "b"], "number", ["nodes, row 0", "'a'", "trained with numbers"]),
        (["a", "b"], "date", ["'c'", "dates"]),
        ([1, 2], "date", ["'c'", "dates"]),
        ([1, 2], "list", ["'c'", "int64", "lists"]),
        ([[1, 2], [3]], "list", ["nodes, row 1", "1 values"]),
        ([b"x"], "number", ["'c'", "binary", "numbers"]),
    ],
)
def test_values_of_another_kind_are_rejected(values, kind, words, input_error):
    input_error(lambda: values_of(NODES, "c", array(values), kind), *words)
