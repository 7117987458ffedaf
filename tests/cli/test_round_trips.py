"""Round trips: the same graph in any format or object, and the same model in any process, give the same bits."""

from __future__ import annotations

import json
import logging
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv
from tests.cli.samples import (
    GRAPHS,
    Sample,
    make_molecules,
    make_sample,
    write_gml,
    write_graphml,
    write_matrices,
    write_planetoid,
    write_table,
    write_tables,
    write_tu,
)
from torch_geometric.data import Batch

import mvgrl
from mvgrl.cli import main
from mvgrl.datasets import load
from mvgrl.tables.embeddings import Embeddings, read_embeddings

QUICK = {"hidden": 16, "epochs": 5}
SEED = 3


@pytest.fixture(scope="module", autouse=True)
def undisturbed():
    """Read datasets from packages even if MVGRL_DATA is set; restore the logger that the shell configures."""
    logger = logging.getLogger("mvgrl")
    before = logger.handlers, logger.propagate, logger.level
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MVGRL_DATA", raising=False)
        yield
    logger.handlers, logger.propagate = before[:2]
    logger.setLevel(before[2])


def run(verb: str, *words: Any) -> None:
    assert main([verb, *map(str, words), "--quiet"]) == 0


def flags(settings: dict[str, Any]) -> list[str]:
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def embed(output: Path, *graph: Any, **settings: Any) -> Embeddings:
    run("embed", *graph, "-o", output, *flags({**QUICK, **settings}), "--seed", SEED, "--device", "cpu")
    return read_embeddings(output)


def node_embedder(**settings: Any) -> mvgrl.NodeEmbedder:
    return mvgrl.NodeEmbedder(**{**QUICK, **settings}, random_state=SEED, device="cpu")


def check_same(found: Embeddings, ids: Any, vectors: np.ndarray) -> None:
    assert found.ids.tolist() == np.asarray(ids).tolist()
    assert found.vectors.dtype == vectors.dtype == np.float32
    assert np.array_equal(found.vectors.view(np.int32), vectors.view(np.int32))  # bit for bit: −0 is not 0


# One graph


# Features: real numbers, a few words per node, or none, so that degrees are used.
MEASURED, WORDS, BARE = (
    make_sample("measured", weighted=True),
    make_sample("words", weighted=False),
    make_sample(None, weighted=True),
)
CASES = {
    "measured, by column": (MEASURED, {"normalise": "standard"}),
    "words, by row": (WORDS, {"normalise": "row"}),
    "bare": (BARE, {}),
}


@cache
def expected(case: str) -> np.ndarray:
    """Return the vectors from the arrays themselves, without any format."""
    sample, settings = CASES[case]
    graph = mvgrl.Graph.from_edges(
        sample.sources, sample.targets, sample.weights, nodes=sample.nodes, features=sample.features
    )
    return node_embedder(**settings).fit(graph).embedding_


FILES = {
    f"{extension} and {other}": lambda sample, folder, pair=(extension, other): write_tables(sample, folder, *pair)
    for extension, other in (("csv", "parquet"), ("parquet", "tsv"))
} | {"graphml": write_graphml, "gml": write_gml, "npz": write_matrices}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("written", FILES)
def test_every_file_format_gives_the_same_vectors(tmp_path, written, case):
    sample, settings = CASES[case]
    found = embed(tmp_path / "vectors.parquet", *FILES[written](sample, tmp_path), **settings)
    check_same(found, sample.ids, expected(case))


def test_planetoid_folder_gives_the_same_vectors(tmp_path):
    sample, settings = CASES["words, by row"]  # the format has no weights
    found = embed(tmp_path / "vectors.csv", *write_planetoid(sample, tmp_path), **settings)
    check_same(found, sample.ids, expected("words, by row"))


OBJECTS = {
    "NetworkX": Sample.networkx,
    "PyG": Sample.pyg,
    "SciPy": lambda sample: mvgrl.Graph.from_scipy(sample.adjacency, sample.features),
    "SciPy, sparse features": lambda sample: mvgrl.Graph.from_scipy(
        sample.adjacency, None if sample.features is None else sp.csr_array(sample.features)
    ),
    "pandas": lambda sample: (sample.edge_table(), sample.node_table("label")),
    "Arrow": lambda sample: tuple(map(pa.Table.from_pandas, (sample.edge_table(), sample.node_table("label")))),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", OBJECTS)
def test_every_object_gives_the_same_vectors(kind, case):
    sample, settings = CASES[case]
    embedder = node_embedder(**settings).fit(OBJECTS[kind](sample))
    check_same(Embeddings(embedder.ids_, embedder.embedding_), sample.ids, expected(case))


def test_scipy_matrix_gives_the_same_vectors():
    assert np.array_equal(node_embedder().fit(BARE.adjacency).embedding_, expected("bare"))


NAMES = np.array(["007", "7", "a,1", 'say "so"', "tab\there", "é", *(f"paper-{i}" for i in range(34))])


def test_names_do_not_change_the_vectors_and_survive_every_format(tmp_path):
    named = replace(MEASURED, ids=NAMES)
    writers = {name: write for name, write in FILES.items() if name != "npz"}
    for number, write in enumerate(writers.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = embed(folder / "vectors.parquet", *write(named, folder), normalise="standard")
        check_same(found, NAMES, expected("measured, by column"))
    for kind in ("NetworkX", "pandas", "Arrow"):
        embedder = node_embedder(normalise="standard").fit(OBJECTS[kind](named))
        check_same(Embeddings(embedder.ids_, embedder.embedding_), NAMES, expected("measured, by column"))


def test_table_of_edges_alone_numbers_nodes_by_first_appearance(tmp_path):
    connected = np.unique(np.append(BARE.sources, BARE.targets))
    met = pd.unique(np.column_stack([BARE.sources, BARE.targets]).ravel())
    edges = write_table(BARE.edge_table(), tmp_path / "edges.csv")
    found = embed(tmp_path / "vectors.parquet", edges)
    assert found.ids.tolist() == met.tolist()
    assert sorted(met) == connected.tolist()
    same = node_embedder().fit(BARE.adjacency[met][:, met])
    assert np.array_equal(found.vectors, same.embedding_)


# Many graphs


MOLECULES = make_molecules()


def write_molecules(folder: Path, extension: str, labelled: bool) -> list[Any]:
    edges = write_table(MOLECULES.edge_table(), folder / f"edges.{extension}")
    return [edges, "--nodes", write_table(MOLECULES.node_table(labelled), folder / f"nodes.{extension}")]


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("labelled", [True, False], ids=["node labels", "degrees"])
def test_many_graphs_in_any_format_give_the_same_vectors(tmp_path, labelled, preset):
    # A table has no node labels: each becomes a column, which "row" leaves unchanged.
    settings = {"epochs": 3, "normalise": "row", "preset": preset}
    folder = embed(tmp_path / "tu.parquet", write_tu(MOLECULES, tmp_path / "SET", labelled), **settings)
    assert folder.ids.tolist() == list(range(1, GRAPHS + 1))
    for extension in ("csv", "parquet"):
        found = embed(tmp_path / "tables.csv", *write_molecules(tmp_path, extension, labelled), **settings)
        check_same(found, folder.ids, folder.vectors)
        assert found.graph_ids is None
    of_networkx, of_pyg = MOLECULES.networkx(labelled), MOLECULES.pyg(labelled)
    for thing in (of_networkx, of_pyg, Batch.from_data_list(of_pyg)):
        embedder = mvgrl.GraphEmbedder(**{**QUICK, **settings}, random_state=SEED, device="cpu").fit(thing)
        assert np.array_equal(embedder.embedding_, folder.vectors)


def test_named_dataset_of_many_graphs_gives_a_vector_per_graph(tmp_path, capsys):
    run("embed", "mutag", "-o", tmp_path / "mutag.parquet", "--hidden", 16, "--epochs", 2, "--dim", 16, "--json")
    said = json.loads(capsys.readouterr().out)
    found = read_embeddings(tmp_path / "mutag.parquet")
    assert (said["task"], said["graphs"], said["dim"]) == ("graph", 188, 16)
    assert found.ids.tolist() == list(range(188))
    assert found.vectors.shape == (188, 16)
    assert found.graph_ids is None
    assert len(np.unique(found.vectors, axis=0)) > 150  # few molecules have the same graph


# Output


@pytest.mark.parametrize("ids", [np.arange(40), NAMES], ids=["numbers", "names"])
def test_every_output_format_holds_the_same_vectors(tmp_path, ids):
    graph = write_tables(replace(MEASURED, ids=ids), tmp_path, "csv", "csv")
    for extension in ("parquet", "csv", "tsv", "npy"):
        found = embed(tmp_path / f"vectors.{extension}", *graph, normalise="standard")
        check_same(found, ids, expected("measured, by column"))
        assert found.ids.dtype.kind == ids.dtype.kind


def test_nodes_of_many_graphs_have_a_graph_id_in_every_format(tmp_path):
    run(
        "train",
        write_table(BARE.edge_table(), tmp_path / "one.csv"),
        "-o",
        tmp_path / "model",
        *flags(QUICK),
        "--features",
        "degree-one-hot",
    )
    folder, tables = write_tu(MOLECULES, tmp_path / "SET", labelled=False), write_molecules(tmp_path, "csv", False)
    tables_nodes = MOLECULES.node_table(labelled=False)
    vectors = mvgrl.load(tmp_path / "model").transform(MOLECULES.pyg(labelled=False))
    for graph in ([folder], tables):
        for extension in ("parquet", "csv", "tsv", "npy"):
            run("apply", tmp_path / "model", *graph, "-o", tmp_path / f"vectors.{extension}")
            found = read_embeddings(tmp_path / f"vectors.{extension}")
            check_same(found, tables_nodes.id, vectors)
            assert found.graph_ids.tolist() == tables_nodes.graph.tolist()


# Saved models


@pytest.mark.parametrize("case", ["measured, by column", "words, by row", "bare"])
def test_train_then_apply_equals_embed(tmp_path, case):
    sample, settings = CASES[case]
    graph = write_tables(sample, tmp_path, "csv", "csv")
    run("train", *graph, "-o", tmp_path / "model", *flags(QUICK | settings), "--seed", SEED, "--device", "cpu")
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "model", tmp_path / "elsewhere" / "kept")
    run("apply", tmp_path / "elsewhere" / "kept", *graph, "-o", tmp_path / "applied.parquet", "--device", "cpu")
    check_same(read_embeddings(tmp_path / "applied.parquet"), sample.ids, expected(case))
    loaded = mvgrl.load(tmp_path / "elsewhere" / "kept", device="cpu")
    assert np.array_equal(loaded.transform(sample.networkx()), expected(case))


def test_model_saved_in_python_is_applied_in_the_shell(tmp_path):
    embedder = node_embedder(normalise="standard").fit((MEASURED.edge_table(), MEASURED.node_table("label")))
    embedder.save(tmp_path / "model")
    shutil.copytree(tmp_path / "model", tmp_path / "copy")
    shutil.rmtree(tmp_path / "model")
    graph = write_tables(MEASURED, tmp_path, "parquet", "parquet")
    run("apply", tmp_path / "copy", *graph, "-o", tmp_path / "applied.csv", "--device", "cpu")
    check_same(read_embeddings(tmp_path / "applied.csv"), MEASURED.ids, expected("measured, by column"))
    again = mvgrl.load(tmp_path / "copy", device="cpu")
    again.save(tmp_path / "again")
    vectors = mvgrl.load(tmp_path / "again", device="cpu").transform(MEASURED.pyg())
    assert np.array_equal(vectors, expected("measured, by column"))


def test_model_of_many_graphs_is_applied_to_all_and_to_some_of_them(tmp_path):
    edges, nodes = MOLECULES.edge_table(), MOLECULES.node_table(labelled=True)
    complete = [write_table(edges, tmp_path / "edges.csv"), "--nodes", write_table(nodes, tmp_path / "nodes.csv")]
    embedded = embed(tmp_path / "embedded.parquet", *complete)
    run("train", *complete, "-o", tmp_path / "model", *flags(QUICK), "--seed", SEED, "--device", "cpu")
    run("apply", tmp_path / "model", *complete, "-o", tmp_path / "applied.parquet", "--device", "cpu")
    check_same(read_embeddings(tmp_path / "applied.parquet"), embedded.ids, embedded.vectors)
    some = [5, 9]
    part = [
        write_table(edges[edges.graph.isin(some)], tmp_path / "some_edges.csv"),
        "--nodes",
        write_table(nodes[nodes.graph.isin(some)], tmp_path / "some_nodes.csv"),
    ]
    run("apply", tmp_path / "model", *part, "-o", tmp_path / "some.parquet", "--device", "cpu")
    found = read_embeddings(tmp_path / "some.parquet")
    assert found.ids.tolist() == some
    assert np.allclose(found.vectors, embedded.vectors[[4, 8]], rtol=1e-5, atol=1e-6)


# Cora with text ids

SPARSE = {"hidden": 64, "epochs": 60, "views": "adjacency,ppr:top_k=32", "device": "cpu"}
PAPERS = 2708


@cache
def cora() -> Any:
    return load("cora-linqs")


def topics() -> np.ndarray:
    return np.array(cora().classes)[cora().target]


def export_cora(folder: Path, kept: np.ndarray) -> list[Any]:
    """Write some of Cora's papers, and the citations among them, as two tables with text ids."""
    folder.mkdir()
    graph = cora().graph
    names = np.array([f"paper-{i}" for i in range(PAPERS)])
    words = graph.features[kept].toarray().astype(np.int8)
    columns = {f"word{i}": column for i, column in enumerate(words.T)}
    csv.write_csv(pa.table({"id": names[kept], **columns, "subject": topics()[kept]}), folder / "nodes.csv")
    sources, targets = sp.triu(graph.adjacency).tocoo().coords
    inside = np.isin(sources, kept) & np.isin(targets, kept)
    csv.write_csv(pa.table({"source": names[sources[inside]], "target": names[targets[inside]]}), folder / "edges.csv")
    return [folder / "edges.csv", "--nodes", folder / "nodes.csv", "--label-column", "subject"]


def directions(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def shared_topics(vectors: np.ndarray, new: np.ndarray, old: np.ndarray) -> float:
    """Return the share of the five old papers nearest to each new one that have its topic."""
    ways = directions(vectors)
    nearest = np.argsort(-ways[new] @ ways[old].T, axis=1)[:, :5]
    return float((topics()[old][nearest] == topics()[new][:, None]).mean())


def test_model_embeds_papers_it_has_not_seen(tmp_path):
    new = np.sort(np.random.default_rng(0).choice(PAPERS, 200, replace=False))
    old = np.setdiff1d(np.arange(PAPERS), new)
    part, complete = export_cora(tmp_path / "part", old), export_cora(tmp_path / "complete", np.arange(PAPERS))
    run("train", *part, *flags(SPARSE), "-o", tmp_path / "model")
    shares = np.bincount(cora().target) / PAPERS
    by_words = shared_topics(cora().graph.features.toarray(), new, old)
    # Old papers hardly move, except neighbours of new ones. The paper's vectors all have similar directions (two at
    # random have a cosine of 0.88), so each must be closest to itself, too. The default ones are centred, so the same
    # move changes their directions more.
    expected = {"paper": (64, 0.999, 0.93, 0.95), "default": (512, 0.998, 0.79, 0.97)}
    for preset, (length, median, most, closest) in expected.items():
        before, after = (
            applied(tmp_path / "model", graph, tmp_path / f"{preset}.parquet", preset) for graph in (part, complete)
        )
        assert before.ids.tolist() == [f"paper-{i}" for i in old]
        assert after.ids.tolist() == [f"paper-{i}" for i in range(PAPERS)]
        assert after.vectors.shape == (PAPERS, length)
        alike = directions(after.vectors[old]) @ directions(before.vectors).T
        same = alike.diagonal()
        assert np.median(same) > median  # 0.99996 and 0.9992
        assert (same > 0.99).mean() > most  # 0.970 and 0.825
        assert (alike.argmax(axis=1) == np.arange(len(old))).mean() > closest  # 0.981 and 0.992
        found = shared_topics(after.vectors, new, old)
        assert found > 3 * (shares**2).sum()  # 0.77 and 0.79; 0.18 by chance
        assert found > 0.1 + by_words  # 0.54 with the words alone


def applied(model: Path, graph: list[Any], output: Path, preset: str) -> Embeddings:
    run("apply", model, *graph, "-o", output, "--device", "cpu", "--preset", preset)
    return read_embeddings(output)


def accuracy(capsys: pytest.CaptureFixture[str], *words: Any) -> float:
    capsys.readouterr()
    run("evaluate", *words, "--protocol", "logistic", "--device", "cpu", "--json")
    return float(json.loads(capsys.readouterr().out)["accuracy"]["mean"])


def test_tables_of_cora_score_as_the_named_dataset(tmp_path, capsys):
    exported = export_cora(tmp_path / "cora", np.arange(PAPERS))
    parts = np.full(PAPERS, "", dtype="<U5")
    for name, nodes in cora().splits.items():
        parts[nodes] = name
    shuffled = np.random.default_rng(1).permutation(PAPERS)  # rows are matched by id
    table = {"id": [f"paper-{i}" for i in shuffled], "split": parts[shuffled]}
    split = write_table(pd.DataFrame(table), tmp_path / "split.csv")

    labels = ["--labels", tmp_path / "cora" / "nodes.csv", "--label-column", "subject"]
    scores = {}
    for preset in ("paper", "default"):
        settings = SPARSE | {"preset": preset}
        run("embed", *exported, *flags(settings), "-o", tmp_path / "own.parquet")
        run("embed", "cora-linqs", *flags(settings), "-o", tmp_path / "named.parquet")
        own, named = read_embeddings(tmp_path / "own.parquet"), read_embeddings(tmp_path / "named.parquet")
        assert own.ids.tolist() == [f"paper-{i}" for i in range(PAPERS)]
        check_same(named, range(PAPERS), own.vectors)
        scores[preset] = accuracy(capsys, tmp_path / "own.parquet", "--split", split, *labels)
        assert scores[preset] == accuracy(capsys, tmp_path / "named.parquet", "--labels", "cora-linqs")
    run("embed", "cora-linqs", *flags(SPARSE | {"epochs": 0, "preset": "paper"}), "-o", tmp_path / "untrained.parquet")
    untrained = accuracy(capsys, tmp_path / "untrained.parquet", "--labels", "cora-linqs")
    assert scores["paper"] > 20 + untrained  # 79.4, 51.7
    assert scores["default"] > 2 + scores["paper"]  # 83.0
