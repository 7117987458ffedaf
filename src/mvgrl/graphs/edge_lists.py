"""Edges without a table: a list of pairs, a tuple of sources and targets, or an ``edge_index``.

The ids of pairs, and of sources and targets, are integers or text, as in a table of edges. An ``edge_index``, 2 × edges
as in PyTorch Geometric, holds node numbers. A value that can be read in two ways is rejected.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mvgrl.errors import InputError, shown
from mvgrl.graphs.checks import as_matrix

_REMEDY = (
    "give the edges as a tuple of two arrays, (sources, targets), or an adjacency as a sparse matrix "
    "(scipy.sparse.csr_array)"
)


class Ends(NamedTuple):
    """The endpoints of all edges, and whether they number the nodes from 0."""

    sources: Any
    targets: Any
    numbered: bool = False


def find_ends(thing: Any) -> Ends | None:
    """Return the endpoints of edges without a table, or None if the object is something else.

    >>> find_ends([("ann", "bob"), ("bob", "cy")])
    Ends(sources=['ann', 'bob'], targets=['bob', 'cy'], numbered=False)
    >>> find_ends(np.array([[0, 1, 2], [1, 2, 0]])).numbered
    True
    """
    if isinstance(thing, (list, tuple)):
        return _from_sequence(thing)
    if dimensions(thing) == 2 and _is_dense(thing):
        return _from_array(thing)
    return None


def dimensions(thing: Any) -> int:
    """Return the number of dimensions of an array, tensor, matrix or table; 0 for anything else.

    >>> dimensions(np.eye(2)), dimensions("text")
    (2, 0)
    """
    shape = getattr(thing, "shape", None)
    return len(shape) if isinstance(shape, tuple) else 0


def is_line(thing: Any) -> bool:
    """Whether an object is one-dimensional, such as an array of ids."""
    if isinstance(thing, (list, tuple)):
        return bool(thing) and all(_is_id(value) for value in thing)
    if _is_arrow(thing):
        return hasattr(thing, "type")  # a table has a schema
    return not hasattr(thing, "columns") and dimensions(thing) == 1


def to_table(ends: Ends) -> Any:
    """Return the edges as an Arrow table with the columns source and target."""
    import pyarrow as pa  # here: adjacency matrices do not need it

    columns = {name: _column(values, name) for name, values in (("source", ends[0]), ("target", ends[1]))}
    lengths = {name: len(column) for name, column in columns.items()}
    if lengths["source"] != lengths["target"]:
        raise InputError(f"{lengths['source']} sources but {lengths['target']} targets; give one of each per edge")
    return pa.table(columns)


def _column(values: Any, name: str) -> Any:
    import pyarrow as pa

    try:
        if _is_arrow(values):
            return values
        return pa.array(values if isinstance(values, (list, tuple)) else np.asarray(as_matrix(values, name)))
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        reason = shown(str(error).partition("\n")[0])
        raise InputError(
            f"the {name}s are not ids of one type ({reason}); convert all to integers or all to text"
        ) from None


def _from_sequence(items: list[Any] | tuple[Any, ...]) -> Ends | None:
    two = len(items) == 2
    if two and all(is_line(item) for item in items):
        if all(isinstance(item, (list, tuple)) and len(item) == 2 for item in items):
            if isinstance(items, list) and all(isinstance(item, tuple) for item in items):
                return _from_pairs(items)
            raise InputError(
                "two lists of two can be two edges, or the sources and the targets; give a list of tuples, "
                "[(source, target), …], or a tuple of two arrays, (sources, targets)"
            )
        return Ends(*items)
    if items and all(isinstance(item, (list, tuple, np.ndarray)) and is_line(item) for item in items):
        odd = next((i for i, item in enumerate(items) if len(item) != 2), None)
        if odd is None:
            return _from_pairs(items)
        raise InputError(
            f"item {odd} of the list of edges has {len(items[odd])} values, {shown(items[odd])}; give pairs "
            "(source, target), or a table with the columns source, target and weight"
        )
    return None


def _from_pairs(items: Any) -> Ends:
    return Ends([_plain(item[0]) for item in items], [_plain(item[1]) for item in items])


def _from_array(array: Any) -> Ends | None:
    """Read a dense array of integers or text: 2 × edges, or edges × 2."""
    values = np.asarray(as_matrix(array, "edge_index"))
    if values.dtype.kind not in "iuU" or 2 not in values.shape:
        return None
    if values.shape == (2, 2):
        if values.dtype.kind != "U" and np.array_equal(values, [[0, 1], [1, 0]]):
            return None  # the same graph, whether it is read as an adjacency or as an edge_index
        raise InputError(
            f"a 2 × 2 array of {values.dtype} can be an adjacency matrix of weights, or two edges; {_REMEDY}"
        )
    if values.shape[0] == 2:
        return Ends(values[0], values[1], numbered=values.dtype.kind != "U")
    return Ends(values[:, 0], values[:, 1])


def _is_dense(thing: Any) -> bool:
    if isinstance(thing, np.ndarray):
        return True
    return hasattr(thing, "to_sparse_coo") and str(getattr(thing, "layout", "")) == "torch.strided"


def _is_arrow(thing: Any) -> bool:
    return type(thing).__module__.startswith("pyarrow")


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str, np.integer, np.str_)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
