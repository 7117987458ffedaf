"""Graphs from user input: cleaned if the meaning is clear, rejected with the place of the error if it is not."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.read import read


def dense(graph):
    return graph.adjacency.toarray()


edge_lists = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=25))
)


@settings(max_examples=60, deadline=None)
@given(edge_lists)
def test_any_edge_list_becomes_the_same_simple_graph_as_in_networkx(case):
    nodes, edges = case
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    graph = Graph.from_edges(ends[:, 0], ends[:, 1], nodes=nodes)
    oracle = nx.Graph()
    oracle.add_nodes_from(range(nodes))
    oracle.add_edges_from((a, b) for a, b in edges if a != b)
    assert np.array_equal(dense(graph), nx.to_numpy_array(oracle, nodelist=range(nodes)))
    assert graph.edges == oracle.number_of_edges()
    assert graph.degrees.tolist() == [oracle.degree[i] for i in range(nodes)]
    directed = {(a, b) for a, b in edges if a != b}
    assert any("self-loops" in note for note in graph.notes) == any(a == b for a, b in edges)
    assert any("duplicate" in note for note in graph.notes) == (len(directed) < sum(a != b for a, b in edges))
    assert any("made undirected" in note for note in graph.notes) == any((b, a) not in directed for a, b in directed)


@settings(max_examples=40, deadline=None)
@given(edge_lists, st.randoms())
def test_the_fingerprint_depends_only_on_the_structure(case, random):
    nodes, edges = case
    shuffled = list(edges)
    random.shuffle(shuffled)
    make = lambda pairs, **more: Graph.from_edges(  # noqa: E731
        [a for a, _ in pairs], [b for _, b in pairs], nodes=nodes, **more
    )
    assert make(edges).fingerprint == make(shuffled, features=np.ones((nodes, 2))).fingerprint


def test_edges_weights_and_offsets_change_the_fingerprint():
    different = [
        Graph.from_edges([0], [1], nodes=4),
        Graph.from_edges([0], [2], nodes=4),
        Graph.from_edges([0], [1], [2.0], nodes=4),
        Graph.from_edges([0], [1], nodes=5),
        Graph.from_edges([0], [1], offsets=[0, 2, 4]),
        Graph.from_edges([0], [1], offsets=[0, 3, 4]),
    ]
    assert len({graph.fingerprint for graph in different}) == len(different)


def test_a_single_node_without_edges_is_a_graph():
    graph = Graph.from_edges([], [], nodes=1)
    assert (graph.nodes, graph.edges, graph.count, graph.degrees.tolist()) == (1, 0, 1, [0])


def test_weights_of_duplicate_edges_are_summed_and_the_heavier_direction_is_used():
    graph = Graph.from_edges([0, 0, 1, 1], [1, 1, 0, 2], [1.0, 2.0, 5.0, 4.0], nodes=3)
    assert np.array_equal(dense(graph), [[0, 5, 0], [5, 0, 4], [0, 4, 0]])
    assert graph.notes == ("duplicate edges merged, their weights summed", "directed edges made undirected")


def test_an_edge_of_weight_zero_is_dropped():
    assert Graph.from_edges([0, 1], [1, 2], [0.0, 1.0]).edges == 1


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_an_invalid_weight_is_rejected_with_its_edge(weight):
    with pytest.raises(InputError, match=r"edge 1 \(1 to 2\) has weight"):
        Graph.from_edges([0, 1], [1, 2], [1.0, weight])


@pytest.mark.parametrize(
    "more",
    [
        {"features": [[1.0]] * 4},
        {"features": np.ones((4, 1))},
        {"features": sp.eye_array(4)},
        {"features": torch.eye(4)},
        {"features": torch.eye(4).to_sparse()},
        {"node_labels": ["C", "C", "N", "O"]},
        {"offsets": [0, 2, 4]},
        {"offsets": torch.tensor([0, 2, 4])},
        {"nodes": np.int32(4)},
    ],
    ids=str,
)
def test_trailing_isolated_nodes_are_counted_from_anything_with_one_row_per_node(more):
    assert Graph.from_edges([0], [1], **more).nodes == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": [], "targets": []}, "no nodes"),
        ({"sources": [0], "targets": [1, 2]}, "1 sources but 2 targets"),
        ({"sources": [0, 7], "targets": [1, 1], "nodes": 3}, "edge 1: sources refers to node 7.*0 to 2"),
        ({"sources": [0], "targets": [-1]}, "edge 0: targets refers to node -1"),
        ({"sources": [0.5], "targets": [1]}, "integers that start at 0"),
        ({"sources": [[0]], "targets": [[1]]}, "one-dimensional"),
        ({"sources": [0], "targets": [1], "weights": [1, 2]}, "2 weights but 1 edges"),
        ({"sources": [0], "targets": [1], "weights": ["heavy"]}, "weights are not numbers"),
        ({"sources": [0], "targets": [1], "nodes": 2.5}, "nodes is 2.5; it must be an integer"),
        ({"sources": [0], "targets": [1], "nodes": -1}, "nodes is -1; .* must not be negative"),
        ({"sources": [0], "targets": [1], "nodes": 2, "features": np.ones((3, 2))}, "3 rows.*2 nodes"),
        ({"sources": [0], "targets": [1], "features": np.ones(2)}, "must be a table"),
        ({"sources": [0], "targets": [1], "features": np.ones((2, 0))}, "no columns"),
        ({"sources": [0], "targets": [1], "features": [["a"], ["b"]]}, "not numbers"),
        ({"sources": [0], "targets": [1], "features": [[1.0], [1.0, 2.0]]}, "ragged"),
        ({"sources": [0], "targets": [1], "features": np.ones((2, 1)) * 1j}, "complex"),
        ({"sources": [0], "targets": [1], "features": [[0, 1], [np.nan, 1]]}, "row 1, column 0 is nan"),
        ({"sources": [0], "targets": [1], "features": sp.csr_array([[0, np.inf], [0, 1]])}, "row 0, column 1 is inf"),
        ({"sources": [0], "targets": [1], "nodes": 2, "node_labels": [1]}, "node_labels has shape .*2 nodes"),
        ({"sources": [0], "targets": [1], "node_labels": ["C", None]}, "node 1 has none"),
        ({"sources": [0], "targets": [1], "node_labels": [np.nan, 1.0]}, "node 0 has none"),
        (
            {"sources": [0, 1], "targets": [1, 2], "offsets": [0, 2, 3]},
            "joins node 1 of graph 0 with node 2 of graph 1",
        ),
        ({"sources": [0], "targets": [1], "offsets": [0, 2, 2, 4]}, "graph 1 has no nodes"),
        ({"sources": [0], "targets": [1], "nodes": 4, "offsets": [0, 3]}, "end at the number of nodes, 4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_input_is_rejected_with_its_place(arguments, message):
    with pytest.raises(InputError, match=message):
        Graph.from_edges(**arguments)


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        ([[0, 1.0, 2.0], [1.0, 0, 0], [0, 0, 0]], r"2.0 at \(0, 2\) but 0.0 at \(2, 0\)"),
        ([[0, 1.0], [2.0, 0]], r"1.0 at \(0, 1\) but 2.0 at \(1, 0\)"),
        ([[0, -1.0], [-1.0, 0]], r"-1.0 at \(0, 1\)"),
        ([[0, np.nan], [np.nan, 0]], r"nan at \(0, 1\)"),
        ([[0, 1.0], [1.0, 3.0]], "self-loop at node 1"),
        (np.zeros((0, 0)), "no nodes"),
    ],
    ids=["not-square", "one-way", "uneven", "negative", "nan", "loop", "empty"],
)
def test_the_constructor_accepts_only_a_clean_adjacency(adjacency, message):
    with pytest.raises(InputError, match=message):
        Graph(sp.csr_array(np.array(adjacency)))


def test_the_constructor_canonicalises_the_matrix_without_modifying_the_input():
    matrix = sp.csr_array(
        (np.array([1.0, 0, 1, 2, 2]), np.array([2, 0, 1, 0, 0]), np.array([0, 3, 4, 5])), shape=(3, 3)
    )
    matrix.data[:] = [2, 0, 2, 2, 2]
    graph = Graph(matrix)
    assert graph.edges == 2
    assert graph.adjacency.has_canonical_format
    assert matrix.nnz == 5
    assert graph.fingerprint == Graph.from_edges([0, 0], [1, 2], [2.0, 2.0]).fingerprint


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_array, sp.csc_array, np.asarray, torch.tensor])
def test_any_type_of_matrix_is_accepted_and_not_modified(kind):
    values = np.array([[3.0, 2.0, 0], [0, 0, 1.0], [0, 1.0, 0]])
    matrix = kind(values)
    graph = Graph.from_scipy(matrix, features=np.eye(3))
    assert np.array_equal(dense(graph), [[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    assert np.array_equal(matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix), values)


def test_duplicate_entries_of_a_coo_matrix_are_summed_as_in_scipy():
    matrix = sp.coo_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert np.array_equal(dense(Graph.from_scipy(matrix)), matrix.toarray())


def test_a_matrix_that_is_not_square_is_rejected():
    with pytest.raises(InputError, match="square"):
        Graph.from_scipy(np.ones((2, 3)))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float16, np.float32, np.float64])
def test_features_are_converted_to_floats_of_the_same_value(dtype):
    graph = Graph.from_edges([0], [1], features=np.array([[1, 0], [0, 1]], dtype=dtype))
    assert graph.features.dtype == (np.float64 if dtype is np.float64 else np.float32)
    assert np.array_equal(graph.features, np.eye(2))


@pytest.mark.parametrize(
    "sparse",
    [sp.csr_array(np.eye(3)), torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()],
    ids=["scipy", "coo", "csr"],
)
def test_sparse_features_stay_sparse(sparse):
    features = Graph.from_edges([0], [1], features=sparse).features
    assert sp.issparse(features)
    assert np.array_equal(features.toarray(), np.eye(3))


def test_duplicate_entries_of_sparse_features_are_summed_without_modifying_the_input():
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    features = Graph.from_edges([0], [1], features=twice).features
    assert features.data.tolist() == [3, 4]
    assert twice.data.tolist() == [1, 2, 4]


def test_joined_graphs_can_be_selected_again():
    first = Graph.from_edges([0], [1], features=np.eye(2), node_labels=["C", "N"])
    second = Graph.from_edges([0, 1], [2, 2], [2.0, 3.0], features=sp.csr_array(np.ones((3, 2))), node_labels=["O"] * 3)
    joined = Graph.join([first, second])
    assert np.array_equal(dense(joined), sp.block_diag([first.adjacency, second.adjacency]).toarray())
    assert (joined.count, joined.sizes.tolist()) == (2, [2, 3])
    again = joined.select([1, 0, 1])
    expected = Graph.join([second, first, second])
    assert again.fingerprint == expected.fingerprint
    assert np.array_equal(again.features.toarray(), expected.features.toarray())
    assert again.node_labels.tolist() == ["O"] * 3 + ["C", "N"] + ["O"] * 3


@pytest.mark.parametrize(("chosen", "message"), [([2], "no graph 2"), ([-1], "no graph -1"), ([], "no graphs")])
def test_selecting_graphs_that_do_not_exist_is_rejected(chosen, message):
    with pytest.raises(InputError, match=message):
        Graph.from_edges([0], [1], offsets=[0, 2, 3]).select(chosen)


def test_joining_graphs_with_different_features_is_rejected():
    plain, wide, narrow = (Graph.from_edges([0], [1], features=x) for x in (None, np.ones((2, 3)), np.ones((2, 2))))
    with pytest.raises(InputError, match="graph 1 has no features"):
        Graph.join([wide, plain])
    with pytest.raises(InputError, match="graph 1 has 2 features, but graph 0 has 3"):
        Graph.join([wide, narrow])
    with pytest.raises(InputError, match="no graphs were given"):
        Graph.join([])


# Weights that overflow


def test_weights_whose_sum_overflows_are_rejected(input_error, tmp_path):
    words = ("weights are too large", "node 1", "scale all weights down")
    input_error(lambda: Graph.from_edges([0, 1, 2], [1, 2, 3], [1.0, 1e308, 1e308]), "too large", "node 2")
    input_error(lambda: Graph.from_edges([0, 1], [1, 2], [1e308, 1e308]), *words)
    input_error(lambda: Graph.from_edges([0, 0], [1, 1], [1e308, 1e308]), "inf at (0, 1)")
    input_error(lambda: Graph.from_scipy(np.array([[0, 1e308, 0], [1e308, 0, 1e308], [0, 1e308, 0]])), *words)
    input_error(lambda: Graph.from_edges([0, 2], [1, 3], [1e308, 1e308]), "too large")  # views use the total, too
    input_error(lambda: Graph.from_edges([0], [1], [10**400]), "weights are not numbers")
    assert Graph.from_edges([0, 1], [1, 2], [1e307, 1e307]).edges == 2


def test_node_with_weights_that_overflow_is_named_by_its_id(input_error, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\nann,bob,1e308\nbob,cy,1e308\n")
    input_error(lambda: read(tmp_path / "edges.csv"), "too large", "'bob'")
    graph = nx.Graph()
    graph.add_weighted_edges_from([("ann", "bob", 1e308), ("bob", "cy", 1e308)])
    input_error(lambda: to_named(graph), "too large", "'bob'")


def test_adjacency_of_types_that_scipy_does_not_support(input_error):
    halves = np.array([[0, 2], [2, 0]], dtype=np.float16)
    for values in (halves, halves.astype(">f2"), halves.astype(">f4"), halves.astype(">i8")):
        assert dense(Graph.from_scipy(values)).tolist() == [[0, 2], [2, 0]]
    for dtype in (object, "U1", complex):
        input_error(lambda dtype=dtype: Graph.from_scipy(halves.astype(dtype)), "the adjacency holds", "edge weights")
