"""What stands beside the trained codes in a vector: knowledge of the graph that needs no training.

For nodes, their features, raw and propagated over every view. For graphs, counts of substructures. Both are
compressed to their leading components, which are learned from the training graphs and saved with the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.graphs import Graph
from mvgrl.graphs.refinement import wl_counts
from mvgrl.inputs import Inputs
from mvgrl.matrices import Matrix, SparseMatrix
from mvgrl.positions import KINDS as POSITIONS
from mvgrl.settings import PROPAGATED, Settings
from mvgrl.vector_space import leading_directions


@dataclass(frozen=True)
class Propagated:
    """Features, raw and propagated over every view, at unit length; 256 components where there are more."""

    bases: tuple[Tensor | None, ...]  # per part: features × components; None: the features as they are
    positions: bool = False  # whether the features are positions in the graph
    raw: bool = True  # whether the first part is the raw features; False only in older files

    components: ClassVar[int] = PROPAGATED

    @classmethod
    def fit(cls, inputs: Inputs) -> Propagated:
        """Find the leading components of the raw and propagated features of the training graph."""
        shape, device = inputs.features.shape, inputs.device
        products, positions = _products(inputs), are_positions(inputs.settings)
        if shape[1] <= cls.components:
            return cls(tuple(None for _ in products), positions)
        bases = (leading_directions(product, shape, cls.components, device) for product in products)
        return cls(tuple(bases), positions)

    def parts(self, inputs: Inputs) -> list[Tensor]:
        """Return the components of every part, nodes × components each."""
        every = torch.eye(inputs.features.shape[1], device=inputs.device)
        bases = (every if basis is None else basis for basis in self.bases)
        products = _products(inputs)[0 if self.raw else 1 :]
        return [normalize(product(basis)) for product, basis in zip(products, bases, strict=True)]

    def names(self, settings: Settings) -> list[str]:
        """Return the names of the parts."""
        first = [f"raw {'positions' if self.positions else 'features'}"] if self.raw else []
        return first + [f"propagated: {view}" for view in settings.views]

    @property
    def weights(self) -> list[float]:
        """The weight of every part: propagated features of all views weigh 0.7 together, and propagated positions 1."""
        views = len(self.bases) - self.raw
        return [(1.0 if self.positions else 0.7) * views**-0.5] * len(self.bases)

    @property
    def may_be_noise(self) -> bool:
        """Whether some parts may be mostly noise, so that parts are weighted by what survives propagation."""
        return not self.positions

    def tensors(self) -> dict[str, Tensor]:
        """Return what a file holds."""
        return {f"basis.{part}": basis for part, basis in enumerate(self.bases) if basis is not None}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], settings: Settings, width: int, count: int) -> Propagated:
        """Rebuild ``count`` parts from a file, for features of ``width`` columns; older files have one fewer."""
        positions, raw = are_positions(settings), count == len(settings.views) + 1
        if not raw and count != len(settings.views):
            raise ValueError(f"there are {count} parts beside the codes of {len(settings.views)} views")
        if width <= cls.components:
            return cls((None,) * count, positions, raw)
        names = [f"basis.{part}" for part in range(count)]
        for name in names:
            _check_basis(name, tensors[name], width)
        return cls(tuple(tensors[name] for name in names), positions, raw)

    def widths(self, width: int) -> list[int]:
        """Return the columns of every part, for features of ``width`` columns."""
        return [width if basis is None else basis.shape[1] for basis in self.bases]

    def to(self, device: torch.device | str) -> Propagated:
        """Return the bases on another device."""
        return replace(self, bases=tuple(basis if basis is None else basis.to(device) for basis in self.bases))


def are_positions(settings: Settings) -> bool:
    """Whether the features are positions in the graph: smooth by construction, so none of them is noise."""
    return settings.features in POSITIONS


@dataclass(frozen=True)
class Counts:
    """Square roots of Weisfeiler–Lehman counts, compressed to 1,024 components.

    A colour that a single graph has says nothing about others and is left out. The more colours are unique, the less
    the counts weigh: in sets of large graphs without labels nearly all are.
    """

    colours: Tensor  # the columns of the counts that are used, sorted
    basis: Tensor  # colours × components
    share: float  # of the nodes whose colour of the last round is in another graph, too
    one_hot: bool = False  # the features are one-hot encoded labels, and the first colours

    components: ClassVar[int] = 1024
    most_colours: ClassVar[int] = 2**14
    columns: ClassVar[int] = 2**40  # that the colours are hashed to: enough for no two to share one
    rounds: ClassVar[int] = 3

    @classmethod
    def fit(cls, inputs: Inputs) -> Counts:
        """Choose the colours that most of the training graphs have, and find the leading components."""
        one_hot = _is_one_hot(inputs)
        graph = _with_labels(inputs) if one_hot else inputs.graph
        every, earlier = (
            wl_counts(graph, rounds=rounds, columns=cls.columns) for rounds in (cls.rounds, cls.rounds - 1)
        )
        share = (_shared(every) - _shared(earlier)) / graph.nodes
        known, graphs = np.unique(every.indices, return_counts=True)
        order = np.argsort(-graphs, kind="stable")[: cls.most_colours]
        colours = np.sort(known[order[graphs[order] >= min(2, graphs.max())]])
        counts = _roots(every, colours).to(inputs.device)
        basis = leading_directions(counts.__matmul__, counts.shape, cls.components, inputs.device)
        return cls(torch.from_numpy(colours), basis, float(share), one_hot)

    def parts(self, inputs: Inputs) -> list[Tensor]:
        """Return the components of the counts, graphs × components."""
        graph = _with_labels(inputs) if self.one_hot else inputs.graph
        counts = wl_counts(graph, rounds=self.rounds, columns=self.columns)
        return [_roots(counts, self.colours.numpy()).to(inputs.device) @ self.basis]

    def names(self, settings: Settings) -> list[str]:
        """Return the name of the part."""
        return ["counts"]

    @property
    def weights(self) -> list[float]:
        """The weight of the counts: up to twice that of the codes."""
        return [2 * self.share]

    @property
    def may_be_noise(self) -> bool:
        """Always False: graphs have no neighbours that could tell."""
        return False

    def tensors(self) -> dict[str, Tensor]:
        """Return what a file holds."""
        one_hot = {"one_hot": torch.ones(1)} if self.one_hot else {}
        return {"colours": self.colours, "basis.0": self.basis, "share": torch.tensor([self.share])} | one_hot

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], settings: Settings, width: int, count: int) -> Counts:
        """Rebuild from a file."""
        if count != 1:
            raise ValueError(f"counts are one part, not {count}")
        colours, basis, share = (tensors[name] for name in ("colours", "basis.0", "share"))
        ordered = colours.dtype == torch.int64 and colours.ndim == 1 and bool((colours[1:] > colours[:-1]).all())
        if not ordered or not len(colours):
            raise ValueError("vector/colours are not sorted integers")
        if share.shape != (1,) or not 0 <= float(share) <= 1:
            raise ValueError("vector/share is not a share of 1")
        _check_basis("basis.0", basis, len(colours))
        return cls(colours, basis, float(share), "one_hot" in tensors)

    def widths(self, width: int) -> list[int]:
        """Return the columns of the part."""
        return [self.basis.shape[1]]

    def to(self, device: torch.device | str) -> Counts:
        """Return the basis on another device."""
        return replace(self, basis=self.basis.to(device))


Beside: TypeAlias = "Propagated | Counts"
KINDS: dict[str, type[Propagated] | type[Counts]] = {"propagated": Propagated, "counts": Counts}


def _products(inputs: Inputs) -> list[Callable[[Tensor], Tensor]]:
    """Return the products of the features, raw and propagated over every view, with a matrix of directions."""
    steps = [(inputs.views[0], 0)]
    steps += [(view, kind.steps) for view, kind in zip(inputs.views, inputs.settings.views, strict=True)]

    def propagation(view: Matrix, count: int) -> Callable[[Tensor], Tensor]:
        def product(directions: Tensor) -> Tensor:
            rows = inputs.features @ directions
            for _ in range(count):
                rows = view @ rows
            return rows

        return product

    return [propagation(view, count) for view, count in steps]


def _features(inputs: Inputs) -> sp.csr_array:
    """Return the features of the graphs in the order of the training graphs, without stored zeros."""
    graph = inputs.graph
    table = sp.csr_array(graph.features)[:, inputs.encoder.columns_of(graph)].copy()
    table.eliminate_zeros()
    return table


def _is_one_hot(inputs: Inputs) -> bool:
    """Whether the features are labels that were one-hot encoded, as in tables, which have no labels of nodes."""
    if inputs.graph.features is None or inputs.graph.node_labels is not None:
        return False
    table = _features(inputs)
    return bool((np.diff(table.indptr) == 1).all() and (table.data == 1).all())


def _with_labels(inputs: Inputs) -> Graph:
    """Return the graphs with the column of the largest feature of each node as its label; -1 without any."""
    table = _features(inputs)
    filled = np.diff(table.indptr) > 0
    labels = np.full(inputs.graph.nodes, -1)
    labels[filled] = table[np.flatnonzero(filled)].argmax(axis=1)
    return Graph(inputs.graph.adjacency, node_labels=labels, offsets=inputs.graph.offsets)


def _shared(counts: sp.csr_array) -> float:
    """Return how many of the counted nodes have a colour that another graph has, too."""
    _, position, graphs = np.unique(counts.indices, return_inverse=True, return_counts=True)
    return float(counts.data[graphs[position] > 1].sum(dtype=np.float64))


def _roots(counts: sp.csr_array, colours: np.ndarray) -> SparseMatrix:
    """Return the square roots of the counts of some colours, graphs × colours: a root keeps large counts in bounds."""
    place = np.searchsorted(colours, counts.indices).clip(max=len(colours) - 1)
    kept = colours[place] == counts.indices
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    found = sp.csr_array((np.sqrt(counts.data[kept]), (rows[kept], place[kept])), shape=(counts.shape[0], len(colours)))
    return SparseMatrix.from_scipy(found)


def _check_basis(name: str, basis: Tensor, rows: int) -> None:
    if basis.ndim != 2 or len(basis) != rows or not basis.shape[1] or basis.dtype != torch.float32:
        raise ValueError(f"vector/{name} has shape {tuple(basis.shape)}, not {rows} rows of single-precision numbers")
    if not basis.isfinite().all():
        raise ValueError(f"vector/{name} has values that are not finite")
