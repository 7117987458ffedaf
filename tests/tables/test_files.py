"""CSV, TSV and Parquet files: ids stay what they are, and errors name the line."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.tables.files import read_edges, read_nodes, read_rows


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


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("\n\n", ["edges.csv", "only empty lines"]),
        ("source;target\na;b\n", ["semicolons", "save it with commas"]),
        ("source\ttarget\na\tb\n", ["tabs", "save it with commas, or rename it to .tsv"]),
        ("source,target\na,b\n\nb\n", ["edges.csv, line 4", "1 columns", "2 in the header"]),
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
