"""Convert objects of other packages, arrays, tables and paths to a ``NamedGraph``, by their type."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs import given_features as given
from mvgrl.graphs.checks import as_matrix
from mvgrl.graphs.edge_lists import Ends, dimensions, find_ends, to_table
from mvgrl.graphs.given_features import is_table, packages_of
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder

ACCEPTED = (
    "a Graph or NamedGraph; a PyG Data, Batch, Dataset or list of Data; a NetworkX or igraph graph or a list of them; "
    "a square SciPy, NumPy or torch adjacency matrix; an edge_index of integers, 2 × edges; a list of pairs; a tuple "
    "of two arrays, (sources, targets); a pandas, polars, Arrow or DuckDB table of edges (source, target), or a tuple "
    "of a table of edges and one of nodes (id); a path; a tuple of one of these and a matrix of features; "
    "or a list of graphs"
)


def to_named(thing: Any, features: Any = None, *, encoder: TableEncoder | None = None) -> NamedGraph:
    """Convert an object with one or many graphs to a ``NamedGraph``; ``features``, one row per node, replace its own.

    Nodes keep their ids; without ids, as in PyG or SciPy, they are numbered from 0 across all graphs. A tuple
    ``(graph, features)`` is the same as the two arguments. Features may be a matrix or a table: a table with a column
    ``id`` (or, in pandas, with an index) is matched by id; the rows of a matrix belong to the nodes in their order, or
    where only edges are given, to the nodes with their numbers. The ``encoder`` of a trained model,
    ``trained.feature_encoder.columns_``, encodes the columns of a table of nodes as in training.

    >>> to_named(sp.csr_array([[0, 1], [1, 0]]), features=[[1.0], [2.0]]).node_ids
    array([0, 1])
    >>> to_named(([("ann", "bob"), ("bob", "cy")])).node_ids.tolist()
    ['ann', 'bob', 'cy']
    """
    if isinstance(thing, tuple) and len(thing) == 2 and _is_with_features(*thing):
        if features is not None:
            raise InputError("features are given twice, in the tuple and as features; omit one of them")
        thing, features = thing
    if features is None:
        return _convert(thing, encoder)
    return _with_features(thing, features, encoder)


def _is_with_features(graph: Any, features: Any) -> bool:
    """Whether a tuple of two is a graph and its features; a table of edges and one of nodes are a graph."""
    if features is None:
        return True
    if is_table(features):
        return not is_table(graph)
    if isinstance(features, (list, tuple)):  # rows of numbers; two lists are sources and targets, or two edges
        return not isinstance(graph, (list, tuple)) and bool(features) and isinstance(features[0], (list, tuple))
    return sp.issparse(features) or dimensions(features) == 2


def _with_features(thing: Any, features: Any, encoder: TableEncoder | None) -> NamedGraph:
    has_ids = False
    if is_table(features):
        features, has_ids = given.with_ids(features)
    ends = None if is_table(thing) else find_ends(thing)
    if is_table(thing) or ends is not None:
        return _edges_with_features(thing, ends, features, has_ids, encoder)
    named = _convert(thing)
    if has_ids:
        return given.by_id(named, features)
    if _is_path(thing) and not np.array_equal(named.node_ids, np.arange(len(named.node_ids))):
        raise InputError(f"{thing} has ids, and the rows of features have none; {given.BY_ID}")
    return given.by_order(named, features, sure=not {"networkx", "igraph"} & packages_of(thing))


def _edges_with_features(
    thing: Any, ends: Ends | None, features: Any, has_ids: bool, encoder: TableEncoder | None
) -> NamedGraph:
    """Give features to edges alone, whose nodes have no order that their owner knows."""
    if has_ids:
        return _from_tables(thing if ends is None else to_table(ends), features, encoder)
    if ends is not None and ends.numbered:  # numbers have an order, and nodes without edges have features
        rows = given.plain(features)[0].shape[0]
        return given.by_order(_numbered(Graph.from_edges(*ends[:2], nodes=rows)), features, sure=True)
    if is_table(features):
        raise InputError(f"features is a table without ids; {given.BY_ID}, or a matrix whose row i is node i's")
    return given.by_number(_from_tables(thing) if ends is None else _from_ends(ends), features)


def _convert(thing: Any, encoder: TableEncoder | None = None) -> NamedGraph:
    if isinstance(thing, NamedGraph):
        return thing
    if isinstance(thing, Graph):
        return _numbered(thing)
    packages = packages_of(thing)
    if "torch_geometric" in packages:
        return _from_pyg(thing)
    if "networkx" in packages:
        return _from_networkx([thing])
    if "igraph" in packages:
        return _from_igraph([thing])
    if is_table(thing):
        return _from_tables(thing)
    if _is_path(thing):
        return _from_path(thing, None, encoder)
    if isinstance(thing, tuple) and len(thing) == 2 and (is_table(thing[0]) or _is_path(thing[0], thing[1])):
        return _from_two(*thing, encoder)
    ends = find_ends(thing)
    if ends is not None:
        return _from_ends(ends)
    if sp.issparse(thing) or isinstance(thing, np.ndarray) or hasattr(thing, "to_sparse_coo"):
        return _from_adjacency(thing)
    if isinstance(thing, (list, tuple)) or "torch" in packages:  # torch's Subset of a Dataset is a sequence, too
        return _from_sequence(thing)
    raise _unsupported(f"{type(thing).__name__} is not a supported graph type")


def _is_path(*things: Any) -> bool:
    """Whether all are paths; two texts are paths if they have an extension, and else may be the ids of an edge."""
    if len(things) == 1:
        return isinstance(things[0], (str, os.PathLike))
    return all(isinstance(one, os.PathLike) or (isinstance(one, str) and Path(one).suffix) for one in things)


def _from_path(edges: Any, nodes: Any, encoder: TableEncoder | None) -> NamedGraph:
    from mvgrl.graphs.read import read

    return read(edges, nodes=nodes, encoder=encoder)


def _from_two(edges: Any, nodes: Any, encoder: TableEncoder | None) -> NamedGraph:
    """Convert a tuple of edges and nodes, two tables or two paths."""
    if not is_table(edges):
        return _from_path(edges, nodes, encoder)
    if not is_table(nodes):
        raise InputError(
            f"item 1 of the tuple is a {type(nodes).__name__}, not a table of nodes; give a pandas, polars, Arrow or "
            "DuckDB table, or a matrix of features"
        )
    return _from_tables(edges, given.with_ids(nodes, "nodes")[0], encoder)


def _from_ends(ends: Ends) -> NamedGraph:
    if ends.numbered:
        return _numbered(Graph.from_edges(ends.sources, ends.targets))
    return _from_tables(to_table(ends))


def _from_sequence(things: Any) -> NamedGraph:
    try:
        parts = [things[i] for i in range(len(things))]
    except (TypeError, NotImplementedError):
        raise _unsupported(f"{type(things).__name__} is not a supported graph type") from None
    if not parts:
        raise InputError("the list of graphs is empty; give at least one graph")
    if all(isinstance(part, Graph) for part in parts):
        return _numbered(Graph.join(parts))
    for package, convert in _FROM_LISTS.items():
        odd = [i for i, part in enumerate(parts) if package not in packages_of(part)]
        if not odd:
            return convert(parts)
        if len(odd) < len(parts):
            types = (
                f"item 0 is a {type(parts[0]).__name__} and item {odd[0] or 1} a {type(parts[odd[0] or 1]).__name__}"
            )
            raise _unsupported(f"the list mixes types: {types}")
    if all(_is_one_graph(part) for part in parts):
        return _join(parts)
    raise _unsupported(f"a {type(things).__name__} of {type(parts[0]).__name__} is not a supported graph type")


def _is_one_graph(part: Any) -> bool:
    """Whether an item of a list is a graph by itself: a matrix, a table, or a tuple of a graph and its features."""
    if isinstance(part, tuple):
        return len(part) == 2 and _is_with_features(*part)
    return isinstance(part, (Graph, NamedGraph)) or is_table(part) or dimensions(part) == 2


def _join(parts: list[Any]) -> NamedGraph:
    """Join graphs that were given one by one; ids that only number the nodes go on from graph to graph."""
    found: list[NamedGraph] = []
    for i, part in enumerate(parts):
        try:
            found.append(to_named(part))
        except InputError as error:
            raise InputError(f"item {i} of the list: {error}") from None
        if found[-1].graph.count > 1:
            raise InputError(
                f"item {i} of the list has {found[-1].graph.count} graphs; give them as items of their own"
            )
    graph, ids = Graph.join([one.graph for one in found]), [one.node_ids for one in found]
    if all(np.array_equal(some, np.arange(len(some))) for some in ids):
        return _numbered(graph)
    same = len({some.dtype.kind for some in ids}) == 1
    node_ids = np.concatenate(ids if same else [some.astype(np.str_) for some in ids])
    return NamedGraph(graph, node_ids, np.arange(len(found)))


def _unsupported(problem: str) -> InputError:
    return InputError(f"{problem}; give {ACCEPTED}")


def _numbered(graph: Graph, labels: np.ndarray | None = None) -> NamedGraph:
    graph_ids = np.arange(graph.count) if graph.count > 1 else None
    return NamedGraph(graph, np.arange(graph.nodes), graph_ids, labels)


def _from_adjacency(matrix: Any) -> NamedGraph:
    adjacency = as_matrix(matrix, "adjacency")
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise _unsupported(f"the {type(matrix).__name__} has shape {adjacency.shape}, so it is not an adjacency matrix")
    if adjacency.dtype.kind not in "biuf":
        raise InputError(f"the adjacency matrix holds {adjacency.dtype} values; give edge weights, or 1 for every edge")
    return _numbered(Graph.from_scipy(adjacency))


def _from_pyg(data: Any) -> NamedGraph:
    from mvgrl.graphs.pyg import is_data

    parts = [data] if is_data(data) else list(data)  # iterate only once: a loader may shuffle each time
    graph = Graph.from_pyg(data if is_data(data) else parts)
    given = [getattr(part, "y", None) for part in parts]
    if any(target is None for target in given):
        return _numbered(graph)
    targets = [np.asarray(as_matrix(target, "y")) for target in given]
    targets = [target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target for target in targets]
    targets = [target.reshape(1) if target.ndim == 0 else target for target in targets]
    one_column = all(target.ndim == 1 and target.dtype.kind in "biuf" for target in targets)
    labels = np.concatenate(targets) if one_column else None
    per_node = [len(target) for target in targets] == [part.num_nodes for part in parts]
    if labels is not None and (per_node or len(labels) == graph.count):
        return _numbered(graph, labels)
    return _numbered(replace(graph, notes=(*graph.notes, "ignored y (not one label per node or per graph)")))


def _from_networkx(graphs: list[Any]) -> NamedGraph:
    from mvgrl.graphs.from_networkx import from_networkx

    return from_networkx(graphs)


def _from_igraph(graphs: list[Any]) -> NamedGraph:
    from mvgrl.graphs.from_igraph import IgraphView

    return _from_networkx([IgraphView(graph) for graph in graphs])


_FROM_LISTS = {"torch_geometric": _from_pyg, "networkx": _from_networkx, "igraph": _from_igraph}


def _from_tables(edges: Any, nodes: Any = None, encoder: TableEncoder | None = None) -> NamedGraph:
    from mvgrl.graphs.from_pandas import to_arrow
    from mvgrl.graphs.tables import from_tables  # here: only tables need pyarrow

    table = None if nodes is None else to_arrow(nodes, "nodes")
    return from_tables(to_arrow(edges, "edges"), table, encoder=encoder)
