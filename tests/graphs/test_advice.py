"""What the error messages about graphs advise works as advised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mvgrl.graphs import Graph
from mvgrl.graphs.convert import to_named

ONE_WAY = sp.csr_array(np.array([[0, 1.0, 0], [0, 2.0, 1], [0, 0, 0]]))
PATH = nx.to_numpy_array(nx.path_graph(3))
EDGES = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})


def with_attribute(name: str, values: list[Any]) -> nx.Graph:
    graph = nx.path_graph(len(values))
    nx.set_node_attributes(graph, dict(enumerate(values)), name)
    return graph


CASES: dict[str, tuple[Callable[[], Any], str, Callable[[], Any]]] = {
    "one-way": (lambda: Graph(ONE_WAY), "Graph.from_scipy", lambda: Graph.from_scipy(ONE_WAY)),
    "text ends": (lambda: Graph.from_edges(["a"], ["b"]), "integers", lambda: Graph.from_edges([0], [1])),
    "range": (
        lambda: Graph.from_edges([0], [5], nodes=3),
        "number of nodes",
        lambda: Graph.from_edges([0], [5], nodes=6),
    ),
    "weights": (lambda: Graph.from_edges([0], [1], [1, 2]), "omit weights", lambda: Graph.from_edges([0], [1])),
    "huge": (
        lambda: Graph.from_edges([0, 1], [1, 2], [1e308, 1e308]),
        "scale",
        lambda: Graph.from_edges([0], [1], [1e3]),
    ),
    "no columns": (lambda: to_named(PATH, np.ones((3, 0))), "omit features", lambda: to_named(PATH)),
    "rows": (lambda: to_named(PATH, np.eye(2)), "one row per node", lambda: to_named(PATH, np.eye(3))),
    "complex": (
        lambda: to_named(PATH, np.eye(3) * 1j),
        "real and imaginary parts",
        lambda: to_named(PATH, np.hstack([np.eye(3), np.eye(3)])),
    ),
    "text": (lambda: to_named(PATH, [["x"]] * 3), "encode text", lambda: to_named(PATH, [[1.0]] * 3)),
    "text weights": (lambda: to_named(PATH.astype(str)), "1 for every edge", lambda: to_named(PATH.astype(int))),
    "half": (
        lambda: to_named([(PATH, np.eye(3)), PATH]),
        "for all graphs or for none",
        lambda: to_named([(PATH, np.eye(3)), (PATH, np.eye(3))]),
    ),
    "tuple": (lambda: to_named((EDGES, 3)), "matrix of features", lambda: to_named((EDGES.replace("c", "a"), None))),
    "same names": (lambda: to_named(nx.Graph([(1, "1")])), "rename", lambda: to_named(nx.Graph([(1, "2")]))),
    "nan": (
        lambda: to_named(with_attribute("f", [1.0, np.nan])),
        "fill it in",
        lambda: to_named(with_attribute("f", [1.0, 0.0])),
    ),
    "vector": (
        lambda: to_named(with_attribute("x", [[1, 2], [1]])),
        "same number of values",
        lambda: to_named(with_attribute("x", [[1, 2], [1, 3]])),
    ),
    "index": (
        lambda: to_named(EDGES.set_axis(pd.Index([5, 6], name="source"))),
        "rename or drop",
        lambda: to_named(EDGES.set_axis(pd.Index([5, 6], name="number"))),
    ),
    "mixed": (
        lambda: to_named(pd.DataFrame({"source": [1, "1"], "target": [2, 3]})),
        "one type",
        lambda: to_named(pd.DataFrame({"source": [1, 1], "target": [2, 3]})),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_advice_works(case: str, input_error) -> None:
    wrong, advice, right = CASES[case]
    input_error(wrong, advice)
    assert right() is not None
