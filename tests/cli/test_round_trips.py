"""The same graph, model or table by every road: the same bits under the same ids."""

from __future__ import annotations

import json
import logging
import pickle
import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from pyarrow import csv
from torch_geometric.data import Batch, Data

import mvgrl
from mvgrl.cli import main
from mvgrl.datasets import load
from mvgrl.tables.embeddings import Embeddings, read_embeddings

QUICK = {"hidden": 16, "epochs": 5}
SEED = 3


@pytest.fixture(scope="module", autouse=True)
def undisturbed():
    """Datasets come from packages, whatever folder is named; the logger that the shell sets up is put back."""
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
    assert np.array_equal(found.vectors.view(np.int32), vectors.view(np.int32))  # to the bit: −0 is not 0


# One graph


@dataclass(frozen=True)
class Sample:
    """A graph as arrays, from which each format is written."""

    ids: np.ndarray
    sources: np.ndarray  # positions in ids, each edge once
    targets: np.ndarray
    weights: np.ndarray | None
    features: np.ndarray | None
    topics: np.ndarray

    @property
    def nodes(self) -> int:
        return len(self.ids)

    @property
    def both_ways(self) -> tuple[np.ndarray, np.ndarray]:
        return np.append(self.sources, self.targets), np.append(self.targets, self.sources)

    @property
    def adjacency(self) -> sp.csr_array:
        values = np.ones(2 * len(self.sources)) if self.weights is None else np.tile(self.weights, 2)
        return sp.csr_array(sp.coo_array((values, self.both_ways), shape=(self.nodes, self.nodes)))

    def edge_table(self) -> pd.DataFrame:
        table = pd.DataFrame({"source": self.ids[self.sources], "target": self.ids[self.targets]})
        return table if self.weights is None else table.assign(weight=self.weights)

    def node_table(self, label: str = "topic") -> pd.DataFrame:
        columns = {} if self.features is None else {f"f{i}": column for i, column in enumerate(self.features.T)}
        return pd.DataFrame({"id": self.ids, **columns, label: self.topics})

    def networkx(self) -> nx.Graph:
        graph = nx.Graph()
        for row in self.node_table().to_dict("records"):
            graph.add_node(row.pop("id"), **row)
        for row in self.edge_table().to_dict("records"):
            graph.add_edge(row.pop("source"), row.pop("target"), **row)
        return graph

    def pyg(self) -> Data:
        return Data(
            x=None if self.features is None else torch.tensor(self.features, dtype=torch.float32),
            edge_index=torch.from_numpy(np.array(self.both_ways)),
            edge_weight=None if self.weights is None else torch.from_numpy(np.tile(self.weights, 2)),
            y=torch.from_numpy(np.unique(self.topics, return_inverse=True)[1]),
            num_nodes=self.nodes,
        )


def make_sample(features: str | None, *, weighted: bool) -> Sample:
    nodes = 40
    rng = np.random.default_rng(0)
    ends = nx.to_edgelist(nx.gnm_random_graph(nodes - 1, 90, seed=1))  # the last node has no edges
    sources, targets = np.array([edge[:2] for edge in ends]).T
    table = {None: None, "measured": rng.normal(size=(nodes, 12)), "words": rng.random((nodes, 30)) < 0.1}[features]
    if features == "words":
        table = table.astype(np.int64)
        table[3] = 0  # nothing known of it
    weights = rng.random(len(sources)) if weighted else None
    topics = rng.choice(["art", "law", "war"], nodes)
    return Sample(np.arange(nodes), sources, targets, weights, table, topics)


# With what is known of the nodes: numbers of all kinds, a few words each, or nothing, when degrees are counted.
MEASURED, WORDS, BARE = (
    make_sample("measured", weighted=True),
    make_sample("words", weighted=False),
    make_sample(None, weighted=True),
)
CASES = {
    "measured, by column": (MEASURED, {"normalise": "standard"}),
    "measured, by row": (MEASURED, {"normalise": "row"}),
    "words, by column": (WORDS, {"normalise": "standard"}),
    "words, by row": (WORDS, {"normalise": "row"}),
    "bare": (BARE, {}),
}


@cache
def expected(case: str) -> np.ndarray:
    """The vectors from the arrays themselves, with no format between."""
    sample, settings = CASES[case]
    graph = mvgrl.Graph.from_edges(
        sample.sources, sample.targets, sample.weights, nodes=sample.nodes, features=sample.features
    )
    return node_embedder(**settings).fit(graph).embedding_


def write_table(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def write_tables(sample: Sample, folder: Path, ending: str, node_ending: str) -> list[Any]:
    edges = write_table(sample.edge_table(), folder / f"edges.{ending}")
    nodes = write_table(sample.node_table(), folder / f"nodes.{node_ending}")
    return [edges, "--nodes", nodes, "--label-column", "topic"]


def write_graphml(sample: Sample, folder: Path) -> list[Any]:
    nx.write_graphml(sample.networkx(), folder / "graph.graphml")
    return [folder / "graph.graphml", "--label-column", "topic"]


def write_gml(sample: Sample, folder: Path) -> list[Any]:
    nx.write_gml(sample.networkx(), folder / "graph.gml")
    return [folder / "graph.gml", "--label-column", "topic"]


def write_matrices(sample: Sample, folder: Path) -> list[Any]:
    sp.save_npz(folder / "graph.npz", sample.adjacency)
    if sample.features is None:
        return [folder / "graph.npz"]
    sp.save_npz(folder / "features.npz", sp.csr_array(sample.features))
    return [folder / "graph.npz", "--nodes", folder / "features.npz"]


def write_planetoid(sample: Sample, folder: Path) -> list[Any]:
    """The eight files, the last ten nodes to be tested on and listed in another order than their numbers'."""
    first = sample.nodes - 10
    tested = first + np.random.default_rng(2).permutation(10)
    classes = pd.get_dummies(sample.topics).to_numpy(dtype=np.int32)
    features = sp.csr_matrix(sample.features, dtype=np.float32)
    neighbours = {node: [] for node in range(sample.nodes)}
    for source, target in np.transpose(sample.both_ways).tolist():
        neighbours[source].append(target)
    parts = {"x": features[:9], "y": classes[:9], "allx": features[:first], "ally": classes[:first]}
    parts |= {"tx": features[tested], "ty": classes[tested], "graph": neighbours}
    for name, part in parts.items():
        # The published files are older than these packages' inner folders; the reader knows the names of then.
        text = pickle.dumps(part, protocol=3).replace(b"numpy._core.", b"numpy.core.")
        (folder / f"ind.sample.{name}").write_bytes(text.replace(b"scipy.sparse._csr\n", b"scipy.sparse.csr\n"))
    (folder / "ind.sample.test.index").write_text("".join(f"{node}\n" for node in tested))
    return [folder]


FILES = {
    f"{ending} and {other}": lambda sample, folder, pair=(ending, other): write_tables(sample, folder, *pair)
    for ending, other in (("csv", "csv"), ("csv", "parquet"), ("tsv", "tsv"), ("parquet", "parquet"))
} | {"graphml": write_graphml, "gml": write_gml, "npz": write_matrices}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("written", FILES)
def test_every_file_format_gives_the_same_vectors(tmp_path, written, case):
    sample, settings = CASES[case]
    found = embed(tmp_path / "vectors.parquet", *FILES[written](sample, tmp_path), **settings)
    check_same(found, sample.ids, expected(case))


@pytest.mark.parametrize("case", ["words, by column", "words, by row"])  # there are no weights in a Planetoid folder
def test_a_planetoid_folder_gives_the_same_vectors(tmp_path, case):
    sample, settings = CASES[case]
    check_same(
        embed(tmp_path / "vectors.csv", *write_planetoid(sample, tmp_path), **settings), sample.ids, expected(case)
    )


OBJECTS = {
    "NetworkX": Sample.networkx,
    "PyG": Sample.pyg,
    "SciPy": lambda sample: mvgrl.Graph.from_scipy(sample.adjacency, sample.features),
    "SciPy, features too": lambda sample: mvgrl.Graph.from_scipy(
        sample.adjacency, None if sample.features is None else sp.csr_array(sample.features)
    ),
    "SciPy, features of pandas": lambda sample: mvgrl.Graph.from_scipy(
        sample.adjacency,
        None if sample.features is None else sample.node_table().filter(like="f").to_numpy(),
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


def test_a_bare_matrix_of_scipy_is_a_graph():
    assert np.array_equal(node_embedder().fit(BARE.adjacency).embedding_, expected("bare"))


NAMES = np.array(["007", "7", "a,1", 'say "so"', "tab\there", "é", *(f"paper-{i}" for i in range(34))])


def test_names_change_nothing_and_come_through_every_format_that_has_room_for_them(tmp_path):
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


def test_a_table_of_edges_alone_numbers_its_nodes_as_they_come(tmp_path):
    connected = np.unique(np.append(BARE.sources, BARE.targets))
    met = pd.unique(np.column_stack([BARE.sources, BARE.targets]).ravel())
    edges = write_table(BARE.edge_table(), tmp_path / "edges.csv")
    found = embed(tmp_path / "vectors.parquet", edges)
    assert found.ids.tolist() == met.tolist()
    assert sorted(met) == connected.tolist()
    same = node_embedder().fit(BARE.adjacency[met][:, met])
    assert np.array_equal(found.vectors, same.embedding_)


# Many graphs


@dataclass(frozen=True)
class Molecules:
    """Many graphs, whose nodes are of kinds: numbered from 1 over all graphs, as the TU format does."""

    graphs: np.ndarray  # of each node
    edges: np.ndarray  # pairs of nodes, each once
    kinds: np.ndarray  # of each node

    @property
    def one_hot(self) -> np.ndarray:
        return np.eye(KINDS)[self.kinds]

    def node_table(self, labelled: bool) -> pd.DataFrame:
        ids = np.arange(1, len(self.graphs) + 1)
        kinds = {f"kind{i}": column for i, column in enumerate(self.one_hot.T)} if labelled else {}
        return pd.DataFrame({"id": ids, "graph": self.graphs, **kinds})

    def edge_table(self) -> pd.DataFrame:
        return pd.DataFrame(
            {"graph": self.graphs[self.edges[:, 0] - 1], "source": self.edges[:, 0], "target": self.edges[:, 1]}
        )

    def networkx(self, labelled: bool) -> list[nx.Graph]:
        graphs = [nx.Graph(name=str(number)) for number in range(1, GRAPHS + 1)]
        for row in self.node_table(labelled).to_dict("records"):
            graphs[row.pop("graph") - 1].add_node(row.pop("id"), **row)
        for graph, source, target in self.edge_table().itertuples(index=False):
            graphs[graph - 1].add_edge(source, target)
        return graphs

    def pyg(self, labelled: bool) -> list[Data]:
        parts = []
        for number in range(1, GRAPHS + 1):
            nodes = np.flatnonzero(self.graphs == number)
            pairs = self.edges[self.graphs[self.edges[:, 0] - 1] == number] - 1 - nodes[0]
            ends = torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())
            x = torch.tensor(self.one_hot[nodes], dtype=torch.float32) if labelled else None
            parts.append(Data(x=x, edge_index=ends, num_nodes=len(nodes)))
        return parts


GRAPHS, KINDS = 12, 8


def make_molecules() -> Molecules:
    rng = np.random.default_rng(4)
    sizes = rng.integers(4, 10, GRAPHS)
    edges = []
    for size, start in zip(sizes, np.cumsum(sizes) - sizes, strict=True):
        pairs = np.array(nx.gnm_random_graph(int(size), int(size) + 1, seed=int(start)).edges)
        edges.append(pairs + start + 1)
    return Molecules(
        np.repeat(np.arange(1, GRAPHS + 1), sizes), np.concatenate(edges), rng.integers(0, KINDS, sizes.sum())
    )


MOLECULES = make_molecules()


def write_tu(molecules: Molecules, folder: Path, labelled: bool) -> Path:
    folder.mkdir()
    both = np.concatenate([molecules.edges, molecules.edges[:, ::-1]])
    lines = {
        "A": [f"{source}, {target}" for source, target in both],
        "graph_indicator": molecules.graphs,
        "graph_labels": np.arange(GRAPHS) % 2,
    } | ({"node_labels": molecules.kinds} if labelled else {})
    for name, values in lines.items():
        (folder / f"SET_{name}.txt").write_text("".join(f"{value}\n" for value in values))
    return folder


def write_molecules(folder: Path, ending: str, labelled: bool) -> list[Any]:
    edges = write_table(MOLECULES.edge_table(), folder / f"edges.{ending}")
    return [edges, "--nodes", write_table(MOLECULES.node_table(labelled), folder / f"nodes.{ending}")]


@pytest.mark.parametrize("labelled", [True, False], ids=["node labels", "degrees"])
def test_many_graphs_as_a_tu_folder_as_tables_and_as_objects_give_the_same_vectors(tmp_path, labelled):
    # A table has no node labels: there each is a column of its own, which "row" leaves as it is.
    settings = {"epochs": 3, "normalise": "row"}
    folder = embed(tmp_path / "tu.parquet", write_tu(MOLECULES, tmp_path / "SET", labelled), **settings)
    assert folder.ids.tolist() == list(range(1, GRAPHS + 1))
    for ending in ("csv", "tsv", "parquet"):
        found = embed(tmp_path / "tables.csv", *write_molecules(tmp_path, ending, labelled), **settings)
        check_same(found, folder.ids, folder.vectors)
        assert found.graph_ids is None
    of_networkx, of_pyg = MOLECULES.networkx(labelled), MOLECULES.pyg(labelled)
    for thing in (of_networkx, of_pyg, Batch.from_data_list(of_pyg)):
        embedder = mvgrl.GraphEmbedder(**{**QUICK, **settings}, random_state=SEED, device="cpu").fit(thing)
        assert np.array_equal(embedder.embedding_, folder.vectors)


def test_a_dataset_of_many_graphs_by_its_name(tmp_path, capsys):
    run("embed", "mutag", "-o", tmp_path / "mutag.parquet", "--hidden", 16, "--epochs", 2, "--json")
    said = json.loads(capsys.readouterr().out)
    found = read_embeddings(tmp_path / "mutag.parquet")
    assert (said["task"], said["graphs"], said["dim"]) == ("graph", 188, 16)
    assert found.ids.tolist() == list(range(188))
    assert found.vectors.shape == (188, 16)
    assert found.graph_ids is None
    assert len(np.unique(found.vectors, axis=0)) > 150  # few molecules are drawn alike


# What is written


@pytest.mark.parametrize("ids", [np.arange(40), NAMES], ids=["numbers", "names"])
def test_every_output_format_holds_the_same_vectors(tmp_path, ids):
    graph = write_tables(replace(MEASURED, ids=ids), tmp_path, "csv", "csv")
    for ending in ("parquet", "csv", "tsv", "npy"):
        found = embed(tmp_path / f"vectors.{ending}", *graph, normalise="standard")
        check_same(found, ids, expected("measured, by column"))
        assert found.ids.dtype.kind == ids.dtype.kind


def test_the_nodes_of_many_graphs_are_told_apart_in_every_format(tmp_path):
    run("train", write_table(BARE.edge_table(), tmp_path / "one.csv"), "-o", tmp_path / "model", *flags(QUICK))
    folder, tables = write_tu(MOLECULES, tmp_path / "SET", labelled=False), write_molecules(tmp_path, "csv", False)
    tables_nodes = MOLECULES.node_table(labelled=False)
    vectors = mvgrl.load(tmp_path / "model").transform(MOLECULES.pyg(labelled=False))
    for graph in ([folder], tables):
        for ending in ("parquet", "csv", "tsv", "npy"):
            run("apply", tmp_path / "model", *graph, "-o", tmp_path / f"vectors.{ending}")
            found = read_embeddings(tmp_path / f"vectors.{ending}")
            check_same(found, tables_nodes.id, vectors)
            assert found.graph_ids.tolist() == tables_nodes.graph.tolist()


# Models kept


@pytest.mark.parametrize("case", ["measured, by column", "words, by row", "bare"])
def test_training_then_applying_is_embedding(tmp_path, case):
    sample, settings = CASES[case]
    graph = write_tables(sample, tmp_path, "csv", "csv")
    run("train", *graph, "-o", tmp_path / "model", *flags(QUICK | settings), "--seed", SEED, "--device", "cpu")
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "model", tmp_path / "elsewhere" / "kept")
    run("apply", tmp_path / "elsewhere" / "kept", *graph, "-o", tmp_path / "applied.parquet", "--device", "cpu")
    check_same(read_embeddings(tmp_path / "applied.parquet"), sample.ids, expected(case))
    loaded = mvgrl.load(tmp_path / "elsewhere" / "kept", device="cpu")
    assert np.array_equal(loaded.transform(sample.networkx()), expected(case))


def test_a_model_saved_in_python_is_applied_in_the_shell(tmp_path):
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


def test_a_model_of_many_graphs_is_applied_to_them_and_to_some_of_them(tmp_path):
    edges, nodes = MOLECULES.edge_table(), MOLECULES.node_table(labelled=True)
    whole = [write_table(edges, tmp_path / "edges.csv"), "--nodes", write_table(nodes, tmp_path / "nodes.csv")]
    embedded = embed(tmp_path / "embedded.parquet", *whole)
    run("train", *whole, "-o", tmp_path / "model", *flags(QUICK), "--seed", SEED, "--device", "cpu")
    run("apply", tmp_path / "model", *whole, "-o", tmp_path / "applied.parquet", "--device", "cpu")
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


# Cora under its owner's names

SPARSE = {"hidden": 64, "epochs": 60, "views": "adjacency,ppr:top_k=32", "device": "cpu"}
PAPERS = 2708


@cache
def cora() -> Any:
    return load("cora-linqs")


def topics() -> np.ndarray:
    return np.array(cora().classes)[cora().target]


def export_cora(folder: Path, kept: np.ndarray) -> list[Any]:
    """Some of Cora's papers, and the citations among them, as two tables with ids of text."""
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
    """How many of the five old papers nearest to a new one are of its topic, as a share."""
    ways = directions(vectors)
    nearest = np.argsort(-ways[new] @ ways[old].T, axis=1)[:, :5]
    return float((topics()[old][nearest] == topics()[new][:, None]).mean())


def test_a_model_embeds_papers_it_has_not_seen(tmp_path):
    new = np.sort(np.random.default_rng(0).choice(PAPERS, 200, replace=False))
    old = np.setdiff1d(np.arange(PAPERS), new)
    part, whole = export_cora(tmp_path / "part", old), export_cora(tmp_path / "whole", np.arange(PAPERS))
    run("train", *part, *flags(SPARSE), "-o", tmp_path / "model")
    run("apply", tmp_path / "model", *part, "-o", tmp_path / "before.parquet", "--device", "cpu")
    run("apply", tmp_path / "model", *whole, "-o", tmp_path / "after.parquet", "--device", "cpu")
    before, after = read_embeddings(tmp_path / "before.parquet"), read_embeddings(tmp_path / "after.parquet")
    assert before.ids.tolist() == [f"paper-{i}" for i in old]
    assert after.ids.tolist() == [f"paper-{i}" for i in range(PAPERS)]
    assert after.vectors.shape == (PAPERS, 64)

    # An old paper stays where it was, but for those that a new one is joined to. All vectors point much the same way
    # (two at random have a cosine of 0.88), so it must be closest to itself, too.
    alike = directions(after.vectors[old]) @ directions(before.vectors).T
    same = alike.diagonal()
    assert np.median(same) > 0.999  # 0.99996
    assert (same > 0.99).mean() > 0.93  # 0.970
    assert (alike.argmax(axis=1) == np.arange(len(old))).mean() > 0.95  # 0.981

    shares = np.bincount(cora().target) / PAPERS
    found = shared_topics(after.vectors, new, old)
    assert found > 3 * (shares**2).sum()  # 0.77, and 0.18 by chance
    assert found > 0.1 + shared_topics(cora().graph.features.toarray(), new, old)  # 0.54 by their words alone


def accuracy(capsys: pytest.CaptureFixture[str], *words: Any) -> float:
    capsys.readouterr()
    run("evaluate", *words, "--device", "cpu", "--json")
    return float(json.loads(capsys.readouterr().out)["accuracy"]["mean"])


def test_cora_from_its_owners_tables_scores_as_the_named_dataset_does(tmp_path, capsys):
    exported = export_cora(tmp_path / "cora", np.arange(PAPERS))
    parts = np.full(PAPERS, "", dtype="<U5")
    for name, nodes in cora().splits.items():
        parts[nodes] = name
    shuffled = np.random.default_rng(1).permutation(PAPERS)  # rows are found by their ids
    table = {"id": [f"paper-{i}" for i in shuffled], "split": parts[shuffled]}
    split = write_table(pd.DataFrame(table), tmp_path / "split.csv")

    run("embed", *exported, *flags(SPARSE), "-o", tmp_path / "own.parquet")
    run("embed", "cora-linqs", *flags(SPARSE), "-o", tmp_path / "named.parquet")
    run("embed", "cora-linqs", *flags(SPARSE | {"epochs": 0}), "-o", tmp_path / "untrained.parquet")
    own, named = read_embeddings(tmp_path / "own.parquet"), read_embeddings(tmp_path / "named.parquet")
    assert own.ids.tolist() == [f"paper-{i}" for i in range(PAPERS)]
    check_same(named, range(PAPERS), own.vectors)

    labels = ["--labels", tmp_path / "cora" / "nodes.csv", "--label-column", "subject"]
    from_tables = accuracy(capsys, tmp_path / "own.parquet", "--split", split, *labels)
    assert from_tables == accuracy(capsys, tmp_path / "named.parquet", "--labels", "cora-linqs")
    assert from_tables > 20 + accuracy(capsys, tmp_path / "untrained.parquet", "--labels", "cora-linqs")  # 66.6, 32.2
