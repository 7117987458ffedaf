"""Graphs with ids and labels: shapes and types are checked."""

from __future__ import annotations

import numpy as np
import pytest

from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph


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
def test_ids_of_the_wrong_shape_or_type_are_rejected(arguments, word):
    with pytest.raises(InputError, match=word):
        NamedGraph(Graph.from_edges([0, 1], [1, 2]), **arguments)


def test_many_graphs_need_ids_and_labels_describe_nodes_or_graphs():
    two = Graph.from_edges([0], [1], offsets=[0, 2, 5])
    with pytest.raises(InputError, match="graph_ids"):
        NamedGraph(two, np.arange(5))
    assert NamedGraph(two, np.arange(5), np.arange(2), np.arange(2)).labels_of == "graphs"
    assert NamedGraph(two, np.arange(5), np.arange(2), np.arange(5)).labels_of == "nodes"
    assert NamedGraph(two, np.arange(5), np.arange(2)).labels_of is None
