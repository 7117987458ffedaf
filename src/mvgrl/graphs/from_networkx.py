"""Convert NetworkX graphs: names become ids, numeric attributes features, and "weight" the edge weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np

from mvgrl.errors import InputError, check_name, shown
from mvgrl.graphs.checks import check_weight_sums
from mvgrl.graphs.graph import MADE_UNDIRECTED, Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.tables.names import check_distinct, text_array

VECTORS = ("features", "x")


def from_networkx(graphs: Sequence[Any], *, label: str | None = None, parse_integers: bool = False) -> NamedGraph:
    """Convert one or many NetworkX graphs.

    A node attribute that is a number on every node is a feature, as is a vector named "features" or "x"; features are
    sorted by name, f2 before f10. ``label`` is the attribute with the labels, of the nodes or of the graphs.
    ``parse_integers`` converts ids such as "12" to integers if all of them can be, for files that only hold text.

    >>> import networkx as nx
    >>> from_networkx([nx.Graph([("ann", "bob")])]).node_ids.tolist()
    ['ann', 'bob']
    """
    node_ids, ends, weights = [], [], []
    for number, graph in enumerate(graphs):
        if not len(graph):
            raise InputError(f"graph {number} has no nodes; omit empty graphs")
        node_ids.append(_ids(list(graph)))
        ends.append(_ends(graph))
        weights.append(_weights(graph))
    sizes = [len(graph) for graph in graphs]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    sources, targets = np.concatenate([end + start for end, start in zip(ends, offsets[:-1], strict=True)], axis=1)
    weighted = any(any(weight is not None for weight in some) for some in weights)
    edge_weights = [1.0 if weight is None else weight for weight in chain.from_iterable(weights)] if weighted else None
    records = [record for graph in graphs for _, record in graph.nodes(data=True)]
    features, names, ignored = _features(records, "label" if label is None else label)
    labels = _labels(graphs, records, label)
    ids = _same_type(node_ids, parse_integers)
    if edge_weights is not None:
        check_weight_sums(sources, targets, edge_weights, ids)
    made = Graph.from_edges(sources, targets, edge_weights, nodes=int(offsets[-1]), features=features, offsets=offsets)
    listed = ", ".join(shown(name)[1:-1] for name in ignored[:20]) + (", …" if len(ignored) > 20 else "")
    notes = (f"ignored node attributes (not a number on every node): {listed}",) if ignored else ()
    if not any(graph.is_directed() for graph in graphs):  # each edge was given once, but has no direction
        made = replace(made, notes=tuple(note for note in made.notes if note != MADE_UNDIRECTED))
    graph_ids = _graph_ids(graphs) if len(graphs) > 1 else None
    return NamedGraph(replace(made, notes=made.notes + notes, feature_names=names), ids, graph_ids, labels)


def _ids(names: list[Any]) -> np.ndarray:
    """Convert the names of a graph's nodes to integers if all of them are, else to text; they must remain unique."""
    if all(isinstance(name, Integral) and not isinstance(name, bool) for name in names):
        try:
            return np.array(names, dtype=np.int64)
        except OverflowError:  # more than 64 bits: text keeps them exact
            pass
    seen: dict[str, Any] = {}
    for name in names:
        text = _text(name, "a node's name")
        if text in seen:
            raise InputError(
                f"the nodes {shown(seen[text])} and {shown(name)} are the same as text; rename one of them"
            )
        if _is_missing(name):
            raise InputError(f"a node's name is {'NaN' if isinstance(name, float) else text}; rename it")
        seen[text] = name
    return text_array(list(seen), "the node")


def _is_missing(name: Any) -> bool:
    try:
        return bool(name != name)
    except (TypeError, ValueError):  # pandas' NA
        return True


def _text(value: Any, what: str) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        raise InputError(f"{what} cannot be converted to text; shorten it") from None


def _same_type(parts: list[np.ndarray], parse_integers: bool) -> np.ndarray:
    ids = np.concatenate(parts if len({part.dtype.kind for part in parts}) == 1 else [p.astype(str) for p in parts])
    if parse_integers and ids.dtype.kind == "U":
        try:
            integers = ids.astype(np.int64)
        except (ValueError, OverflowError):
            return ids
        return integers if np.array_equal(integers.astype(str), ids) else ids  # "007" would lose its zeros
    return ids


def _ends(graph: Any) -> np.ndarray:
    number = {name: i for i, name in enumerate(graph)}
    pairs = [(number[edge[0]], number[edge[1]]) for edge in graph.edges()]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def _weights(graph: Any) -> list[Any]:
    weights = []
    for source, target, weight in graph.edges(data="weight"):
        if weight is not None and not (_is_number(weight) and 0 <= weight < np.inf):
            raise InputError(
                f"the edge from {shown(source)} to {shown(target)} has weight {shown(weight)}; weights must be finite "
                "and not negative: drop the edge or transform the weights"
            )
        weights.append(weight)
    return weights


def _features(records: list[dict[Any, Any]], label: str) -> tuple[np.ndarray | None, tuple[str, ...] | None, list[str]]:
    """Return the features of all nodes, their names, and the names of the ignored attributes."""
    names = sorted({name for record in records for name in record if name != label}, key=_natural_order)
    columns, feature_names, ignored = [], [], []
    for name in names:
        values = [record.get(name) for record in records]
        if all(_is_number(value) for value in values):
            column = _numbers(str(name), values)[:, None]
        elif name in VECTORS and all(hasattr(value, "__len__") for value in values):
            column = _block(str(name), values)
        else:
            ignored.append(str(name))
            continue
        bad = np.argwhere(~np.isfinite(column))
        if len(bad):
            raise InputError(
                f"attribute {shown(name)} of node {bad[0][0]} is {column[tuple(bad[0])]}; "
                "fill it in or drop the attribute"
            )
        columns.append(column)
        feature_names += [str(name)] if _is_number(values[0]) else [f"{name}[{i}]" for i in range(column.shape[1])]
    if not columns:
        return None, None, ignored
    return np.concatenate(columns, axis=1), tuple(feature_names), ignored


def _natural_order(name: Any) -> tuple[list[Any], str]:
    """Sort key that compares digits as numbers, so f2 comes before f10."""
    parts = re.split("([0-9]{1,18})", str(name))
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], str(name)


def _block(name: str, values: list[Any]) -> np.ndarray:
    lengths = [len(value) for value in values]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        raise InputError(
            f"attribute {shown(name)} of node {odd} has {lengths[odd]} values, but node 0 has {lengths[0]}; "
            "give every node the same number of values"
        )
    try:
        return np.array([np.asarray(value, dtype=np.float64) for value in values]).reshape(len(values), -1)
    except (OverflowError, TypeError, ValueError) as error:
        reason = shown(str(error))[1:-1]
        raise InputError(f"attribute {shown(name)} is not numeric ({reason}); encode it as numbers") from None


def _numbers(name: str, values: list[Any]) -> np.ndarray:
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:  # an integer beyond the range of floating-point numbers
        raise InputError(f"attribute {shown(name)} is too large for a number; scale it down") from None


def _labels(graphs: Sequence[Any], records: list[dict[Any, Any]], given: str | None) -> np.ndarray | None:
    label = "label" if given is None else given
    of_graphs = [graph.graph.get(label) for graph in graphs]
    of_nodes = [record.get(label) for record in records]
    complete = all(value is not None for value in of_graphs)
    if complete and (len(graphs) > 1 or not any(value is not None for value in of_nodes)):
        return _label_array(of_graphs)
    if any(value is not None for value in of_nodes):  # the label of a single graph is more likely its title
        return _label_array(of_nodes)
    if given is not None:
        check_name("node attribute", given, sorted({str(name) for record in records for name in record}), InputError)
    return None


def _label_array(values: list[Any]) -> np.ndarray:
    """Convert labels to numbers if all known ones are, else to text; a missing label is NaN or an empty string."""
    known = [value for value in values if value is not None]
    if all(_is_number(value) for value in known):
        try:
            labels = np.array(values if len(known) == len(values) else [np.nan if v is None else v for v in values])
            if labels.dtype.kind in "biuf":
                return labels
        except OverflowError:
            pass  # integers of more than 64 bits, or fractions: text keeps them exact
    texts = ["" if value is None else _text(value, "a label") for value in values]
    check_distinct(known, (text for text, value in zip(texts, values, strict=True) if value is not None), "labels")
    return text_array(texts, "the label")


def _graph_ids(graphs: Sequence[Any]) -> np.ndarray:
    names = [str(graph.name or "") for graph in graphs]
    if not all(names) or len(set(names)) < len(names):
        return np.arange(len(names))
    return text_array(names, "the graph")


def _is_number(value: Any) -> bool:
    return isinstance(value, (Real, np.bool_))
