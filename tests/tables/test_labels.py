"""Labels and splits, in the order of the embeddings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.tables.embeddings import Embeddings
from mvgrl.tables.labels import Labels, Split, labels_for, read_labels, read_split, splits_for


def embedded(ids, graphs=None) -> Embeddings:
    return Embeddings(np.array(ids), np.ones((len(ids), 2)), None if graphs is None else np.array(graphs))


@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet"])
def test_labels_follow_the_order_of_the_embeddings(tmp_path, extension):
    path = tmp_path / f"labels.{extension}"

    def labels(values, asked, name="label", **more):
        frame = pd.DataFrame({"id": [3, 1, 2], name: values, **more})
        if extension == "parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False, sep="\t" if extension == "tsv" else ",")
        return labels_for(embedded(asked), read_labels(path, label_column=name if more else None))

    complete = labels([30, 10, 20], [1, 2, 3])
    assert complete.dtype.kind == "i"
    assert complete.tolist() == [10, 20, 30]
    partial = labels([30, 10, 20], [1, 9, 3], "kind", year=[1, 2, 3])
    np.testing.assert_array_equal(partial, [10, np.nan, 30])
    assert labels(["c", "a", None], [9, 1, 2, 3], "anything").tolist() == ["", "a", "", "c"]
    np.testing.assert_array_equal(labels([0.5, None, 2], [1, 2, 3]), [np.nan, 2, 0.5])
    np.testing.assert_array_equal(labels([True, False, True], [1, 8]), [0, np.nan])


def test_labels_are_matched_by_graph(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,graph,kind\n1,b,x\n1,a,y\n")
    known = read_labels(path)
    assert labels_for(embedded([1, 1], ["a", "b"]), known).tolist() == ["y", "x"]
    path.write_text("graph,label\n1,x\n2,y\n")
    assert labels_for(embedded([2, 1]), read_labels(path)).tolist() == ["y", "x"]


def test_bad_labels_are_rejected(tmp_path, input_error):
    path = tmp_path / "labels.csv"

    def check(text, *words, **more):
        path.write_text(text)
        input_error(lambda: read_labels(path, **more), path, *words)

    check("id,a,b\n1,2,3\n", "'label'", "'a', 'b'", "choose one with label_column")
    check("id\n1\n", "'label'")
    check("id,label\n", "no rows")
    check("id,labels\n1,2\n", "'labe'", "did you mean 'labels'", label_column="labe")
    check("key,label\n1,2\n", "'id'", "'key'")
    check("key,label\n1,2\n", "'kay'", "did you mean 'key'", id_column="kay")
    check("id,label\n1,2\n\n2,3\n1,2\n", "line 5", "the id 1", "line 2")
    check("id,label\n1,2\n,3\n", "line 3", "'id'")
    input_error(lambda: read_labels(tmp_path / "label.csv"), "does not exist", "did you mean labels.csv")
    input_error(lambda: read_labels(tmp_path / "labels.npy"), "does not exist")
    pq.write_table(pa.table({"id": [1], "label": [[1, 2]]}), tmp_path / "labels.parquet")
    input_error(lambda: read_labels(tmp_path / "labels.parquet"), "labels.parquet", "'label'", "list")
    path.write_text("id,label\nann,2\n")
    input_error(lambda: labels_for(embedded([7]), read_labels(path)), path, "the id 'ann'", "the id 7")


def test_split_becomes_rows_of_the_embeddings(tmp_path):
    path = tmp_path / "split.csv"
    path.write_text("id,split\nd,test\na,train\nb,valid\nc,\nunknown,\ne,validation\nf,val\ng,train\n")
    found = splits_for(embedded(list("gfedcbahi")), read_split(path))
    assert {part: rows.tolist() for part, rows in found.items()} == {"train": [0, 6], "val": [1, 2, 5], "test": [3]}
    path.write_text("part,name\ntrain,1\ntest,2\n")
    found = splits_for(embedded([2, 1]), read_split(path, id_column="name"))
    assert {part: rows.tolist() for part, rows in found.items()} == {"train": [1], "val": [], "test": [0]}
    pq.write_table(pa.table({"id": [1, 2, 3], "split": ["train", None, "test"]}), tmp_path / "split.parquet")
    assert read_split(tmp_path / "split.parquet").parts.tolist() == ["train", "", "test"]


def test_bad_splits_are_rejected(tmp_path, input_error):
    path = tmp_path / "split.csv"

    def check(text, *words, ids=(1, 2)):
        path.write_text(text)
        input_error(lambda: splits_for(embedded(ids), read_split(path)), path, *words)

    check("id,split\n1,train\n\n2,tests\n", "line 4", "'tests'", "train, val or test")
    check("id,split\n1,0\n2,1\n", "line 2", "'0'")
    check("id,a,b\n1,2,3\n", "'split'", "'a', 'b'")
    check("id,split\n1,train\n2,test\n1,val\n", "line 4", "the id 1", "line 2")
    check("id,split\n1,train\n2,test\n\n3,val\n", "line 5", "the id 3 has no embedding")
    check("id,split\n1,train\n2,val\n", "no test rows")
    check("id,split\n1,test\n2,\n", "no train rows")


def test_labels_and_splits_can_be_created_from_arrays(input_error):
    known = Labels(ids=np.array([2, 1]), labels=np.array(["b", "a"]))
    assert labels_for(embedded([1, 2]), known).tolist() == ["a", "b"]
    split = Split(ids=np.array([1, 2, 3]), parts=np.array(["train", "test", "val"]))
    input_error(lambda: splits_for(embedded([1, 2]), split), "the table, row 2", "the id 3")
