"""Read graphs from files: tables of edges, GraphML, GML, GEXF, SciPy matrices, and folders of several formats."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvgrl.errors import InputError, shown
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.node_columns import NodeColumns
from mvgrl.graphs.stored_files import is_stored
from mvgrl.tables.arrays import read_array
from mvgrl.tables.paths import TABLE_EXTENSIONS, check_input_file, is_standard_input, parts_of

if TYPE_CHECKING:
    from mvgrl.tables.encoders import TableEncoder

EXTENSIONS = (*TABLE_EXTENSIONS, ".graphml", ".gml", ".gexf", ".npz")


def read(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    nodes: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    bipartite: bool = False,
    features: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: Sequence[str] = (),
    encoder: TableEncoder | None = None,
) -> NamedGraph:
    """Read a graph from a file, by its extension, or from a folder, such as one that mvgrl import has written.

    ``path`` may also be a list of tables with the same columns, a folder of them, or ``-`` for a table of edges on
    standard input. ``nodes`` is the table of nodes for a table of edges, or the file of features for a matrix. Ids are
    integers if all ids in the file are written as integers, else text.

    The columns of the edges are recognised by their usual names in any case (source and target, src and dst, from and
    to, user and item, …), unless ``source_column``, ``target_column`` or ``weight_column`` name them. The ``separator``
    of a text file, and whether it has a ``header``, are recognised from its first lines unless they are given; what was
    assumed is in the notes of the graph. ``bipartite`` keeps the ids of the two columns apart.

    ``features`` are the columns of the table of nodes to use (by default all), ``ignore`` those not to use, and
    ``text`` those that are text whatever they look like. The ``encoder`` of a trained model,
    ``trained.feature_encoder.columns_``, encodes the columns as in training.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "edges.csv").write_text("source,target,weight\\nann,bob,2\\nbob,cy,1\\n")
    ...     read(f"{folder}/edges.csv").node_ids.tolist()
    ['ann', 'bob', 'cy']
    """
    node_columns = NodeColumns(features, ignore, text, encoder)
    columns = dict(source_column=source_column, target_column=target_column, weight_column=weight_column)
    how = dict(separator=separator, header=header)
    tables = partial(
        _read_tables,
        nodes=None if nodes is None else Path(nodes),
        about=dict(
            id_column=id_column, label_column=label_column, bipartite=bipartite, **columns, **vars(node_columns)
        ),
        how=how,
    )
    if not isinstance(path, (str, os.PathLike)):
        return tables([Path(part) for part in path])
    place = Path(path)
    if is_standard_input(place):
        return tables(place)
    only_tables = dict(id_column=id_column, **columns, **how, bipartite=bipartite or None, **node_columns.given)
    if is_stored(place):
        _refuse(f"{place} is an imported graph", nodes=nodes, label_column=label_column, **only_tables)
        return _read_stored(place, encoder)
    if os.path.isdir(place):  # noqa: PTH112  # Path.is_dir raises an error if the name is too long
        if not _has_dataset(place) and parts_of(place):
            return tables(place)
        _refuse(f"{place} is a folder", nodes=nodes, label_column=label_column, **only_tables)
        return _read_folder(place)
    extension = check_input_file(place, EXTENSIONS, "or a folder of tables, or in TU or Planetoid format")
    if extension in TABLE_EXTENSIONS:
        return tables(place)
    _refuse(f"{place} is not a table", **only_tables)
    if extension == ".npz":
        _refuse(f"{place} is a matrix", label_column=label_column)
        return _read_matrix(place, None if nodes is None else Path(nodes))
    _refuse(f"{place} contains its own nodes", nodes=nodes)
    return _read_networkx(place, label_column)


def _read_stored(folder: Path, encoder: TableEncoder | None) -> NamedGraph:
    """Read a graph that was imported; the columns of its nodes must be encoded as the model's."""
    from mvgrl.graphs.stored import StoredGraph

    stored = StoredGraph.open(folder)
    stored.check_encoder(encoder)
    return stored.load()


def _refuse(reason: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{reason}, so {name} ({value}) does not apply; omit it")


def _read_tables(
    edges: Path | Sequence[Path], *, nodes: Path | None, about: dict[str, Any], how: dict[str, Any]
) -> NamedGraph:
    """Read tables; ``about`` has the options of ``from_tables``, and ``how`` those of text files."""
    from mvgrl.graphs.tables import from_tables
    from mvgrl.tables.files import read_edges, read_nodes  # here: only tables need pyarrow

    columns = {name: about[name] for name in ("source_column", "target_column", "weight_column")}
    table, place = read_edges(edges, **columns, **how)
    if nodes is None:
        return from_tables(table, **about, place=place)
    if not (nodes.is_dir() and parts_of(nodes)):
        check_input_file(nodes, TABLE_EXTENSIONS)
    texts = NodeColumns(text=about["text"], encoder=about["encoder"]).read_as_text
    node_table, node_place = read_nodes(nodes, about["id_column"], texts, bipartite=about["bipartite"])
    return from_tables(table, node_table, **about, place=place, node_place=node_place)


def _read_networkx(path: Path, label_column: str | None) -> NamedGraph:
    try:
        import networkx as nx
    except ImportError:
        raise InputError(f"reading {path} needs networkx; pip install networkx") from None
    from mvgrl.graphs.from_networkx import from_networkx
    from mvgrl.graphs.xml_check import check_xml

    try:
        if path.suffix.lower() == ".gml":
            graph = _read_gml(path)
        else:
            check_xml(path)
            with warnings.catch_warnings():  # of keys without a type, which are read as text
                warnings.simplefilter("ignore")
                graph = nx.read_graphml(path) if path.suffix.lower() == ".graphml" else _read_gexf(path, label_column)
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


def _read_gexf(path: Path, label_column: str | None) -> Any:
    """Read GEXF, where the attribute "label" is a name to show next to a node, not a class."""
    import networkx as nx

    graph = nx.read_gexf(path)
    for _, attributes in graph.nodes(data=True):
        attributes.pop("viz", None)  # positions and colours of a drawing
        if label_column != "label":
            attributes.pop("label", None)
    return graph


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


_DATASETS = ("*_A.txt", "ind.*.graph")  # files of the TU and Planetoid formats


def _has_dataset(folder: Path) -> bool:
    return any(any(place.glob(pattern)) for place in (folder, folder / "raw") for pattern in _DATASETS)


def _read_folder(folder: Path) -> NamedGraph:
    """Read a folder in TU or Planetoid format; the files may be in a subfolder ``raw``, as PyG stores them."""
    for place in (folder, folder / "raw"):
        for pattern, reader in zip(_DATASETS, (_read_tu, _read_planetoid), strict=True):
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
        f"{folder} is a folder without tables, and in neither TU (NAME_A.txt, …) nor Planetoid format "
        f"(ind.NAME.graph, …); give a folder of one of these kinds, or a file: {', '.join(EXTENSIONS)}"
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
