"""Import tables that may be larger than memory into a graph on disk: the graph that reading them in memory gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvgrl.errors import InputError, SettingsError, shown
from mvgrl.graphs.import_edges import write_adjacency
from mvgrl.graphs.import_features import NodeTable, write_features
from mvgrl.graphs.import_ids import (
    EdgeColumns,
    Ends,
    IdColumn,
    Report,
    number_by_appearance,
    number_by_table,
    settle_ids,
)
from mvgrl.graphs.node_columns import NodeColumns
from mvgrl.graphs.stored import StoredGraph, check_graph_folder, describe, encoder_state, read_column
from mvgrl.graphs.stored_files import write_manifest
from mvgrl.graphs.tables import both_sides_note, ignored_note
from mvgrl.runtime import machine_memory, resident_memory
from mvgrl.tables.atomic import atomic_folder
from mvgrl.tables.budget import as_size
from mvgrl.tables.columns import check_unique_names, find_id, find_label, match_name
from mvgrl.tables.endpoints import are_two_sides, find_endpoints, find_weight
from mvgrl.tables.files import wanted_edges, wanted_nodes
from mvgrl.tables.leftovers import temporary_folder
from mvgrl.tables.streams import TableStream, open_stream

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder

_LEAST = 2**27  # bytes to work with, in addition to what the program itself takes
_FOR_IDS, _FOR_EDGES = 0.6, 0.6  # shares of the memory for the hash table of ids, and for sorting edges
_SHARE_OF_MACHINE = 4


def _silent(*_: object) -> None:
    pass


def import_tables(
    edges: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    nodes: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    features: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    encoder: TableEncoder | None = None,
    memory: int | None = None,
    report: Report = _silent,
) -> StoredGraph:
    """Write the graph of a table of edges and, optionally, one of nodes to a folder.

    The tables are read in batches, and the arguments are those of :func:`mvgrl.graphs.read.read`. ``memory`` is what
    the process may take, in bytes, by default a quarter of the machine's. ``encoder`` encodes the columns of the nodes
    as in another graph or a model; ``report`` is told the progress.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "edges.csv").write_text("source,target\\nann,bob\\nbob,cy\\n")
    ...     import_tables(f"{folder}/edges.csv", f"{folder}/graph").ids().tolist()
    ['ann', 'bob', 'cy']
    """
    columns = NodeColumns(features, ignore, text, encoder)
    target = check_graph_folder(folder)
    limit = _work_memory(memory)
    paths = Path(edges) if isinstance(edges, (str, os.PathLike)) else [Path(part) for part in edges]
    how = (source_column, target_column, weight_column)
    edge_stream = open_stream(paths, wanted_edges(*how, separator, header))
    ends, weight = _edge_columns(edge_stream, *how)
    node_table = None
    if nodes is not None:
        node_table = _node_table(Path(nodes), id_column, label_column, columns)
    else:
        for name in (id_column, label_column, *columns.given.values()):
            if name is not None:
                raise InputError(f"the column {shown(name)} needs a table of nodes; give one, or omit the column")
    real = Path(os.path.realpath(target))
    real.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(real) as new, temporary_folder(real) as scratch:
        _Import(edge_stream, ends, weight, node_table, new, scratch, limit, report).run()
    return StoredGraph.open(folder)


class _Import:
    """One import: the streams, the folder that is filled, and one for files that are needed in between."""

    def __init__(
        self,
        edges: TableStream,
        ends: tuple[str, str],
        weight: str | None,
        nodes: NodeTable | None,
        folder: Path,
        scratch: Path,
        limit: int,
        report: Report,
    ) -> None:
        self.edges, self.ends, self.weight, self.nodes = edges, ends, weight, nodes
        self.folder, self.scratch, self.limit, self.report = folder, scratch, limit, report

    def run(self) -> None:
        """Fill the folder."""
        names = self._settle()
        numbered, count = self._number()
        notes = self._notes(numbered, count)
        edges, cleaned = write_adjacency(
            numbered, count, self.folder, self.scratch, int(_FOR_EDGES * self.limit), self.report, self._name
        )
        encoder, kind, width, more = None, "none", 0, tuple[str, ...]()
        if self.nodes is not None:
            encoder, writer, more = write_features(
                self.nodes, names, self.folder, self.scratch, self.limit, self.report
            )
            kind, width = writer.kind, writer.width
        notes = [*cleaned, *notes, *more]
        about = describe(count, edges, notes, kind, width, None if encoder is None else encoder.names)
        about |= {"graphs": 1, "graph_labels": False, "bipartite": False, **encoder_state(self.folder, encoder)}
        size, done = sum(path.stat().st_size for path in self.folder.iterdir()), 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            self.report("computing checksums", done, size)

        write_manifest(self.folder, about, advance)

    def _settle(self) -> list[str]:
        """Find the types of all columns that are used; return those of the nodes that become features."""
        count = 0

        def advance(rows: int) -> None:
            nonlocal count
            count += rows
            self.report("reading the tables", count, 0)

        self.edges.settle([*self.ends, *(() if self.weight is None else (self.weight,))], advance)
        if not self.edges.rows:
            raise InputError(f"{self.edges.place.name} has no rows; add at least one edge")
        if self.nodes is None:
            return []
        names = self.nodes.feature_columns()
        label = () if self.nodes.label is None else (self.nodes.label,)
        self.nodes.stream.settle([self.nodes.id_name, *names, *label], advance)
        if not self.nodes.stream.rows:
            raise InputError(f"{self.nodes.stream.place.name} has no rows; add at least one node, or omit the table")
        return names

    def _number(self) -> tuple[Ends, int]:
        """Number the nodes; return the numbered edges, and the number of nodes."""
        source, target = (IdColumn(self.edges, name) for name in self.ends)
        edges, limit = EdgeColumns(self.edges, source, target, self.weight), int(_FOR_IDS * self.limit)
        output = self.folder / "ids.parquet"
        if self.nodes is None:
            settle_ids([source, target], self.report)
            return number_by_appearance(edges, output, self.scratch, limit, self.report)
        ids = IdColumn(self.nodes.stream, self.nodes.id_name)
        settle_ids([source, target, ids], self.report)
        return number_by_table(edges, ids, output, self.scratch, limit, self.report), self.nodes.stream.rows

    def _notes(self, ends: Ends, nodes: int) -> list[str]:
        """Return what was assumed about the tables."""
        ignored = [name for name in self.edges.names if name not in (*self.ends, self.weight)]
        notes = [*self.edges.place.notes, *(() if self.nodes is None else self.nodes.stream.place.notes)]
        notes += ignored_note(ignored)
        if are_two_sides(self.ends):
            seen = np.zeros((2, nodes), bool)
            for _, block, _ in ends.blocks():
                seen[0, block[:, 0]] = True
                seen[1, block[:, 1]] = True
            if shared := int(seen.all(axis=0).sum()):
                notes.append(both_sides_note(shared, self.ends))
        return notes

    def _name(self, node: int) -> Any:
        path = self.folder / "ids.parquet"
        return shown(read_column(path, "id", node, node + 1)[0].item()) if path.exists() else node


def _work_memory(memory: int | None) -> int:
    """Return the bytes to work with: what is given, or a quarter of the machine's, without what the process takes."""
    taken = resident_memory()
    if memory is None:
        return max(_LEAST, machine_memory() // _SHARE_OF_MACHINE - taken)
    if memory < taken + _LEAST:
        raise SettingsError(f"the memory of {as_size(memory)} is too little, {as_size(taken)} are taken by the program "
                            f"itself; use at least {as_size(taken + _LEAST)}")  # fmt: skip
    return memory - taken


def _edge_columns(
    edges: TableStream, source: str | None, target: str | None, weight: str | None
) -> tuple[tuple[str, str], str | None]:
    check_unique_names(edges.names, edges.place)
    ends = find_endpoints(edges.names, edges.place, source, target)
    if "graph" not in map(str.lower, ends):
        _check_one_graph(edges)
    return ends, find_weight(edges.names, weight, edges.place)


def _node_table(path: Path, id_column: str | None, label_column: str | None, columns: NodeColumns) -> NodeTable:
    stream = open_stream(path, wanted_nodes(id_column, columns.read_as_text))
    check_unique_names(stream.names, stream.place)
    _check_one_graph(stream)
    label = find_label(stream.names, label_column, stream.place)
    if label_column is None and label in columns.named:
        label = None
    return NodeTable(stream, find_id(stream.names, id_column, stream.place), label, columns)


def _check_one_graph(stream: TableStream) -> None:
    found = match_name("graph", stream.names)
    if found is not None:
        raise InputError(
            f"{stream.place.name} has a column {shown(found)}, but only a single graph can be imported; drop the "
            "column, or give the tables to the other commands as they are"
        )
