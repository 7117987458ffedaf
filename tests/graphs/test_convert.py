"""Objects of other packages as graphs: every type gives the same graph, and errors list the supported types."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader

from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.named import NamedGraph

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # 0 – 1 – 2
EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "a"], "weight": [1.0, 2.0, 0.5]}
NODES = {"id": ["c", "a", "b", "lone"], "f0": [3.0, 1.0, 2.0, 0.0], "f1": [1, 0, 1, 0], "label": ["x", "y", "x", "y"]}


def by_id(named: NamedGraph) -> tuple[list, np.ndarray, list | None, list | None]:
    """Return the parts of a graph, sorted by node id."""
    order = np.argsort(named.node_ids)
    features = None if named.graph.features is None else named.graph.features[order].tolist()
    labels = None if named.labels is None else named.labels[order].tolist()
    return named.node_ids[order].tolist(), named.graph.adjacency.toarray()[np.ix_(order, order)], features, labels


def networkx_graph() -> nx.Graph:
    graph = nx.Graph()
    for name, f0, f1, label in zip(*NODES.values(), strict=True):
        graph.add_node(name, f0=f0, f1=f1, label=label)
    graph.add_weighted_edges_from(zip(*EDGES.values(), strict=True))
    return graph


def relation(columns: dict) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(pa.table(columns))


@pytest.fixture
def rejects(input_error):
    """Check that an object is rejected, with all the words in the message."""
    return lambda thing, *words, **more: input_error(lambda: to_named(thing, **more), *words)


@pytest.mark.parametrize(
    "thing",
    [
        networkx_graph(),
        networkx_graph().to_directed(),
        (pd.DataFrame(EDGES), pd.DataFrame(NODES)),
        (pd.DataFrame(EDGES), pd.DataFrame(NODES).set_index("id")),
        (pa.table(EDGES), pa.table(NODES)),
        (pa.table(EDGES), pd.DataFrame(NODES)),
        (pa.RecordBatch.from_pydict(EDGES), pa.RecordBatch.from_pydict(NODES)),
        (pd.DataFrame(EDGES), pd.DataFrame(NODES).astype({"id": "category", "label": "category"})),
        (pd.DataFrame(EDGES), pd.DataFrame(NODES).set_index("id").rename_axis(None)),
        (pl.DataFrame(EDGES), pl.DataFrame(NODES)),
        (pl.LazyFrame(EDGES), pl.LazyFrame(NODES)),
        (pl.DataFrame(EDGES), pd.DataFrame(NODES)),
    ],
    ids=[
        "networkx",
        "directed",
        "pandas",
        "index",
        "arrow",
        "mixed",
        "batches",
        "types",
        "bare",
        "polars",
        "lazy",
        "2",
    ],
)
def test_every_type_gives_the_same_graph(thing):
    check_is_the_graph(to_named(thing))


def test_duckdb_tables_give_the_same_graph():
    edges, nodes = relation(EDGES), relation(NODES)  # not in the parameters: DuckDB's objects must not outlive the test
    check_is_the_graph(to_named((edges, nodes)))
    check_is_the_graph(to_named((edges, pd.DataFrame(NODES))))
    check_is_the_graph(to_named((edges.to_arrow_reader(), nodes.to_arrow_table())))


def check_is_the_graph(named):
    ids, adjacency, features, labels = by_id(named)
    assert ids == ["a", "b", "c", "lone"]
    expected = np.array([[0, 1, 0.5, 0], [1, 0, 2, 0], [0.5, 2, 0, 0], [0, 0, 0, 0]])
    assert np.array_equal(adjacency, expected)
    assert features == [[1, 0], [2, 1], [3, 1], [0, 0]]
    assert labels == ["y", "x", "x", "y"]


def test_graphs_are_returned_unchanged():
    graph = Graph.from_edges([0], [1])
    named = to_named(graph)
    assert named.graph is graph
    assert named.node_ids.tolist() == [0, 1]
    assert named.graph_ids is None
    assert to_named(named) is named
    assert to_named([graph, graph]).graph_ids.tolist() == [0, 1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("convert", [pl.DataFrame, pl.LazyFrame, relation], ids=["polars", "lazy", "duckdb"])
def test_table_of_edges_alone_may_come_from_any_package(convert):
    table = convert(EDGES)
    for _ in range(2):  # a query can be run again
        assert to_named(table).node_ids.tolist() == ["a", "b", "c"]


def test_paths_are_read(tmp_path, rejects):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    pd.DataFrame(EDGES).to_csv(edges, index=False)
    pd.DataFrame(NODES).to_csv(nodes, index=False)
    assert to_named(edges).node_ids.tolist() == to_named(str(edges)).node_ids.tolist() == ["a", "b", "c"]
    for named in (to_named((edges, nodes)), to_named((str(edges), str(nodes)))):
        assert by_id(named)[2] == [[1, 0], [2, 1], [3, 1], [0, 0]]
    by_name = pd.DataFrame({"f": [1.0, 2.0, 3.0]}, index=["c", "a", "b"])
    assert by_id(to_named((edges, by_name)))[2] == [[2], [3], [1]]
    rejects(edges, "edges.csv", "no", "column 'id'", features=np.eye(3))
    rejects(tmp_path / "missing.csv", "missing.csv", "check the path")


def test_lists_of_matrices_tables_and_features_are_many_graphs(rejects):
    path = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    for graphs in ([path, path], [sp.csr_array(path), path], [(path, np.eye(3)), (path, np.ones((3, 3)))]):
        named = to_named(graphs)
        assert named.graph.sizes.tolist() == [3, 3]
        assert named.graph_ids.tolist() == [0, 1]
        assert named.node_ids.tolist() == list(range(6))
    assert named.graph.features.tolist() == [*np.eye(3).tolist(), *np.ones((3, 3)).tolist()]
    tables = to_named([pd.DataFrame(EDGES), pl.DataFrame(EDGES)])
    assert tables.node_ids.tolist() == ["a", "b", "c"] * 2
    rejects([path, path[:2]], "item 1", "square")
    rejects([(path, np.eye(3)), path], "graph 1 has no features")
    rejects([to_named([path, path]), path], "item 0", "2 graphs")


def test_undirected_graphs_are_not_said_to_be_directed():
    graph = nx.path_graph(3)
    assert to_named(graph).notes == ()
    assert to_named(nx.DiGraph([(0, 1)])).notes == ("directed edges made undirected",)


def test_adjacency_matrix_takes_features(rejects):
    dense = np.array([[0, 2.0], [2.0, 0]])
    for thing in (
        dense,
        sp.csr_matrix(dense),
        sp.coo_array(dense),
        torch.tensor(dense),
        torch.tensor(dense).to_sparse(),
    ):
        named = to_named(thing, features=np.eye(2))
        assert np.array_equal(named.graph.adjacency.toarray(), dense)
        assert np.array_equal(named.graph.features, np.eye(2))
    rejects(np.ones((2, 3)), "(2, 3)", "square")
    rejects(np.array([["a", "b"], ["c", "d"]]), "adjacency", "weights")
    rejects(dense, "3 rows", features=np.eye(3))


def test_given_features_replace_those_of_the_object():
    named = to_named(networkx_graph(), features=np.arange(8.0).reshape(4, 2))
    assert named.graph.features.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert named.labels.tolist() == NODES["label"]


@pytest.mark.parametrize("thing", [3, {"a": 1}, None, [1, 2], object(), (1, 2, 3), ("a", "b")])
def test_unsupported_object_is_rejected_with_the_supported_types(thing, rejects):
    rejects(thing, "not a supported graph type", "PyG", "NetworkX", "SciPy", "pandas", "Arrow")


def test_empty_and_mixed_lists_are_rejected(rejects):
    rejects([], "empty")
    rejects([networkx_graph(), Data(edge_index=PATH)], "mixes types", "Graph", "Data")
    rejects(HeteroData(), "HeteroData", "homogeneous")
    rejects((pa.table(EDGES), 3), "int", "table of nodes")


def test_only_the_packages_of_the_object_are_imported():
    code = (
        "import sys, scipy.sparse as sp; from mvgrl.graphs.convert import to_named; import mvgrl.graphs.read;"
        "to_named(sp.eye_array(3, k=1) + sp.eye_array(3, k=-1));"
        "names = ('pandas', 'networkx', 'pyarrow', 'torch_geometric', 'igraph', 'polars', 'duckdb');"
        "print([name for name in names if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "[]"


class Collection(InMemoryDataset):
    def __init__(self, data):
        super().__init__()
        self.data, self.slices = self.collate(data)


def test_data_has_features_and_labels_of_nodes():
    named = to_named(Data(x=torch.eye(3), edge_index=PATH, y=torch.tensor([2, 0, 1])))
    assert named.node_ids.tolist() == [0, 1, 2]
    assert named.labels.tolist() == [2, 0, 1]
    assert named.labels_of == "nodes"
    assert np.array_equal(named.graph.features, np.eye(3))


def test_collections_of_data_have_labels_of_graphs():
    parts = [Data(x=torch.ones(3, 1) * i, edge_index=PATH, y=torch.tensor([i])) for i in range(3)]
    dataset = Collection(parts)
    for thing in (
        parts,
        tuple(parts),
        dataset,
        Batch.from_data_list(parts),
        DataLoader(dataset, 2),
        Subset(dataset, [0, 1, 2]),
    ):
        named = to_named(thing)
        assert named.graph.count == 3
        assert named.graph_ids.tolist() == [0, 1, 2]
        assert named.node_ids.tolist() == list(range(9))
        assert named.labels.tolist() == [0, 1, 2]
        assert named.graph.features[:, 0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert to_named(Subset(dataset, [2, 0])).labels.tolist() == [2, 0]


def test_y_may_have_other_shapes():
    column = Data(edge_index=PATH, num_nodes=3, y=torch.tensor([[1.5]]))
    assert to_named([column, column]).labels.tolist() == [1.5, 1.5]
    of_nodes = Data(edge_index=PATH, num_nodes=3, y=torch.tensor([0, 1, 0]))
    assert to_named([of_nodes, of_nodes]).labels_of == "nodes"
    many = to_named(Data(edge_index=PATH, num_nodes=3, y=torch.ones(3, 5)))
    assert many.labels is None
    assert any("ignored y" in note for note in many.graph.notes)
    without = Data(edge_index=PATH, num_nodes=3)
    assert to_named([of_nodes, without]).labels is None


def test_index_with_the_name_of_a_column_is_rejected(input_error):
    edges = pd.DataFrame({"source": [1], "target": [2]}, index=pd.Index([5], name="source"))
    input_error(lambda: to_named(edges), "edges", "'source'", "index of that name")


def test_index_whose_name_cannot_be_a_column_is_rejected(input_error):
    table = pd.DataFrame({0: ["a"], 1: ["b"]})
    table.index.name = 10**30
    input_error(lambda: to_named(table), "the name of the index")
