"""What people have, as graphs with names: the same graph whatever it came in, and every refusal with its place."""

from __future__ import annotations

import subprocess
import sys
import time
from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.tables import from_tables

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # 0 – 1 – 2
EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "a"], "weight": [1.0, 2.0, 0.5]}
NODES = {"id": ["c", "a", "b", "lone"], "f0": [3.0, 1.0, 2.0, 0.0], "f1": [1, 0, 1, 0], "label": ["x", "y", "x", "y"]}


def by_id(named: NamedGraph) -> tuple[list, np.ndarray, list | None, list | None]:
    """A graph with its nodes in the order of their ids."""
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


def refusal(thing, *words, **more):
    with pytest.raises(InputError) as caught:
        to_named(thing, **more)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# NamedGraph


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"node_ids": np.arange(2)}, "node_ids has shape"),
        ({"node_ids": np.array([0, None, 2])}, "object"),
        ({"node_ids": [0, 1, 2]}, "list"),
        ({"node_ids": np.arange(3), "graph_ids": np.arange(2)}, "graph_ids has shape"),
        ({"node_ids": np.arange(3), "labels": np.arange(2)}, "labels has shape"),
        ({"node_ids": np.arange(3), "labels": np.ones((3, 2))}, "labels has shape"),
    ],
)
def test_names_of_the_wrong_shape_or_kind_are_refused(arguments, word):
    with pytest.raises(InputError, match=word):
        NamedGraph(Graph.from_edges([0, 1], [1, 2]), **arguments)


def test_many_graphs_need_ids_and_labels_say_what_they_describe():
    two = Graph.from_edges([0], [1], offsets=[0, 2, 5])
    with pytest.raises(InputError, match="graph_ids"):
        NamedGraph(two, np.arange(5))
    assert NamedGraph(two, np.arange(5), np.arange(2), np.arange(2)).labels_of == "graphs"
    assert NamedGraph(two, np.arange(5), np.arange(2), np.arange(5)).labels_of == "nodes"
    assert NamedGraph(two, np.arange(5), np.arange(2)).labels_of is None


# The same graph in every form


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
    ],
    ids=["networkx", "directed", "pandas", "index", "arrow", "mixed", "batches", "categories"],
)
def test_the_same_graph_comes_out_of_every_form(thing):
    ids, adjacency, features, labels = by_id(to_named(thing))
    assert ids == ["a", "b", "c", "lone"]
    expected = np.array([[0, 1, 0.5, 0], [1, 0, 2, 0], [0.5, 2, 0, 0], [0, 0, 0, 0]])
    assert np.array_equal(adjacency, expected)
    assert features == [[1, 0], [2, 1], [3, 1], [0, 0]]
    assert labels == ["y", "x", "x", "y"]


def test_graphs_pass_as_they_are():
    graph = Graph.from_edges([0], [1])
    named = to_named(graph)
    assert named.graph is graph
    assert named.node_ids.tolist() == [0, 1]
    assert named.graph_ids is None
    assert to_named(named) is named
    assert to_named([graph, graph]).graph_ids.tolist() == [0, 1]


def test_an_adjacency_takes_its_features_beside_it():
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
    refusal(np.ones((2, 3)), "(2, 3)", "square")
    refusal(np.array([["a", "b"], ["c", "d"]]), "adjacency", "weights")
    refusal(dense, "3 rows", features=np.eye(3))


def test_given_features_replace_those_of_any_form():
    named = to_named(networkx_graph(), features=np.arange(8.0).reshape(4, 2))
    assert named.graph.features.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert named.labels.tolist() == NODES["label"]


@pytest.mark.parametrize("thing", [3, "edges.csv", {"a": 1}, None, [1, 2], [[0, 1], [1, 2]], object(), (1, 2, 3)])
def test_an_unknown_thing_is_told_what_is_known(thing):
    refusal(thing, "known kind", "PyG", "NetworkX", "SciPy", "pandas", "Arrow")


def test_lists_of_nothing_and_of_several_kinds_are_refused():
    refusal([], "empty")
    refusal([networkx_graph(), Data(edge_index=PATH)], "mixes kinds", "Graph", "Data")
    refusal(HeteroData(), "HeteroData", "one kind of node")
    refusal((pa.table(EDGES), 3), "int", "table of nodes")


def test_only_the_packages_of_the_thing_are_imported():
    code = (
        "import sys, scipy.sparse as sp; from mvgrl.graphs.convert import to_named; import mvgrl.graphs.read;"
        "to_named(sp.eye_array(3, k=1) + sp.eye_array(3, k=-1));"
        "print([p for p in ('pandas', 'networkx', 'pyarrow', 'torch_geometric') if p in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "[]"


# PyTorch Geometric


class Collection(InMemoryDataset):
    def __init__(self, data):
        super().__init__()
        self.data, self.slices = self.collate(data)


def test_a_data_brings_features_and_the_classes_of_its_nodes():
    named = to_named(Data(x=torch.eye(3), edge_index=PATH, y=torch.tensor([2, 0, 1])))
    assert named.node_ids.tolist() == [0, 1, 2]
    assert named.labels.tolist() == [2, 0, 1]
    assert named.labels_of == "nodes"
    assert np.array_equal(named.graph.features, np.eye(3))


def test_collections_of_data_bring_the_classes_of_their_graphs():
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


def test_targets_in_other_shapes():
    column = Data(edge_index=PATH, num_nodes=3, y=torch.tensor([[1.5]]))
    assert to_named([column, column]).labels.tolist() == [1.5, 1.5]
    of_nodes = Data(edge_index=PATH, num_nodes=3, y=torch.tensor([0, 1, 0]))
    assert to_named([of_nodes, of_nodes]).labels_of == "nodes"
    many = to_named(Data(edge_index=PATH, num_nodes=3, y=torch.ones(3, 5)))
    assert many.labels is None
    assert any("y left out" in note for note in many.graph.notes)
    without = Data(edge_index=PATH, num_nodes=3)
    assert to_named([of_nodes, without]).labels is None


# NetworkX


def test_names_of_any_kind_become_integers_or_text():
    assert to_named(nx.Graph([(10, 20)])).node_ids.tolist() == [10, 20]
    assert to_named(nx.Graph([(1, "a")])).node_ids.tolist() == ["1", "a"]
    assert to_named(nx.Graph([((0, 1), (1, 1))])).node_ids.tolist() == ["(0, 1)", "(1, 1)"]
    assert to_named(nx.Graph([(2**80, 1)])).node_ids.tolist() == [str(2**80), "1"]
    refusal(nx.Graph([(1, "1")]), "1", "'1'", "same name")


def test_attributes_become_features_in_the_order_of_their_names():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 5, 1: 6, 2: 7}, "b")
    nx.set_node_attributes(graph, {i: [i, 1.0] for i in range(3)}, "features")
    nx.set_node_attributes(graph, {0: True, 1: False, 2: True}, "a")
    nx.set_node_attributes(graph, {0: 1.0}, "partial")
    nx.set_node_attributes(graph, "text", "text")
    named = to_named(graph)
    assert named.graph.features.tolist() == [[1, 5, 0, 1], [0, 6, 1, 1], [1, 7, 2, 1]]
    assert any("partial, text" in note for note in named.graph.notes)


def test_weights_and_parallel_edges_are_respected():
    graph = nx.MultiGraph()
    graph.add_edge(0, 1, weight=2.0)
    graph.add_edge(0, 1, weight=3.0)
    graph.add_edge(1, 2)  # without a weight beside others that have one
    assert to_named(graph).graph.adjacency.toarray().tolist() == [[0, 5, 0], [5, 0, 1], [0, 1, 0]]
    for weight in (-1.0, float("nan"), float("inf"), "heavy"):
        refusal(nx.Graph([("a", "b", {"weight": weight})]), "'a'", "'b'", repr(weight))


def test_bad_attributes_are_named():
    graph = nx.path_graph(2)
    graph.nodes[0]["f"], graph.nodes[1]["f"] = 1.0, float("nan")
    refusal(graph, "'f'", "node 1", "nan")
    graph = nx.path_graph(2)
    graph.nodes[0]["x"], graph.nodes[1]["x"] = [1, 2], [1]
    refusal(graph, "'x'", "node 1", "1 values")
    graph.nodes[1]["x"] = ["one", "two"]
    refusal(graph, "'x'", "numbers")
    refusal(nx.Graph(), "no nodes")


def test_many_networkx_graphs():
    one, two = nx.Graph([("a", "b")], name="first", label=1), nx.Graph([("a", "c")], name="second", label=0)
    named = to_named([one, two])
    assert named.node_ids.tolist() == ["a", "b", "a", "c"]
    assert named.graph_ids.tolist() == ["first", "second"]
    assert named.labels.tolist() == [1, 0]
    assert named.graph.edges == 2
    assert to_named([nx.path_graph(2), nx.path_graph(3)]).graph_ids.tolist() == [0, 1]
    nx.set_node_attributes(one, {"a": "x", "b": "y"}, "label")
    assert to_named(one).labels.tolist() == ["x", "y"]
    assert to_named([one, two]).labels.tolist() == [1, 0]
    nx.set_node_attributes(one, 1.0, "f")  # only on one graph: no feature
    assert to_named([one, two]).graph.features is None


def test_labels_of_some_nodes_only():
    graph = nx.path_graph(3)
    graph.nodes[0]["label"] = "x"
    assert to_named(graph).labels.tolist() == ["x", "", ""]
    graph.nodes[0]["label"] = 4
    assert np.array_equal(to_named(graph).labels, [4, np.nan, np.nan], equal_nan=True)


# Tables


def test_nodes_come_as_the_edges_first_name_them():
    named = to_named(pd.DataFrame({"source": [5, 3, 5], "target": [9, 9, 3]}))
    assert named.node_ids.tolist() == [5, 9, 3]
    assert named.node_ids.dtype == np.int64
    assert named.graph.adjacency.toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert named.graph.features is None


@pytest.mark.parametrize("pair", [("src", "dst"), ("from", "to"), ("u", "v")])
def test_other_names_for_the_ends(pair):
    assert from_tables(pa.table({pair[0]: [1], "since": [1999], pair[1]: [2]})).graph.edges == 1


def test_ids_are_of_one_kind():
    mixed = to_named(pd.DataFrame({"source": [1, "a"], "target": ["a", 2]}))
    assert mixed.node_ids.tolist() == ["1", "a", "2"]
    across = to_named((pd.DataFrame({"source": [1], "target": [2]}), pd.DataFrame({"id": ["1", "2"]})))
    assert across.node_ids.tolist() == ["1", "2"]
    with_gap = pd.DataFrame({"source": [1.0, 2.0], "target": [2.0, 3.0]})  # what pandas makes of integers with NaN
    assert to_named(with_gap).node_ids.tolist() == [1, 2, 3]
    assert to_named(pd.DataFrame({"source": ["1"], "target": ["2"]})).node_ids.tolist() == ["1", "2"]


def test_lists_of_numbers_are_blocks_of_features():
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.int64())):
        nodes = pa.table({"id": [0, 1], "embedding": pa.array([[1, 2], [3, 4]], kind), "more": [9, 8]})
        features = to_named((pa.table({"source": [0], "target": [1]}), nodes)).graph.features
        assert features.tolist() == [[1, 2, 9], [3, 4, 8]]
    ragged = pa.table({"id": [0, 1], "embedding": [[1.0, 2.0], [3.0]]})
    refusal((pa.table({"source": [0], "target": [1]}), ragged), "nodes, row 1", "'embedding'", "1 values")


def test_columns_of_truth_integers_and_decimals_are_numbers():
    nodes = pa.table({"id": [0, 1], "t": [True, False], "i": pa.array([200, 3], pa.uint8()),
                      "d": pa.array([Decimal("1.5"), Decimal("2.5")])})  # fmt: skip
    features = to_named((pa.table({"source": [0], "target": [1]}), nodes)).graph.features
    assert features.tolist() == [[1, 200, 1.5], [0, 3, 2.5]]


def test_edge_columns_without_a_use_are_noted():
    named = from_tables(pa.table({"source": [0], "target": [1], "kind": ["friend"]}))
    assert any("kind" in note for note in named.graph.notes)


MANY_EDGES = {"graph": ["h", "g", "h"], "source": [1, 1, 2], "target": [2, 3, 3]}


def test_many_graphs_from_edges_alone():
    named = to_named(pd.DataFrame(MANY_EDGES))
    assert named.graph_ids.tolist() == ["h", "g"]
    assert named.node_ids.tolist() == [1, 2, 3, 1, 3]
    assert named.graph.offsets.tolist() == [0, 3, 5]
    assert {(i, j) for i, j in zip(*named.graph.adjacency.nonzero(), strict=True) if i < j} == {(0, 1), (1, 2), (3, 4)}


def test_many_graphs_with_a_table_of_nodes_in_any_order():
    nodes = {
        "graph": ["g", "h", "g", "h", "h"],
        "id": [3, 2, 1, 3, 1],
        "f": [0.0, 1, 2, 3, 4],
        "label": [5, 6, 5, 6, 6],
    }
    named = to_named((pd.DataFrame(MANY_EDGES), pd.DataFrame(nodes)))
    assert named.graph_ids.tolist() == ["g", "h"]
    assert named.node_ids.tolist() == [3, 1, 2, 3, 1]
    assert named.graph.features[:, 0].tolist() == [0, 2, 1, 3, 4]
    assert named.labels.tolist() == [5, 6]  # the same all over each graph
    assert {(i, j) for i, j in zip(*named.graph.adjacency.nonzero(), strict=True) if i < j} == {(0, 1), (2, 4), (2, 3)}
    varied = to_named((pd.DataFrame(MANY_EDGES), pd.DataFrame(nodes | {"label": [5, 6, 5, 6, 5]})))
    assert varied.labels.tolist() == [5, 5, 6, 6, 5]


def test_the_table_of_nodes_alone_may_say_the_graph():
    edges = {"source": ["a", "c"], "target": ["b", "d"]}
    nodes = {"id": ["a", "c", "b", "d"], "graph": [1, 2, 1, 2]}
    named = to_named((pd.DataFrame(edges), pd.DataFrame(nodes)))
    assert named.node_ids.tolist() == ["a", "b", "c", "d"]
    assert named.graph.edges == 2


ONE = {"source": ["a", "b"], "target": ["b", "a"]}
TWO = {"id": ["a", "b"]}


@pytest.mark.parametrize(
    ("edges", "nodes", "words"),
    [
        ({"sorce": ["a"], "target": ["b"]}, None, ["edges", "'source'", "did you mean 'sorce'"]),
        ({"a": ["x"], "b": ["y"]}, None, ["source,target", "header"]),
        ({"a": ["x"], "b": ["y"], "c": [1]}, None, ["source,target,weight"]),
        ({"a;b": ["x"]}, None, ["one column", "separator"]),
        ({"source": [], "target": []}, None, ["edges has no rows"]),
        ({"source": ["a", None], "target": ["b", "c"]}, None, ["edges, row 1", "'source'", "missing"]),
        ({"source": ["a", "b"], "target": ["b", ""]}, None, ["edges, row 1", "'target'", "missing"]),
        ({"source": [1.0, np.nan], "target": [1, 2]}, None, ["edges, row 1", "'source'", "missing"]),
        ({"source": [[1]], "target": [[2]]}, None, ["'source'", "integers or text"]),
        (ONE | {"weight": [1.0, -2.0]}, None, ["edges, row 1", "-2.0", "negative"]),
        (ONE | {"weight": [1.0, None]}, None, ["edges, row 1", "'weight'", "missing"]),
        (ONE | {"weight": [np.inf, 1]}, None, ["edges, row 0", "'weight'", "inf"]),
        (ONE | {"weight": ["1", "much"]}, None, ["edges, row 1", "'weight'", "'much'"]),
        (ONE | {"weight": [[1.0, 2.0], [1.0, 2.0]]}, None, ["edges", "'weight'", "lists"]),
        (ONE | {"graph": ["g", None]}, None, ["edges, row 1", "'graph'", "missing"]),
        (ONE, {"idd": ["a"]}, ["nodes", "'id'", "did you mean 'idd'"]),
        (ONE, {"id": []}, ["nodes has no rows"]),
        (ONE, {"id": ["a", None]}, ["nodes, row 1", "'id'", "missing"]),
        (ONE, {"id": ["a", "b", "a"]}, ["nodes, row 2", "a", "row 0", "unique"]),
        (ONE, {"id": ["a", "c"]}, ["edges, row 0", "target", "node b", "nodes", "add it"]),
        (ONE, TWO | {"city": ["Rome", "Oslo"]}, ["nodes, row 0", "'city'", "'Rome'", "drop", "encode", "label_column"]),
        (ONE, TWO | {"f": ["1", "two"]}, ["nodes, row 1", "'f'", "'two'"]),
        (ONE, TWO | {"f": [1.0, None]}, ["nodes, row 1", "'f'", "missing"]),
        (ONE, TWO | {"f": [np.inf, 1.0]}, ["nodes, row 0", "'f'", "inf"]),
        (ONE, TWO | {"f": [[1.0, 2.0], [3.0, np.nan]]}, ["nodes, row 1", "'f'", "missing"]),
        (ONE, TWO | {"f": [["1", "2"], ["3", "x"]]}, ["nodes, row 1", "'f'", "'x'"]),
        (ONE, TWO | {"": [0, 1]}, ["without a name", "index=False"]),
        (ONE | {"graph": [1, 1]}, TWO, ["edges", "'graph'", "nodes has none"]),
        (ONE | {"graph": [1, 2]}, TWO | {"graph": [1, 1]}, ["edges, row 1", "graph 2"]),
        (ONE | {"graph": [1, 2]}, {"id": ["a", "b", "a"], "graph": [1, 1, 2]}, ["edges, row 1", "node b", "graph 2"]),
        (ONE, TWO | {"graph": [1, 2]}, ["edges, row 0", "graph 1", "graph 2", "connected"]),
        (ONE, {"id": ["a", "b", "a"], "graph": [1, 1, 2]}, ["nodes, row 2", "row 0", "column 'graph'"]),
    ],
)
def test_a_bad_table_is_refused_with_its_place(edges, nodes, words):
    refusal(pa.table(edges) if nodes is None else (pa.table(edges), pa.table(nodes)), *words)
    refusal(pd.DataFrame(edges) if nodes is None else (pd.DataFrame(edges), pd.DataFrame(nodes)), *words)


def test_named_columns_and_their_absence():
    edges, nodes = pa.table(ONE), pa.table({"name": ["a", "b"], "class": ["x", "y"], "f": [1, 2]})
    named = from_tables(edges, nodes, id_column="name", label_column="class")
    assert named.labels.tolist() == ["x", "y"]
    assert named.graph.features.tolist() == [[1], [2]]
    for more, word in (({"id_column": "nmae"}, "'name'"), ({"id_column": "name", "label_column": "clas"}, "'class'")):
        with pytest.raises(InputError, match=f"did you mean {word}"):
            from_tables(edges, nodes, **more)
    with pytest.raises(InputError, match="no table of nodes"):
        from_tables(edges, label_column="class")
    twice = pa.table([pa.array(["a"])] * 3, names=["source", "target", "source"])
    with pytest.raises(InputError, match="two columns 'source'"):
        from_tables(twice)


def test_labels_keep_their_kind_and_may_be_missing():
    def labels(values):
        return from_tables(pa.table(ONE), pa.table({"id": ["a", "b"], "label": values})).labels

    assert labels([3, 4]).dtype.kind == "i"
    assert labels(["x", None]).tolist() == ["x", ""]
    assert np.array_equal(labels([3, None]), [3, np.nan], equal_nan=True)
    assert labels([True, False]).dtype == bool


@given(
    st.lists(st.tuples(st.sampled_from("gh"), st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_tables_agree_with_a_loop_over_their_rows(rows, random):
    expected = {}
    for graph, source, target, weight in rows:
        if source != target:
            expected[graph, source, target] = expected.get((graph, source, target), 0) + weight
    expected = {  # where the two directions differ, the larger counts
        key: max(weight, expected.get((key[0], key[2], key[1]), 0)) for key, weight in expected.items()
    }
    expected |= {(graph, target, source): weight for (graph, source, target), weight in expected.items()}
    edges = pa.table(dict(zip(("graph", "source", "target", "weight"), zip(*rows, strict=True), strict=True)))
    nodes = sorted({(row[0], end) for row in rows for end in row[1:3]})
    random.shuffle(nodes)
    for named in (
        from_tables(edges),
        from_tables(edges, pa.table({"graph": [node[0] for node in nodes], "id": [node[1] for node in nodes]})),
    ):
        names = list(zip(np.repeat(named.graph_ids, named.graph.sizes), named.node_ids, strict=True))
        assert sorted(names) == sorted(nodes)
        entries = named.graph.adjacency.tocoo()
        found = {(*names[i], names[j][1]): weight for i, j, weight in zip(*entries.coords, entries.data, strict=True)}
        assert found == {key: weight for key, weight in expected.items() if weight}


def test_a_million_edges_take_seconds():
    ends = np.random.default_rng(0).integers(0, 100_000, (2, 1_000_000))
    names = np.char.add("n", np.arange(100_000).astype(str))
    started = time.perf_counter()
    named = from_tables(pa.table({"source": names[ends[0]], "target": names[ends[1]]}), pa.table({"id": names}))
    assert time.perf_counter() - started < 8  # about one on an idle machine; a loop over rows takes far longer
    assert named.graph.nodes == 100_000
    row = named.graph.adjacency[[0]].indices
    others = np.concatenate([ends[1][ends[0] == 0], ends[0][ends[1] == 0]])
    assert np.array_equal(np.sort(row), np.unique(others[others != 0]))
