"""What people have as a graph with names: objects of PyG, NetworkX, SciPy, pandas and Arrow, each found by its type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs.checks import as_matrix
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph

ACCEPTED = (
    "a Graph or NamedGraph; a PyG Data, Batch, Dataset or list of Data; a NetworkX graph or a list of them; "
    "a square SciPy or NumPy adjacency with features=; a pandas or Arrow table of edges (source, target), "
    "or a tuple of a table of edges and one of nodes (id)"
)


def to_named(thing: Any, features: Any = None) -> NamedGraph:
    """Whatever holds a graph or many, as one ``NamedGraph``; ``features``, a row a node, replace what it brings.

    Nodes keep the names they have; where they have none, as in PyG or SciPy, they are numbered from 0 over all graphs.

    >>> to_named(sp.csr_array([[0, 1], [1, 0]]), features=[[1.0], [2.0]]).node_ids
    array([0, 1])
    """
    named = _converted(thing)
    return named if features is None else replace(named, graph=replace(named.graph, features=features))


def _converted(thing: Any) -> NamedGraph:
    if isinstance(thing, NamedGraph):
        return thing
    if isinstance(thing, Graph):
        return _numbered(thing)
    packages = _packages(thing)
    if "torch_geometric" in packages:
        return _from_pyg(thing)
    if "networkx" in packages:
        return _from_networkx([thing])
    if _is_table(thing):
        return _from_tables(thing)
    if sp.issparse(thing) or isinstance(thing, np.ndarray) or hasattr(thing, "to_sparse_coo"):
        return _from_adjacency(thing)
    if isinstance(thing, tuple) and len(thing) == 2 and _is_table(thing[0]):
        if thing[1] is not None and not _is_table(thing[1]):
            raise InputError(f"the tuple's second part is a {type(thing[1]).__name__}, not a table of nodes")
        return _from_tables(*thing)
    if isinstance(thing, (list, tuple)) or "torch" in packages:  # torch's Subset of a Dataset, too, is a sequence
        return _from_sequence(thing)
    raise _unknown(f"{type(thing).__name__} is not a known kind of graph")


def _from_sequence(things: Any) -> NamedGraph:
    try:
        parts = [things[i] for i in range(len(things))]
    except (TypeError, NotImplementedError):
        raise _unknown(f"{type(things).__name__} is not a known kind of graph") from None
    if not parts:
        raise InputError("the list of graphs is empty; there is nothing to embed")
    if all(isinstance(part, Graph) for part in parts):
        return _numbered(Graph.join(parts))
    for package, convert in (("torch_geometric", _from_pyg), ("networkx", _from_networkx)):
        odd = [i for i, part in enumerate(parts) if package not in _packages(part)]
        if not odd:
            return convert(parts)
        if len(odd) < len(parts):
            kinds = (
                f"item 0 is a {type(parts[0]).__name__} and item {odd[0] or 1} a {type(parts[odd[0] or 1]).__name__}"
            )
            raise _unknown(f"the list mixes kinds: {kinds}")
    raise _unknown(f"a {type(things).__name__} of {type(parts[0]).__name__} is not a known kind of graph")


def _unknown(problem: str) -> InputError:
    return InputError(f"{problem}; give {ACCEPTED}")


def _packages(thing: Any) -> set[str]:
    """The packages a thing's type and its bases come from: asked so, none is imported for a thing it did not make."""
    return {kind.__module__.split(".")[0] for kind in type(thing).__mro__}


def _is_table(thing: Any) -> bool:
    return hasattr(thing, "columns") and (
        bool({"pandas", "pyarrow"} & _packages(thing)) or hasattr(thing, "__arrow_c_stream__")
    )


def _numbered(graph: Graph, labels: np.ndarray | None = None) -> NamedGraph:
    graph_ids = np.arange(graph.count) if graph.count > 1 else None
    return NamedGraph(graph, np.arange(graph.nodes), graph_ids, labels)


def _from_adjacency(matrix: Any) -> NamedGraph:
    adjacency = as_matrix(matrix, "adjacency")
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise _unknown(f"the {type(matrix).__name__} has shape {adjacency.shape}, so it is no adjacency")
    if adjacency.dtype.kind not in "biuf":
        raise InputError(f"the adjacency holds {adjacency.dtype} values; give edge weights, or 1 for every edge")
    return _numbered(Graph.from_scipy(adjacency))


def _from_pyg(data: Any) -> NamedGraph:
    from mvgrl.graphs.pyg import is_data

    parts = [data] if is_data(data) else list(data)  # gone through once: a loader may shuffle anew each time
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
    return _numbered(replace(graph, notes=(*graph.notes, "y left out (it is not one label a node or a graph)")))


def _from_networkx(graphs: list[Any]) -> NamedGraph:
    from mvgrl.graphs.from_networkx import from_networkx

    return from_networkx(graphs)


def _from_tables(edges: Any, nodes: Any = None) -> NamedGraph:
    from mvgrl.graphs.tables import from_tables  # here: it needs pyarrow, and only its users pay

    return from_tables(_arrow(edges), None if nodes is None else _arrow(nodes))


def _arrow(table: Any) -> Any:
    import pyarrow as pa

    if "pandas" not in _packages(table):
        return table if isinstance(table, pa.Table) else pa.table(table)
    if table.index.name is not None:  # an index with a name is a column: often the ids
        table = table.reset_index()
    columns = [_arrow_column(table.iloc[:, i]) for i in range(table.shape[1])]
    return pa.table(columns, names=[str(name) for name in table.columns])


def _arrow_column(column: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # of several kinds: as text they can still be ids
        return pa.array([None if value is None or value != value else str(value) for value in column], pa.string())
