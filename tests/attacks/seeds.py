"""Small valid files of every format the package reads: what the fuzzer starts from."""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp

from mvgrl.experiments.catalogue import EXPERIMENTS
from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.named import NamedGraph
from mvgrl.pretrained import save_model
from mvgrl.settings import Output, Settings
from mvgrl.training import fit
from mvgrl.views import PPR, Heat, ViewCache

NODES = 8
EDGES = [(i, (i + 1) % NODES) for i in range(NODES)] + [(0, 4), (2, 6)]
SETTINGS = Settings(hidden=4, epochs=3, sampler="full")
POSITION_SETTINGS = replace(SETTINGS, features="position+degree", epochs=1)
GRAPH_SETTINGS = Settings(task="graph", hidden=4, epochs=1, layers=1)
VIEWS = (PPR(), PPR(top_k=3), Heat())


@dataclass(frozen=True)
class Seed:
    """The files of a folder, and the one that a target is given: "" for the folder itself."""

    entry: str
    files: dict[str, bytes]
    options: dict[str, str] = field(default_factory=dict)


def graph() -> Graph:
    """A ring of eight nodes with two chords and three features."""
    sources, targets = zip(*EDGES, strict=True)
    return Graph.from_edges(sources, targets, features=np.random.default_rng(0).normal(size=(NODES, 3)))


def graphs() -> Graph:
    """Three rings."""
    return Graph.join([Graph.from_edges(range(n), [*range(1, n), 0]) for n in (3, 4, 5)])


def edge_table() -> pd.DataFrame:
    table = pd.DataFrame(EDGES, columns=["source", "target"]).map("n{}".format)
    return table.assign(weight=np.linspace(0.5, 2, len(EDGES)))


def node_table() -> pd.DataFrame:
    rows = range(NODES)
    columns = {"id": [f"n{i}" for i in rows], "x": [i / 7 for i in rows], "y": [i % 3 for i in rows]}
    return pd.DataFrame({**columns, "label": ["cat", "dog"] * (NODES // 2)})


def messy_table() -> pd.DataFrame:
    """Nodes with columns of every kind."""
    words = [f"word{i} word{i % 3} and some more words" for i in range(NODES)]
    more = {"n": [None, *range(1, NODES)], "on": [True, False] * 4, "day": [f"200{i}-01-01" for i in range(NODES)]}
    return node_table().assign(city=["Rome", "Oslo", None, "Rome"] * 2, bio=words, **more)


def many_edges() -> pd.DataFrame:
    rows = [(i, (i + 1) % size, f"g{size}") for size in (3, 4, 5) for i in range(size)]
    return pd.DataFrame(rows, columns=["source", "target", "graph"])


def table_bytes(table: pd.DataFrame, extension: str) -> bytes:
    if extension == "parquet":
        file = io.BytesIO()
        table.to_parquet(file, index=False)
        return file.getvalue()
    if extension == "feather":
        file = io.BytesIO()
        table.to_feather(file, compression="zstd")
        return file.getvalue()
    if extension == "jsonl":
        return table.to_json(orient="records", lines=True).encode()
    separator = {"tsv": "\t", "txt": " "}.get(extension, ",")
    text = table.to_csv(index=False, sep=separator).encode()
    return gzip.compress(text) if extension == "csv.gz" else text


def array_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def sparse_bytes(matrix: sp.sparray, *, compressed: bool = True) -> bytes:
    file = io.BytesIO()
    sp.save_npz(file, matrix, compressed=compressed)
    return file.getvalue()


def adjacency() -> sp.csr_array:
    sources, targets = np.array(EDGES).T
    both = np.append(sources, targets), np.append(targets, sources)
    return sp.csr_array((np.ones(2 * len(EDGES)), both), shape=(NODES, NODES))


def planetoid_files() -> dict[str, bytes]:
    """Twelve nodes; the last four are the test nodes."""
    rng, first, nodes = np.random.default_rng(1), 8, 12
    features = sp.csr_matrix(rng.random((nodes, 5)) < 0.4, dtype=np.float32)
    classes = np.eye(3, dtype=np.int32)[np.arange(nodes) % 3]
    neighbours = {i: [(i + 1) % nodes, (i - 1) % nodes] for i in range(nodes)}
    parts = {"x": features[:4], "y": classes[:4], "allx": features[:first], "ally": classes[:first]}
    parts |= {"tx": features[first:], "ty": classes[first:], "graph": neighbours}
    files = {f"ind.tiny.{name}": planetoid_pickle(part) for name, part in parts.items()}
    return {**files, "ind.tiny.test.index": b"9\n8\n11\n10\n"}


def planetoid_pickle(part: object) -> bytes:
    """The published files use older names of modules of NumPy and SciPy, which are the ones the reader accepts."""
    content = pickle.dumps(part, protocol=3).replace(b"numpy._core.", b"numpy.core.")
    return content.replace(b"scipy.sparse._csr\n", b"scipy.sparse.csr\n")


def tu_files() -> dict[str, bytes]:
    rings = [(start + i, start + (i + 1) % 3) for start in (1, 4, 7) for i in range(3)]
    lines = {
        "A": [f"{a}, {b}\n{b}, {a}" for a, b in rings],
        "graph_indicator": np.repeat([1, 2, 3], 3),
        "graph_labels": [0, 1, 0],
        "node_labels": np.arange(9) % 2,
    }
    return {f"TINY_{name}.txt": "".join(f"{one}\n" for one in some).encode() for name, some in lines.items()}


def ledger_lines() -> bytes:
    lines = []
    for name, dataset in (("node-classification", "cora-linqs"), ("graph-classification", "mutag")):
        experiment = EXPERIMENTS[name]
        recipe = experiment.recipes(dataset)["trained"].id
        scores = {score.name: 80.5 for score in experiment.scores_for(dataset)}
        for seed in range(2):
            run = dict(experiment=name, dataset=dataset, setting="best", variant="trained", seed=seed, scores=scores)
            run |= dict(epochs=3, seconds=1.5, device="cpu", recipe=recipe, versions={"mvgrl": "0.2.0"})
            lines.append(json.dumps({**run, "failed": "out of memory", "scores": {}} if seed else run))
    return ("\n".join(lines) + "\n").encode()


CONFIG = b"""views = ["adjacency", "ppr:alpha=0.2"]
hidden = 16
layers = 1
epochs = 30
learning_rate = 0.001
bound = "jsd"
dropout = 0.1
unit_length = true
seed = 3
device = "cpu"
"""
RECIPE = b"""[best]
views = ["adjacency", "ppr:top_k=8"]
hidden = 16
epochs = 3
weight_decay = 0.01
why = "short"
[best.clustering]
epochs = 9
[paper]
hidden = 512
[released]
dropout = 0.5
"""


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def named() -> NamedGraph:
    """The ring, with text ids and without features."""
    return NamedGraph(replace(graph(), features=None), np.array([f"n{i}" for i in range(NODES)]))


def wide() -> Graph:
    """The ring with more features than a vector keeps components of."""
    return replace(graph(), features=np.random.default_rng(1).normal(size=(NODES, 260)))


def messy() -> NamedGraph:
    """The ring, with features from columns of every kind."""
    return to_named((edge_table(), messy_table()))


# What a model is trained on and applied to, its settings, and how its vectors are made: every kind of tensor in a file.
MODELS: dict[str, tuple[Callable[[], Graph | NamedGraph], Settings, Output]] = {
    "node": (graph, SETTINGS, Output()),
    "wide": (wide, replace(SETTINGS, epochs=1, hidden=2), Output(dim=3)),
    "columns": (messy, replace(SETTINGS, epochs=1, hidden=1), Output(dim=2)),
    "position": (named, POSITION_SETTINGS, Output()),
    "numbered": (lambda: named().graph, replace(POSITION_SETTINGS, features="position"), Output()),
    "paper": (graph, SETTINGS, Output(preset="paper")),
    "graph": (graphs, GRAPH_SETTINGS, Output()),
}


def model_files(which: str) -> dict[str, bytes]:
    data, settings, output = MODELS[which]
    with TemporaryDirectory() as folder:
        trained = fit(data(), settings, device="cpu")
        save_model(trained, Path(folder, "m"), output=output, about={"trained on": "rings"})
        return files_below(Path(folder, "m"))


def checkpoint_bytes() -> bytes:
    """A run of three epochs, stopped after the second."""

    def stop(epoch: object) -> None:
        if getattr(epoch, "number", 0) == 2:
            raise KeyboardInterrupt

    with TemporaryDirectory() as folder:
        path = Path(folder, "run.checkpoint")
        try:
            fit(graph(), SETTINGS, device="cpu", checkpoint=path, callbacks=[stop])
        except KeyboardInterrupt:
            return path.read_bytes()
    raise AssertionError("the run was not stopped")


def view_files(number: int) -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        ViewCache(folder).get(VIEWS[number], graph())
        return files_below(Path(folder))


def _seeds() -> Iterator[tuple[str, Seed]]:
    for extension in ("txt", "csv.gz", "jsonl", "feather"):
        edges, nodes = (f"{name}.{extension}" for name in ("edges", "nodes"))
        tables = {edges: table_bytes(edge_table(), extension), nodes: table_bytes(node_table(), extension)}
        yield "edges", Seed(edges, {edges: tables[edges]})
        yield "nodes", Seed(edges, tables, {"nodes": nodes})
    yield "edges", Seed("bare.txt", {"bare.txt": b"# a ring\n" + table_bytes(edge_table(), "txt").partition(b"\n")[2]})
    for extension in ("csv", "tsv", "parquet"):
        edges, nodes = (f"{name}.{extension}" for name in ("edges", "nodes"))
        tables = {edges: table_bytes(edge_table(), extension), nodes: table_bytes(node_table(), extension)}
        yield "edges", Seed(edges, {edges: tables[edges]})
        yield "edges", Seed(edges, {edges: table_bytes(many_edges(), extension)})
        yield "nodes", Seed(edges, tables, {"nodes": nodes})
        yield "nodes", Seed(edges, tables | {nodes: table_bytes(messy_table(), extension)}, {"nodes": nodes})
        yield "labels", Seed(nodes, {nodes: table_bytes(node_table()[["id", "label"]], extension)})
        split = pd.DataFrame({"id": range(4), "split": ["train", "val", "test", ""]})
        yield "split", Seed(nodes, {nodes: table_bytes(split, extension)})
        vectors = pd.DataFrame({"id": range(4), "e0": [0.5] * 4, "e1": [1.5] * 4})
        if extension == "parquet":
            vectors = pd.DataFrame({"id": ["a", "b"], "embedding": [np.ones(3, np.float32)] * 2})
        yield "embeddings", Seed(f"z.{extension}", {f"z.{extension}": table_bytes(vectors, extension)})
    table = pd.DataFrame({"id": range(4)})
    arrays = {"z.npy": array_bytes(np.ones((4, 2), np.float32)), "z.ids.csv": table_bytes(table, "csv")}
    yield "embeddings", Seed("z.npy", arrays)
    named = nx.Graph([(f"n{a}", f"n{b}", {"weight": 1.5}) for a, b in EDGES])
    nx.set_node_attributes(named, {f"n{i}": {"x": float(i), "label": "cat"} for i in range(NODES)})
    yield "graphml", Seed("g.graphml", {"g.graphml": "\n".join(nx.generate_graphml(named)).encode()})
    yield "graphml", Seed("g.gexf", {"g.gexf": "\n".join(nx.generate_gexf(named)).encode()})
    yield "gml", Seed("g.gml", {"g.gml": "\n".join(nx.generate_gml(named)).encode()})
    for matrix in (adjacency(), sp.csc_array(adjacency()), sp.coo_array(adjacency())):
        files = {"a.npz": sparse_bytes(matrix), "x.npz": sparse_bytes(sp.csr_array(np.eye(NODES)), compressed=False)}
        yield "matrix", Seed("a.npz", {"a.npz": files["a.npz"]})
        yield "features", Seed("a.npz", files, {"nodes": "x.npz"})
        yield (
            "features",
            Seed("a.npz", {"a.npz": files["a.npz"], "x.npy": array_bytes(np.eye(NODES))}, {"nodes": "x.npy"}),
        )
    yield "tu", Seed("", tu_files())
    yield "planetoid", Seed("", planetoid_files())
    yield "config", Seed("c.toml", {"c.toml": CONFIG})
    yield "recipe", Seed("", {"node/cora.toml": RECIPE})
    yield "ledger", Seed("runs.jsonl", {"runs.jsonl": ledger_lines()})
    yield "report", Seed("runs.jsonl", {"runs.jsonl": ledger_lines()})
    for which in MODELS:
        yield "model", Seed("", model_files(which), {"which": which})
    yield "checkpoint", Seed("run.checkpoint", {"run.checkpoint": checkpoint_bytes()})
    for number in range(len(VIEWS)):
        yield "views", Seed("", view_files(number), {"view": str(number)})
    for target in ("scipy", "objects"):
        yield target, Seed("number", {"number": b"0"})


def make_seeds() -> dict[str, list[Seed]]:
    """The valid files of each target."""
    found: dict[str, list[Seed]] = {}
    for target, seed in _seeds():
        found.setdefault(target, []).append(seed)
    return found
