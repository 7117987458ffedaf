"""CSV, TSV and Parquet files: ids stay what they are, and errors name the line."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.errors import InputError
from mvgrl.graphs.tables import from_tables
from mvgrl.tables import budget, files
from mvgrl.tables.files import read_edges, read_nodes, read_rows
from mvgrl.tables.parquet_sizes import declared_sizes


@pytest.fixture
def edges(tmp_path):
    """Write a CSV file of edges, and return a function that reads it."""

    def read(content, name="edges.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_edges(path)

    return read


def test_ids_are_integers_only_if_all_of_them_are(edges):
    def sources(*values):
        return edges("source,target\n" + "".join(f"{value},x\n" for value in values))[0]["source"].to_pylist()

    assert sources("10", "-3") == [10, -3]
    for values in (["007", "20"], ["1", "a"], ["+1", "2"], ["1.0", "2"], [str(2**64), "1"]):
        assert sources(*values) == values


def test_byte_order_marks_empty_lines_and_quotes_are_read(edges):
    table, place = edges('\ufeffsource,target\r\n"a,1",b\r\n\r\n"two\nlines",c\r\nd,e\r\n')
    assert table["source"].to_pylist() == ["a,1", "two\nlines", "d"]
    assert [place.row(row) for row in range(3)] == ["line 2", "line 4", "line 6"]


def test_columns_of_embeddings_are_read_in_single_precision(tmp_path):
    (tmp_path / "z.tsv").write_text("id\te0\tx\n007\t0.1\t0.1\n")
    table, _ = read_rows(tmp_path / "z.tsv")
    assert table.schema.types == [pa.string(), pa.float32(), pa.float64()]


def test_unnamed_pandas_index_is_kept_only_as_an_id(tmp_path):
    path = tmp_path / "nodes.parquet"
    pd.DataFrame({"id": ["a", "b", "c"]}).iloc[[1, 0, 2]].to_parquet(path)
    assert read_nodes(path)[0].column_names == ["id"]
    assert read_rows(path)[0].column_names == ["id", "__index_level_0__"]
    twice = pa.table([["a"], [0], [1]], names=["id", "__index_level_0__", "__index_level_0__"])
    pq.write_table(twice, path)
    assert read_nodes(path)[0].column_names == ["id"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("\n\n", ["edges.csv", "only empty lines"]),
        ("a;b;1,5\nb;c;2,5\n", ["commas or semicolons", "--separator (separator=)"]),
        ("source,target\na,b\n\nb\n", ["edges.csv, line 4", "number of columns is 1", "2 in the header"]),
        ("source,source\na,b\n", ["two columns named 'source'"]),
        ("source,target\na,é\n".encode("latin-1"), ["not UTF-8"]),
        ("source,target,é\na,b,c\n".encode("latin-1"), ["not UTF-8"]),
        ("source,target\na,b\n".encode("utf-16"), ["not UTF-8"]),
    ],
)
def test_bad_text_file_is_rejected(edges, input_error, content, words):
    input_error(lambda: edges(content), "edges.csv", *words)


def test_truncated_and_damaged_parquet_files_are_rejected(edges, tmp_path, input_error):
    pq.write_table(pa.table({"source": ["a", "b"], "target": ["b", "c"]}), tmp_path / "complete.parquet")
    complete = (tmp_path / "complete.parquet").read_bytes()
    for length in (3, len(complete) // 2, len(complete) - 1):
        input_error(lambda: edges(complete[:length], "cut.parquet"), "cut.parquet", "truncated", "write it again")  # noqa: B023
    damaged = complete[:4] + bytes(36) + complete[40:]  # a page is damaged, the footer is not
    input_error(lambda: edges(damaged, "damaged.parquet"), "damaged.parquet", "write it again")


def test_fields_that_only_arrow_can_read_do_not_hide_the_error(edges, input_error):
    long = "x" * 200_000
    table, place = edges(f"source,target,weight\n{long},b,1\nc,d,2\n")
    assert table.num_rows == 2
    assert place.row(1) == "row 1"  # Python's reader gives up before it
    message = input_error(lambda: edges(f"source,target\n{long}\n"), "edges.csv, line 2", "field")
    assert len(message) < 300


def test_file_with_carriage_returns_only_is_read(edges):
    table, place = edges("source,target\ra,b\rc,d\r")
    assert table["target"].to_pylist() == ["b", "d"]
    assert place.row(1) == "line 3"


def test_long_names_are_shortened_in_messages(edges, input_error, tmp_path):
    long = "n" * 5000
    for content in (f"{long},target\n1,2\n", f"source,target,{long},{long}\n1,2,3,4\n", f"{long};target\n1;2\n"):
        assert len(input_error(lambda content=content: _from_tables(*edges(content)), "edges.csv")) < 700


def _from_tables(table, place):
    return from_tables(table, place=place)


def test_parquet_file_with_a_repeated_text_is_not_unpacked(tmp_path, input_error, monkeypatch):
    path = tmp_path / "bomb.parquet"
    monkeypatch.setattr(budget, "ALWAYS_ALLOWED", 2**25)
    monkeypatch.setattr(files, "_BATCH", 2**25)
    ends = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), pa.array(["x" * 2**20]))
    pq.write_table(pa.table({"source": ends, "target": ends}), path, store_schema=False)
    assert path.stat().st_size < 2**18  # it would take 40 gigabytes
    input_error(lambda: read_edges(path), path, "would unpack from")


@pytest.mark.parametrize("values", ["flat", "lists", "nulls"])
def test_parquet_file_that_declares_too_many_values_is_not_read(tmp_path, input_error, monkeypatch, values):
    path, count = tmp_path / "bomb.parquet", 2**22
    zeros = pa.nulls(count, pa.int64()) if values == "nulls" else pa.array(np.zeros(count, np.int64))
    if values == "lists":  # one row, so the number of rows says nothing
        zeros = pa.LargeListArray.from_arrays(pa.array([0, count], pa.int64()), zeros)
    pq.write_table(pa.table({"source": zeros, "target": zeros}), path)
    assert path.stat().st_size < 2**17
    monkeypatch.setattr(budget, "ALWAYS_ALLOWED", 2**20)
    monkeypatch.setattr(pq, "ParquetFile", None)
    input_error(lambda: read_edges(path), path, "would unpack from", "MB")


def test_ordinary_parquet_files_are_within_the_budget(tmp_path):
    path = tmp_path / "edges.parquet"
    table = pa.table({"source": ["same"] * 10**5, "target": [f"{i}" for i in range(10**5)], "weight": [1.0] * 10**5})
    pq.write_table(table, path, row_group_size=30_000)
    assert read_edges(path)[0].equals(table)
    sizes = declared_sizes(path)
    assert table.nbytes / 2 < sizes.total < 4 * table.nbytes


def test_every_damaged_byte_of_a_parquet_file_is_survived(tmp_path):
    """Some damage makes pyarrow end the process when it is asked for the metadata of a column."""
    path = tmp_path / "edges.parquet"
    pq.write_table(pa.table({"source": ["a", "b"], "target": ["b", "c"], "x": [[1.0], [2.0]]}), path)
    complete = path.read_bytes()
    for place in range(4, len(complete), 2):
        path.write_bytes(complete[:place] + bytes([complete[place] ^ (1 << place % 8)]) + complete[place + 1 :])
        try:
            read_edges(path)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017


def test_files_with_names_that_are_not_utf8_are_read(tmp_path, input_error):
    name = os.fsdecode(b"\xff")
    (tmp_path / f"{name}.csv").write_text("source,target\na,b\n")
    with (tmp_path / f"{name}.parquet").open("wb") as file:
        pq.write_table(pa.table({"source": ["a"], "target": ["b"]}), file)
    for extension in ("csv", "parquet"):
        assert read_edges(tmp_path / f"{name}.{extension}")[0]["target"].to_pylist() == ["b"]
    (tmp_path / f"{name}.csv").write_text("source,target\na\n")
    assert input_error(lambda: read_edges(tmp_path / f"{name}.csv"), "\\udcff.csv, line 2").isprintable()
