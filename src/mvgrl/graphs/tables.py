"""Tables of edges and nodes as a graph: ids become numbers in whole columns, never row by row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.tables.columns import Place, check_names, find_ends, find_id, find_label, keys, labels, numbers, to_numpy


def from_tables(
    edges: Any,
    nodes: Any = None,
    *,
    id_column: str | None = None,
    label_column: str | None = None,
    place: Place | str = "edges",
    node_place: Place | str = "nodes",
) -> NamedGraph:
    """The graph of a pyarrow table of edges, and of one of nodes where there is one.

    Edges have the columns ``source`` and ``target`` (or src and dst, from and to, u and v), and may have ``weight``
    and ``graph``. Nodes have ``id``, and may have ``graph`` and ``label``; every other column is a feature, in the
    order of the table. Nodes come in the order of their table, else as the edges first name them; those of a graph
    stand together. A label that is the same all over each of many graphs is a label of the graphs.

    >>> named = from_tables(pa.table({"source": ["b", "a"], "target": ["a", "c"], "weight": [2.0, 1.0]}))
    >>> named.node_ids.tolist(), named.graph.adjacency.toarray()[0].tolist()
    (['b', 'a', 'c'], [0.0, 2.0, 0.0])
    """
    place = Place(place) if isinstance(place, str) else place
    node_place = Place(node_place) if isinstance(node_place, str) else node_place
    check_names(edges.column_names, place)
    ends = find_ends(edges.column_names, place)
    if not edges.num_rows:
        raise InputError(f"{place.name} has no rows; give at least one edge")
    weights = _weights(edges, place)
    if nodes is not None:
        numbered = _by_table(edges, nodes, ends, id_column, label_column, place, node_place)
    elif id_column is None and label_column is None:
        numbered = _by_appearance(edges, ends, place)
    else:
        name = label_column if id_column is None else id_column
        raise InputError(f"there is no table of nodes to find the column {name!r} in; give one, or leave it out")
    others = [name for name in edges.column_names if name not in (*ends, "weight", "graph")]
    notes = (f"edge columns left out: {', '.join(others)}",) if others else ()
    return _assembled(numbered, weights, notes)


@dataclass
class _Numbered:
    """Edges between numbered nodes, and what is known of each node."""

    sources: np.ndarray
    targets: np.ndarray
    ids: np.ndarray
    graphs: np.ndarray | None  # the number of each node's graph
    graph_ids: np.ndarray | None
    features: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    labels: np.ndarray | None = None


def _assembled(parts: _Numbered, weights: np.ndarray | None, notes: tuple[str, ...]) -> NamedGraph:
    """The graph, the nodes of each brought together where there are many."""
    offsets = None
    if parts.graphs is not None and parts.graph_ids is not None:
        order = np.argsort(parts.graphs, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        parts.sources, parts.targets = rank[parts.sources], rank[parts.targets]
        parts.ids = parts.ids[order]
        parts.features = None if parts.features is None else parts.features[order]
        offsets = np.searchsorted(parts.graphs[order], np.arange(len(parts.graph_ids) + 1))
        if parts.labels is not None:
            parts.labels = parts.labels[order]
            firsts = parts.labels[offsets[:-1]]
            if len(firsts) > 1 and np.array_equal(np.repeat(firsts, np.diff(offsets)), parts.labels):
                parts.labels = firsts
    graph = Graph.from_edges(
        parts.sources, parts.targets, weights, nodes=len(parts.ids), features=parts.features, offsets=offsets
    )
    graph = replace(graph, notes=graph.notes + notes, feature_names=parts.feature_names)
    return NamedGraph(graph, parts.ids, parts.graph_ids, parts.labels)


def _by_appearance(edges: Any, ends: tuple[str, str], place: Place) -> _Numbered:
    """Nodes numbered as the edges first name them."""
    sources, targets = keys([(place, name, edges[name]) for name in ends])
    graphs, _, graph_ids = _graph_columns(edges, None, place, place)
    codes, names = _encoded([sources, targets])
    mixed = np.column_stack(codes).ravel()  # in the order of reading: row by row
    if graphs is not None:
        mixed = np.repeat(graphs, 2) * len(names) + mixed
    (numbers_of_ends,), distinct = _encoded([pa.array(mixed)])
    met = distinct.to_numpy()
    node_graphs = None if graphs is None else met // len(names)
    ids = to_numpy(names.take(pa.array(met % len(names))))
    return _Numbered(numbers_of_ends[0::2], numbers_of_ends[1::2], ids, node_graphs, graph_ids)


def _by_table(
    edges: Any,
    nodes: Any,
    ends: tuple[str, str],
    id_column: str | None,
    label_column: str | None,
    place: Place,
    node_place: Place,
) -> _Numbered:
    """Nodes numbered as their table lists them."""
    check_names(nodes.column_names, node_place)
    if not nodes.num_rows:
        raise InputError(f"{node_place.name} has no rows; give at least one node, or leave the table out")
    id_name = find_id(nodes.column_names, id_column, node_place)
    label_name = find_label(nodes.column_names, label_column, node_place)
    *ends_as_given, ids = keys([*((place, name, edges[name]) for name in ends), (node_place, id_name, nodes[id_name])])
    edge_graphs, node_graphs, graph_ids = _graph_columns(edges, nodes, place, node_place)
    (node_codes, *end_codes), names = _encoded([ids, *ends_as_given])
    if edge_graphs is not None:  # then an id means a node only together with its graph
        node_codes = node_graphs * len(names) + node_codes
        end_codes = [edge_graphs * len(names) + codes for codes in end_codes]
    _check_unique(node_codes, node_graphs, edge_graphs, ids, node_place)

    found = pc.index_in(pa.array(np.column_stack(end_codes).ravel()), value_set=pa.array(node_codes))
    if found.null_count:  # found is in the order of reading, so this is the first
        row, end = divmod(pc.index(found.is_null(), True).as_py(), 2)
        inside = "" if edge_graphs is None else f"graph {graph_ids[edge_graphs[row]]} of "
        problem = f"{ends[end]} names node {ends_as_given[end][row]}, which is not in {inside}{node_place.name}"
        raise place.error(row, f"{problem}; add it or drop the edge")
    sources, targets = found.to_numpy().astype(np.int64).reshape(-1, 2).T
    if node_graphs is not None:
        crossing = np.flatnonzero(node_graphs[sources] != node_graphs[targets])
        if len(crossing):
            row = int(crossing[0])
            one, other = (
                f"{given[row]} is in graph {graph_ids[node_graphs[positions[row]]]}"
                for given, positions in zip(ends_as_given, (sources, targets), strict=True)
            )
            way_out = "drop the edge, or the column 'graph' to have one graph"
            raise place.error(row, f"{one} but {other}; graphs of a set must not be connected: {way_out}")
    features, names_of_features = _features(nodes, (id_name, label_name, "graph"), node_place)
    target = None if label_name is None else labels(nodes[label_name])
    return _Numbered(sources, targets, to_numpy(ids), node_graphs, graph_ids, features, names_of_features, target)


def _weights(edges: Any, place: Place) -> np.ndarray | None:
    """The weight of each edge, none below zero; None where the table has no weights."""
    if "weight" not in edges.column_names:
        return None
    weights = numbers(place, "weight", edges["weight"])
    if weights.ndim != 1:
        raise InputError(f"{place.name}: column 'weight' holds lists; give one number an edge")
    bad = np.flatnonzero(weights < 0)
    if len(bad):
        way_out = "weights must not be negative: drop the edge or transform them"
        raise place.error(bad[0], f"the weight is {weights[bad[0]]}; {way_out}")
    return weights


def _features(
    nodes: Any, apart: Collection[str | None], place: Place
) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    """The columns that are features, and their names; a column of lists is many, name[0], name[1], …"""
    names = [name for name in nodes.column_names if name not in apart]
    if "" in names:
        raise InputError(f"{place.name} has a column without a name; name or drop it (pandas: to_csv(index=False))")
    way_out = "encode it as numbers, or name it as label_column if it is what is to be predicted"
    columns = [numbers(place, name, nodes[name], way_out) for name in names]
    for name, values in zip(names, columns, strict=True):
        rows, _ = np.nonzero(np.abs(values.reshape(len(values), -1)) > np.finfo(np.float32).max)
        if len(rows):
            problem = f"{name!r} holds a number past 3.4e38, more than single precision does"
            raise place.error(rows[0], f"{problem}; scale the column down")
    if not columns:
        return None, None
    named = [
        [name] if values.ndim == 1 else [f"{name}[{i}]" for i in range(values.shape[1])]
        for name, values in zip(names, columns, strict=True)
    ]
    return np.column_stack(columns), tuple(name for some in named for name in some)


def _graph_columns(edges: Any, nodes: Any, place: Place, node_place: Place) -> tuple[Any, Any, Any]:
    """The graph of each edge and of each node as numbers in order of appearance, and the graphs' ids."""
    with_graph = [
        (where, "graph", table["graph"])
        for where, table in ((node_place, nodes), (place, edges))
        if table is not None and "graph" in table.column_names
    ]
    if not with_graph:
        return None, None, None
    in_nodes = nodes is not None and "graph" in nodes.column_names
    if nodes is not None and not in_nodes:
        raise InputError(f"{place.name} has a column 'graph' but {node_place.name} has none; add it, or drop the other")
    codes, names = _encoded(keys(with_graph))
    if in_nodes and len(codes) == 2 and codes[1].max() > codes[0].max():
        row = int(np.argmax(codes[1] > codes[0].max()))
        raise place.error(
            row, f"no node of {node_place.name} is in graph {names[codes[1][row]]}; add its nodes or drop the edge"
        )
    return (codes[-1] if "graph" in edges.column_names else None), (codes[0] if in_nodes else None), to_numpy(names)


def _encoded(arrays: Sequence[Any]) -> tuple[list[np.ndarray], Any]:
    """Each array's values as numbers in order of first appearance over all of them, and the distinct values."""
    encoded = pc.dictionary_encode(pa.concat_arrays(arrays))
    codes = encoded.indices.to_numpy().astype(np.int64)
    return np.split(codes, np.cumsum([len(array) for array in arrays])[:-1]), encoded.dictionary


def _check_unique(codes: np.ndarray, graphs: Any, edge_graphs: Any, ids: Any, place: Place) -> None:
    order = np.argsort(codes, kind="stable")
    repeats = order[1:][np.diff(codes[order]) == 0]
    if not len(repeats):
        return
    second = int(repeats.min())
    first = int(np.argmax(codes == codes[second]))
    if graphs is not None and edge_graphs is None and graphs[first] != graphs[second]:
        problem = f"the id {ids[second]} is also in another graph ({place.row(first)})"
        raise place.error(second, f"{problem}, and the edges do not say which is meant; add a column 'graph' to them")
    raise place.error(second, f"the id {ids[second]} is also on {place.row(first)}; ids must be unique")
