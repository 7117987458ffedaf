"""Convert objects of PyG, NetworkX, SciPy, NumPy, pandas and Arrow to a ``NamedGraph``, by their type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError
from mvgrl.graphs.checks import as_matrix
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder

ACCEPTED = (
    "a Graph or NamedGraph; a PyG Data, Batch, Dataset or list of Data; a NetworkX graph or a list of them; "
    "a square SciPy or NumPy adjacency matrix with features=; a pandas or Arrow table of edges (source, target), "
    "or a tuple of a table of edges and one of nodes (id)"
)


def to_named(thing: Any, features: Any = None, *, encoder: TableEncoder | None = None) -> NamedGraph:
    """Convert an object with one or many graphs to a ``NamedGraph``; ``features``, one row per node, replace its own.

    The ``encoder`` of a trained model, ``trained.feature_encoder.columns_``, encodes a table of nodes as in training.

    Nodes keep their ids; without ids, as in PyG or SciPy, they are numbered from 0 across all graphs.

    >>> to_named(sp.csr_array([[0, 1], [1, 0]]), features=[[1.0], [2.0]]).node_ids
    array([0, 1])
    """
    named = _convert(thing, encoder)
    if features is None:
        return named
    return replace(named, graph=replace(named.graph, features=features, feature_names=None), columns=None)


def _convert(thing: Any, encoder: TableEncoder | None) -> NamedGraph:
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
        return _from_tables(thing, encoder=encoder)
    if sp.issparse(thing) or isinstance(thing, np.ndarray) or hasattr(thing, "to_sparse_coo"):
        return _from_adjacency(thing)
    if isinstance(thing, tuple) and len(thing) == 2 and _is_table(thing[0]):
        if thing[1] is not None and not _is_table(thing[1]):
            kind = type(thing[1]).__name__
            raise InputError(f"item 1 of the tuple is a {kind}, not a table of nodes; give a pandas or Arrow table")
        return _from_tables(*thing, encoder=encoder)
    if isinstance(thing, (list, tuple)) or "torch" in packages:  # torch's Subset of a Dataset is a sequence, too
        return _from_sequence(thing)
    raise _unsupported(f"{type(thing).__name__} is not a supported graph type")


def _from_sequence(things: Any) -> NamedGraph:
    try:
        parts = [things[i] for i in range(len(things))]
    except (TypeError, NotImplementedError):
        raise _unsupported(f"{type(things).__name__} is not a supported graph type") from None
    if not parts:
        raise InputError("the list of graphs is empty; give at least one graph")
    if all(isinstance(part, Graph) for part in parts):
        return _numbered(Graph.join(parts))
    for package, convert in (("torch_geometric", _from_pyg), ("networkx", _from_networkx)):
        odd = [i for i, part in enumerate(parts) if package not in _packages(part)]
        if not odd:
            return convert(parts)
        if len(odd) < len(parts):
            types = (
                f"item 0 is a {type(parts[0]).__name__} and item {odd[0] or 1} a {type(parts[odd[0] or 1]).__name__}"
            )
            raise _unsupported(f"the list mixes types: {types}")
    raise _unsupported(f"a {type(things).__name__} of {type(parts[0]).__name__} is not a supported graph type")


def _unsupported(problem: str) -> InputError:
    return InputError(f"{problem}; give {ACCEPTED}")


def _packages(thing: Any) -> set[str]:
    """Return the packages that define the type and its bases; checking by name avoids importing the packages."""
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


def _from_tables(edges: Any, nodes: Any = None, encoder: TableEncoder | None = None) -> NamedGraph:
    from mvgrl.graphs.from_pandas import to_arrow
    from mvgrl.graphs.tables import from_tables  # here: only tables need pyarrow

    table = None if nodes is None else to_arrow(nodes, "nodes")
    return from_tables(to_arrow(edges, "edges"), table, encoder=encoder)
