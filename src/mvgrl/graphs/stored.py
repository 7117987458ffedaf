"""A graph as a folder of arrays that are mapped into memory, for graphs that may be larger than memory.

The folder has graph.json (sizes, notes, names, and the size and checksum of every file) and

* ``indptr.npy``, ``indices.npy``, and ``weights.npy`` if not all weights are 1: the symmetric adjacency in CSR format,
* ``features.npy``, or ``features-indptr.npy``, ``features-indices.npy`` and ``features-values.npy`` if they are sparse,
* ``ids.parquet`` (``id``, and ``side`` in a bipartite graph) unless the ids are 0, 1, 2, …,
* ``labels.npy`` with labels that are an input, and ``columns.parquet`` with the classes, ``label``,
* ``word-weights.npy`` if text was encoded, ``offsets.npy`` and ``graphs.parquet`` if there are several graphs.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

import mvgrl
from mvgrl.errors import InputError, shown
from mvgrl.graphs import stored_files as files

if TYPE_CHECKING:
    from mvgrl.graphs.named import NamedGraph
    from mvgrl.tables.encoders import TableEncoder

_STRUCTURE = ("indptr.npy", "indices.npy", "weights.npy", "offsets.npy")
PART = 2**20  # rows written at a time
_PER_ENTRY = 40  # bytes per entry of the adjacency while it is loaded: double precision, and its transpose


class StoredGraph:
    """A graph on disk. Arrays are read-only memory maps; only :meth:`load` reads all of it into memory.

    >>> from tempfile import TemporaryDirectory
    >>> from mvgrl.graphs import Graph
    >>> from mvgrl.graphs.named import NamedGraph
    >>> named = NamedGraph(Graph.from_edges([0, 1], [1, 2]), np.array(["ann", "bob", "cy"]))
    >>> with TemporaryDirectory() as folder:
    ...     stored = StoredGraph.write(f"{folder}/graph", named)
    ...     stored, stored.ids(1, 3).tolist()
    (StoredGraph(3 nodes, 2 edges), ['bob', 'cy'])
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder, self.manifest = folder, manifest
        self.nodes, self.edges, self.width = (self._count(name) for name in ("nodes", "edges", "width"))
        self.count = self._count("graphs", 1)
        self.weighted = self._has("weights.npy")
        entries = (2 * self.edges,)
        self.indptr = files.open_array(folder, "indptr.npy", "i", (self.nodes + 1,))  # int64
        self.indices = files.open_array(folder, "indices.npy", "i", entries)  # int32, int64 past 2³¹ nodes
        self.weights = files.open_array(folder, "weights.npy", "f", entries) if self.weighted else None
        if self.indptr[0] != 0 or self.indptr[-1] != 2 * self.edges:
            raise InputError(f"{folder / 'indptr.npy'} does not end at the number of entries; {files.REMEDY}")
        self.features = self._open_features()

    @classmethod
    def open(cls, folder: str | os.PathLike[str], check: bool = False) -> StoredGraph:
        """Open a folder; sizes and shapes are always checked, checksums only if ``check`` is true."""
        folder = Path(folder)
        manifest = files.read_manifest(folder)
        if check:
            files.check_checksums(folder, manifest)
        return cls(folder, manifest)

    @classmethod
    def write(cls, folder: str | os.PathLike[str], graph: NamedGraph) -> StoredGraph:
        """Write a graph that is in memory; a folder that holds a stored graph is replaced."""
        from mvgrl.tables.atomic import atomic_folder

        check_graph_folder(folder)
        with atomic_folder(folder) as new:
            _write_graph(new, graph)
        return cls.open(folder)

    def __repr__(self) -> str:
        width = f", {self.width:,} features" if self.width else ""
        return f"{type(self).__name__}({self.nodes:,} nodes, {self.edges:,} edges{width})"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the checksums of all files: equal graphs have equal fingerprints."""
        return self._digest(sorted(self.manifest["files"]))

    @cached_property
    def structure_fingerprint(self) -> str:
        """A hash of the checksums of the adjacency, for what does not depend on features and ids."""
        return self._digest([name for name in _STRUCTURE if self._has(name)])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed when the graph was read."""
        return tuple(self.manifest.get("notes", ()))

    @property
    def version(self) -> str:
        """The version of mvgrl that wrote the graph."""
        return str(self.manifest.get("version", "unknown"))

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, if they have any."""
        names = self.manifest.get("feature_names")
        return None if names is None else tuple(names)

    @cached_property
    def node_labels(self) -> np.ndarray | None:
        """The labels that are an input, mapped into memory; None if there are none."""
        return np.load(self.folder / "labels.npy", mmap_mode="r") if self._has("labels.npy") else None

    def sides(self, start: int = 0, stop: int | None = None) -> np.ndarray | None:
        """Return the sides of a range of nodes of a bipartite graph; None for any other graph."""
        start, stop, _ = slice(start, stop).indices(self.nodes)
        return self._column("ids.parquet", "side", start, stop) if self.manifest.get("bipartite") else None

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(entry["bytes"] for entry in self.manifest["files"].values())

    @property
    def adjacency(self) -> sp.csr_array:
        """The adjacency in CSR format over the memory maps; an unweighted one has ones in memory, 4 bytes per entry."""
        weights = np.ones(len(self.indices), np.float32) if self.weights is None else self.weights
        return _csr(weights, self.indices, self.indptr, (self.nodes, self.nodes))

    def feature_rows(self, start: int | np.ndarray, stop: int | None = None) -> np.ndarray | sp.csr_array | None:
        """Return the features of a range of nodes, or of an array of nodes, in memory: float32, dense or CSR."""
        if self.features is None:
            return None
        rows = start if isinstance(start, np.ndarray) else slice(*slice(start, stop).indices(self.nodes))
        if sp.issparse(self.features):
            return _sparse_rows(self.features, rows)
        return np.array(self.features[rows])

    def ids(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return the ids of a range of nodes: integers or text."""
        start, stop, _ = slice(start, stop).indices(self.nodes)
        if not self._has("ids.parquet"):
            return np.arange(start, stop)
        return self._column("ids.parquet", "id", start, stop)

    def labels(self, start: int = 0, stop: int | None = None) -> np.ndarray | None:
        """Return the classes of a range of nodes, or None if there are none; an unknown one is NaN or empty text."""
        start, stop, _ = slice(start, stop).indices(self.nodes)
        return self._column("columns.parquet", "label", start, stop) if self._has("columns.parquet") else None

    @cached_property
    def encoder(self) -> TableEncoder | None:
        """How the features were made from a table of nodes; None if they were not."""
        from mvgrl.tables.encoders import TableEncoder

        state = self.manifest.get("columns")
        if state is None:
            return None
        weights = np.load(self.folder / "word-weights.npy") if self._has("word-weights.npy") else None
        try:
            return TableEncoder.from_state(state, weights)
        except InputError as error:
            raise self._damaged(str(error)) from None

    def check_encoder(self, encoder: TableEncoder | None) -> None:
        """Check that the features were made as a model makes them from the columns of a table, with its encoder."""
        if encoder is None or self.encoder is None:
            return
        (state, weights), (own, also) = encoder.to_state(), self.encoder.to_state()
        if state != own or not np.array_equal(weights, also):  # type: ignore[arg-type]
            raise InputError(
                f"the columns of {self.folder} were encoded in another way than those of the model; import the tables "
                "again with --like and the model"
            )

    def load(self) -> NamedGraph:
        """Read all of it into memory, and check it: the checksums, and that the arrays are a graph."""
        from mvgrl.graphs.graph import Graph
        from mvgrl.graphs.named import NamedGraph

        self._check_fits()
        files.check_checksums(self.folder, self.manifest)
        weights = np.ones(len(self.indices)) if self.weights is None else np.array(self.weights, np.float64)
        entries = (weights, np.array(self.indices), _narrow(self.indptr))
        offsets: Any = None
        graph_ids, labels = None, self.labels()
        if self.count > 1:
            offsets = np.array(files.open_array(self.folder, "offsets.npy", "i", (self.count + 1,)))
        if self._has("graphs.parquet"):
            graph_ids = self._column("graphs.parquet", "id", 0, self.count)
            if self.manifest.get("graph_labels"):
                labels = self._column("graphs.parquet", "label", 0, self.count)
        given = np.load(self.folder / "labels.npy") if self._has("labels.npy") else None
        sides = self._column("ids.parquet", "side", 0, self.nodes) if self.manifest.get("bipartite") else None
        try:
            adjacency = _csr(*entries, (self.nodes, self.nodes))
            features = self.feature_rows(0, self.nodes)
            graph = Graph(adjacency, features, given, offsets, self.notes, self.feature_names)
            return NamedGraph(graph, self.ids(), graph_ids, labels, sides, self.encoder)
        except (InputError, ValueError) as error:
            raise self._damaged(str(error)) from None

    @property
    def memory(self) -> int:
        """The bytes that :meth:`load` takes: the arrays, and copies of the adjacency while it is checked."""
        return self.size + _PER_ENTRY * len(self.indices)

    def _check_fits(self) -> None:
        from mvgrl.runtime import machine_memory
        from mvgrl.tables.budget import as_size

        if self.memory > machine_memory():
            raise InputError(
                f"{self.folder} needs {as_size(self.memory)} in memory, but there is only {as_size(machine_memory())}; "
                "mvgrl embed --memory works on it from disk, and so does mvgrl.outofcore.embed"
            )

    def _open_features(self) -> Any:
        if not self.width:
            return None
        if self._has("features.npy"):
            return files.open_array(self.folder, "features.npy", "f", (self.nodes, self.width))
        indptr = files.open_array(self.folder, "features-indptr.npy", "i", (self.nodes + 1,))
        entries = (max(0, int(indptr[-1])),)
        indices = files.open_array(self.folder, "features-indices.npy", "i", entries)
        values = files.open_array(self.folder, "features-values.npy", "f", entries)
        return _csr(values, indices, indptr, (self.nodes, self.width))

    def _count(self, name: str, default: int = 0) -> int:
        value = self.manifest.get(name, default)
        if not isinstance(value, int) or value < 0:
            raise self._damaged(f"{name} is {shown(value)}")
        return value

    def _has(self, name: str) -> bool:
        return name in self.manifest["files"]

    def _damaged(self, reason: str) -> InputError:
        return InputError(f"{self.folder} is not a sound graph ({reason}); {files.REMEDY}")

    def _digest(self, names: list[str]) -> str:
        sums = [f"{name} {self.manifest['files'][name]['blake2b']}" for name in names]
        return hashlib.blake2b("\n".join(sums).encode(), digest_size=16).hexdigest()

    def _column(self, file: str, name: str, start: int, stop: int) -> np.ndarray:
        return read_column(self.folder / file, name, start, stop)


def read_column(path: Path, name: str, start: int, stop: int) -> np.ndarray:
    """Read a range of rows of a column of a Parquet file; only the row groups with these rows are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts, first = [], 0
    try:
        with pq.ParquetFile(path) as table:
            for group in range(table.num_row_groups):
                rows = table.metadata.row_group(group).num_rows
                if first < stop and first + rows > start:
                    column = table.read_row_group(group, columns=[name])[name]
                    low = max(0, start - first)
                    parts.append(column.slice(low, stop - first - low))
                first += rows
    except (pa.ArrowException, KeyError, OSError) as error:
        raise InputError(f"{path} is damaged ({shown(str(error))}); {files.REMEDY}") from None
    joined = pa.chunked_array([chunk for part in parts for chunk in part.chunks] or [pa.array([])])
    if pa.types.is_string(joined.type) or pa.types.is_large_string(joined.type):
        return np.array(joined.to_pylist(), dtype=np.str_)
    return np.asarray(joined.to_numpy())


def _csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Build a CSR array without copying; SciPy wants index arrays of one type and would convert them."""
    matrix = sp.csr_array(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    matrix.has_canonical_format = True
    return matrix


def _sparse_rows(matrix: sp.csr_array, rows: slice | np.ndarray) -> sp.csr_array:
    """Return rows of a memory-mapped matrix in memory; SciPy's own indexing would first convert all of its indices."""
    indptr, nodes = matrix.indptr, rows if isinstance(rows, np.ndarray) else np.arange(rows.start, rows.stop)
    first, lengths = np.asarray(indptr[nodes]), np.asarray(indptr[nodes + 1]) - np.asarray(indptr[nodes])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    if isinstance(rows, slice):
        entries: Any = slice(int(indptr[rows.start]), int(indptr[rows.stop]))
    else:
        entries = np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)
    return _csr(
        np.array(matrix.data[entries]),
        np.array(matrix.indices[entries]),
        _narrow(starts),
        (len(nodes), matrix.shape[1]),
    )


def _narrow(indptr: np.ndarray) -> np.ndarray:
    """Return row pointers as SciPy stores them with 32-bit indices, if they fit."""
    return np.array(indptr, np.int32 if indptr[-1] < 2**31 else np.int64)


def check_graph_folder(folder: str | os.PathLike[str]) -> Path:
    """Check that a graph can be written to a folder: it is new, empty, or holds a stored graph."""
    from mvgrl.tables.atomic import check_writable

    path = Path(folder)
    check_writable(path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; give a folder for the graph")
    if path.is_dir() and not files.is_stored(path) and any(path.iterdir()):
        raise InputError(f"{path} is not empty and is not a stored graph; choose another folder")
    return path


def write_column(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Write arrays of numbers or text as the columns of a Parquet file, in row groups of a million."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {
        name: pa.array(values.tolist(), pa.large_string()) if values.dtype.kind == "U" else pa.array(values)
        for name, values in columns.items()
    }
    pq.write_table(pa.table(arrays), path, row_group_size=PART, compression="zstd")


def write_features(folder: Path, features: Any) -> None:
    """Write features in single precision, dense or sparse."""
    if sp.issparse(features):
        matrix = sp.csr_array(features)
        np.save(folder / "features-indptr.npy", matrix.indptr.astype(np.int64))
        np.save(folder / "features-indices.npy", matrix.indices.astype(np.int32))
        np.save(folder / "features-values.npy", matrix.data.astype(np.float32))
        return
    with files.ArrayWriter(folder / "features.npy", np.float32, features.shape[1]) as writer:
        for start in range(0, len(features), PART):
            writer.append(features[start : start + PART])


def index_type(nodes: int) -> type[np.int32] | type[np.int64]:
    """Return the type of the indices of an adjacency."""
    return np.int32 if nodes <= 2**31 else np.int64


def _write_graph(folder: Path, named: NamedGraph) -> None:
    graph, adjacency = named.graph, named.graph.adjacency
    np.save(folder / "indptr.npy", adjacency.indptr.astype(np.int64))
    np.save(folder / "indices.npy", adjacency.indices.astype(index_type(graph.nodes)))
    if not (adjacency.data == 1).all():
        single = adjacency.data.astype(np.float32)
        np.save(folder / "weights.npy", single if (single == adjacency.data).all() else adjacency.data)
    if graph.features is not None:
        write_features(folder, graph.features)
    if graph.node_labels is not None:
        np.save(folder / "labels.npy", graph.node_labels)
    if named.sides is not None or not np.array_equal(named.node_ids, np.arange(graph.nodes)):
        sides = {} if named.sides is None else {"side": named.sides}
        write_column(folder / "ids.parquet", {"id": named.node_ids, **sides})
    if graph.count > 1:
        np.save(folder / "offsets.npy", graph.offsets)
    if named.graph_ids is not None:
        labels = {"label": named.labels} if named.labels_of == "graphs" and named.labels is not None else {}
        write_column(folder / "graphs.parquet", {"id": named.graph_ids, **labels})
    if named.labels_of == "nodes" and named.labels is not None:
        write_column(folder / "columns.parquet", {"label": named.labels})
    kind = "none" if graph.features is None else "sparse" if sp.issparse(graph.features) else "dense"
    width = 0 if graph.features is None else int(graph.features.shape[1])
    about = describe(graph.nodes, graph.edges, graph.notes, kind, width, graph.feature_names)
    about |= {"graphs": graph.count, "graph_labels": named.labels_of == "graphs", "bipartite": named.sides is not None}
    files.write_manifest(folder, about | encoder_state(folder, named.columns))


def describe(nodes: int, edges: int, notes: Any, kind: str, width: int, names: Any) -> dict[str, Any]:
    """Return what graph.json says of a graph; ``kind`` and ``width`` are those of its features."""
    return {
        "version": mvgrl.__version__,
        "nodes": nodes,
        "edges": edges,
        "width": width,
        "features": kind,
        "feature_names": None if names is None else list(names),
        "notes": list(notes),
    }


def encoder_state(folder: Path, encoder: TableEncoder | None) -> dict[str, Any]:
    """Return what graph.json says of the encoder of a node table, and write the weights of words."""
    if encoder is None:
        return {"columns": None}
    state, weights = encoder.to_state()
    if weights is not None:
        np.save(folder / "word-weights.npy", weights)
    return {"columns": state}
