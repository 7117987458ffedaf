"""Edges without a table: pairs, sources and targets, edge_index; what can be read in two ways is rejected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch

from mvgrl.graphs.convert import to_named

PATH = [("ann", "bob"), ("bob", "cy"), ("cy", "dan")]
SOURCES, TARGETS = ([pair[end] for pair in PATH] for end in (0, 1))


@pytest.fixture
def rejects(input_error):
    """Check that an object is rejected, with all the words in the message."""
    return lambda thing, *words, **more: input_error(lambda: to_named(thing, **more), *words)


@pytest.mark.parametrize(
    "thing",
    [
        PATH,
        tuple(PATH),
        [list(pair) for pair in PATH],
        np.array(PATH),
        (SOURCES, TARGETS),
        [SOURCES, TARGETS],
        (np.array(SOURCES), np.array(TARGETS)),
        (np.array(SOURCES, dtype=object), TARGETS),
        (pd.Series(SOURCES), pd.Series(TARGETS)),
        (pl.Series(SOURCES), pl.Series(TARGETS)),
        (pa.array(SOURCES), pa.chunked_array([TARGETS])),
        np.array([SOURCES, TARGETS]),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_pairs_and_ends_keep_their_ids(thing):
    named = to_named(thing)
    assert named.node_ids.tolist() == ["ann", "bob", "cy", "dan"]
    assert named.graph.edges == 3


@pytest.mark.parametrize("convert", [np.array, torch.tensor], ids=["array", "tensor"])
def test_edge_index_numbers_the_nodes(convert):
    edge_index = convert([[4, 1, 1], [1, 0, 4]])
    named = to_named(edge_index)
    assert named.node_ids.tolist() == [0, 1, 2, 3, 4]
    assert named.graph.degrees.tolist() == [1, 2, 0, 0, 1]
    with_features = to_named((edge_index, np.eye(7)))  # two more nodes without edges
    assert with_features.graph.degrees.tolist() == [1, 2, 0, 0, 1, 0, 0]
    assert np.array_equal(with_features.graph.features, np.eye(7))


def test_nodes_of_an_edge_index_with_features_need_no_edges(rejects):
    none = np.zeros((2, 0), dtype=np.int64)
    assert to_named(none, features=np.eye(3)).graph.nodes == 3
    rejects(none, "no nodes")
    rejects(np.array([[0, 9, 1], [1, 0, 0]]), "edge 1", "node 9", "0 to 2", features=np.eye(3))


def test_ids_of_pairs_may_be_any_integers():
    named = to_named((torch.tensor([30, 10]), torch.tensor([10, 20])))
    assert named.node_ids.tolist() == [30, 10, 20]
    assert to_named([(np.int64(3), np.int64(5)), (5, 7), (7, 3)]).node_ids.tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (np.array([[0, 3], [3, 0]]), ("2 × 2", "adjacency", "edges", "(sources, targets)")),
        (torch.tensor([[0, 2], [1, 0]]), ("2 × 2", "adjacency", "edges")),
        ([[0, 1], [1, 2]], ("two edges", "sources", "[(source, target), …]")),
        (((0, 1), (1, 2)), ("two edges", "sources")),
        ([(0, 1, 2.0), (1, 2, 1.0)], ("supported",)),
        ([(0, 1), (1, 2, 7), (2, 3)], ("item 1", "3 values", "pairs", "weight")),
        ([(0, 1), (1, "a"), (2, 3)], ("one type", "text")),
        ((np.arange(3), np.arange(4)), ("3 sources", "4 targets")),
        (np.array([[0, -1, 2], [1, 0, 0]]), ("edge 1", "-1")),
    ],
)
def test_ambiguous_and_damaged_edges_are_rejected(thing, words, rejects):
    rejects(thing, *words)


def test_what_the_message_about_two_by_two_advises_works():
    array = np.array([[0, 3], [3, 0]])
    assert to_named(sp.csr_array(array)).graph.adjacency.toarray().tolist() == array.tolist()
    assert to_named((array[0], array[1])).node_ids.tolist() == [0, 3]
    assert to_named([(0, 1), (1, 2)]).graph.edges == 2
    assert to_named(np.array([[0, 1], [1, 0]])).graph.edges == 1  # the same graph in both readings
    assert to_named(array.astype(float)).graph.adjacency.toarray().tolist() == array.tolist()
