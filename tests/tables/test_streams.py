"""Tables read in batches have the values, types, notes and errors of the same tables read as a whole."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mvgrl.errors import InputError
from mvgrl.tables import streams
from mvgrl.tables.files import read_edges, read_nodes, wanted_edges, wanted_nodes
from mvgrl.tables.streams import open_stream


def in_batches(path, wanted):
    stream = open_stream(path, wanted)
    stream.settle(stream.names)
    parts = list(stream.batches(stream.names))
    schema = pa.schema([(name, stream.types[name]) for name in stream.names])
    assert all(part.schema.types == schema.types for part in parts)
    table = pa.concat_tables(parts) if parts else schema.empty_table()
    assert stream.rows == table.num_rows
    return table, stream.place


CELLS = ("", "1", "-7", "2.5", "1e3", "true", "false", "NA", "2024-01-31", "2024-01-31T10:00:00", "12:30", "a word",
         "2024-01-31T10:00:00Z", "2024-01-31 10:00:00.25", "9999999999999999999", "007", " 3", "x")  # fmt: skip
COLUMN = st.lists(st.sampled_from(CELLS), min_size=1, max_size=3, unique=True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.tuples(COLUMN, COLUMN, COLUMN))
def test_a_text_file_in_blocks_has_the_types_of_the_whole(tmp_path, data, cells):
    count = data.draw(st.integers(1, 40))
    rows = [[data.draw(st.sampled_from(some)) for some in cells] for _ in range(count)]
    path = tmp_path / "nodes.csv"
    path.write_text("id,a,b\n" + "".join(",".join(row) + "\n" for row in rows))
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as patch:
        patch.setattr(streams, "_BLOCK", 160)
        found, _ = in_batches(path, wanted_nodes())
    whole, _ = read_nodes(path)
    assert found.schema.types == whole.schema.types
    assert found.to_pydict() == whole.to_pydict()


def test_a_column_may_begin_with_many_empty_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_BLOCK", 160)
    path = tmp_path / "nodes.csv"
    for empty in range(20, 60):
        path.write_text("id,a,b\n" + ",-7,\n" * empty + ",-7,1\n")
        assert in_batches(path, wanted_nodes())[0]["b"].to_pylist() == [None] * empty + [1]


def write_parquet(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)


@pytest.mark.parametrize(
    "files",
    [
        {"edges.csv": "source,target,weight\n1,2,0.5\n2,3,1\n"},
        {"edges.tsv": "Src\tDst\n 1\t 2\n 2\t 3\n"},
        {"edges.txt": "# a comment\n1   2\n  2 \t 30\n"},
        {"edges.txt": 'a  "b  c"\nd   e\n'},
        {"edges.csv": "source;target;weight\na;b;1,5\nb;c;2,5\n"},
        {"edges.csv": "source,target\n"},
        {"e/part-0.csv": "source,target\n1,2\n", "e/part-1.csv": "target,source\nx,y\n"},
        {"e/part-0.csv": "source,target,weight\n1,2,1\n", "e/part-1.csv": "source,target,weight\n3,4,1.5\n"},
        {"edges.jsonl": '{"source": 1, "target": "a"}\n{"source": 2, "target": "b"}\n'},
    ],
)
def test_a_table_of_edges_in_batches_is_the_table(files, tmp_path):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    path = (tmp_path / name).parent if len(files) > 1 else tmp_path / name
    whole, place = read_edges(path)
    found, same = in_batches(path, wanted_edges())
    assert found.to_pydict() == whole.to_pydict()
    assert found.schema.types == whole.schema.types
    assert (same.name, same.notes) == (place.name, place.notes)
    assert [same.row(i) for i in range(whole.num_rows)] == [place.row(i) for i in range(whole.num_rows)]


def test_compressed_text_and_parquet_are_read_in_batches(tmp_path):
    with gzip.open(tmp_path / "edges.csv.gz", "wt") as file:
        file.write("source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(1000)))
    write_parquet(tmp_path / "edges.parquet", [{"source": i, "target": i + 1} for i in range(1000)])
    for name in ("edges.csv.gz", "edges.parquet"):
        found, _ = in_batches(tmp_path / name, wanted_edges())
        assert found["target"].to_pylist() == list(range(1, 1001))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("edges.csv", b"source,target\n1,2\n3\n", "line 3: the number of columns is 1, but 2 in the header"),
        ("edges.csv", b"source,target\n1,\xff\n", "UTF-8"),
        ("edges.csv.gz", gzip.compress(b"source,target\n1,2\n" * 99, mtime=0)[:-9], "gzip"),
        ("edges.parquet", b"PAR1", "Parquet"),
        ("edges.parquet", b"no table at all", "Parquet"),
    ],
)
def test_a_damaged_file_is_named(name, content, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as error:
        in_batches(path, wanted_edges())
    assert str(path) in str(error.value)


def test_parts_with_other_columns_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("source,target\n1,2\n")
    (tmp_path / "b.csv").write_text("source,target,x\n1,2,3\n")
    with pytest.raises(InputError, match=r"b\.csv has the columns 'source,target,x', but"):
        open_stream(tmp_path, wanted_edges())


def test_a_long_text_that_repeats_is_not_unpacked_at_once(tmp_path):
    texts = pa.array(["x" * 2**18] * 600).dictionary_encode()
    pq.write_table(pa.table({"source": texts.cast(pa.string()), "target": range(600)}), tmp_path / "edges.parquet")
    stream = open_stream(tmp_path / "edges.parquet", wanted_edges())
    stream.settle(stream.names)
    assert next(stream.batches(stream.names)).nbytes < 2**27


def test_short_texts_are_read_in_large_batches(tmp_path):
    texts = [f"node {i % 1000}" for i in range(2**16)]
    pq.write_table(pa.table({"source": texts, "target": texts}), tmp_path / "edges.parquet")
    stream = open_stream(tmp_path / "edges.parquet", wanted_edges())
    stream.settle(stream.names)
    assert [batch.num_rows for batch in stream.batches(stream.names)] == [2**16]
