"""Embeddings as files: bit for bit back from every ending, other people's tables, and every refusal with its place."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.errors import InputError, MachineError
from mvgrl.tables import write
from mvgrl.tables.embeddings import (
    Embeddings,
    Keyed,
    Labels,
    Split,
    align,
    check_output,
    labels_for,
    read_embeddings,
    read_labels,
    read_split,
    splits_for,
    write_embeddings,
)

ENDINGS = ["parquet", "csv", "tsv", "npy", "CSV"]
ODD_IDS = np.array(["a,b", 'say "hi"', "Übung→é", "007", "7", " padded ", "tab\there", "two\nlines", "NA", "'"])


def any_floats(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Finite numbers of every size, the smallest and largest among them: random bits, not random values."""
    bits = np.random.default_rng(seed).integers(0, 2**32, (rows, columns), dtype=np.uint32)
    values = bits.view(np.float32)
    values[~np.isfinite(values)] = -0.0
    limits = np.finfo(np.float32)
    values.flat[:5] = limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 0.1
    return values


def refusal(call, *words, **more):
    with pytest.raises(InputError) as caught:
        call(**more)
    message = str(caught.value)
    assert all(str(word) in message for word in words), message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "\n" not in message
    return message


def check_the_same(found: Embeddings, given: Embeddings) -> None:
    assert found.vectors.dtype == given.vectors.dtype
    assert found.vectors.tobytes() == given.vectors.tobytes()
    assert found.ids.dtype.kind == given.ids.dtype.kind
    assert found.ids.tolist() == given.ids.tolist()
    assert (found.graph_ids is None) == (given.graph_ids is None)
    if given.graph_ids is not None:
        assert found.graph_ids.tolist() == given.graph_ids.tolist()


# There and back


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("ids", [np.array([5, -3, 2**62, *range(10, 17)]), ODD_IDS], ids=["integers", "text"])
@pytest.mark.parametrize("graphs", [None, np.arange(10) // 3, np.array(list("ggghhhiiij"))])
def test_what_is_written_is_read_bit_for_bit(tmp_path, ending, ids, graphs):
    given = Embeddings(ids, any_floats(10, 7), graphs)
    write_embeddings(tmp_path / f"z.{ending}", given)
    check_the_same(read_embeddings(tmp_path / f"z.{ending}"), given)


@pytest.mark.parametrize("ending", ENDINGS)
def test_many_rows_in_several_batches(tmp_path, ending, monkeypatch):
    monkeypatch.setattr(write, "BATCH", 10_000)
    ids = np.array([f"line\n{i}" for i in range(40_000)])  # so many that the text is read in several blocks
    whole = any_floats(40_000, 6)
    for vectors in (whole[:, :3], np.asfortranarray(whole[:, 3:])):  # neither lies in memory row after row
        write_embeddings(tmp_path / f"z.{ending}", Embeddings(ids, vectors))
        check_the_same(read_embeddings(tmp_path / f"z.{ending}"), Embeddings(ids, np.ascontiguousarray(vectors)))


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_ids_of_one_graph_may_come_again_in_another(tmp_path, ending):
    given = Embeddings(np.array([0, 1, 0]), any_floats(3, 2), np.array(["a", "a", "b"]))
    write_embeddings(tmp_path / f"z.{ending}", given)
    check_the_same(read_embeddings(tmp_path / f"z.{ending}"), given)


def test_double_precision_is_kept_by_numpy_files_and_made_single_in_tables(tmp_path):
    given = Embeddings(np.arange(2), np.array([[1 / 3], [np.pi]]))
    write_embeddings(tmp_path / "z.npy", given)
    check_the_same(read_embeddings(tmp_path / "z.npy"), given)
    single = Embeddings(given.ids, given.vectors.astype(np.float32))
    for ending in ("parquet", "csv"):
        write_embeddings(tmp_path / f"z.{ending}", given)
        check_the_same(read_embeddings(tmp_path / f"z.{ending}"), single)
    too_large = Embeddings(np.array(["x", "y"]), np.array([[1.0], [1e300]]))
    refusal(lambda: write_embeddings(tmp_path / "z.csv", too_large), "'y'", "1e+300", "float32")
    check_the_same(read_embeddings(tmp_path / "z.csv"), single)


@pytest.mark.parametrize(
    ("ids", "graphs", "fields"),
    [
        (np.arange(3), None, [("id", pa.int64())]),
        (np.arange(3, dtype=np.int32), np.array(["g", "g", "h"]), [("graph", pa.string()), ("id", pa.int64())]),
        (np.array(["a", "b", "c"]), np.array([1, 1, 2]), [("graph", pa.int64()), ("id", pa.string())]),
    ],
)
def test_the_schema_of_parquet(tmp_path, ids, graphs, fields):
    write_embeddings(tmp_path / "z.parquet", Embeddings(ids, np.ones((3, 4)), graphs))
    schema = pq.read_schema(tmp_path / "z.parquet")
    assert schema.equals(pa.schema([*fields, ("embedding", pa.list_(pa.float32(), 4))]))
    assert not schema.metadata
    frame = pd.read_parquet(tmp_path / "z.parquet")
    assert np.stack(frame["embedding"]).shape == (3, 4)


def test_text_is_what_the_csv_module_and_pandas_read(tmp_path):
    given = Embeddings(ODD_IDS, any_floats(10, 3), np.arange(10))
    write_embeddings(tmp_path / "z.csv", given)
    with (tmp_path / "z.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["graph", "id", "e0", "e1", "e2"]
    assert [row[1] for row in rows] == ODD_IDS.tolist()
    assert np.array([row[2:] for row in rows], np.float32).tobytes() == given.vectors.tobytes()
    frame = pd.read_csv(tmp_path / "z.csv", keep_default_na=False)
    assert frame["id"].tolist() == ODD_IDS.tolist()


def test_numpy_files_are_what_numpy_reads(tmp_path):
    given = Embeddings(np.array(["a", "b"]), any_floats(2, 5), np.array([3, 4]))
    write_embeddings(tmp_path / "z.npy", given)
    assert np.load(tmp_path / "z.npy", allow_pickle=False).tobytes() == given.vectors.tobytes()
    assert (tmp_path / "z.ids.csv").read_text() == 'id,graph\n"a",3\n"b",4\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["z.ids.csv", "z.npy"]


# Other people's tables


@pytest.mark.parametrize("separator", [",", "\t"])
def test_a_wide_table_by_another_tool(tmp_path, separator):
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
def test_lists_of_every_kind(tmp_path, kind):
    vectors = pa.array([[1, 2], [3, 4]], kind)
    for name, extra in (("embedding", {"other": vectors}), ("z", {})):
        pq.write_table(pa.table({"year": [1, 2], **extra, name: vectors, "id": ["b", "a"]}), tmp_path / "z.parquet")
        found = read_embeddings(tmp_path / "z.parquet")
        assert found.ids.tolist() == ["b", "a"]
        assert found.vectors.tolist() == [[1, 2], [3, 4]]
    pq.write_table(pa.table({"id": [1, 2], "v": pa.array([[1.0], [2.0]])}), tmp_path / "z.parquet")
    assert read_embeddings(tmp_path / "z.parquet").vectors.tolist() == [[1], [2]]


def test_rows_without_ids_are_numbered_and_an_index_of_pandas_is_an_id(tmp_path):
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


def test_the_column_with_the_ids_may_be_named(tmp_path):
    (tmp_path / "z.csv").write_text("id,name,x\n1,ann,5\n1,bob,6\n")
    found = read_embeddings(tmp_path / "z.csv", id_column="name")
    assert found.ids.tolist() == ["ann", "bob"]
    assert found.vectors.tolist() == [[1, 5], [1, 6]]
    (tmp_path / "z.csv").write_text("graph,x\ng2,5\ng1,6\n")
    assert read_embeddings(tmp_path / "z.csv").ids.tolist() == ["g2", "g1"]
    refusal(lambda: read_embeddings(tmp_path / "z.csv", id_column="grap"), "z.csv", "'grap'", "did you mean 'graph'")


# What cannot be read


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "npy"])
def test_files_that_are_missing_empty_cut_short_or_something_else(tmp_path, ending):
    path = tmp_path / f"z.{ending}"
    refusal(lambda: read_embeddings(path), path, "there is no")
    path.touch()
    refusal(lambda: read_embeddings(path), path, "is empty")
    path.write_bytes(b"\xff\xfe\x00\x01 nothing \xe9\n\xff,\xff")
    refusal(lambda: read_embeddings(path), path)
    if ending in ("parquet", "npy"):
        write_embeddings(path, Embeddings(np.arange(9), any_floats(9, 9)))
        whole = path.read_bytes()
        for length in (3, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            refusal(lambda: read_embeddings(path), path, "write it again")
    path.unlink()
    path.mkdir()
    refusal(lambda: read_embeddings(path), path, "is a folder")
    refusal(lambda: read_embeddings(tmp_path / "z.xlsx"), "there is no")
    (tmp_path / "z.xlsx").write_text("x")
    refusal(lambda: read_embeddings(tmp_path / "z.xlsx"), "z.xlsx", ".parquet", ".npy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,x\n", ["no rows"]),
        ("id\n1\n", ["no columns of numbers"]),
        ("id,label\n1,a\n", ["no columns of numbers"]),
        ("id,e0,e1\n1,2,3\n\n2,nan,4\n", ["line 4", "'e0'", "missing"]),
        ("id,x\n1,2\n2,-inf\n", ["line 3", "'x'", "-inf"]),
        ("id,x\n1,2\n2,\n", ["line 3", "'x'", "missing"]),
        ("id,x\n1,2\n,3\n", ["line 3", "'id'", "missing"]),
        ('id,x\n"7\n8",1\nb,2\n"7\n8",3\n', ["line 5", "also on line 2", "unique"]),
        ("id,x\n7,1\n8,2\n7,3\n", ["line 4", "the id 7", "also on line 2"]),
        ("graph,id,x\n1,7,1\n2,7,2\n1,7,3\n", ["line 4", "the id 7 of graph 1", "also on line 2"]),
        ("id,x,name\n7,1,2\n8,2,ann\n", ["line 3", "'name'", "'ann'", "a column of its own"]),
        ("id,e0\n7,1\n8,2;5\n", ["line 3", "'e0'", "'2;5'"]),
        ('id,embedding\n7,"[1, 2]"\n', ["line 2", "'embedding'", "'[1, 2]'"]),
        ("id,x\n7,1\n8\n", ["line 3", "1 columns", "2 in the header"]),
        ("id,x,x\n7,1,1\n", ["two columns 'x'"]),
        ("id,x,\n7,1,1\n", ["without a name"]),
    ],
)
def test_tables_in_text_that_make_no_sense(tmp_path, text, words):
    path = tmp_path / "z.csv"
    path.write_text(text)
    refusal(lambda: read_embeddings(path), path, *words)


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
def test_parquet_that_makes_no_sense(tmp_path, columns, words):
    path = tmp_path / "z.parquet"
    pq.write_table(pa.table(columns), path)
    refusal(lambda: read_embeddings(path), path, *words)


def test_numpy_files_that_make_no_sense(tmp_path):
    path, beside = tmp_path / "z.npy", tmp_path / "z.ids.csv"
    np.save(path, np.array([{"a": 1}]), allow_pickle=True)
    assert "pickle" not in refusal(lambda: read_embeddings(path), path, "no array of numbers")
    with path.open("wb") as file:
        np.savez(file, np.eye(2))
    refusal(lambda: read_embeddings(path), path, "no array of numbers")
    np.save(path, np.array([["a"]]))
    refusal(lambda: read_embeddings(path), path, "no array of numbers")
    np.save(path, np.ones(3))
    refusal(lambda: read_embeddings(path), path, "shape (3,)")
    np.save(path, np.array([[1.0, 2.0], [3.0, np.nan]]))
    refusal(lambda: read_embeddings(path), path, "row 1", "column 1", "nan")
    np.save(path, np.eye(3))
    refusal(lambda: read_embeddings(path, id_column="id"), beside, "'id'")
    beside.write_text("id\n1\n2\n")
    refusal(lambda: read_embeddings(path), beside, "2 ids", "3 rows")
    beside.write_text("id\n1\n2\n1\n")
    refusal(lambda: read_embeddings(path), beside, "line 4", "line 2")


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
def test_embeddings_that_make_no_sense(ids, vectors, graphs, words):
    refusal(lambda: Embeddings(ids, vectors, graphs), *words)


# Where they cannot be written


def test_places_that_are_refused_before_any_work(tmp_path):
    for name in ("z.xlsx", "z"):
        refusal(lambda name=name: check_output(tmp_path / name), name, ".parquet, .csv, .tsv, .npy")
    refusal(lambda: check_output(tmp_path), tmp_path, "is a folder")
    (tmp_path / "z.csv").mkdir()
    refusal(lambda: check_output(tmp_path / "z.csv"), "is a folder")
    (tmp_path / "y.ids.csv").mkdir()
    refusal(lambda: check_output(tmp_path / "y.npy"), "y.ids.csv", "is a folder")
    (tmp_path / "file").touch()
    refusal(lambda: check_output(tmp_path / "file" / "z.csv"), "cannot be written", "choose another place")
    before = sorted(tmp_path.iterdir())
    assert check_output(str(tmp_path / "new" / "folder" / "z.NPY")) == tmp_path / "new" / "folder" / "z.NPY"
    assert sorted(tmp_path.iterdir()) == before
    write_embeddings(tmp_path / "new" / "folder" / "z.NPY", Embeddings(np.arange(1), np.ones((1, 1))))
    assert read_embeddings(tmp_path / "new" / "folder" / "z.NPY").vectors.tolist() == [[1]]


@pytest.mark.parametrize("ending", ENDINGS)
def test_vectors_that_are_no_numbers_leave_the_old_file(tmp_path, ending):
    path = tmp_path / f"z.{ending}"
    old = Embeddings(np.array(["a"]), any_floats(1, 3))
    write_embeddings(path, old)
    bad = Embeddings(np.array(["a", "b"]), np.array([[1, 2, 3], [4, np.nan, 6]], np.float32))
    refusal(lambda: write_embeddings(path, bad), "embedding of 'b'", "nan", "dimension 1")
    unnamed = Embeddings(np.array(["a", ""]), np.ones((2, 3)))
    refusal(lambda: write_embeddings(path, unnamed), "row 1", "'id'", "missing")
    check_the_same(read_embeddings(path), old)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("limit", [1, 30_000])
@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "npy"])
def test_a_full_disk_leaves_the_old_files_and_nothing_else(tmp_path, files_up_to, ending, limit):
    path = tmp_path / f"z.{ending}"
    write_embeddings(path, Embeddings(np.arange(2), any_floats(2, 2)))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    new = Embeddings(np.arange(3000), any_floats(3000, 8))
    with pytest.raises(MachineError) as caught, files_up_to(limit):
        write_embeddings(path, new)
    assert str(caught.value).startswith(f"{path} cannot be written: ")
    assert str(caught.value).endswith("; make room, or choose another place")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    write_embeddings(path, new)
    check_the_same(read_embeddings(path), new)


# Labels and splits


def embedded(ids, graphs=None) -> Embeddings:
    return Embeddings(np.array(ids), np.ones((len(ids), 2)), None if graphs is None else np.array(graphs))


def test_rows_are_found_by_id():
    assert align(embedded([7, 8, 9]), Keyed(np.array([9, 5, 7]))).tolist() == [2, -1, 0]
    assert align(embedded([7, 8]), Keyed(np.array(["007", "8", "7"]))).tolist() == [2, 1]
    assert align(embedded(["7", "x"]), Keyed(np.array([7]))).tolist() == [0, -1]
    ids = np.random.default_rng(0).permutation(5000)
    other = np.random.default_rng(1).permutation(9000)
    positions = {name: row for row, name in enumerate(other.tolist())}
    assert align(embedded(ids), Keyed(other)).tolist() == [positions[name] for name in ids.tolist()]


def test_rows_are_found_by_id_and_graph():
    table = Keyed(np.array([0, 1, 0, 0]), np.array(["2", "2", "1", "x"]))
    assert align(embedded([0, 1, 0, 1], [1, 1, 2, 2]), table).tolist() == [2, -1, 0, 1]
    assert align(embedded([5, 6], [1, 2]), Keyed(np.array([6, 5]))).tolist() == [1, 0]
    assert align(embedded([5, 6]), Keyed(np.array([6, 5]), np.array([1, 2]))).tolist() == [1, 0]
    refusal(lambda: align(embedded([5, 6, 6], [1, 1, 2]), Keyed(np.array([6]))), "the id 6", "column 'graph'")
    refusal(lambda: align(embedded([0]), table), "the id 0", "column 'graph'")


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_labels_in_the_order_of_the_embeddings(tmp_path, ending):
    path = tmp_path / f"labels.{ending}"

    def labels(values, asked, name="label", **more):
        frame = pd.DataFrame({"id": [3, 1, 2], name: values, **more})
        if ending == "parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
        return labels_for(embedded(asked), read_labels(path, label_column=name if more else None))

    whole = labels([30, 10, 20], [1, 2, 3])
    assert whole.dtype.kind == "i"
    assert whole.tolist() == [10, 20, 30]
    partial = labels([30, 10, 20], [1, 9, 3], "kind", year=[1, 2, 3])
    np.testing.assert_array_equal(partial, [10, np.nan, 30])
    assert labels(["c", "a", None], [9, 1, 2, 3], "anything").tolist() == ["", "a", "", "c"]
    np.testing.assert_array_equal(labels([0.5, None, 2], [1, 2, 3]), [np.nan, 2, 0.5])
    np.testing.assert_array_equal(labels([True, False, True], [1, 8]), [0, np.nan])


def test_labels_by_graph(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,graph,kind\n1,b,x\n1,a,y\n")
    known = read_labels(path)
    assert labels_for(embedded([1, 1], ["a", "b"]), known).tolist() == ["y", "x"]
    path.write_text("graph,label\n1,x\n2,y\n")
    assert labels_for(embedded([2, 1]), read_labels(path)).tolist() == ["y", "x"]


def test_labels_that_are_refused(tmp_path):
    path = tmp_path / "labels.csv"

    def refused(text, *words, **more):
        path.write_text(text)
        refusal(lambda: read_labels(path, **more), path, *words)

    refused("id,a,b\n1,2,3\n", "'label'", "'a', 'b'", "name it as label_column")
    refused("id\n1\n", "'label'")
    refused("id,label\n", "no rows")
    refused("id,labels\n1,2\n", "'labe'", "did you mean 'labels'", label_column="labe")
    refused("key,label\n1,2\n", "'id'", "'key'")
    refused("key,label\n1,2\n", "'kay'", "did you mean 'key'", id_column="kay")
    refused("id,label\n1,2\n\n2,3\n1,2\n", "line 5", "the id 1", "line 2")
    refused("id,label\n1,2\n,3\n", "line 3", "'id'")
    refusal(lambda: read_labels(tmp_path / "label.csv"), "there is no", "did you mean labels.csv")
    refusal(lambda: read_labels(tmp_path / "labels.npy"), "there is no")
    pq.write_table(pa.table({"id": [1], "label": [[1, 2]]}), tmp_path / "labels.parquet")
    refusal(lambda: read_labels(tmp_path / "labels.parquet"), "labels.parquet", "'label'", "list")
    path.write_text("id,label\nann,2\n")
    refusal(lambda: labels_for(embedded([7]), read_labels(path)), path, "the id 'ann'", "the id 7")


def test_splits_as_rows_of_the_embeddings(tmp_path):
    path = tmp_path / "split.csv"
    path.write_text("id,split\nd,test\na,train\nb,valid\nc,\nunknown,\ne,validation\nf,val\ng,train\n")
    found = splits_for(embedded(list("gfedcbahi")), read_split(path))
    assert {part: rows.tolist() for part, rows in found.items()} == {"train": [0, 6], "val": [1, 2, 5], "test": [3]}
    path.write_text("part,name\ntrain,1\ntest,2\n")
    found = splits_for(embedded([2, 1]), read_split(path, id_column="name"))
    assert {part: rows.tolist() for part, rows in found.items()} == {"train": [1], "val": [], "test": [0]}
    pq.write_table(pa.table({"id": [1, 2, 3], "split": ["train", None, "test"]}), tmp_path / "split.parquet")
    assert read_split(tmp_path / "split.parquet").parts.tolist() == ["train", "", "test"]


def test_splits_that_are_refused(tmp_path):
    path = tmp_path / "split.csv"

    def refused(text, *words, ids=(1, 2)):
        path.write_text(text)
        refusal(lambda: splits_for(embedded(ids), read_split(path)), path, *words)

    refused("id,split\n1,train\n\n2,tests\n", "line 4", "'tests'", "train, val or test")
    refused("id,split\n1,0\n2,1\n", "line 2", "'0'")
    refused("id,a,b\n1,2,3\n", "'split'", "'a', 'b'")
    refused("id,split\n1,train\n2,test\n1,val\n", "line 4", "the id 1", "line 2")
    refused("id,split\n1,train\n2,test\n\n3,val\n", "line 5", "the id 3 has no embedding")
    refused("id,split\n1,train\n2,val\n", "nobody in test")
    refused("id,split\n1,test\n2,\n", "nobody in train")


def test_tables_may_be_made_by_hand():
    known = Labels(ids=np.array([2, 1]), labels=np.array(["b", "a"]))
    assert labels_for(embedded([1, 2]), known).tolist() == ["a", "b"]
    split = Split(ids=np.array([1, 2, 3]), parts=np.array(["train", "test", "val"]))
    refusal(lambda: splits_for(embedded([1, 2]), split), "the table, row 2", "the id 3")
