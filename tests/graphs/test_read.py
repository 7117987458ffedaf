"""Graphs from files: every format gives the same graph, and errors name the file, the line and the remedy."""

from __future__ import annotations

import bz2
import gzip
import shutil

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from mvgrl.datasets import load
from mvgrl.graphs.read import read

EDGES = pd.DataFrame({"source": ["a", "b", "é"], "target": ["b", "é", "a"], "weight": [1.0, 2.0, 0.5]})
NODES = pd.DataFrame(
    {"id": ["é", "a", "b", "lone"], "f0": [3.0, 1.0, 2.5, 0.0], "f1": [1, 0, 1, 0], "class": ["x", "y", "x", "y"]}
)


def write(frame: pd.DataFrame, path):
    extension, compressed = (path.suffix, "") if path.suffix not in COMPRESSED else (path.suffixes[-2], path.suffix)
    if extension == ".parquet":
        frame.to_parquet(path)
    elif extension in (".feather", ".arrow"):
        frame.to_feather(path)
    else:
        separator = {".tsv": "\t", ".txt": " ", ".edgelist": " "}.get(extension, ",")
        lines = frame.to_json(orient="records", lines=True, force_ascii=False)
        text = lines if extension == ".jsonl" else frame.to_csv(index=False, sep=separator)
        path.write_bytes(compress(text.encode(), compressed))
    return path


COMPRESSED = (".gz", ".bz2", ".zst")


def compress(data: bytes, extension: str) -> bytes:
    return {"": lambda data: data, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": _zstd}[extension](data)


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def networkx_graph() -> nx.Graph:
    graph = nx.Graph()
    for name, f0, f1, label in NODES.itertuples(index=False):
        graph.add_node(name, f0=f0, f1=f1, **{"class": label})
    graph.add_weighted_edges_from(EDGES.itertuples(index=False))
    return graph


def check_graph(named):
    order = [named.node_ids.tolist().index(name) for name in ("a", "b", "é", "lone")]
    expected = [[0, 1, 0.5, 0], [1, 0, 2, 0], [0.5, 2, 0, 0], [0, 0, 0, 0]]
    assert named.graph.adjacency.toarray()[np.ix_(order, order)].tolist() == expected
    assert named.graph.features[order].tolist() == [[1, 0], [2.5, 1], [3, 1], [0, 0]]
    assert named.labels[order].tolist() == ["y", "x", "x", "y"]
    assert named.node_ids.dtype.kind == "U"
    assert named.graph_ids is None


@pytest.fixture
def rejects(input_error):
    """Check that a file is rejected, with all the words in the message."""
    return lambda path, *words, **more: input_error(lambda: read(path, **more), *words)


# Supported files


TABLES = ["csv", "tsv", "parquet", "txt", "edgelist", "csv.gz", "tsv.bz2", "txt.zst", "jsonl", "jsonl.gz", "feather",
          "arrow"]  # fmt: skip


@pytest.mark.parametrize(
    ("extension", "node_extension"),
    [*((one, "csv") for one in (*TABLES, "CSV")), *(("csv", one) for one in TABLES if one != "csv")],
)
def test_every_table_format_gives_the_same_graph(tmp_path, extension, node_extension):
    edges, nodes = write(EDGES, tmp_path / f"edges.{extension}"), write(NODES, tmp_path / f"nodes.{node_extension}")
    check_graph(read(edges, nodes=nodes, label_column="class"))
    check_graph(read(str(edges), nodes=str(nodes), label_column="class"))


@pytest.mark.parametrize("extension", ["graphml", "gml", "gexf"])
def test_graphml_gml_and_gexf_give_the_same_graph(tmp_path, extension, rejects):
    path = tmp_path / f"graph.{extension}"
    getattr(nx, f"write_{extension}")(networkx_graph(), path)
    check_graph(read(path, label_column="class"))
    rejects(path, path, "did you mean 'class'", label_column="clas")
    rejects(path, "own nodes", "omit it", nodes="nodes.csv")
    rejects(path, "id_column", "omit it", id_column="name")


def test_ids_are_integers_only_if_all_of_them_are(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n10,20\n20,-3\n")
    assert read(path).node_ids.tolist() == [10, 20, -3]
    path.write_text("source,target\n007,20\n20,7\n")
    assert read(path).node_ids.tolist() == ["007", "20", "7"]
    path.write_text("source,target\n1,a\n2,1\n")
    assert read(path).node_ids.tolist() == ["1", "a", "2"]
    nx.write_graphml(nx.path_graph(3), tmp_path / "path.graphml")
    assert read(tmp_path / "path.graphml").node_ids.tolist() == [0, 1, 2]
    nx.write_gml(nx.path_graph(3), tmp_path / "path.gml")
    assert read(tmp_path / "path.gml").node_ids.tolist() == [0, 1, 2]
    nx.write_graphml(nx.Graph([("01", "1")]), tmp_path / "zeros.graphml")
    assert read(tmp_path / "zeros.graphml").node_ids.tolist() == ["01", "1"]


def test_label_in_gexf_is_a_title_unless_it_is_chosen(tmp_path):
    nx.write_gexf(nx.Graph([("a", "b")]), tmp_path / "g.gexf")  # writes a label for every node
    named = read(tmp_path / "g.gexf")
    assert named.labels is None
    assert not any("ignored" in note for note in named.graph.notes)
    assert read(tmp_path / "g.gexf", label_column="label").labels.tolist() == ["a", "b"]


def test_gml_without_labels_uses_its_ids(tmp_path):
    (tmp_path / "g.gml").write_text("graph [ node [ id 4 ] node [ id 9 ] edge [ source 4 target 9 weight 2 ] ]")
    named = read(tmp_path / "g.gml")
    assert named.node_ids.tolist() == [4, 9]
    assert named.graph.adjacency.toarray().tolist() == [[0, 2], [2, 0]]


def test_file_may_hold_many_graphs(tmp_path):
    (tmp_path / "edges.csv").write_text("graph,source,target\n2,a,b\n1,a,c\n2,b,c\n")
    named = read(tmp_path / "edges.csv")
    assert named.graph_ids.tolist() == [2, 1]
    assert named.node_ids.tolist() == ["a", "b", "c", "a", "c"]


def test_pandas_index_is_not_a_feature(tmp_path):
    edges = write(EDGES, tmp_path / "edges.csv")
    NODES.iloc[[2, 0, 1, 3]].to_parquet(tmp_path / "nodes.parquet")  # an unnamed index, stored as a column
    assert "__index_level_0__" in pq.read_table(tmp_path / "nodes.parquet").column_names
    check_graph(read(edges, nodes=tmp_path / "nodes.parquet", label_column="class"))


def test_matrix_may_have_a_file_of_features(tmp_path):
    matrix = sp.csr_array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 0]])
    sp.save_npz(tmp_path / "graph.npz", matrix)
    np.save(tmp_path / "x.npy", np.eye(3))
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(np.eye(3)))
    np.savez(tmp_path / "one.npz", x=np.eye(3))
    assert read(tmp_path / "graph.npz").graph.features is None
    for name in ("x.npy", "x.npz", "one.npz"):
        named = read(tmp_path / "graph.npz", nodes=tmp_path / name)
        assert np.array_equal(named.graph.adjacency.toarray(), matrix.toarray())
        features = named.graph.features
        assert np.array_equal(features.toarray() if sp.issparse(features) else features, np.eye(3))
        assert named.node_ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize("inside", ["", "raw"])
def test_folders_in_tu_and_planetoid_format_are_read(data_root, inside):
    mutag = read(data_root / "tu" / "MUTAG" / inside)
    same = load("mutag", data_root)
    assert mutag.graph.content_fingerprint == same.graph.content_fingerprint
    assert mutag.graph_ids.tolist() == list(range(1, 189))
    assert mutag.node_ids[[0, -1]].tolist() == [1, mutag.graph.nodes]
    assert mutag.labels.tolist() == [int(same.classes[i]) for i in same.target]
    cora = read(data_root / "planetoid" / "Cora" / inside)
    assert cora.graph.content_fingerprint == load("cora", data_root).graph.content_fingerprint
    assert np.array_equal(cora.labels, load("cora", data_root).target)


# Errors


@pytest.mark.parametrize(
    "extension", ["csv", "tsv", "parquet", "txt", "jsonl", "feather", "csv.gz", "graphml", "gml", "gexf", "npz"]
)
def test_missing_empty_and_foreign_files_are_rejected(tmp_path, extension, rejects):
    path = tmp_path / f"graph.{extension}"
    rejects(path, path, "does not exist", "check the path")
    (tmp_path / f"graphs.{extension}").touch()
    rejects(path, f"did you mean graphs.{extension}")
    rejects(tmp_path / f"graphs.{extension}", "is empty")
    path.write_bytes(b"\xff\xfe\x00\x01 no graph \xe9\n\xff,\xff")
    rejects(path, path)
    folder = tmp_path / f"folder.{extension}"
    folder.mkdir()
    rejects(folder, folder, "is a folder", "TU", "Planetoid")


def test_unsupported_file_types_are_rejected(tmp_path, rejects):
    (tmp_path / "graph.xlsx").write_text("x")
    rejects(tmp_path / "graph.xlsx", ".csv", ".parquet", ".graphml", ".npz", "folder")
    edges = write(EDGES, tmp_path / "edges.csv")
    rejects(edges, "nodes.xlsx", "does not exist", nodes=tmp_path / "nodes.xlsx")
    rejects(edges, "graph.xlsx", ".tsv", nodes=tmp_path / "graph.xlsx")
    (tmp_path / "empty").mkdir()
    rejects(edges, "is a folder", nodes=tmp_path / "empty")


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        ("source,target\n", None, ["edges.csv", "no rows"]),
        ("\n\n", None, ["edges.csv", "only empty lines"]),
        ("ann,bob\ncy,dan\n", None, ["edges.csv", "'ann,bob'", "--source-column", "--no-header (header=False)"]),
        ("1\n2\n", None, ["edges.csv", "only one column", "separator"]),
        ("source,target\na,b\nb\n", None, ["edges.csv, line 3", "number of columns is 1", "2 in the header"]),
        ("source,target\na,b\n\nb,\n", None, ["edges.csv, line 4", "'target'", "missing"]),
        ('source,target\n"a\n1",b\nb,\n', None, ["edges.csv"]),
        ("source,target,weight\na,b,1\nb,c,-1\n", None, ["edges.csv, line 3", "negative"]),
        ("source,target,weight\na,b,1\nb,c,nan\n", None, ["edges.csv, line 3", "'weight'"]),
        ("source,target,weight\na,b,1\nb,c,big\n", None, ["edges.csv, line 3", "'big'"]),
        ("source,source,target\na,b,c\n", None, ["edges.csv", "two columns named 'source'"]),
        ("source,target\na,b\nb,z\n", "id\na\nb\n", ["edges.csv, line 3", "node z", "nodes.csv"]),
        ("source,target\na,b\n", "id\na\nb\na\n", ["nodes.csv, line 4", "line 2", "unique"]),
        ("source,target\na,b\n", "name,f\na,1\nb,2\n", ["nodes.csv", "no column 'id'", "'name'"]),
        ("source,target\na,b\n", "id,f\na,1\n,2\n", ["nodes.csv, line 3", "'id'", "missing"]),
        ("source,target\na,b\n", "id,graph\na,1\nb,2\n", ["edges.csv, line 2", "graph 1", "graph 2"]),
        ("source,target\na,b\n", "id,f\n", ["nodes.csv", "no rows"]),
        ("source,target\na,b\n", ",id\n0,a\n1,b\n", ["nodes.csv", "without a name"]),
    ],
)
def test_bad_table_is_rejected_with_its_line(tmp_path, edges, nodes, words, rejects):
    (tmp_path / "edges.csv").write_text(edges)
    more = {}
    if nodes is not None:
        (tmp_path / "nodes.csv").write_text(nodes)
        more["nodes"] = tmp_path / "nodes.csv"
    rejects(tmp_path / "edges.csv", *words, **more)


def test_chosen_columns_must_exist(tmp_path, rejects):
    edges, nodes = write(EDGES, tmp_path / "edges.csv"), write(NODES, tmp_path / "nodes.csv")
    rejects(edges, nodes, "'class'", "did you mean", nodes=nodes, label_column="clas")
    rejects(edges, nodes, "no column 'key'", nodes=nodes, id_column="key")
    rejects(edges, "needs a table of nodes", label_column="class")


def test_damaged_graphml_and_gml_are_rejected(tmp_path, rejects):
    path = tmp_path / "graph.graphml"
    nx.write_graphml(networkx_graph(), path)
    path.write_text(path.read_text()[:-30])
    rejects(path, path, "graphml", "write it again")
    (tmp_path / "other.graphml").write_text("<html></html>")
    rejects(tmp_path / "other.graphml", "other.graphml")
    path = tmp_path / "graph.gml"
    path.write_text("graph [ node [ id 0 label ")
    rejects(path, path, "gml", "write it again")
    nx.write_gml(nx.Graph([("a", "b", {"weight": -1.0})]), path)
    rejects(path, path, "'a'", "-1.0")


def test_damaged_and_foreign_matrices_are_rejected(tmp_path, rejects):
    path = tmp_path / "graph.npz"
    sp.save_npz(path, sp.eye_array(3, k=1))
    complete = path.read_bytes()
    path.write_bytes(complete[: len(complete) // 2])
    rejects(path, path, "save_npz")
    path.write_bytes(b"no zip at all")
    rejects(path, path, "save_npz")
    np.savez(path, a=np.eye(2), b=np.eye(2))
    rejects(path, path, "save_npz")
    sp.save_npz(path, sp.csr_array(np.ones((2, 3))))
    rejects(path, path, "square")
    sp.save_npz(path, sp.eye_array(3, k=1))
    np.save(tmp_path / "x.npy", np.eye(2))
    rejects(path, tmp_path / "x.npy", "3 nodes", nodes=tmp_path / "x.npy")
    (tmp_path / "nodes.csv").write_text("id\n1\n")
    rejects(path, "nodes.csv", ".npy", nodes=tmp_path / "nodes.csv")
    rejects(path, "label_column", label_column="class")


class Trap:
    def __reduce__(self):
        return (print, ("a pickle ran",))


def test_pickles_are_never_loaded(tmp_path, capsys, data_root, rejects):
    np.savez(tmp_path / "graph.npz", np.array([Trap()], dtype=object))
    rejects(tmp_path / "graph.npz", "graph.npz")
    np.save(tmp_path / "x.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    sp.save_npz(tmp_path / "good.npz", sp.eye_array(3, k=1))
    rejects(tmp_path / "good.npz", "x.npy", nodes=tmp_path / "x.npy")
    (tmp_path / "bare.npz").write_bytes(__import__("pickle").dumps(Trap()))
    rejects(tmp_path / "bare.npz", "bare.npz")
    shutil.copytree(data_root / "planetoid" / "Cora" / "raw", tmp_path / "cora")
    (tmp_path / "cora" / "ind.cora.graph").chmod(0o644)
    (tmp_path / "cora" / "ind.cora.graph").write_bytes(__import__("pickle").dumps(Trap()))
    rejects(tmp_path / "cora", "ind.cora.graph", "print")
    assert capsys.readouterr().out == ""


def test_foreign_and_incomplete_folders_are_rejected(tmp_path, rejects):
    rejects(tmp_path, tmp_path, "neither TU", "Planetoid", ".csv")
    (tmp_path / "SET_A.txt").write_text("1, 2\n2, 1\n")
    rejects(tmp_path, tmp_path, "SET_graph_indicator.txt")
    (tmp_path / "SET_graph_indicator.txt").write_text("1\n1\n")
    (tmp_path / "SET_graph_labels.txt").write_text("-1\n")
    assert read(tmp_path).labels.tolist() == [-1]
    rejects(tmp_path, "label_column", label_column="class")
    (tmp_path / "SET_graph_labels.txt").write_text("x\n")
    rejects(tmp_path, "SET_graph_labels.txt")
    (tmp_path / "TWO_A.txt").write_text("1, 2\n")
    rejects(tmp_path, "several datasets")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "ind.set.graph").write_bytes(b"junk")
    rejects(tmp_path / "p", "ind.set.allx", "missing")


def test_errors_in_parquet_name_the_row(tmp_path, rejects):
    pq.write_table(pa.table({"source": ["a", None], "target": ["b", "c"]}), tmp_path / "edges.parquet")
    rejects(tmp_path / "edges.parquet", "edges.parquet, row 1", "'source'", "missing")
