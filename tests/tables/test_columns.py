"""Columns: which types are accepted, and where the first bad value is."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from mvgrl.tables.columns import Place, find_endpoints, find_id, find_label, to_array, to_ids, to_labels, to_numbers

PLACE = Place("nodes")


def column(values, dtype=None):
    return pa.chunked_array([pa.array(values, dtype)])


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([True, False], None, [1, 0]),
        ([200, 3], pa.uint8(), [200, 3]),
        ([Decimal("1.5"), Decimal("2.5")], None, [1.5, 2.5]),
        ([[1, 2], [3, 4]], pa.list_(pa.float32()), [[1, 2], [3, 4]]),
        ([[1, 2], [3, 4]], pa.list_(pa.float64(), 2), [[1, 2], [3, 4]]),
        ([[1, 2], [3, 4]], pa.large_list(pa.int64()), [[1, 2], [3, 4]]),
    ],
)
def test_numbers_of_every_type_are_accepted(values, dtype, expected):
    assert to_numbers(PLACE, "x", column(values, dtype)).tolist() == expected


def test_single_precision_is_kept():
    assert to_numbers(PLACE, "x", column([0.1], pa.float32())).dtype == np.float32
    assert to_numbers(PLACE, "x", column([0.1])).dtype == np.float64


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "two"], ["nodes, row 1", "'x'", "'two'", "drop the column or encode it as numbers"]),
        ([1.0, None], ["nodes, row 1", "'x' is missing"]),
        ([1.0, -np.inf], ["nodes, row 1", "'x' is -inf"]),
        ([[1.0, 2.0], [3.0]], ["nodes, row 1", "1 values", "first row has 2"]),
        ([[1.0, 2.0], [3.0, np.nan]], ["nodes, row 1", "missing"]),
        ([["1", "2"], ["3", "x"]], ["nodes, row 1", "'x'"]),
    ],
)
def test_first_value_that_is_not_a_finite_number_is_named(input_error, values, words):
    input_error(lambda: to_numbers(PLACE, "x", column(values)), *words)


def test_ids_of_all_columns_have_one_type(input_error):
    def ids(*columns):
        return [array.to_pylist() for array in to_ids([(PLACE, "id", column(values)) for values in columns])]

    assert ids([1, 2], [2]) == [[1, 2], [2]]
    assert ids([1, 2], ["2"]) == [["1", "2"], ["2"]]
    assert ids([1.0, 2.0]) == [[1, 2]]  # what pandas makes of integers with a gap
    assert ids([1.5, 2.0]) == [["1.5", "2"]]
    for missing in ([1, None], ["a", ""], [1.0, float("nan")]):
        input_error(lambda: ids(missing), "nodes, row 1", "'id' is missing", "drop the row")  # noqa: B023
    input_error(lambda: ids([[1]]), "nodes", "list", "integers or text")


def test_labels_keep_their_type_and_may_be_missing():
    assert to_labels(PLACE, "x", column([3, 4])).dtype.kind == "i"
    assert to_labels(PLACE, "x", column(["x", None])).tolist() == ["x", ""]
    np.testing.assert_array_equal(to_labels(PLACE, "x", column([3, None])), [3, np.nan])
    assert to_labels(PLACE, "x", column([True, False])).dtype == bool
    assert to_labels(PLACE, "x", column(["a", "b"]).dictionary_encode()).tolist() == ["a", "b"]


def test_columns_are_found_by_their_usual_names(input_error):
    for pair in (("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v")):
        assert find_endpoints([pair[0], "since", pair[1]], PLACE) == pair
    assert find_id(["x", "node"], None, PLACE) == "node"
    assert find_id(["id", "key"], "key", PLACE) == "key"
    assert (find_label(["label"], None, PLACE), find_label(["x"], None, PLACE)) == ("label", None)
    input_error(lambda: find_endpoints(["sorce", "target"], PLACE), "'source'", "did you mean 'sorce'")
    input_error(lambda: find_endpoints(["a", "b", "c"], PLACE), "header", "source,target,weight")
    input_error(lambda: find_endpoints(["a b"], PLACE), "only one column", "separator")
    input_error(lambda: find_id(["name"], None, PLACE), "no column 'id'", "it has 'name'")
    input_error(lambda: find_label(["class"], "clas", PLACE), "did you mean 'class'")


def test_empty_column_stays_empty():
    assert len(to_array(PLACE, "x", pa.chunked_array([], pa.string()))) == 0
