"""Read graphs from files: tables of edges, GraphML, GML, SciPy matrices, and folders in TU or Planetoid format."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvgrl.errors import InputError, shown
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.node_columns import NodeColumns
from mvgrl.tables.arrays import read_array
from mvgrl.tables.paths import TABLE_EXTENSIONS, check_input_file

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder

EXTENSIONS = (*TABLE_EXTENSIONS, ".graphml", ".gml", ".npz")


def read(
    path: str | os.PathLike[str],
    *,
    nodes: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    features: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    encoder: TableEncoder | None = None,
) -> NamedGraph:
    """Read a graph from a file, by its extension, or from a folder.

    ``nodes`` is the table of nodes for a table of edges, or the file of features for a matrix. Ids are integers if all
    ids in the file are written as integers, else text. ``features`` are the columns of the table of nodes to use (by
    default all), ``ignore`` those not to use, and ``text`` those that are text whatever they look like. The ``encoder``
    of a trained model, ``trained.feature_encoder.columns_``, encodes the columns as in training.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "edges.csv").write_text("source,target,weight\\nann,bob,2\\nbob,cy,1\\n")
    ...     read(f"{folder}/edges.csv").node_ids.tolist()
    ['ann', 'bob', 'cy']
    """
    place, columns = Path(path), NodeColumns(features, ignore, text, encoder)
    if os.path.isdir(place):  # noqa: PTH112  # Path.is_dir raises an error if the name is too long
        _refuse(f"{place} is a folder", nodes=nodes, id_column=id_column, label_column=label_column, **columns.given)
        return _read_folder(place)
    extension = check_input_file(place, EXTENSIONS, "or a folder in TU or Planetoid format")
    if extension in TABLE_EXTENSIONS:
        return _read_tables(place, None if nodes is None else Path(nodes), id_column, label_column, columns)
    _refuse(f"{place} is not a table", id_column=id_column, **columns.given)
    if extension == ".npz":
        _refuse(f"{place} is a matrix", label_column=label_column)
        return _read_matrix(place, None if nodes is None else Path(nodes))
    _refuse(f"{place} contains its own nodes", nodes=nodes)
    return _read_networkx(place, label_column)


def _refuse(reason: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{reason}, so {name} ({value}) does not apply; omit it")


def _read_tables(
    edges: Path, nodes: Path | None, id_column: str | None, label_column: str | None, columns: NodeColumns
) -> NamedGraph:
    from mvgrl.graphs.tables import from_tables
    from mvgrl.tables.files import read_edges, read_nodes  # here: only tables need pyarrow

    table, place = read_edges(edges)
    options: dict[str, Any] = {"id_column": id_column, "label_column": label_column, **vars(columns)}
    if nodes is None:
        return from_tables(table, place=place, **options)
    check_input_file(nodes, TABLE_EXTENSIONS)
    node_table, node_place = read_nodes(nodes, id_column, columns.read_as_text)
    return from_tables(table, node_table, place=place, node_place=node_place, **options)


def _read_networkx(path: Path, label_column: str | None) -> NamedGraph:
    try:
        import networkx as nx
    except ImportError:
        raise InputError(f"reading {path} needs networkx; pip install networkx") from None
    from mvgrl.graphs.from_networkx import from_networkx
    from mvgrl.graphs.graphml import check_graphml

    try:
        if path.suffix.lower() == ".graphml":
            check_graphml(path)
            with warnings.catch_warnings():  # of keys without a type, which are read as text
                warnings.simplefilter("ignore")
                graph = nx.read_graphml(path)
        else:
            graph = _read_gml(path)
    except InputError:
        raise
    except Exception as error:  # the parsers raise many types of error on a damaged file
        reason = shown(str(error).partition("\n")[0], 200)[1:-1]
        raise InputError(f"{path} is not a {path.suffix[1:]} file, or is damaged: {reason}; write it again") from None
    try:
        return from_networkx([graph], label=label_column, parse_integers=True)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_gml(path: Path) -> Any:
    import networkx as nx

    try:
        return nx.read_gml(path)
    except nx.NetworkXError as error:
        if "no 'label'" not in str(error):
            raise
        return nx.read_gml(path, label="id")  # labels are optional in GML; its ids are integers


def _read_matrix(path: Path, features: Path | None) -> NamedGraph:
    matrix = read_array(path)
    try:
        graph = Graph.from_scipy(matrix)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if features is not None:
        check_input_file(features, (".npz", ".npy"))
        try:
            graph = replace(graph, features=read_array(features))
        except InputError as error:
            message = str(error)
            raise InputError(message if str(InputError(features)) in message else f"{features}: {message}") from None
    return NamedGraph(graph, np.arange(graph.nodes))


def _read_folder(folder: Path) -> NamedGraph:
    """Read a folder in TU or Planetoid format; the files may be in a subfolder ``raw``, as PyG stores them."""
    for place in (folder, folder / "raw"):
        for pattern, reader in (("*_A.txt", _read_tu), ("ind.*.graph", _read_planetoid)):
            found = sorted(place.glob(pattern))
            if len(found) > 1:
                raise InputError(
                    f"{place} contains several datasets ({found[0].name}, {found[1].name}); keep one per folder"
                )
            if not found:
                continue
            try:
                return reader(place, found[0].name)
            except OSError as error:
                raise InputError(f"{place} is incomplete: {error}; download it again") from None
            except Exception as error:  # the formats have no checksums, so damaged files may raise anything
                reason = shown(str(error).partition("\n")[0], 200)[1:-1]
                named = isinstance(error, InputError) and str(InputError(place)) in str(error)
                message = str(error) if named else f"{place} is damaged: {reason}; download it again"
                raise InputError(message) from None
    raise InputError(
        f"{folder} is a folder in neither TU (NAME_A.txt, …) nor Planetoid format (ind.NAME.graph, …); "
        f"give a folder in one of them, or a file: {', '.join(EXTENSIONS)}"
    )


def _read_tu(folder: Path, edges: str) -> NamedGraph:
    from mvgrl.graphs.tu import read_tu

    graph, target, classes = read_tu(folder, edges.removesuffix("_A.txt"))
    labels = np.array(classes).astype(np.int64)[target]
    # The format numbers nodes and graphs from 1, so these are the ids that users know.
    return NamedGraph(graph, np.arange(1, graph.nodes + 1), np.arange(1, graph.count + 1), labels)


def _read_planetoid(folder: Path, adjacency: str) -> NamedGraph:
    from mvgrl.graphs.planetoid import read_planetoid

    graph, target, _ = read_planetoid(folder, adjacency.removeprefix("ind.").removesuffix(".graph"))
    return NamedGraph(graph, np.arange(graph.nodes), labels=target)
