"""The named benchmark graphs, read from a data folder or from inside packages that carry them."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, check_name
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.planetoid import read_planetoid
from mvgrl.graphs.tu import read_tu

PLANETOID = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
TU = {
    "mutag": "MUTAG",
    "ptc-mr": "PTC_MR",
    "imdb-binary": "IMDB-BINARY",
    "imdb-multi": "IMDB-MULTI",
    "reddit-binary": "REDDIT-BINARY",
}
NAMES = ("cora-linqs", *PLANETOID, *TU)

# Planetoid's numbering, so that both forms of Cora agree on what class 3 is.
_CORA_CLASSES = (
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
)
# The package numbers the subjects its own way.
_PACKAGE_SUBJECTS = (
    "Neural_Networks",
    "Rule_Learning",
    "Reinforcement_Learning",
    "Probabilistic_Methods",
    "Theory",
    "Genetic_Algorithms",
    "Case_Based",
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A benchmark: its graph or graphs, and what is to be predicted of each node or each graph."""

    name: str
    graph: Graph
    target: np.ndarray  # class numbers from 0: one a node, or one a graph
    task: Literal["node", "graph"]
    splits: dict[str, np.ndarray] | None  # node numbers under "train", "val", "test"
    classes: tuple[str, ...]  # what the class numbers stand for
    source: str  # where it was read: a folder of data_root, or a package with its version; the same on every machine


def load(name: str, data_root: str | os.PathLike[str] | None = None) -> Dataset:
    """Read a benchmark by name from ``data_root`` (or the folder ``MVGRL_DATA`` names), else from a package.

    >>> load("mutag").graph.count  # needs pip install 'mvgrl[datasets]' or a data folder
    188
    """
    key = str(name).lower().replace("_", "-")
    check_name("dataset", key, NAMES, InputError)
    given = data_root if data_root is not None else os.environ.get("MVGRL_DATA")
    root = Path(given) if given else None
    if key == "cora-linqs":
        return _load_linqs(root)
    if key in PLANETOID:
        folder, source = _find(key, root, f"planetoid/{PLANETOID[key]}/raw")
        graph, target, splits = read_planetoid(folder, PLANETOID[key])
        numbers = tuple(str(i) for i in range(target.max() + 1))
        return Dataset(key, graph, target, "node", splits, _CORA_CLASSES if key == "cora" else numbers, source)
    carried = ("grakel", "tests/data/MUTAG") if key == "mutag" else None
    folder, source = _find(key, root, f"tu/{TU[key]}/raw", carried)
    graph, target, classes = read_tu(folder, TU[key])
    return Dataset(key, graph, target, "graph", None, classes, source)


def _find(name: str, root: Path | None, inside: str, carried: tuple[str, str] | None = None) -> tuple[Path, str]:
    """The files' folder, and its name: ``root/inside``, or one in a package, which is looked up but not imported."""
    if root is not None and (root / inside).is_dir():
        return root / inside, inside
    if carried is not None:
        package = importlib.util.find_spec(carried[0])
        for location in (package and package.submodule_search_locations) or ():
            if (Path(location) / carried[1]).is_dir():
                return Path(location) / carried[1], f"{carried[0]} {metadata.version(carried[0])}: {carried[1]}"
    where = f"put its files into {root / inside}" if root else f"put its files into {inside} of a folder"
    where += "" if root else " and name the folder in data_root or the environment variable MVGRL_DATA"
    install = ", or pip install 'mvgrl[datasets]', which brings it along" if carried else ""
    raise InputError(f"the dataset {name!r} is not here: {where}{install}")


def _load_linqs(root: Path | None) -> Dataset:
    folder, source = _find("cora-linqs", root, "linqs-cora", ("graphdatascience", "resources/cora"))
    papers, words, subjects, cited, citing = (
        _read_linqs_text(folder) if (folder / "cora.content").exists() else _read_linqs_parquet(folder)
    )
    unknown = np.setdiff1d([cited, citing], papers)
    if len(unknown):
        raise InputError(
            f"{folder}: a citation names paper {unknown[0]}, which is not among the papers; get both files anew"
        )
    order = np.argsort(papers)
    sources, targets = (order[np.searchsorted(papers, ends, sorter=order)] for ends in (cited, citing))
    graph = Graph.from_edges(sources, targets, nodes=len(papers), features=sp.csr_array(words, dtype=np.float32))
    number = {subject: i for i, subject in enumerate(_CORA_CLASSES)}
    target = np.array([number[subject] for subject in subjects])
    splits = {
        "train": np.arange(140),
        "val": np.arange(200, 500),
        "test": np.arange(500, 1500),
    }  # lines of cora.content
    return Dataset("cora-linqs", graph, target, "node", splits, _CORA_CLASSES, source)


_Linqs = tuple[np.ndarray, np.ndarray, list[str], np.ndarray, np.ndarray]  # papers, words, subjects, cited, citing


def _read_linqs_text(folder: Path) -> _Linqs:
    """``cora.content``: paper, its words as 0/1, subject; ``cora.cites``: cited, citing."""
    lines = [line.split("\t") for line in (folder / "cora.content").read_text().splitlines()]
    papers = np.array([int(line[0]) for line in lines])
    words = np.array([line[1:-1] for line in lines]) == "1"
    cited, citing = np.loadtxt(folder / "cora.cites", dtype=np.int64).T
    return papers, words, [line[-1] for line in lines], cited, citing


def _read_linqs_parquet(folder: Path) -> _Linqs:
    """The same two tables as the package ``graphdatascience`` carries them, papers in the order of ``cora.content``."""
    import pyarrow.parquet as pq

    nodes, citations = (pq.read_table(folder / f"cora_{part}.parquet.gzip") for part in ("nodes", "rels"))
    words = np.asarray(nodes["features"].combine_chunks().flatten()).reshape(nodes.num_rows, -1)
    subjects = [_PACKAGE_SUBJECTS[number] for number in nodes["subject"].to_pylist()]
    return (
        nodes["nodeId"].to_numpy(),
        words,
        subjects,
        citations["sourceNodeId"].to_numpy(),
        citations["targetNodeId"].to_numpy(),
    )
