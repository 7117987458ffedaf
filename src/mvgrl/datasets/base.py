"""What a dataset is: the entry that describes it, and the data read from its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph
from mvgrl.graphs.named import NamedGraph

Progress: TypeAlias = Callable[[int, int | None, str], None]  # bytes so far, total if known, file name


class Contents(NamedTuple):
    """What a reader finds in a dataset's files."""

    graph: Graph
    target: np.ndarray  # class numbers from 0, per node or per graph
    classes: tuple[str, ...]  # the name of each class
    splits: dict[str, np.ndarray] | None = None  # node numbers under "train", "val", "test"
    texts: np.ndarray | None = None  # a text per node


@dataclass(frozen=True, eq=False)
class DatasetInfo:
    """A registry entry: everything about a dataset that is known before its files are read.

    ``url`` is the folder that has the files, or, where ``archive_folder`` is set, a zip or tar.gz archive that has
    them in that folder. A file without a known digest is checked by reading the dataset. Where ``url`` is None, the
    dataset cannot be downloaded, and ``provenance`` says where its files come from.
    """

    name: str
    title: str
    task: Literal["node", "graph"]
    graphs: int
    nodes: int  # total over all graphs, like the edges
    edges: int  # undirected
    classes: int
    citation: str  # its authors, and where it is published
    licence: str
    folder: str  # where its files are inside a data folder
    files: Mapping[str, str | None]  # the SHA-256 digest of each file, None if unknown
    url: str | None
    reader: Callable[[Path], Contents]
    archive_folder: str | None = None
    package: tuple[str, str] | None = None  # a Python package that contains it, and the folder inside that package
    provenance: str = ""

    @property
    def size(self) -> str:
        """The counts in words.

        >>> from mvgrl.datasets import DATASETS
        >>> DATASETS["mutag"].size, DATASETS["cora"].size
        ('188 graphs of 17.9 nodes', '2,708 nodes, 5,278 edges')
        """
        if self.task == "graph":
            return f"{self.graphs:,} graphs of {self.nodes / self.graphs:.1f} nodes"
        return f"{self.nodes:,} nodes, {self.edges:,} edges"

    @property
    def package_hint(self) -> str:
        """What to add to an error about a missing dataset if a package contains it."""
        return ", or pip install 'mvgrl[datasets]', which includes it" if self.package else ""

    def read(self, folder: Path) -> Contents:
        """Read the dataset from a folder; every kind of damage is an ``InputError``."""
        try:
            return self.reader(folder)
        except (ImportError, InputError):
            raise
        except Exception as error:  # a format without checks: damaged files may raise anything
            reason = f"{type(error).__name__}: {error}"
            remedy = "download it again" if self.url else f"restore its files, from {self.provenance}"
            raise InputError(f"{folder} is damaged ({reason}); {remedy}") from None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A benchmark: its graph or graphs, and the class to predict for each node or each graph."""

    name: str
    graph: Graph
    target: np.ndarray  # class numbers from 0, per node or per graph; -1 where the class is unknown
    task: Literal["node", "graph"]
    splits: dict[str, np.ndarray] | None  # node numbers under "train", "val", "test"
    classes: tuple[str, ...]  # the name of each class
    source: str  # where it was read: a folder of the data folder or cache, or a package with its version
    texts: np.ndarray | None = None  # a text per node

    @property
    def labels(self) -> np.ndarray:
        """The target as random splits take it: NaN where the class is unknown."""
        unknown = self.target < 0
        return np.where(unknown, np.nan, self.target) if unknown.any() else self.target

    def named(self) -> NamedGraph:
        """The graph with numbers as the ids of its nodes, and of its graphs if there are many; labels are the target.

        >>> from mvgrl.datasets import load
        >>> load("mutag").named().labels_of
        'graphs'
        """
        graphs = np.arange(self.graph.count) if self.task == "graph" else None
        return NamedGraph(self.graph, np.arange(self.graph.nodes), graphs, self.target)


def has_files(folder: Path) -> bool:
    """Whether there is a folder, and something in it."""
    try:
        return any(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{folder} cannot be read: {reason}; change its permissions, or use another folder") from None
