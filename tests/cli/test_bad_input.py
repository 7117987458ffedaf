"""Bad input in the shell: one line that names the place and the remedy, and no partial output."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mvgrl.pretrained import load_model
from mvgrl.tables.embeddings import read_embeddings


def write(path, text):
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())


def cut_short(path):
    pq.write_table(pa.table({"id": range(500), "label": range(500)}), path)
    write(path, Path(path).read_bytes()[:-30])


# Tables of edges and nodes

EDGES = [
    ("edges.csv", "", ["edges.csv", "empty", "write it again"]),
    ("edges.csv", "source,target\n", ["edges.csv", "no rows", "at least one edge"]),
    ("edges.csv", "source,dest\na,b\n", ["edges.csv", "no column 'target'", "'dest'"]),
    ("edges.csv", "source\na\n", ["edges.csv", "only one column", "'target'"]),
    ("edges.csv", "person,friend\nann,bob\n", ["edges.csv", "'person,friend'", "--source-column", "--no-header"]),
    ("edges.csv", "a;b;1,5\nb;c;2,5\n", ["edges.csv", "commas or semicolons", "--separator"]),
    ("edges.csv", "Source;Target\na;b\nb;\n", ["edges.csv, line 3", "'Target'", "missing"]),
    (
        "edges.txt",
        "# made by hand\n1 2\n2   3\n3\n",
        ["edges.txt, line 4", "number of columns is 1", "2 in the first line"],
    ),
    ("edges.jsonl", '{"source": 1, "target": 2}\n{"source": 1', ["edges.jsonl, line 2", "not JSON", "correct"]),
    ("edges.feather", "ARROW1 and no more", ["edges.feather", "Feather", "write it again"]),
    ("edges.csv", "source,target\na,b\nb,c,d\n", ["edges.csv, line 3", "number of columns is 3", "2 in the header"]),
    ("edges.csv", "source,target\na,b\n\n,c\n", ["edges.csv, line 4", "'source'", "missing", "fill it in"]),
    ("edges.csv", "source,target,weight\na,b,1\nb,c,-2\n", ["edges.csv, line 3", "-2", "negative"]),
    ("edges.csv", "source,target,weight\na,b,1\nb,c,heavy\n", ["edges.csv, line 3", "'weight'", "'heavy'"]),
    ("edges.csv", "source,target,weight\na,b,nan\n", ["edges.csv, line 2", "'weight'", "finite"]),
    ("edges.csv", "source,target\nä,b\n".encode("latin-1"), ["edges.csv", "UTF-8", "save it"]),
    ("edges.csv", "source,target\na,b\n".encode("utf-16"), ["edges.csv", "UTF-8", "save it"]),
    ("edges.xlsx", "PK", ["edges.xlsx", ".csv, .tsv, .parquet"]),
    ("edges.csv.gz", "\x1f\x8b", ["edges.csv.gz", "gzip", "write it again"]),
    ("edges.parquet", "PAR1 and no more", ["edges.parquet", "not a Parquet file", "write it again"]),
    ("edges.gml", "graph [", ["edges.gml", "damaged", "write it again"]),
    ("edges.npz", "PK", ["edges.npz", "damaged", "save_npz"]),
]


@pytest.mark.parametrize(("name", "text", "words"), EDGES, ids=lambda value: None)
def test_bad_table_of_edges(refused, name, text, words):
    write(name, text)
    refused(f"embed {name} -o v.csv", *words)
    refused(f"train {name} -o model", *words)
    refused(f"info {name}", *words)


NODES = [
    ("", "", ["nodes.csv", "empty"]),
    ("id,x\n", "", ["nodes.csv", "no rows"]),
    ("name,x\nn0,1\n", "", ["nodes.csv", "no column 'id'", "'name'", "--id-column"]),
    ("id,x\nn0,1\n", "--id-column nmae", ["nodes.csv", "no column 'nmae'", "'id'"]),
    ("id,x\nn0,1\n", "--label-column topic", ["nodes.csv", "no column 'topic'", "'x'"]),
    ("id,x\nn0,1\nn1,tall\n", "", ["edges.csv, line 3", "n2", "nodes.csv", "add the node or drop the edge"]),
    ("id;x\nn0;1\n\nn0;2\n", "", ["nodes.csv, line 4", "n0", "line 2", "unique"]),
]


@pytest.mark.parametrize(("text", "flags", "words"), NODES, ids=lambda value: None)
def test_bad_table_of_nodes(refused, graph, text, flags, words):
    write("nodes.csv", text)
    refused(f"embed edges.csv --nodes nodes.csv {flags} -o v.csv", *words)


FEATURES = [
    ("{},-inf", ["nodes.csv, line 5", "'x'", "-inf", "finite number"]),
    ("{},1e300", ["nodes.csv, line 5", "'x'", "single precision", "scale the column down"]),
    ("n1,7", ["nodes.csv, line 5", "n1", "line 3", "unique"]),
]


@pytest.mark.parametrize(("row", "words"), FEATURES, ids=lambda value: None)
def test_bad_row_of_features(refused, graph, row, words):
    rows = [f"n{i},{i}" for i in range(12)]
    rows.insert(3, row.format("n12"))
    write("nodes.csv", "\n".join(["id,x", *rows]) + "\n")
    refused("embed edges.csv --nodes nodes.csv -o v.csv", *words)


def test_edge_between_two_graphs(refused, graph):
    write("nodes.csv", "id,graph\n" + "".join(f"n{i},{i // 6}\n" for i in range(12)))
    refused("embed edges.csv --nodes nodes.csv -o v.csv", "edges.csv, line 14", "n0 is in graph 0", "n6 is in graph 1")


def test_nodes_and_columns_that_do_not_apply(refused, graph, cora):
    refused("embed edges.csv --label-column topic -o v.csv", "'topic'", "table of nodes", "omit the column")
    refused(f"embed cora-linqs --data-root {cora} --nodes nodes.csv -o v.csv -q", "cora-linqs", "--nodes")


# Missing files


def test_missing_file_suggests_the_nearest_name(refused, graph):
    refused("embed egdes.csv -o v.csv", "egdes.csv does not exist", "did you mean edges.csv")
    refused("embed edges.csv --nodes node.csv -o v.csv", "node.csv does not exist", "did you mean nodes.csv")
    refused("embed deep/edges.csv -o v.csv", "deep/edges.csv does not exist")
    refused("evaluate vectors.csv --labels nodes.csv", "vectors.csv does not exist")
    refused("map vectors.csv -o map.png", "vectors.csv does not exist")
    refused("apply model edges.csv -o v.csv", "no folder model", "mvgrl train")
    refused("info nothing.csv", "nothing.csv does not exist")


def test_misspelt_dataset(refused, folder):
    refused("embed cora-linsq -o v.csv", "cora-linsq", "did you mean 'cora-linqs'")
    refused("embed mutga -o v.csv", "no file or folder mutga", "did you mean 'mutag'")
    write("v.csv", "id,x\n1,2\n2,3\n")
    refused("evaluate v.csv --labels labls", "labls")


def test_truncated_parquet_in_every_option(refused, graph):
    cut_short("cut.parquet")
    write("v.csv", "id,x\nn0,2\nn1,3\n")
    for line in (
        "embed cut.parquet -o out.csv",
        "embed edges.csv --nodes cut.parquet -o out.csv",
        "info cut.parquet",
        "evaluate cut.parquet --labels nodes.csv",
        "evaluate v.csv --labels cut.parquet",
        "evaluate v.csv --labels nodes.csv --label-column topic --split cut.parquet",
        "map cut.parquet -o map.png",
        "map v.csv -o map.png --labels cut.parquet",
    ):
        refused(line, "cut.parquet", "truncated", "write it again")


# Outputs


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("embed {graph} -o .", ["folder", "embeddings.parquet"]),
        ("embed {graph} -o v.xlsx", ["v.xlsx", ".parquet, .csv, .tsv, .npy"]),
        ("embed {graph} -o v", ["v has no file extension", ".parquet"]),
        ("embed {graph} -o nodes.csv/v.csv", ["nodes.csv/v.csv", "Not a directory", "another path"]),
        ("train {graph} -o nodes.csv", ["nodes.csv", "not an mvgrl model", "another name"]),
        ("train {graph} -o nodes.csv/model", ["nodes.csv/model", "Not a directory", "another path"]),
        ("train {graph} -o full", ["full", "not an mvgrl model", "another name"]),
        ("apply model {graph} -o full", ["full", "folder", "embeddings.parquet"]),
        ("apply model {graph} -o nodes.csv/v.csv", ["nodes.csv/v.csv", "another path"]),
        ("map v.csv -o full", ["full", ".png"]),
        ("demo -o nodes.csv/demo", ["nodes.csv/demo", "another path"]),
    ],
)
def test_output_that_cannot_be_written_is_rejected_before_training(refused, graph, line, words):
    Path("full").mkdir()
    write("full/mine.txt", "mine")
    refused(line.format(graph=graph), *words)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root can write to every folder")
def test_folder_without_write_permission(refused, graph):
    Path("locked").mkdir()
    Path("locked").chmod(0o500)
    try:
        refused(f"embed {graph} -o locked/v.csv", "locked/v.csv", "Permission denied", "another path")
        refused(f"train {graph} -o locked/model", "locked/model", "Permission denied", "another path")
    finally:
        Path("locked").chmod(0o700)


@pytest.fixture
def large(folder):
    """A graph with vectors that take more space than the model."""
    write("edges.csv", "source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(1599)))
    numbers = np.random.default_rng(0).normal(size=(1600, 4))
    write("nodes.csv", "id,a,b,c,d\n" + "".join(f"{i},{','.join(map(str, row))}\n" for i, row in enumerate(numbers)))
    return "edges.csv --nodes nodes.csv"


TRAINED = "--hidden 4 --epochs 2 --device cpu -q"
ROOM = 25_000  # bytes: enough for the checkpoint, not for 1,600 vectors


@pytest.mark.parametrize("extension", ["parquet", "csv", "npy"])
def test_full_disk_does_not_lose_the_training(run, large, files_up_to, extension):
    line = f"embed {large} {TRAINED}"
    with files_up_to(ROOM):
        outcome = run(f"{line} -o v.{extension}", code=1)
    assert outcome.err.startswith(f"mvgrl: v.{extension} cannot be written: ")
    assert outcome.err.endswith("; free some space or choose another path\n")
    assert outcome.out == ""
    assert sorted(path.name for path in Path().iterdir()) == ["edges.csv", "nodes.csv", f"v.{extension}.checkpoint"]
    assert run(f"{line} -o v.{extension} --resume --json").json["epochs"] == 2
    run(f"{line} -o w.{extension}")
    assert np.array_equal(read_embeddings(f"v.{extension}").vectors, read_embeddings(f"w.{extension}").vectors)


def test_full_disk_keeps_existing_files(refused, run, large, files_up_to):
    write("v.csv", "what was here before")
    with files_up_to(500):
        refused(f"embed {large} {TRAINED} -o v.csv", "v.csv.checkpoint", "free some space", code=1)
        refused(f"train {large} {TRAINED} -o model", "model.checkpoint", "free some space", code=1)
    run(f"train {large} {TRAINED} -o model")
    with files_up_to(ROOM):
        refused(f"apply model {large} -o v.csv -q", "v.csv", "free some space", code=1)
    run(f"apply model {large} -o w.csv")
    with files_up_to(2000):
        refused("map w.csv -o map.png --method pca -q", "map.png", "free some space", code=1)


def test_full_disk_keeps_the_old_model(run, graph, files_up_to):
    run("train edges.csv -o model --hidden 4 --epochs 1 -q")
    before = {path.name: path.read_bytes() for path in Path("model").iterdir()}
    names = ",".join(f"x{i}" for i in range(1000))
    write("wide.csv", f"id,{names}\n" + "".join(f"n{i},{','.join(map(str, range(i, i + 1000)))}\n" for i in range(12)))
    line = "train edges.csv --nodes wide.csv -o model --hidden 1 --epochs 0 -q --overwrite"
    with files_up_to(18_000):  # the model also holds the means and deviations of the features, unlike the checkpoint
        outcome = run(line, code=1)
    assert outcome.err == "mvgrl: model cannot be written: File too large; free some space or choose another path\n"
    assert {path.name: path.read_bytes() for path in Path("model").iterdir()} == before
    left = sorted(path.name for path in Path().iterdir())
    assert left == ["edges.csv", "model", "model.checkpoint", "nodes.csv", "wide.csv"]
    run(f"{line} --resume")
    assert {path.name: path.read_bytes() for path in Path("model").iterdir()} != before


# Options


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("embd edges.csv -o v.csv", ['"embd"', '"embed"', "mvgrl --help"]),
        ("embed edges.csv -o v.csv --hiden 4", ["--hiden", "--hidden", "mvgrl embed --help"]),
        ("embed edges.csv -o v.csv --hidden four", ["--hidden", "'four' is not an integer"]),
        ("embed edges.csv -o v.csv --hidden 1.5", ["--hidden", "'1.5' is not an integer"]),
        ("embed edges.csv -o v.csv --seed 0.5", ["--seed", "'0.5' is not an integer"]),
        ("embed edges.csv -o v.csv --learning-rate fast", ["--learning-rate", '"fast"', "float"]),
        ("embed edges.csv nodes.csv -o v.csv", ["unexpected arguments: nodes.csv", "mvgrl embed --help"]),
        ("embed -o v.csv", ["GRAPH"]),
        ("embed edges.csv", ["--output"]),
        ("embed edges.csv -o v.csv --hidden 4 --hidden 5", ["--hidden"]),
        ("embed edges.csv -o v.csv --no-json", ["--no-json"]),
        ("embed edges.csv -o v.csv --seed -1", ["--seed", "-1"]),
        ("embed edges.csv -o v.csv --seed 99999999999999999999", ["--seed", "4294967295"]),
        ("embed edges.csv -o v.csv --device cuda:99", ["'cuda:99'", "'auto' or 'cpu'"]),
        ("embed edges.csv -o v.csv --device gpu", ["'gpu'", "'auto' or 'cpu'"]),
        ("apply model edges.csv -o v.csv --device gpu", ["no folder model"]),
        ("embed edges.csv -o v.csv --hidden 0", ["hidden is 0", "at least 1"]),
        ("embed edges.csv -o v.csv --epochs -3", ["epochs is -3", "at least 0"]),
        ("embed edges.csv -o v.csv --learning-rate nan", ["--learning-rate is nan", "above 0"]),
        ("embed edges.csv -o v.csv --dropout 1", ["dropout is 1", "below 1"]),
        ("embed edges.csv -o v.csv --task grph", ["'grph'", "did you mean 'graph'"]),
        ("embed edges.csv -o v.csv --views adjacency,prp", ["'prp'", "did you mean 'ppr'"]),
        ("embed edges.csv -o v.csv --views adjacency,ppr:alpa=0.1", ["'alpa'", "did you mean 'alpha'"]),
        ("embed edges.csv -o v.csv --views adjacency,ppr:alpha=2", ["alpha is 2", "between 0 and 1"]),
        ("embed edges.csv -o v.csv --views adjacency", ["1 view", "two or more"]),
        ("embed edges.csv -o v.csv --views adjacency,adjacency", ["same view", "different views"]),
        ("embed edges.csv -o v.csv --draw-two-views", ["encoder 'shared'", "three views"]),
        ("embed edges.csv -o v.csv --mode global", ["'global'", "node task", "'local-global'"]),
        ("embed edges.csv -o v.csv --mode multi-scale", ["'multi-scale'", "'diffpool-2'"]),
        ("embed edges.csv -o v.csv --batch-size 3", ["--batch-size is 3", "sampler 'nodes'"]),
        ("embed edges.csv -o v.csv --features given", ["no features"]),
        ("embed edges.csv -o v.csv --task graph", ["edges.csv is one graph", "--task node", "column 'graph'"]),
        ("embed rings.csv -o v.csv --task node", ["rings.csv has 6 graphs", "--task graph"]),
        ("embed rings.csv -o v.csv --negatives features --task graph", ["'features'", "'graphs'"]),
    ],
)
def test_bad_options(refused, graph, many_graphs, line, words):
    refused(line, *words)


# Models


def test_folder_that_is_not_a_model(refused, graph):
    Path("other").mkdir()
    refused(f"apply other {graph} -o v.csv", "other", "not an mvgrl model", "mvgrl train")
    write("other/config.json", '{"name": "of something else"}')
    refused(f"apply other {graph} -o v.csv", "other", "belongs to something else", "mvgrl train")
    write("other/config.json", "{")
    refused(f"apply other {graph} -o v.csv", "other", "config.json")
    refused("info other", "other", "config.json")
    refused("apply edges.csv nodes.csv -o v.csv", "edges.csv", "mvgrl train")


def test_damaged_model(refused, run, graph, small):
    run(f"train {graph} -o model {small}")
    weights = Path("model/model.safetensors")
    complete = weights.read_bytes()
    for damaged in (complete[: len(complete) // 2], b"", b"\x80\x04not weights"):
        weights.write_bytes(damaged)
        refused(f"apply model {graph} -o v.csv", "model", "complete model")
        refused("info model", "model", "complete model")
    weights.unlink()
    refused(f"apply model {graph} -o v.csv", "model", "complete model")


def test_model_is_not_a_graph(refused, run, graph, small):
    run(f"train {graph} -o model {small}")
    refused("embed model -o v.csv", "model is a model", "mvgrl apply model")
    assert load_model("model", device="cpu")


# Embeddings and labels


VECTORS = [
    ("v.csv", "", ["v.csv", "empty"]),
    ("v.csv", "id,x\n", ["v.csv", "no rows"]),
    ("v.csv", "id,x\n1,2\n1,3\n", ["v.csv, line 3", "1", "line 2", "unique"]),
    ("v.csv", "id,x\n1,2\n2,nan\n", ["v.csv, line 3", "'x'", "finite"]),
    ("v.csv", "id,x\n1,2\n2,far\n", ["v.csv, line 3", "'x'", "'far'"]),
    ("v.csv", "id\n1\n2\n", ["v.csv", "no numeric columns"]),
    ("v.csv", "id;x\n1;2\n1;3\n", ["v.csv, line 3", "the id 1", "unique"]),
    ("v.npy", "not an array", ["v.npy", "damaged"]),
    ("v.txt", "1 2\n", ["v.txt", ".parquet, .csv, .tsv, .npy"]),
]


@pytest.mark.parametrize(("name", "text", "words"), VECTORS, ids=lambda value: None)
def test_bad_embeddings(refused, name, text, words):
    write("labels.csv", "id,label\n1,a\n2,b\n")
    write(name, text)
    refused(f"evaluate {name} --labels labels.csv", *words)
    refused(f"map {name} -o map.png", *words)


LABELS = [
    ("", "", ["labels.csv", "empty"]),
    ("id,label\n1,a\n1,b\n", "", ["labels.csv, line 3", "line 2", "unique"]),
    ("id,label\n,a\n", "", ["labels.csv, line 2", "'id'", "missing"]),
    ("id,kind,size\n1,a,2\n", "", ["labels.csv", "no column 'label'", "'kind', 'size'", "--label-column"]),
    ("id,kind\n1,a\n", "--label-column knid", ["labels.csv", "'knid'", "did you mean 'kind'"]),
    ("id,kind\n1,a\n", "--id-column name", ["labels.csv", "'name'", "'id'"]),
    ("id;label\n1;a\n1;b\n", "", ["labels.csv, line 3", "the id 1", "unique"]),
]


@pytest.mark.parametrize(("text", "flags", "words"), LABELS, ids=lambda value: None)
def test_bad_labels(refused, text, flags, words):
    write("v.csv", "id,x\n1,2\n2,3\n")
    write("labels.csv", text)
    refused(f"evaluate v.csv --labels labels.csv {flags}", *words)


# Failures of the machine


def test_dataset_without_network(refused, no_network, folder):
    words = "could not be downloaded", "ind.citeseer.x", "--data-root", "MVGRL_DATA"
    refused("embed citeseer -o v.csv", "'citeseer'", *words, code=1)
    write("v.csv", "id,x\n1,2\n2,3\n")
    refused("evaluate v.csv --labels citeseer --data-root data", "'citeseer'", "data", *words, code=1)


def test_vectors_too_large_for_memory_are_rejected_before_training(refused, graph):
    refused(f"embed {graph} -o v.csv --hidden 99999999999", "99999999999 dimensions", "memory", "use hidden")


def test_loss_that_is_not_finite(run, graph):
    outcome = run(f"embed {graph} -o v.csv --hidden 4 --device cpu -q --normalise none --learning-rate 1e38", code=1)
    assert outcome.err.startswith("mvgrl: the loss became ")
    assert "learning rate" in outcome.err
    assert not Path("v.csv").exists()
