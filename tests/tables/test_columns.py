"""Columns: which types are accepted, and where the first bad value is."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.errors import InputError
from mvgrl.graphs.convert import to_named
from mvgrl.tables import names
from mvgrl.tables.columns import Place, find_id, find_label, to_array, to_ids, to_labels, to_numbers
from mvgrl.tables.endpoints import find_endpoints
from mvgrl.tables.labels import read_labels, read_split

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
    input_error(lambda: find_endpoints(["a", "b", "c"], PLACE), "'a,b,c'", "--source-column", "--no-header")
    input_error(lambda: find_endpoints(["a b"], PLACE), "only one column", "separator")
    input_error(lambda: find_id(["name"], None, PLACE), "no column 'id'", "it has 'name'", "--id-column", "id_column=")
    input_error(lambda: find_label(["class"], "clas", PLACE), "did you mean 'class'")


def test_empty_column_stays_empty():
    assert len(to_array(PLACE, "x", pa.chunked_array([], pa.string()))) == 0


# Columns of every type in every role


def damaged(offsets, content):
    return pa.StringArray.from_buffers(2, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(content))


DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
ODD = {
    "lists": pa.array([[1], [2]]),
    "lists of lists": pa.array([[[1]], [[2]]]),
    "empty lists": pa.array([[], []], pa.list_(pa.int64())),
    "structs": pa.array([{"a": 1}, {"a": 2}]),
    "maps": pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "dates": pa.array(DAYS),
    "times of an unknown zone": pa.array([1, 2], pa.timestamp("us", "Mars/Base")),
    "durations": pa.array([datetime.timedelta(1), datetime.timedelta(2)]),
    "intervals": pa.array([(1, 2, 3), (1, 2, 4)], pa.month_day_nano_interval()),
    "bytes": pa.array([b"\xff", b"a"]),
    "nulls": pa.nulls(2),
    "large decimals": pa.array([Decimal(10) ** 60, Decimal(2)], pa.decimal256(70, 0)),
    "views of text": pa.array(["a", "b"], pa.string_view()),
    "views of lists": pa.array([[1], [2]], pa.list_view(pa.int64())),
    "runs": pa.RunEndEncodedArray.from_arrays([1, 2], ["a", "b"]),
    "unions": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "damaged text": damaged([0, 1, 2], b"\xff\xfe"),
    "damaged offsets": damaged([0, 10**9, 2], b"ab"),
    "long text": pa.array(["x" * 5000, "y" * 5000]),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("role", ["source", "weight", "edge graph", "other", "id", "feature", "label", "graph"])
def test_column_of_any_type_is_used_or_rejected_in_one_short_line(kind, role):
    edges = {"source": pa.array(["a", "b"]), "target": pa.array(["b", "a"])}
    nodes = {"id": pa.array(["a", "b"]), "feature": pa.array([1.0, 2.0]), "label": pa.array(["p", "q"])}
    if role in ("source", "weight", "edge graph", "other"):
        tables = (pa.table({**edges, role.removeprefix("edge "): ODD[kind]}), None)
    else:
        tables = (pa.table(edges), pa.table({**nodes, role: ODD[kind]}))
    try:
        to_named(tables)
    except InputError as error:
        message = str(error)
        assert len(message) < 400
        assert message.isprintable()


def test_labels_that_are_lists_are_rejected(tmp_path, input_error):
    path = tmp_path / "labels.parquet"
    for kind in ("lists", "structs", "bytes"):
        pq.write_table(pa.table({"id": ["a", "b"], "label": ODD[kind]}), path)
        input_error(lambda: read_labels(path), path, "'label'", "labels are numbers or text")
        pq.write_table(pa.table({"id": ["a", "b"], "split": ODD[kind]}), path)
        input_error(lambda: read_split(path), path, "'split'", "train, val or test")
    edges, nodes = pa.table({"source": ["a"], "target": ["b"]}), {"id": ["a", "b"]}
    input_error(lambda: to_named((edges, pa.table({**nodes, "label": ODD["lists"]}))), "nodes", "numbers or text")


def test_long_cell_is_shortened(input_error):
    long = "x" * 5000
    for call in (
        lambda: to_numbers(PLACE, "x", column([long])),
        lambda: to_numbers(PLACE, long, column(["a"])),
        lambda: to_numbers(PLACE, long, column([1.0, None])),
        lambda: to_ids([(PLACE, long, column([None]))]),
        lambda: find_id([long, "b"], None, PLACE),
        lambda: find_id(["b"], long, PLACE),
        lambda: to_named(pa.table({"source": [long, "b"], "target": ["b", None]})),
        lambda: to_named((pa.table({"source": [long], "target": ["b"]}), pa.table({"id": ["b"]}))),
        lambda: to_named((pa.table({"source": ["b"], "target": ["b"]}), pa.table({"id": ["b", long, long]}))),
    ):
        assert len(input_error(call)) < 500


def test_text_that_would_fill_the_memory_as_an_array_is_rejected(input_error, monkeypatch):
    monkeypatch.setattr(names, "machine_memory", lambda: 2**20)
    given = column(["x" * 5000, *map(str, range(1000))])
    input_error(lambda: to_ids([(PLACE, "id", given)]), "nodes", "'id'", "5000 characters", "shorten it")
