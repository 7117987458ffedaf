"""The named benchmark graphs: what they are, where their files are found, and how they are read."""

from __future__ import annotations

import importlib.util
import logging
import os
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp

from mvgrl.errors import InputError, check_name
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.planetoid import read_planetoid
from mvgrl.graphs.tu import read_tu

if TYPE_CHECKING:
    from mvgrl.datasets.download import Progress

logger = logging.getLogger(__name__)

PLANETOID = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
TU = {
    "mutag": "MUTAG",
    "ptc-mr": "PTC_MR",
    "imdb-binary": "IMDB-BINARY",
    "imdb-multi": "IMDB-MULTI",
    "reddit-binary": "REDDIT-BINARY",
}
NAMES = ("cora-linqs", *PLANETOID, *TU)


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a benchmark before it is read."""

    title: str
    task: Literal["node", "graph"]
    graphs: int
    nodes: int  # over all graphs, as the next
    edges: int  # undirected
    classes: int
    origin: str  # who made it, and where it is published
    folder: str  # where its files are inside a data folder
    licence: str
    carried: tuple[str, str] | None = None  # a package that has it, and the folder inside that package

    @property
    def size(self) -> str:
        """The counts in words.

        >>> KNOWN["mutag"].size, KNOWN["cora"].size
        ('188 graphs of 17.9 nodes', '2,708 nodes, 5,278 edges')
        """
        if self.task == "graph":
            return f"{self.graphs:,} graphs of {self.nodes / self.graphs:.1f} nodes"
        return f"{self.nodes:,} nodes, {self.edges:,} edges"


def _citations(name: str, what: str, nodes: int, edges: int, classes: int) -> DatasetInfo:
    origin = "Yang, Cohen, Salakhutdinov, ICML 2016, https://github.com/kimiyoung/planetoid"
    licence = "repository MIT; none stated for the data"
    folder = f"planetoid/{PLANETOID[name]}/raw"
    return DatasetInfo(f"{what}, with the public split", "node", 1, nodes, edges, classes, origin, folder, licence)


def _graphs(name: str, what: str, graphs: int, nodes: int, edges: int, classes: int, by: str) -> DatasetInfo:
    origin = f"{by}; TUDataset (Morris et al., 2020), https://chrsmrrs.github.io/datasets"
    licence = "none stated; the collection asks to be cited"
    carried = ("grakel", "tests/data/MUTAG") if name == "mutag" else None
    folder = f"tu/{TU[name]}/raw"
    return DatasetInfo(what, "graph", graphs, nodes, edges, classes, origin, folder, licence, carried)


_KERNELS = "Yanardag, Vishwanathan, KDD 2015"
KNOWN = {
    "cora-linqs": DatasetInfo(
        "Cora's papers in their original order and split",
        "node",
        1,
        2708,
        5278,
        7,
        "McCallum et al., 2000; Sen et al., 2008, https://linqs.org/datasets",
        "linqs-cora",
        "none stated",
        ("graphdatascience", "resources/cora"),
    ),
    "cora": _citations("cora", "papers on machine learning", 2708, 5278, 7),
    "citeseer": _citations("citeseer", "papers on computer science", 3327, 4552, 6),
    "pubmed": _citations("pubmed", "papers on diabetes", 19717, 44324, 3),
    "mutag": _graphs("mutag", "molecules, mutagenic or not", 188, 3371, 3721, 2, "Debnath et al., 1991"),
    "ptc-mr": _graphs(
        "ptc-mr", "molecules, carcinogenic in male rats or not", 344, 4915, 5054, 2, "Helma et al., 2001"
    ),
    "imdb-binary": _graphs("imdb-binary", "casts of films, two genres", 1000, 19773, 96531, 2, _KERNELS),
    "imdb-multi": _graphs("imdb-multi", "casts of films, three genres", 1500, 19502, 98903, 3, _KERNELS),
    "reddit-binary": _graphs("reddit-binary", "discussions, two kinds", 2000, 859254, 995508, 2, _KERNELS),
}

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
    source: str  # where it was read: a folder of the data folder or cache, or a package with its version

    def named(self) -> NamedGraph:
        """The graph under the numbers of its nodes, and of its graphs if they are many, with the target as labels.

        >>> load("mutag").named().labels_of
        'graphs'
        """
        graphs = np.arange(self.graph.count) if self.task == "graph" else None
        return NamedGraph(self.graph, np.arange(self.graph.nodes), graphs, self.target)


@dataclass(frozen=True)
class Found:
    """A dataset's files on this machine."""

    folder: Path
    source: str  # the same on every machine: a folder inside the data folder or cache, or a package with its version
    kind: Literal["data folder", "package", "cache"]


def load(
    name: str,
    data_root: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Read a benchmark by name from where :func:`find` finds it; where that is nowhere, download it first.

    A download goes into the data folder if one is named, else into the cache. ``progress`` is called as it goes on,
    with the bytes so far, the bytes in all (or None) and the file's name.

    >>> load("mutag").graph.count
    188
    """
    key = canonical(name)
    found = find(key, data_root)
    if found is None:
        found = _place(key, data_root)
        if not download:
            raise InputError(_not_here(key, _root(data_root)))
        from mvgrl.datasets.download import download as fetch  # here: few need it, and it imports this module

        fetch(key, found.folder, progress=progress)
    return _read(key, found)


def find(name: str, data_root: str | os.PathLike[str] | None = None) -> Found | None:
    """Where a benchmark's files are on this machine, if they are; nothing is read or downloaded.

    First comes ``data_root`` (else the folder ``MVGRL_DATA`` names), then a package that carries the set, which is
    looked up but not imported, then the cache of earlier downloads.

    >>> find("mutag").kind in ("data folder", "package", "cache")
    True
    """
    key = canonical(name)
    known, root = KNOWN[key], _root(data_root)
    if root is not None and _has_files(root / known.folder):
        return Found(root / known.folder, known.folder, "data folder")
    if known.carried is not None:
        package, inside = known.carried
        spec = importlib.util.find_spec(package)
        for location in (spec and spec.submodule_search_locations) or ():
            if _has_files(Path(location) / inside):
                return Found(Path(location) / inside, f"{package} {metadata.version(package)}: {inside}", "package")
    cached = _place(key, None, cache=True)
    return cached if _has_files(cached.folder) else None


def canonical(name: str) -> str:
    """The name a benchmark is listed under, from any spelling of it.

    >>> canonical("PTC_MR")
    'ptc-mr'
    """
    key = str(name).lower().replace("_", "-")
    check_name("dataset", key, NAMES, InputError)
    return key


def cache_folder() -> Path:
    """The folder for downloads where no data folder is named."""
    import platformdirs

    return platformdirs.user_cache_path("mvgrl") / "datasets"


def _root(data_root: str | os.PathLike[str] | None) -> Path | None:
    given = data_root if data_root is not None else os.environ.get("MVGRL_DATA")
    return Path(given) if given else None


def _place(key: str, data_root: str | os.PathLike[str] | None, *, cache: bool = False) -> Found:
    """Where a download would go."""
    root, inside = None if cache else _root(data_root), KNOWN[key].folder
    if root is not None:
        return Found(root / inside, inside, "data folder")
    return Found(cache_folder() / inside, f"cache: {inside}", "cache")


def _has_files(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}; allow it, or name another") from None


def _not_here(key: str, root: Path | None) -> str:
    inside = KNOWN[key].folder
    where = f"put its files into {root / inside}" if root else f"put its files into {inside} of a folder"
    where += "" if root else " and name the folder in data_root or the environment variable MVGRL_DATA"
    install = ", or pip install 'mvgrl[datasets]', which brings it along" if KNOWN[key].carried else ""
    return f"the dataset {key!r} is not here: let it be downloaded, or {where}{install}"


def _read(key: str, found: Found) -> Dataset:
    """The set in a folder; a damaged one is refused with the way to a whole one."""
    way = {"cache": f"; remove {found.folder} and it is downloaded again", "package": "; reinstall that package"}
    try:
        dataset = _READERS.get(key, _read_linqs)(key, found)
    except ImportError:
        raise
    except InputError as error:
        raise InputError(f"{error}{way.get(found.kind, '')}") from None
    except Exception as error:  # formats without checks: what is damaged may raise anything
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"{found.folder} is damaged ({what}); get it anew{way.get(found.kind, '')}") from None
    known, graph = KNOWN[key], dataset.graph
    counts, published = (graph.count, graph.nodes, graph.edges), (known.graphs, known.nodes, known.edges)
    if counts != published:
        message = "%s has %d graphs, %d nodes and %d edges, but the published set has %d, %d and %d: is it cut off?"
        logger.warning(message, found.folder, *counts, *published)
    return dataset


def _read_planetoid(key: str, found: Found) -> Dataset:
    graph, target, splits = read_planetoid(found.folder, PLANETOID[key])
    numbers = tuple(str(i) for i in range(target.max() + 1))
    return Dataset(key, graph, target, "node", splits, _CORA_CLASSES if key == "cora" else numbers, found.source)


def _read_tu(key: str, found: Found) -> Dataset:
    graph, target, classes = read_tu(found.folder, TU[key])
    return Dataset(key, graph, target, "graph", None, classes, found.source)


_READERS = dict.fromkeys(PLANETOID, _read_planetoid) | dict.fromkeys(TU, _read_tu)


def _read_linqs(key: str, found: Found) -> Dataset:
    folder = found.folder
    packed = (folder / "cora_nodes.parquet.gzip").exists()
    papers, words, subjects, cited, citing = _read_linqs_parquet(folder) if packed else _read_linqs_text(folder)
    unknown = np.setdiff1d([cited, citing], papers)
    if len(unknown):
        raise InputError(
            f"{folder}: a citation names paper {unknown[0]}, which is not among the papers; get both files anew"
        )
    splits = {
        "train": np.arange(140),
        "val": np.arange(200, 500),
        "test": np.arange(500, 1500),
    }  # lines of cora.content
    if len(papers) < 1500:
        raise InputError(f"{folder}: {len(papers)} papers, but the split is of 1,500; get cora.content anew")
    order = np.argsort(papers)
    sources, targets = (order[np.searchsorted(papers, ends, sorter=order)] for ends in (cited, citing))
    graph = Graph.from_edges(sources, targets, nodes=len(papers), features=sp.csr_array(words, dtype=np.float32))
    number = {subject: i for i, subject in enumerate(_CORA_CLASSES)}
    target = np.array([number[subject] for subject in subjects])
    return Dataset(key, graph, target, "node", splits, _CORA_CLASSES, found.source)


_Linqs = tuple[np.ndarray, np.ndarray, list[str], np.ndarray, np.ndarray]  # papers, words, subjects, cited, citing


def _read_linqs_text(folder: Path) -> _Linqs:
    """``cora.content``: paper, its words as 0/1, subject; ``cora.cites``: cited, citing."""
    path = folder / "cora.content"
    papers: dict[int, int] = {}
    words: list[np.ndarray] = []
    subjects = []
    for number, (paper, *bits, subject) in _fields(path, least=3):
        if not paper.isdecimal() or subject not in _CORA_CLASSES or not {"0", "1"}.issuperset(bits):
            wanted = "a paper's number, its words as 0 or 1, and one of Cora's subjects"
            raise InputError(f"{path}, line {number}: it must be {wanted}; get it anew")
        if words and len(bits) != len(words[0]):
            raise InputError(f"{path}, line {number}: {len(bits)} words, not {len(words[0])}; get it anew")
        if papers.setdefault(int(paper), number) != number:
            raise InputError(f"{path}, line {number}: paper {paper} is on line {papers[int(paper)]} too; get it anew")
        words.append(np.array(bits) == "1")
        subjects.append(subject)
    path = folder / "cora.cites"
    ends = []
    for number, pair in _fields(path, least=2):
        if len(pair) != 2 or not all(end.isdecimal() for end in pair):
            raise InputError(f"{path}, line {number}: it must be the numbers of two papers; get it anew")
        ends.append([int(end) for end in pair])
    cited, citing = np.array(ends).T
    return np.array(list(papers)), np.array(words), subjects, cited, citing


def _fields(path: Path, least: int) -> list[tuple[int, list[str]]]:
    """The lines of a text file that are not empty, with their numbers, cut at white space."""
    try:
        lines = path.read_text("ascii", "replace").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path} is missing; get it anew") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; get it anew") from None
    fields = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    short = [number for number, parts in fields if len(parts) < least]
    if short or not fields:
        what = f", line {short[0]}: it is cut off" if short else " is empty"
        raise InputError(f"{path}{what}; get it anew")
    return fields


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
