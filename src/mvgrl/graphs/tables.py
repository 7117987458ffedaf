"""Convert tables of edges and nodes to a graph, a column at a time: no loop over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mvgrl.errors import InputError, shown
from mvgrl.graphs.checks import check_weight_sums
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.node_columns import NodeColumns
from mvgrl.graphs.sides import find_sides
from mvgrl.tables.columns import (
    Place,
    check_unique_names,
    find_id,
    find_label,
    match_name,
    to_ids,
    to_labels,
    to_numbers,
    to_numpy,
)
from mvgrl.tables.endpoints import are_two_sides, find_endpoints, find_weight
from mvgrl.tables.ids import Keyed, check_unique, encode, first_duplicate

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder


def from_tables(
    edges: Any,
    nodes: Any = None,
    *,
    id_column: str | None = None,
    label_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    bipartite: bool = False,
    features: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    encoder: TableEncoder | None = None,
    place: Place | str = "edges",
    node_place: Place | str = "nodes",
) -> NamedGraph:
    """Build a graph from a pyarrow table of edges and, optionally, one of nodes.

    Edges have the columns ``source`` and ``target`` (or src and dst, from and to, user and item, …, in any case), and
    optionally ``weight`` and ``graph``. Nodes have ``id``, and optionally ``graph`` and ``label``; every other column
    is a feature, in the order of the table. Nodes keep the order of their table, or of their first appearance in the
    edges, grouped by graph. If all nodes of each of several graphs share a label, it becomes the label of the graph.

    In a ``bipartite`` graph, an id in one of the two columns is never the same node as that id in the other; the
    ``sides`` of the result have the name of the column of each node. A table of nodes then has a column ``side`` with
    these names, unless no id is on both sides.

    With ``features``, only the columns it names are features; those in ``ignore`` are not, and those in ``text`` are
    text whatever they look like. :func:`mvgrl.tables.column_kinds.kind_of` decides how the others become features. The
    ``encoder`` of a trained model, ``trained.feature_encoder.columns_``, encodes the columns as in training.

    >>> named = from_tables(pa.table({"source": ["b", "a"], "target": ["a", "c"], "weight": [2.0, 1.0]}))
    >>> named.node_ids.tolist(), named.graph.adjacency.toarray()[0].tolist()
    (['b', 'a', 'c'], [0.0, 2.0, 0.0])
    """
    place = Place(place) if isinstance(place, str) else place
    node_place = Place(node_place) if isinstance(node_place, str) else node_place
    columns = NodeColumns(features, ignore, text, encoder)
    check_unique_names(edges.column_names, place)
    ends = find_endpoints(edges.column_names, place, source_column, target_column)
    if not edges.num_rows:
        raise InputError(f"{place.name} has no rows; add at least one edge")
    edges = edges if "graph" in map(str.lower, ends) else _with_graph_name(edges)
    nodes = None if nodes is None else _with_graph_name(nodes)
    for table, where in ((edges, place), (nodes, node_place)):
        if bipartite and table is not None and "graph" in table.column_names:
            raise InputError(f"{where.name} has a column 'graph', but a bipartite graph is one graph; drop the column")
    weight = find_weight(edges.column_names, weight_column, place)
    weights = None if weight is None else _weights(edges, weight, place)
    if nodes is not None:
        numbered = _number_by_table(edges, nodes, ends, id_column, label_column, bipartite, columns, place, node_place)
    else:
        for name in (id_column, label_column, *columns.given.values()):
            if name is not None:
                raise InputError(f"the column {shown(name)} needs a table of nodes; give one, or omit the column")
        numbered = _number_by_appearance(edges, ends, bipartite, place)
    ignored = [name for name in edges.column_names if name not in (*ends, weight, "graph")]
    notes = (*place.notes, *node_place.notes)
    notes += ignored_note(ignored)
    if not bipartite and are_two_sides(ends) and (shared := _shared(numbered.sources, numbered.targets)):
        notes += (both_sides_note(shared, ends),)
    return _assemble(numbered, weights, notes)


def ignored_note(columns: list[str]) -> tuple[str, ...]:
    """Say which columns of the edges are not used."""
    return (f"ignored edge columns: {_listed(columns)}",) if columns else ()


def both_sides_note(shared: int, ends: tuple[str, str]) -> str:
    """Say that two columns of different kinds of nodes share ids."""
    return (f"{shared:,} ids are in both {ends[0]!r} and {ends[1]!r} and are read as the same nodes; if they are "
            "different things, add --bipartite (bipartite=True)")  # fmt: skip


def _with_graph_name(table: Any) -> Any:
    """Name the column of the graphs ``graph``, if it is written in another case."""
    found = match_name("graph", table.column_names)
    if found is None or found == "graph":
        return table
    return table.rename_columns(["graph" if name == found else name for name in table.column_names])


def _named(value: Any) -> str:
    """Return an id for an error message, without quotes."""
    return shown(str(value))[1:-1]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(map(_named, names[:20])) + more


@dataclass
class _Numbered:
    """Edges between numbered nodes, and the data of each node."""

    sources: np.ndarray
    targets: np.ndarray
    ids: np.ndarray
    graphs: np.ndarray | None  # the number of each node's graph
    graph_ids: np.ndarray | None
    features: Any = None
    columns: TableEncoder | None = None
    labels: np.ndarray | None = None
    sides: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def _shared(sources: np.ndarray, targets: np.ndarray) -> int:
    """Return how many nodes are both a source and a target."""
    return len(np.intersect1d(sources, targets))


def _assemble(parts: _Numbered, weights: np.ndarray | None, notes: tuple[str, ...]) -> NamedGraph:
    """Build the graph; if there are several, group the nodes by graph."""
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
    if weights is not None:
        check_weight_sums(parts.sources, parts.targets, weights, parts.ids)
    graph = Graph.from_edges(
        parts.sources, parts.targets, weights, nodes=len(parts.ids), features=parts.features, offsets=offsets
    )
    names = None if parts.columns is None else parts.columns.names
    graph = replace(graph, notes=graph.notes + notes + parts.notes, feature_names=names)
    return NamedGraph(graph, parts.ids, parts.graph_ids, parts.labels, parts.sides, parts.columns)


def _number_by_appearance(edges: Any, ends: tuple[str, str], bipartite: bool, place: Place) -> _Numbered:
    """Number the nodes in the order of their first appearance in the edges."""
    sources, targets = to_ids([(place, name, edges[name]) for name in ends])
    graphs, _, graph_ids = _graph_columns(edges, None, place, place)
    codes, names = encode([sources, targets])
    mixed = np.column_stack(codes).ravel()  # row by row: the source, then the target
    if bipartite:
        mixed[1::2] += len(names)
    if graphs is not None:
        mixed = np.repeat(graphs, 2) * len(names) + mixed
    (numbers,), distinct = encode([pa.array(mixed)])
    first = distinct.to_numpy()
    node_graphs = None if graphs is None else first // len(names)
    ids = to_numpy(names.take(pa.array(first % len(names))))
    sides = np.array(ends)[first // len(names)] if bipartite else None
    return _Numbered(numbers[0::2], numbers[1::2], ids, node_graphs, graph_ids, sides=sides)


def _number_by_table(
    edges: Any,
    nodes: Any,
    ends: tuple[str, str],
    id_column: str | None,
    label_column: str | None,
    bipartite: bool,
    columns: NodeColumns,
    place: Place,
    node_place: Place,
) -> _Numbered:
    """Number the nodes in the order of their table."""
    check_unique_names(nodes.column_names, node_place)
    if not nodes.num_rows:
        raise InputError(f"{node_place.name} has no rows; add at least one node, or omit the table")
    id_name = find_id(nodes.column_names, id_column, node_place)
    label_name = find_label(nodes.column_names, label_column, node_place)
    if label_column is None and label_name in columns.named:
        label_name = None
    *endpoints, ids = to_ids([*((place, name, edges[name]) for name in ends), (node_place, id_name, nodes[id_name])])
    edge_graphs, node_graphs, graph_ids = _graph_columns(edges, nodes, place, node_place)
    (node_codes, *end_codes), names = encode([ids, *endpoints])
    if edge_graphs is not None:  # then an id identifies a node only within its graph
        node_codes = node_graphs * len(names) + node_codes
        end_codes = [edge_graphs * len(names) + codes for codes in end_codes]
    elif node_graphs is not None:
        _check_unambiguous(node_codes, node_graphs, ids, node_place)
    sides = None
    if bipartite:
        node_sides = find_sides(nodes, ids, node_codes, end_codes, ends, node_place)
        node_codes, end_codes[1] = node_sides * len(names) + node_codes, len(names) + end_codes[1]
        sides = np.array(ends)[node_sides]
    rows = Keyed(to_numpy(ids), None if node_graphs is None else graph_ids[node_graphs], node_place, sides=sides)
    check_unique(node_codes, rows)

    found = pc.index_in(pa.array(np.column_stack(end_codes).ravel()), value_set=pa.array(node_codes))
    if found.null_count:  # found is in the order of the rows, so this is the first problem
        row, end = divmod(pc.index(found.is_null(), True).as_py(), 2)
        inside = "" if edge_graphs is None else f"graph {_named(graph_ids[edge_graphs[row]])} of "
        inside = f"side {_named(ends[end])} of " if bipartite else inside
        problem = (
            f"{ends[end]} is node {_named(endpoints[end][row].as_py())}, which is not in {inside}{node_place.name}"
        )
        raise place.error(row, f"{problem}; add the node or drop the edge")
    sources, targets = found.to_numpy().astype(np.int64).reshape(-1, 2).T
    if node_graphs is not None:
        _check_not_crossing(sources, targets, node_graphs, rows, place)
    taken = (id_name, "graph", *(("side",) if bipartite else ()))
    encoder, (features, notes) = columns.encode(nodes, node_place, ids=taken, label=label_name)
    target = None if label_name is None else to_labels(node_place, label_name, nodes[label_name])
    return _Numbered(sources, targets, rows.ids, node_graphs, graph_ids, features, encoder, target, sides, notes)


def _weights(edges: Any, name: str, place: Place) -> np.ndarray:
    """Return the weight of each edge, checked not to be negative."""
    weights = to_numbers(place, name, edges[name])
    if weights.ndim != 1:
        raise InputError(f"{place.name}: column {shown(name)} holds lists; give one number per edge")
    check_not_negative(weights, place)
    return weights


def check_not_negative(weights: np.ndarray, place: Place) -> None:
    """Check that no weight is negative."""
    bad = np.flatnonzero(weights < 0)
    if len(bad):
        remedy = "weights must not be negative: drop the edge or transform the weights"
        raise place.error(bad[0], f"the weight is {weights[bad[0]]}; {remedy}")


def _graph_columns(edges: Any, nodes: Any, place: Place, node_place: Place) -> tuple[Any, Any, Any]:
    """Number the graphs in order of appearance; return the graph of each edge and of each node, and the graph ids."""
    with_graph = [
        (where, "graph", table["graph"])
        for where, table in ((node_place, nodes), (place, edges))
        if table is not None and "graph" in table.column_names
    ]
    if not with_graph:
        return None, None, None
    in_nodes = nodes is not None and "graph" in nodes.column_names
    if nodes is not None and not in_nodes:
        raise InputError(
            f"{place.name} has a column 'graph' but {node_place.name} does not; add it, or drop the column"
        )
    codes, names = encode(to_ids(with_graph))
    if in_nodes and len(codes) == 2 and codes[1].max() > codes[0].max():
        row = int(np.argmax(codes[1] > codes[0].max()))
        raise place.error(
            row,
            f"graph {_named(names[codes[1][row]].as_py())} has no nodes in {node_place.name}; "
            "add its nodes or drop the edge",
        )
    return (codes[-1] if "graph" in edges.column_names else None), (codes[0] if in_nodes else None), to_numpy(names)


def _check_not_crossing(
    sources: np.ndarray, targets: np.ndarray, graphs: np.ndarray, nodes: Keyed, place: Place
) -> None:
    """Check that no edge connects two graphs."""
    crossing = np.flatnonzero(graphs[sources] != graphs[targets])
    if len(crossing) and nodes.graph_ids is not None:
        row = int(crossing[0])
        one, other = (
            f"{_named(nodes.ids[node])} is in graph {_named(nodes.graph_ids[node])}"
            for node in (sources[row], targets[row])
        )
        remedy = "drop the edge, or drop the column 'graph' to have a single graph"
        raise place.error(row, f"{one} but {other}; graphs must not be connected with each other: {remedy}")


def _check_unambiguous(codes: np.ndarray, graphs: np.ndarray, ids: Any, place: Place) -> None:
    """Check that no two graphs share an id; for edges without a column 'graph'."""
    duplicate = first_duplicate(codes)
    if duplicate is not None and graphs[duplicate[0]] != graphs[duplicate[1]]:
        first, second = duplicate
        problem = f"the id {_named(ids[second].as_py())} is also in another graph ({place.row(first)})"
        raise place.error(second, f"{problem}, so the edges are ambiguous; add a column 'graph' to them")
