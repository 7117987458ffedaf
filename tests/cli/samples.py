"""Sample graphs for the round trips, and writers for each file format."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

GRAPHS, KINDS = 12, 8


@dataclass(frozen=True)
class Sample:
    """A graph as arrays, to be written in each format."""

    ids: np.ndarray
    sources: np.ndarray  # indices into ids, each edge once
    targets: np.ndarray
    weights: np.ndarray | None
    features: np.ndarray | None
    topics: np.ndarray

    @property
    def nodes(self) -> int:
        return len(self.ids)

    @property
    def both_directions(self) -> tuple[np.ndarray, np.ndarray]:
        return np.append(self.sources, self.targets), np.append(self.targets, self.sources)

    @property
    def adjacency(self) -> sp.csr_array:
        values = np.ones(2 * len(self.sources)) if self.weights is None else np.tile(self.weights, 2)
        return sp.csr_array(sp.coo_array((values, self.both_directions), shape=(self.nodes, self.nodes)))

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
            edge_index=torch.from_numpy(np.array(self.both_directions)),
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
        table[3] = 0  # a node without words
    weights = rng.random(len(sources)) if weighted else None
    topics = rng.choice(["art", "law", "war"], nodes)
    return Sample(np.arange(nodes), sources, targets, weights, table, topics)


def write_table(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def write_tables(sample: Sample, folder: Path, extension: str, node_extension: str) -> list[Any]:
    edges = write_table(sample.edge_table(), folder / f"edges.{extension}")
    nodes = write_table(sample.node_table(), folder / f"nodes.{node_extension}")
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
    """Write the eight files; the last ten nodes are the test nodes, listed in another order."""
    first = sample.nodes - 10
    tested = first + np.random.default_rng(2).permutation(10)
    classes = pd.get_dummies(sample.topics).to_numpy(dtype=np.int32)
    features = sp.csr_matrix(sample.features, dtype=np.float32)
    neighbours = {node: [] for node in range(sample.nodes)}
    for source, target in np.transpose(sample.both_directions).tolist():
        neighbours[source].append(target)
    parts = {"x": features[:9], "y": classes[:9], "allx": features[:first], "ally": classes[:first]}
    parts |= {"tx": features[tested], "ty": classes[tested], "graph": neighbours}
    for name, part in parts.items():
        # The published files use older names of modules of NumPy and SciPy, which are the ones the reader accepts.
        text = pickle.dumps(part, protocol=3).replace(b"numpy._core.", b"numpy.core.")
        (folder / f"ind.sample.{name}").write_bytes(text.replace(b"scipy.sparse._csr\n", b"scipy.sparse.csr\n"))
    (folder / "ind.sample.test.index").write_text("".join(f"{node}\n" for node in tested))
    return [folder]


@dataclass(frozen=True)
class Molecules:
    """Many graphs with node types; nodes are numbered from 1 across all graphs, as in the TU format."""

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
