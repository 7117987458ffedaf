"""Convert igraph graphs as if they were NetworkX graphs: vertex names become ids, numeric attributes features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class IgraphView:
    """An igraph graph with the interface that :func:`mvgrl.graphs.from_networkx.from_networkx` reads.

    The vertex attribute ``name`` has the ids; without it they are the numbers of the vertices.

    >>> import igraph
    >>> view = IgraphView(igraph.Graph.TupleList([("ann", "bob", 2.0)], weights=True))
    >>> list(view), list(view.edges(data="weight"))
    (['ann', 'bob'], [('ann', 'bob', 2.0)])
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._names = graph.vs["name"] if "name" in graph.vs.attributes() else list(range(graph.vcount()))
        self.graph = {name: graph[name] for name in graph.attributes()}
        self.name = self.graph.get("name") or ""

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return bool(self._graph.is_directed())

    def nodes(self, data: bool = True) -> list[tuple[Any, dict[str, Any]]]:
        """The ids of the nodes, each with its attributes."""
        columns = {name: self._graph.vs[name] for name in self._graph.vs.attributes() if name != "name"}
        return [(node, {name: values[i] for name, values in columns.items()}) for i, node in enumerate(self._names)]

    def edges(self, data: str | None = None) -> Iterator[tuple[Any, ...]]:
        """The ids of the endpoints of each edge and, with ``data``, that attribute of the edge or None."""
        values = self._graph.es[data] if data in self._graph.es.attributes() else [None] * self._graph.ecount()
        for pair, value in zip(self._graph.get_edgelist(), values, strict=True):
            # Of an undirected edge, igraph may give either end first; parallel edges must look the same.
            ends = tuple(self._names[i] for i in (pair if self.is_directed() else sorted(pair)))
            yield (*ends, value) if data is not None else ends
