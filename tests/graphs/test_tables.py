"""Tables of edges and nodes as graphs: the columns and their defaults, and every error with its row."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mvgrl.errors import InputError
from mvgrl.graphs.convert import to_named
from mvgrl.graphs.tables import from_tables


@pytest.fixture
def rejects(input_error):
    """Check that an object is rejected, with all the words in the message."""
    return lambda thing, *words, **more: input_error(lambda: to_named(thing, **more), *words)


def test_nodes_are_numbered_by_their_first_appearance():
    named = to_named(pd.DataFrame({"source": [5, 3, 5], "target": [9, 9, 3]}))
    assert named.node_ids.tolist() == [5, 9, 3]
    assert named.node_ids.dtype == np.int64
    assert named.graph.adjacency.toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert named.graph.features is None


def test_ids_of_edges_and_nodes_have_one_type():
    mixed = to_named(pd.DataFrame({"source": [1, "a"], "target": ["a", 2]}))
    assert mixed.node_ids.tolist() == ["1", "a", "2"]
    across = to_named((pd.DataFrame({"source": [1], "target": [2]}), pd.DataFrame({"id": ["1", "2"]})))
    assert across.node_ids.tolist() == ["1", "2"]
    with_gap = pd.DataFrame({"source": [1.0, 2.0], "target": [2.0, 3.0]})  # what pandas makes of integers with NaN
    assert to_named(with_gap).node_ids.tolist() == [1, 2, 3]
    assert to_named(pd.DataFrame({"source": ["1"], "target": ["2"]})).node_ids.tolist() == ["1", "2"]


def test_lists_of_numbers_become_several_features(rejects):
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.int64())):
        nodes = pa.table({"id": [0, 1], "embedding": pa.array([[1, 2], [3, 4]], kind), "more": [9, 8]})
        features = to_named((pa.table({"source": [0], "target": [1]}), nodes)).graph.features
        assert features.tolist() == [[1, 2, 9], [3, 4, 8]]
    ragged = pa.table({"id": [0, 1], "embedding": [[1.0, 2.0], [3.0]]})
    rejects((pa.table({"source": [0], "target": [1]}), ragged), "nodes, row 1", "'embedding'", "1 values")


def test_ignored_edge_columns_are_noted():
    named = from_tables(pa.table({"source": [0], "target": [1], "kind": ["friend"]}))
    assert any("kind" in note for note in named.graph.notes)


MANY_EDGES = {"graph": ["h", "g", "h"], "source": [1, 1, 2], "target": [2, 3, 3]}


def test_many_graphs_from_edges_alone():
    named = to_named(pd.DataFrame(MANY_EDGES))
    assert named.graph_ids.tolist() == ["h", "g"]
    assert named.node_ids.tolist() == [1, 2, 3, 1, 3]
    assert named.graph.offsets.tolist() == [0, 3, 5]
    assert {(i, j) for i, j in zip(*named.graph.adjacency.nonzero(), strict=True) if i < j} == {(0, 1), (1, 2), (3, 4)}


def test_nodes_of_many_graphs_may_be_in_any_order():
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
    assert named.labels.tolist() == [5, 6]  # the same on all nodes of each graph
    assert {(i, j) for i, j in zip(*named.graph.adjacency.nonzero(), strict=True) if i < j} == {(0, 1), (2, 4), (2, 3)}
    varied = to_named((pd.DataFrame(MANY_EDGES), pd.DataFrame(nodes | {"label": [5, 6, 5, 6, 5]})))
    assert varied.labels.tolist() == [5, 5, 6, 6, 5]


def test_graphs_may_be_given_by_the_nodes_alone():
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
        ({"a": ["x"], "b": ["y"]}, None, ["'a,b'", "source_column=", "header=False"]),
        ({"a": ["x"], "b": ["y"], "c": [1]}, None, ["'a,b,c'", "source_column="]),
        ({"a;b": ["x"]}, None, ["only one column", "separator"]),
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
        (ONE, {"id": ["a", "c"]}, ["edges, row 0", "target", "node b", "nodes", "add the node"]),
        (ONE, TWO | {"f": [np.inf, 1.0]}, ["nodes, row 0", "'f'", "inf"]),
        (ONE, TWO | {"f": [[1.0, 2.0], [3.0, np.nan]]}, ["nodes, row 1", "'f'", "missing"]),
        (ONE, TWO | {"": [0, 1]}, ["without a name", "index=False"]),
        (ONE | {"graph": [1, 1]}, TWO, ["edges", "'graph'", "nodes does not"]),
        (ONE | {"graph": [1, 2]}, TWO | {"graph": [1, 1]}, ["edges, row 1", "graph 2"]),
        (ONE | {"graph": [1, 2]}, {"id": ["a", "b", "a"], "graph": [1, 1, 2]}, ["edges, row 1", "node b", "graph 2"]),
        (ONE, TWO | {"graph": [1, 2]}, ["edges, row 0", "graph 1", "graph 2", "connected"]),
        (ONE, {"id": ["a", "b", "a"], "graph": [1, 1, 2]}, ["nodes, row 2", "row 0", "column 'graph'"]),
    ],
)
def test_bad_table_is_rejected_with_its_row(edges, nodes, words, rejects):
    rejects(pa.table(edges) if nodes is None else (pa.table(edges), pa.table(nodes)), *words)
    rejects(pd.DataFrame(edges) if nodes is None else (pd.DataFrame(edges), pd.DataFrame(nodes)), *words)


def test_id_and_label_columns_can_be_chosen():
    edges, nodes = pa.table(ONE), pa.table({"name": ["a", "b"], "class": ["x", "y"], "f": [1, 2]})
    named = from_tables(edges, nodes, id_column="name", label_column="class")
    assert named.labels.tolist() == ["x", "y"]
    assert named.graph.features.tolist() == [[1], [2]]
    for more, word in (({"id_column": "nmae"}, "'name'"), ({"id_column": "name", "label_column": "clas"}, "'class'")):
        with pytest.raises(InputError, match=f"did you mean {word}"):
            from_tables(edges, nodes, **more)
    with pytest.raises(InputError, match="needs a table of nodes"):
        from_tables(edges, label_column="class")
    twice = pa.table([pa.array(["a"])] * 3, names=["source", "target", "source"])
    with pytest.raises(InputError, match="two columns named 'source'"):
        from_tables(twice)


@given(
    st.lists(st.tuples(st.sampled_from("gh"), st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_tables_agree_with_a_loop_over_their_rows(rows, random):
    expected = {}
    for graph, source, target, weight in rows:
        if source != target:
            expected[graph, source, target] = expected.get((graph, source, target), 0) + weight
    expected = {  # if the two directions differ, the larger weight counts
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


def test_half_a_million_edges_take_seconds():
    ends = np.random.default_rng(0).integers(0, 50_000, (2, 500_000))
    names = np.char.add("n", np.arange(50_000).astype(str))
    started = time.perf_counter()
    named = from_tables(pa.table({"source": names[ends[0]], "target": names[ends[1]]}), pa.table({"id": names}))
    assert (
        time.perf_counter() - started < 8
    )  # about half a second on an idle machine; a loop over rows takes far longer
    assert named.graph.nodes == 50_000
    row = named.graph.adjacency[[0]].indices
    others = np.concatenate([ends[1][ends[0] == 0], ends[0][ends[1] == 0]])
    assert np.array_equal(np.sort(row), np.unique(others[others != 0]))
