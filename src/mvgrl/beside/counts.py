"""For graphs: counts of substructures, and a histogram of labels and degrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mvgrl.beside.basis import check_basis
from mvgrl.graphs import Graph
from mvgrl.graphs.histograms import DEGREE_CAP, degree_counts
from mvgrl.graphs.refinement import wl_counts
from mvgrl.inputs import Inputs
from mvgrl.matrices import SparseMatrix
from mvgrl.settings import Settings
from mvgrl.vector_space import leading_directions


@dataclass(frozen=True)
class Counts:
    """Square roots of Weisfeiler–Lehman counts, compressed to 1,024 components; and a histogram of labels and degrees.

    A colour that occurs in a single graph says nothing about other graphs and is left out. The more colours are unique,
    the less the counts weigh: in sets of large graphs without labels, nearly all are. Labels multiply the number of
    colours, so the counts of labelled graphs are noisier and weigh little. The histogram has the largest weight: with
    few graphs, a strongly regularised classifier then relies mostly on it, while other classifiers still see the rest.
    """

    colours: Tensor  # the columns of the counts that are used, sorted
    basis: Tensor  # colours × components
    share: float  # of nodes whose colour in the last round also occurs in another graph
    one_hot: bool = False  # the features are one-hot encoded labels, and the first colours
    labels: Tensor | None = None  # the columns of the labels in the histogram, sorted; None: there is no histogram

    components: ClassVar[int] = 1024
    most_colours: ClassVar[int] = 2**14
    columns: ClassVar[int] = 2**40  # that colours are hashed to: enough to avoid collisions
    rounds: ClassVar[int] = 3
    most_labels: ClassVar[int] = 256  # in the histogram
    most_with_labels: ClassVar[float] = 0.25  # weight of the counts of labelled graphs

    @classmethod
    def fit(cls, inputs: Inputs) -> Counts:
        """Choose the most common colours of the training graphs, and find the leading components."""
        one_hot = _is_one_hot(inputs)
        graph = _with_labels(inputs) if one_hot else inputs.graph
        every, earlier = (
            wl_counts(graph, rounds=rounds, columns=cls.columns) for rounds in (cls.rounds, cls.rounds - 1)
        )
        share = (_shared(every) - _shared(earlier)) / graph.nodes
        colours, graphs = _most_common(every, cls.most_colours)
        colours = np.sort(colours[graphs >= min(2, graphs.max())])
        counts = _of_colours(every, colours).sqrt()
        matrix = SparseMatrix.from_scipy(counts).to(inputs.device)
        basis = leading_directions(matrix.__matmul__, matrix.shape, cls.components, inputs.device)
        labels = np.empty(0, dtype=np.int64)
        if graph.node_labels is not None:
            labels = np.sort(_most_common(wl_counts(graph, rounds=0, columns=cls.columns), cls.most_labels)[0])
        return cls(torch.from_numpy(colours), basis, float(share), one_hot, torch.from_numpy(labels))

    def parts(self, inputs: Inputs) -> list[Tensor | None]:
        """Return the components of the counts, graphs × components, and the histogram, graphs × values."""
        graph = _with_labels(inputs) if self.one_hot else inputs.graph
        counts = wl_counts(graph, rounds=self.rounds, columns=self.columns)
        roots = SparseMatrix.from_scipy(_of_colours(counts, self.colours.numpy()).sqrt())
        found: list[Tensor | None] = [roots.to(inputs.device) @ self.basis]
        if self.labels is not None:
            labels = _of_colours(counts, self.labels.numpy()).toarray()  # the first colour of a node is its label
            histogram = torch.from_numpy(np.hstack([degree_counts(graph), labels]))
            found.append(histogram.to(inputs.device))
        return found

    def names(self, settings: Settings) -> list[str]:
        """Return the names of the parts."""
        return ["counts"] if self.labels is None else ["counts", "histogram"]

    @property
    def weights(self) -> list[float]:
        """The weights of the parts: counts at most that of the codes, the histogram four times as much."""
        if self.labels is None:
            return [self.share]
        return [min(self.share, self.most_with_labels) if len(self.labels) else self.share, 4.0]

    @property
    def code_weight(self) -> float:
        """The weight of the codes of all views together."""
        return 1.0

    @property
    def by_share(self) -> list[bool]:
        """No part is weighted by what survives propagation: graphs have no neighbours."""
        return [False] * len(self.weights)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to save in a file."""
        found = {"colours": self.colours, "basis.0": self.basis, "share": torch.tensor([self.share])}
        found |= {} if self.labels is None else {"labels": self.labels}
        return found | ({"one_hot": torch.ones(1)} if self.one_hot else {})

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], settings: Settings, width: int, count: int) -> Counts:
        """Rebuild from a file; older files have no histogram."""
        labels = tensors.get("labels")
        if count != (1 if labels is None else 2):
            raise ValueError(f"there are {count} parts in addition to the codes")
        colours, basis, share = (tensors[name] for name in ("colours", "basis.0", "share"))
        for name, columns in (("colours", colours), ("labels", labels)):
            if columns is not None and not _are_sorted(columns):
                raise ValueError(f"vector/{name} are not sorted integers")
        if not len(colours):
            raise ValueError("vector/colours is empty")
        if share.shape != (1,) or not 0 <= float(share) <= 1:
            raise ValueError("vector/share is not a share of 1")
        check_basis("basis.0", basis, len(colours))
        return cls(colours, basis, float(share), "one_hot" in tensors, labels)

    def widths(self, width: int) -> list[int]:
        """Return the number of columns of every part."""
        return [self.basis.shape[1]] + ([] if self.labels is None else [DEGREE_CAP + 1 + len(self.labels)])

    def to(self, device: torch.device | str) -> Counts:
        """Return the basis on another device."""
        return replace(self, basis=self.basis.to(device))


def _features(inputs: Inputs) -> sp.csr_array:
    """Return the features of the graphs, with columns in the order of training and no stored zeros."""
    graph = inputs.graph
    table = sp.csr_array(graph.features)[:, inputs.encoder.columns_of(graph)].copy()
    table.eliminate_zeros()
    return table


def _is_one_hot(inputs: Inputs) -> bool:
    """Whether the features are one-hot encoded labels, as in tables, which have no separate node labels."""
    if inputs.graph.features is None or inputs.graph.node_labels is not None:
        return False
    table = _features(inputs)
    return bool((np.diff(table.indptr) == 1).all() and (table.data == 1).all())


def _with_labels(inputs: Inputs) -> Graph:
    """Return the graphs with the column of each node's largest feature as its label; -1 for a node without features."""
    table = _features(inputs)
    filled = np.diff(table.indptr) > 0
    labels = np.full(inputs.graph.nodes, -1)
    labels[filled] = table[np.flatnonzero(filled)].argmax(axis=1)
    return Graph(inputs.graph.adjacency, node_labels=labels, offsets=inputs.graph.offsets)


def _shared(counts: sp.csr_array) -> float:
    """Return how many of the counted nodes have a colour that also occurs in another graph."""
    _, position, graphs = np.unique(counts.indices, return_inverse=True, return_counts=True)
    return float(counts.data[graphs[position] > 1].sum(dtype=np.float64))


def _most_common(counts: sp.csr_array, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``most`` colours that occur in the most graphs, and the number of graphs with each."""
    known, graphs = np.unique(counts.indices, return_counts=True)
    order = np.argsort(-graphs, kind="stable")[:most]
    return known[order], graphs[order]


def _of_colours(counts: sp.csr_array, colours: np.ndarray) -> sp.csr_array:
    """Return the counts of some colours, graphs × colours."""
    if not len(colours):
        return sp.csr_array((counts.shape[0], 0), dtype=counts.dtype)
    place = np.searchsorted(colours, counts.indices).clip(max=len(colours) - 1)
    kept = colours[place] == counts.indices
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return sp.csr_array((counts.data[kept], (rows[kept], place[kept])), shape=(counts.shape[0], len(colours)))


def _are_sorted(columns: Tensor) -> bool:
    return columns.dtype == torch.int64 and columns.ndim == 1 and bool((columns[1:] > columns[:-1]).all())
