"""One table in several files: read in order, with errors that name the file and its line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from mvgrl.graphs.read import read


def test_parts_of_a_folder_are_read_in_the_order_of_their_names(tmp_path, input_error):
    for number, ids in ((1, ["c", "d"]), (0, ["a", "b"])):
        pq.write_table(pa.table({"source": ids, "target": ["x", "y"]}), tmp_path / f"part-{number}.parquet")
    for name in ("_SUCCESS", ".part-0.parquet.crc"):
        (tmp_path / name).touch()
    assert read(tmp_path).node_ids.tolist() == ["a", "x", "b", "y", "c", "d"]
    assert read(str(tmp_path), bipartite=True).sides.tolist().count("target") == 2
    pq.write_table(pa.table({"source": ["a", None], "target": ["x", "y"]}), tmp_path / "part-2.parquet")
    input_error(lambda: read(tmp_path), f"{tmp_path}, part-2.parquet, row 1", "'source' is missing")


def test_types_of_parts_are_combined(tmp_path, input_error):
    (tmp_path / "0.csv").write_text("source,target,weight\n1,2,1\n")
    (tmp_path / "1.csv").write_text("weight,source,target\n0.5,01,b\n")
    named = read(tmp_path)
    assert named.node_ids.tolist() == ["1", "2", "01", "b"]
    assert named.graph.adjacency[[2]].data.tolist() == [0.5]
    (tmp_path / "1.csv").write_text("source,target,weight\n1,2,heavy\n")
    input_error(lambda: read(tmp_path), "1.csv, line 2", "'heavy'")
    (tmp_path / "0.csv").write_text("source,target,weight\n1,2,0.5\n")
    input_error(lambda: read(tmp_path), "'weight'", "double", "0.csv", "string", "1.csv")


def test_list_of_files_is_read_in_its_order(tmp_path, input_error):
    paths = [tmp_path / name for name in ("b.csv", "a.csv.gz", "c.tsv")]
    for path, text in zip(paths, ("1,2\n2,3\n", "source,target\n7,8\n", "Source\tTarget\n8\t\n"), strict=True):
        path.write_text(text)
    input_error(lambda: read(paths[:2]), "a.csv.gz", "gzip")
    paths[1] = tmp_path / "a.csv"
    paths[1].write_text("source,target\n7,8\n")
    named = read(paths[:2])
    assert named.node_ids.tolist() == [1, 2, 3, 7, 8]
    assert any("b.csv has no header" in note for note in named.graph.notes)
    paths[2].write_text("source\ttarget\n8\t\n")
    input_error(lambda: read([str(path) for path in paths]), "c.tsv, line 2", "'target' is missing")
    input_error(lambda: read([*paths, tmp_path / "d.csv"]), "d.csv does not exist")
    input_error(lambda: read([]), "list of tables is empty")


def test_files_that_are_not_parts_of_one_table_are_rejected(tmp_path, input_error):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    (tmp_path / "nodes.csv").write_text("id,x\na,1\nb,2\n")
    input_error(lambda: read(tmp_path), "nodes.csv", "'id,x'", "'source,target'", "parts of one table")
    (tmp_path / "nodes.csv").rename(tmp_path / "nodes.tsv")
    input_error(lambda: read(tmp_path), "several types (edges.csv, nodes.tsv)")


def test_nodes_may_be_a_folder_of_parts(tmp_path, input_error):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    folder = tmp_path / "nodes"
    folder.mkdir()
    for name in "ba":
        (folder / f"{name}.jsonl").write_text(f'{{"id": "{name}", "x": {ord(name)}}}\n')
    named = read(tmp_path / "edges.csv", nodes=folder)
    assert (named.node_ids.tolist(), named.graph.features.ravel().tolist()) == (["a", "b"], [97, 98])
    (folder / "c.jsonl").write_text('{"id": "a", "x": 1}\n')
    input_error(lambda: read(tmp_path / "edges.csv", nodes=folder), "c.jsonl, line 1", "a.jsonl, line 1", "unique")


def test_folder_of_a_dataset_is_not_taken_as_parts(tmp_path):
    (tmp_path / "SET_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "SET_graph_indicator.txt").write_text("1\n1\n")
    (tmp_path / "SET_graph_labels.txt").write_text("-1\n")
    (tmp_path / "notes.csv").write_text("source,target\na,b\n")
    assert read(tmp_path).labels.tolist() == [-1]
