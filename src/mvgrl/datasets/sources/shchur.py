"""Graphs of gnn-benchmark (Shchur et al.) without a published split: Amazon Photo and DBLP."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mvgrl.datasets.base import Contents, DatasetInfo
from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph
from mvgrl.tables.arrays import read_npz
from mvgrl.tables.sparse import csr_from_arrays

_MATRICES = ("adj", "attr")  # adjacency and features, in CSR format
_PARTS = {"data": "biuf", "indices": "iu", "indptr": "iu", "shape": "iu"}
_KINDS = {f"{matrix}_{part}": kinds for matrix in _MATRICES for part, kinds in _PARTS.items()} | {"labels": "iu"}


def _read(path: Path, provenance: str) -> Contents:
    """The graph, undirected and unweighted, with its features and classes; names, stored as pickles, are not read."""
    remedy = f"restore it, from {provenance}"
    if not path.is_file():
        raise InputError(f"{path} is missing; {remedy}")
    try:
        arrays = read_npz(path, _KINDS, skip_others=True)
        missing = [name for name in _KINDS if name not in arrays]
        if missing:
            raise InputError(f"it has no array {missing[0]!r}")
        adjacency, features = (
            csr_from_arrays("csr", arrays[f"{name}_shape"], {part: arrays[f"{name}_{part}"] for part in _PARTS})
            for name in _MATRICES
        )
        labels = arrays["labels"]
        if labels.shape != (adjacency.shape[0],) or labels.min(initial=0) < 0:
            raise InputError(f"labels has shape {labels.shape}, or a negative class, for {adjacency.shape[0]} nodes")
        adjacency.eliminate_zeros()
        adjacency.data = np.ones(adjacency.nnz)
        graph = Graph.from_scipy(adjacency, features.astype(np.float32))
    except InputError as error:
        raise InputError(f"{path} is damaged ({error}); {remedy}") from None
    classes = tuple(map(str, range(int(labels.max()) + 1)))
    return Contents(graph, labels.astype(np.int64), classes)


def _entry(
    name: str, file: str, title: str, counts: tuple[int, int, int], citation: str, digest: str, provenance: str
) -> DatasetInfo:
    """The entry of a dataset, with its nodes, edges and classes."""
    nodes, edges, classes = counts
    return DatasetInfo(
        name=name,
        title=title,
        task="node",
        graphs=1,
        nodes=nodes,
        edges=edges,
        classes=classes,
        citation=f"{citation}, https://github.com/shchur/gnn-benchmark",
        licence="repository MIT; none stated for the data",
        folder="gnn-benchmark",
        files={file: digest},
        url=None,  # the published files contain pickled objects; these digests are of copies without them
        reader=lambda folder: _read(folder / file, provenance),
        provenance=provenance,
    )


_COPIES = "https://github.com/EdisonLeeeee/GraphData, commit f8022c26b917, stored without pickled objects"
ENTRIES = (
    _entry(
        "amazon-photo",
        "amazon_electronics_photo.npz",
        "products of Amazon's photo section that are bought together",
        (7650, 119081, 8),
        "Shchur et al., 2018; McAuley et al., 2015",
        "bfd3ee29622e8394c100621ee00537d738b606ecd06d513c7ceb1cd9dc7f1ef0",
        _COPIES,
    ),
    _entry(
        "dblp",
        "citation_dblp.npz",
        "papers on computer science in DBLP",
        (17716, 52867, 4),
        "Bojchevski, Günnemann, ICLR 2018; Shchur et al., 2018",
        "750874dc86d975a01801a8512488cbe6a4b26ac29c2886f59803ac2ec21157ca",
        _COPIES,
    ),
)
