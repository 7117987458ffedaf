"""Cora as LINQS published it: the papers in their original order, and the split by line numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mvgrl.datasets.base import Contents, DatasetInfo
from mvgrl.errors import InputError
from mvgrl.graphs.graph import Graph

# Numbered as in Planetoid, so that class 3 is the same in both forms of Cora.
CORA_CLASSES = (
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
)
_PACKAGE_CLASSES = np.array([3, 6, 1, 4, 0, 2, 5])  # our number for each subject of the package graphdatascience
_SPLIT = {"train": range(140), "val": range(200, 500), "test": range(500, 1500)}  # lines of cora.content
_Tables = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # papers, words, classes, cited, citing


def _read(folder: Path) -> Contents:
    packed = (folder / "cora_nodes.parquet.gzip").exists()
    papers, words, target, cited, citing = _read_parquet(folder) if packed else _read_text(folder)
    unknown = np.setdiff1d([cited, citing], papers)
    if len(unknown):
        problem = f"a citation names paper {unknown[0]}, which is not in cora.content"
        raise InputError(f"{folder}: {problem}; download both files again")
    if len(papers) < 1500:
        raise InputError(f"{folder}: {len(papers)} papers, but the split needs 1,500; download cora.content again")
    order = np.argsort(papers)
    sources, targets = (order[np.searchsorted(papers, ends, sorter=order)] for ends in (cited, citing))
    graph = Graph.from_edges(sources, targets, nodes=len(papers), features=sp.csr_array(words, dtype=np.float32))
    return Contents(graph, target, CORA_CLASSES, {part: np.array(lines) for part, lines in _SPLIT.items()})


def _read_text(folder: Path) -> _Tables:
    """``cora.content``: paper, its words as 0/1, subject; ``cora.cites``: cited, citing."""
    path = folder / "cora.content"
    papers: dict[int, int] = {}
    words: list[np.ndarray] = []
    classes = []
    for number, (paper, *bits, subject) in _fields(path, least=3):
        place = f"{path}, line {number}"
        if not paper.isdecimal() or subject not in CORA_CLASSES or not {"0", "1"}.issuperset(bits):
            expected = "a paper's number, its words as 0 or 1, and one of Cora's subjects"
            raise InputError(f"{place}: expected {expected}; download it again")
        if words and len(bits) != len(words[0]):
            raise InputError(f"{place}: {len(bits)} words instead of {len(words[0])}; download it again")
        if papers.setdefault(int(paper), number) != number:
            raise InputError(f"{place}: paper {paper} is also on line {papers[int(paper)]}; download it again")
        words.append(np.frombuffer("".join(bits).encode(), np.uint8) == ord("1"))
        classes.append(CORA_CLASSES.index(subject))
    path = folder / "cora.cites"
    ends = []
    for number, pair in _fields(path, least=2):
        if len(pair) != 2 or not all(end.isdecimal() for end in pair):
            raise InputError(f"{path}, line {number}: expected the numbers of two papers; download it again")
        ends.append([int(end) for end in pair])
    cited, citing = np.array(ends).T
    return np.array(list(papers)), np.array(words), np.array(classes), cited, citing


def _fields(path: Path, least: int) -> list[tuple[int, list[str]]]:
    """The lines of a text file that are not empty, with their numbers, split at white space."""
    try:
        lines = path.read_text("ascii", "replace").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path} is missing; download it again") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; download it again") from None
    fields = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    short = [number for number, parts in fields if len(parts) < least]
    if short or not fields:
        problem = f", line {short[0]}: the line is truncated" if short else " is empty"
        raise InputError(f"{path}{problem}; download it again")
    return fields


def _read_parquet(folder: Path) -> _Tables:
    """The same two tables from the package ``graphdatascience``, with the papers in the order of ``cora.content``."""
    import pyarrow.parquet as pq

    nodes, citations = (pq.read_table(folder / f"cora_{part}.parquet.gzip") for part in ("nodes", "rels"))
    words = np.asarray(nodes["features"].combine_chunks().flatten()).reshape(nodes.num_rows, -1)
    classes = _PACKAGE_CLASSES[nodes["subject"].to_numpy()]
    cited, citing = (citations[f"{end}NodeId"].to_numpy() for end in ("source", "target"))
    return nodes["nodeId"].to_numpy(), words, classes, cited, citing


ENTRIES = (
    DatasetInfo(
        name="cora-linqs",
        title="Cora's papers in their original order and split",
        task="node",
        graphs=1,
        nodes=2708,
        edges=5278,
        classes=7,
        citation="McCallum et al., 2000; Sen et al., 2008, https://linqs.org/datasets",
        licence="none stated",
        folder="linqs-cora",
        files={
            "cora.content": "b8ebed0fd45e53995abafd1b70cf6a9fcc8f86abc5826d69b97fe6ca46e9c8ee",
            "cora.cites": "ec1a372391b7f0f60a6aff0084e8abd8f19f0faa7e1f2441a41c492042d5945e",
        },
        url="https://linqs-data.soe.ucsc.edu/public/lbc/cora.tgz",
        archive_folder="cora",
        reader=_read,
        package=("graphdatascience", "resources/cora"),
    ),
)
