"""Embeddings as files: every format round-trips bit for bit, tables of other tools, and errors with their place."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.errors import MachineError
from mvgrl.tables import embeddings
from mvgrl.tables.embeddings import Embeddings, check_output, read_embeddings, write_embeddings

EXTENSIONS = ["parquet", "csv", "tsv", "npy", "CSV"]
ODD_IDS = np.array(["a,b", 'say "hi"', "Übung→é", "007", "7", " padded ", "tab\there", "two\nlines", "NA", "'"])


def any_floats(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Return finite numbers of every magnitude, including the smallest and largest: random bits, not random values."""
    bits = np.random.default_rng(seed).integers(0, 2**32, (rows, columns), dtype=np.uint32)
    values = bits.view(np.float32)
    values[~np.isfinite(values)] = -0.0
    limits = np.finfo(np.float32)
    values.flat[:5] = limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 0.1
    return values


def check_same(found: Embeddings, given: Embeddings) -> None:
    assert found.vectors.dtype == given.vectors.dtype
    assert found.vectors.tobytes() == given.vectors.tobytes()
    assert found.ids.dtype.kind == given.ids.dtype.kind
    assert found.ids.tolist() == given.ids.tolist()
    assert (found.graph_ids is None) == (given.graph_ids is None)
    if given.graph_ids is not None:
        assert found.graph_ids.tolist() == given.graph_ids.tolist()


# Round trips


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("ids", [np.array([5, -3, 2**62, *range(10, 17)]), ODD_IDS], ids=["integers", "text"])
@pytest.mark.parametrize("graphs", [None, np.arange(10) // 3, np.array(list("ggghhhiiij"))])
def test_every_format_round_trips_bit_for_bit(tmp_path, extension, ids, graphs):
    given = Embeddings(ids, any_floats(10, 7), graphs)
    write_embeddings(tmp_path / f"z.{extension}", given)
    check_same(read_embeddings(tmp_path / f"z.{extension}"), given)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_many_rows_are_written_in_several_batches(tmp_path, extension, monkeypatch):
    monkeypatch.setattr(embeddings, "BATCH", 10_000)
    ids = np.array([f"line\n{i}" for i in range(40_000)])  # so many that Arrow reads the text in several blocks
    complete = any_floats(40_000, 6)
    for vectors in (complete[:, :3], np.asfortranarray(complete[:, 3:])):  # neither is contiguous in memory
        write_embeddings(tmp_path / f"z.{extension}", Embeddings(ids, vectors))
        check_same(read_embeddings(tmp_path / f"z.{extension}"), Embeddings(ids, np.ascontiguousarray(vectors)))


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_several_graphs_may_share_an_id(tmp_path, extension):
    given = Embeddings(np.array([0, 1, 0]), any_floats(3, 2), np.array(["a", "a", "b"]))
    write_embeddings(tmp_path / f"z.{extension}", given)
    check_same(read_embeddings(tmp_path / f"z.{extension}"), given)


def test_numpy_files_keep_double_precision_and_tables_do_not(tmp_path, input_error):
    given = Embeddings(np.arange(2), np.array([[1 / 3], [np.pi]]))
    write_embeddings(tmp_path / "z.npy", given)
    check_same(read_embeddings(tmp_path / "z.npy"), given)
    single = Embeddings(given.ids, given.vectors.astype(np.float32))
    for extension in ("parquet", "csv"):
        write_embeddings(tmp_path / f"z.{extension}", given)
        check_same(read_embeddings(tmp_path / f"z.{extension}"), single)
    too_large = Embeddings(np.array(["x", "y"]), np.array([[1.0], [1e300]]))
    input_error(lambda: write_embeddings(tmp_path / "z.csv", too_large), "'y'", "1e+300", "float32")
    check_same(read_embeddings(tmp_path / "z.csv"), single)


@pytest.mark.parametrize(
    ("ids", "graphs", "fields"),
    [
        (np.arange(3), None, [("id", pa.int64())]),
        (np.arange(3, dtype=np.int32), np.array(["g", "g", "h"]), [("graph", pa.string()), ("id", pa.int64())]),
        (np.array(["a", "b", "c"]), np.array([1, 1, 2]), [("graph", pa.int64()), ("id", pa.string())]),
    ],
)
def test_parquet_has_the_documented_schema(tmp_path, ids, graphs, fields):
    write_embeddings(tmp_path / "z.parquet", Embeddings(ids, np.ones((3, 4)), graphs))
    schema = pq.read_schema(tmp_path / "z.parquet")
    assert schema.equals(pa.schema([*fields, ("embedding", pa.list_(pa.float32(), 4))]))
    assert not schema.metadata
    frame = pd.read_parquet(tmp_path / "z.parquet")
    assert np.stack(frame["embedding"]).shape == (3, 4)


def test_csv_can_be_read_by_the_csv_module_and_pandas(tmp_path):
    given = Embeddings(ODD_IDS, any_floats(10, 3), np.arange(10))
    write_embeddings(tmp_path / "z.csv", given)
    with (tmp_path / "z.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["graph", "id", "e0", "e1", "e2"]
    assert [row[1] for row in rows] == ODD_IDS.tolist()
    assert np.array([row[2:] for row in rows], np.float32).tobytes() == given.vectors.tobytes()
    frame = pd.read_csv(tmp_path / "z.csv", keep_default_na=False)
    assert frame["id"].tolist() == ODD_IDS.tolist()


def test_numpy_file_can_be_read_by_numpy(tmp_path):
    given = Embeddings(np.array(["a", "b"]), any_floats(2, 5), np.array([3, 4]))
    write_embeddings(tmp_path / "z.npy", given)
    assert np.load(tmp_path / "z.npy", allow_pickle=False).tobytes() == given.vectors.tobytes()
    assert (tmp_path / "z.ids.csv").read_text() == 'id,graph\n"a",3\n"b",4\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["z.ids.csv", "z.npy"]


# Tables of other tools


@pytest.mark.parametrize("separator", [",", "\t"])
def test_table_with_one_column_per_dimension_is_read(tmp_path, separator):
    values = np.random.default_rng(0).random((4, 3))
    path = tmp_path / ("z.csv" if separator == "," else "z.tsv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerow(["x", "label", "node_id", "y", "split", "class", "z"])
        for name, row in zip(["01", "1", "a,b", "c\td"], values.tolist(), strict=True):
            writer.writerow([row[0], "good", name, row[1], "train", "k", row[2]])
    found = read_embeddings(path)
    assert found.ids.tolist() == ["01", "1", "a,b", "c\td"]
    assert np.array_equal(found.vectors, values)
    assert found.graph_ids is None


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32(), 2), pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.int8())]
)
def test_lists_of_every_type_are_read(tmp_path, kind):
    vectors = pa.array([[1, 2], [3, 4]], kind)
    for name, extra in (("embedding", {"other": vectors}), ("z", {})):
        pq.write_table(pa.table({"year": [1, 2], **extra, name: vectors, "id": ["b", "a"]}), tmp_path / "z.parquet")
        found = read_embeddings(tmp_path / "z.parquet")
        assert found.ids.tolist() == ["b", "a"]
        assert found.vectors.tolist() == [[1, 2], [3, 4]]
    pq.write_table(pa.table({"id": [1, 2], "v": pa.array([[1.0], [2.0]])}), tmp_path / "z.parquet")
    assert read_embeddings(tmp_path / "z.parquet").vectors.tolist() == [[1], [2]]


def test_rows_without_ids_are_numbered_and_a_pandas_index_is_an_id(tmp_path):
    (tmp_path / "z.csv").write_text("x,y\n1,2\n3,4\n")
    assert read_embeddings(tmp_path / "z.csv").ids.tolist() == [0, 1]
    np.save(tmp_path / "z.npy", np.eye(3, dtype=np.int32))
    found = read_embeddings(tmp_path / "z.npy")
    assert found.ids.tolist() == [0, 1, 2]
    assert found.vectors.tolist() == np.eye(3).tolist()
    frame = pd.DataFrame({"0": [1.0, 2.0], "1": [3.0, 4.0]}, index=["007", "b"])
    frame.to_csv(tmp_path / "p.csv")
    frame.to_parquet(tmp_path / "p.parquet")
    for name in ("p.csv", "p.parquet"):
        found = read_embeddings(tmp_path / name)
        assert found.ids.tolist() == ["007", "b"]
        assert found.vectors.tolist() == [[1, 3], [2, 4]]
    frame.assign(id=[5, 6]).to_parquet(tmp_path / "p.parquet")
    found = read_embeddings(tmp_path / "p.parquet")
    assert found.ids.tolist() == [5, 6]
    assert found.vectors.tolist() == [[1, 3], [2, 4]]


def test_id_column_can_be_chosen(tmp_path, input_error):
    (tmp_path / "z.csv").write_text("id,name,x\n1,ann,5\n1,bob,6\n")
    found = read_embeddings(tmp_path / "z.csv", id_column="name")
    assert found.ids.tolist() == ["ann", "bob"]
    assert found.vectors.tolist() == [[1, 5], [1, 6]]
    (tmp_path / "z.csv").write_text("graph,x\ng2,5\ng1,6\n")
    assert read_embeddings(tmp_path / "z.csv").ids.tolist() == ["g2", "g1"]
    input_error(
        lambda: read_embeddings(tmp_path / "z.csv", id_column="grap"), "z.csv", "'grap'", "did you mean 'graph'"
    )


# Errors when reading


@pytest.mark.parametrize("extension", ["parquet", "csv", "tsv", "npy"])
def test_missing_empty_truncated_and_foreign_files_are_rejected(tmp_path, extension, input_error):
    path = tmp_path / f"z.{extension}"
    input_error(lambda: read_embeddings(path), path, "does not exist")
    path.touch()
    input_error(lambda: read_embeddings(path), path, "is empty")
    path.write_bytes(b"\xff\xfe\x00\x01 nothing \xe9\n\xff,\xff")
    input_error(lambda: read_embeddings(path), path)
    if extension in ("parquet", "npy"):
        write_embeddings(path, Embeddings(np.arange(9), any_floats(9, 9)))
        complete = path.read_bytes()
        for length in (3, len(complete) // 2, len(complete) - 1):
            path.write_bytes(complete[:length])
            input_error(lambda: read_embeddings(path), path, "write it again")
    path.unlink()
    path.mkdir()
    input_error(lambda: read_embeddings(path), path, "is a folder")
    input_error(lambda: read_embeddings(tmp_path / "z.xlsx"), "does not exist")
    (tmp_path / "z.xlsx").write_text("x")
    input_error(lambda: read_embeddings(tmp_path / "z.xlsx"), "z.xlsx", ".parquet", ".npy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,x\n", ["no rows"]),
        ("id\n1\n", ["no numeric columns"]),
        ("id,label\n1,a\n", ["no numeric columns"]),
        ("id,e0,e1\n1,2,3\n\n2,nan,4\n", ["line 4", "'e0'", "missing"]),
        ("id,x\n1,2\n2,-inf\n", ["line 3", "'x'", "-inf"]),
        ("id,x\n1,2\n2,\n", ["line 3", "'x'", "missing"]),
        ("id,x\n1,2\n,3\n", ["line 3", "'id'", "missing"]),
        ('id,x\n"7\n8",1\nb,2\n"7\n8",3\n', ["line 5", "also on line 2", "unique"]),
        ("id,x\n7,1\n8,2\n7,3\n", ["line 4", "the id 7", "also on line 2"]),
        ("graph,id,x\n1,7,1\n2,7,2\n1,7,3\n", ["line 4", "the id 7 of graph 1", "also on line 2"]),
        ("id,x,name\n7,1,2\n8,2,ann\n", ["line 3", "'name'", "'ann'", "one column per number"]),
        ("id,e0\n7,1\n8,2;5\n", ["line 3", "'e0'", "'2;5'"]),
        ('id,embedding\n7,"[1, 2]"\n', ["line 2", "'embedding'", "'[1, 2]'"]),
        ("id,x\n7,1\n8\n", ["line 3", "number of columns is 1", "2 in the header"]),
        ("id,x,x\n7,1,1\n", ["two columns named 'x'"]),
        ("id,x,\n7,1,1\n", ["without a name"]),
    ],
)
def test_bad_text_table_is_rejected_with_its_line(tmp_path, text, words, input_error):
    path = tmp_path / "z.csv"
    path.write_text(text)
    input_error(lambda: read_embeddings(path), path, *words)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": [1, 2], "v": [[1.0, 2.0], [3.0]]}, ["row 1", "'v'", "1 values", "first row has 2"]),
        ({"id": [1, 2], "v": [None, [3.0]]}, ["row 0", "'v'", "0 values"]),
        ({"id": [1, 2], "v": [[1.0], None]}, ["row 1", "'v'", "0 values"]),
        ({"id": [1, 2], "v": [[1.0, 2.0], [3.0, np.inf]]}, ["row 1", "'v'", "inf"]),
        ({"id": [1, 2], "v": [[1.0, 2.0], [3.0, None]]}, ["row 1", "'v'", "missing"]),
        ({"id": [1, 2], "v": [["a"], ["b"]]}, ["row 0", "'v'", "not numeric"]),
        ({"id": [1, 2], "v": [[1.0], [2.0]], "w": [[1.0], [2.0]]}, ["'v', 'w'", "'embedding'"]),
        ({"id": [4, 4], "v": [[1.0], [2.0]]}, ["row 1", "the id 4", "row 0"]),
    ],
)
def test_bad_parquet_table_is_rejected_with_its_row(tmp_path, columns, words, input_error):
    path = tmp_path / "z.parquet"
    pq.write_table(pa.table(columns), path)
    input_error(lambda: read_embeddings(path), path, *words)


def test_bad_numpy_file_is_rejected(tmp_path, input_error):
    path, beside = tmp_path / "z.npy", tmp_path / "z.ids.csv"
    np.save(path, np.array([{"a": 1}]), allow_pickle=True)
    assert "pickle" not in input_error(lambda: read_embeddings(path), path, "not an array of numbers")
    with path.open("wb") as file:
        np.savez(file, np.eye(2))
    input_error(lambda: read_embeddings(path), path, "not an array of numbers")
    np.save(path, np.array([["a"]]))
    input_error(lambda: read_embeddings(path), path, "not an array of numbers")
    np.save(path, np.ones(3))
    input_error(lambda: read_embeddings(path), path, "shape (3,)")
    np.save(path, np.array([[1.0, 2.0], [3.0, np.nan]]))
    input_error(lambda: read_embeddings(path), path, "row 1", "column 1", "nan")
    np.save(path, np.eye(3))
    input_error(lambda: read_embeddings(path, id_column="id"), beside, "'id'")
    beside.write_text("id\n1\n2\n")
    input_error(lambda: read_embeddings(path), beside, "2 ids", "3 rows")
    beside.write_text("id\n1\n2\n1\n")
    input_error(lambda: read_embeddings(path), beside, "line 4", "line 2")


@pytest.mark.parametrize(
    ("ids", "vectors", "graphs", "words"),
    [
        (np.arange(2), np.ones((3, 2)), None, ["ids", "(2,)", "3 vectors"]),
        (np.arange(3), np.ones((3, 2)), np.arange(2), ["graph_ids", "(2,)"]),
        (np.arange(3), np.ones(3), None, ["vectors", "(3,)"]),
        (np.arange(3), np.ones((3, 0)), None, ["vectors", "(3, 0)"]),
        (np.arange(3), np.ones((3, 1), int), None, ["vectors", "int64"]),
        ([1, 2, 3], np.ones((3, 1)), None, ["ids", "list"]),
        (np.ones(3), np.ones((3, 1)), None, ["ids", "float64"]),
    ],
)
def test_inconsistent_embeddings_are_rejected(ids, vectors, graphs, words, input_error):
    input_error(lambda: Embeddings(ids, vectors, graphs), *words)


# Errors when writing


def test_output_paths_are_checked_before_any_work(tmp_path, input_error):
    for name in ("z.xlsx", "z"):
        input_error(lambda name=name: check_output(tmp_path / name), name, ".parquet, .csv, .tsv, .npy")
    input_error(lambda: check_output(tmp_path), tmp_path, "is a folder")
    (tmp_path / "z.csv").mkdir()
    input_error(lambda: check_output(tmp_path / "z.csv"), "is a folder")
    (tmp_path / "y.ids.csv").mkdir()
    input_error(lambda: check_output(tmp_path / "y.npy"), "y.ids.csv", "is a folder")
    (tmp_path / "file").touch()
    input_error(lambda: check_output(tmp_path / "file" / "z.csv"), "cannot be written", "choose another path")
    before = sorted(tmp_path.iterdir())
    assert check_output(str(tmp_path / "new" / "folder" / "z.NPY")) == tmp_path / "new" / "folder" / "z.NPY"
    assert sorted(tmp_path.iterdir()) == before
    write_embeddings(tmp_path / "new" / "folder" / "z.NPY", Embeddings(np.arange(1), np.ones((1, 1))))
    assert read_embeddings(tmp_path / "new" / "folder" / "z.NPY").vectors.tolist() == [[1]]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_invalid_embeddings_leave_the_old_file(tmp_path, extension, input_error):
    path = tmp_path / f"z.{extension}"
    old = Embeddings(np.array(["a"]), any_floats(1, 3))
    write_embeddings(path, old)
    bad = Embeddings(np.array(["a", "b"]), np.array([[1, 2, 3], [4, np.nan, 6]], np.float32))
    input_error(lambda: write_embeddings(path, bad), "embedding of 'b'", "nan", "dimension 1")
    input_error(lambda: Embeddings(np.array(["a", ""]), np.ones((2, 3))), "ids[1] is empty")
    check_same(read_embeddings(path), old)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("limit", [1, 30_000])
@pytest.mark.parametrize("extension", ["parquet", "csv", "tsv", "npy"])
def test_full_disk_keeps_the_old_files_and_leaves_no_temporary_files(tmp_path, files_up_to, extension, limit):
    path = tmp_path / f"z.{extension}"
    write_embeddings(path, Embeddings(np.arange(2), any_floats(2, 2)))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    new = Embeddings(np.arange(3000), any_floats(3000, 8))
    with pytest.raises(MachineError) as caught, files_up_to(limit):
        write_embeddings(path, new)
    assert str(caught.value).startswith(f"{path} cannot be written: ")
    assert str(caught.value).endswith("; free some space or choose another path")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    write_embeddings(path, new)
    check_same(read_embeddings(path), new)
