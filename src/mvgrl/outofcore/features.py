"""The initial features of a stored graph: what is learned from all of them, block by block, and some of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from mvgrl.automatic import FeatureFacts
from mvgrl.errors import InputError
from mvgrl.graphs.features import FeatureEncoder, rows_to_one
from mvgrl.graphs.features import extremes as extremes_of
from mvgrl.graphs.stored import StoredGraph
from mvgrl.matrices import Matrix
from mvgrl.positions import KINDS as POSITIONS

_NUMBERS = 2**23  # of the features that are read at a time: 32 megabytes in single precision


@dataclass(frozen=True)
class NodeRows:
    """What a feature encoder reads of a graph, for some of its nodes."""

    features: Any
    node_labels: Any
    degrees: np.ndarray
    feature_names: tuple[str, ...] | None


def rows_of(graph: StoredGraph, nodes: slice | np.ndarray, *, features: bool = True) -> NodeRows:
    """Read what a feature encoder needs of some nodes."""
    labels = graph.node_labels
    if isinstance(nodes, slice):
        table = graph.feature_rows(nodes.start, nodes.stop) if features else None
        degrees = np.diff(graph.indptr[nodes.start : nodes.stop + 1])
    else:
        table = graph.feature_rows(nodes) if features else None
        degrees = np.asarray(graph.indptr[nodes + 1]) - np.asarray(graph.indptr[nodes])
    return NodeRows(table, None if labels is None else np.asarray(labels[nodes]), degrees, graph.feature_names)


class StoredFeatures(Matrix):
    """X of a stored graph: rows are read and scaled when they are needed."""

    def __init__(self, graph: StoredGraph, encoder: FeatureEncoder) -> None:
        self.graph, self.encoder = graph, encoder
        self.shape = (graph.nodes, encoder.width)

    def rows(self, nodes: Tensor) -> Matrix:
        """Return the given rows, with all columns, on the device of their numbers."""
        return self._transformed(rows_of(self.graph, nodes.cpu().numpy(), features=self._given)).to(nodes.device)

    def block(self, start: int, stop: int) -> Matrix:
        """Return a range of rows."""
        return self._transformed(rows_of(self.graph, slice(start, stop), features=self._given))

    def __matmul__(self, right: Tensor) -> Tensor:
        return self.rows(torch.arange(self.shape[0], device=right.device)) @ right

    @property
    def _given(self) -> bool:
        return self.encoder.kind_ == "given"

    def _transformed(self, rows: NodeRows) -> Matrix:
        return self.encoder.transform(rows)  # type: ignore[arg-type]


class StreamedFacts(FeatureFacts):
    """What automatic choices need to know about the features, in one pass over them."""

    def __init__(self, graph: StoredGraph) -> None:
        self.graph = graph
        self.width = graph.width

    @cached_property
    def _sums(self) -> dict[str, Any]:
        graph = self.graph
        nonzero, negative = 0, False
        extremes: dict[str, Any] = {}
        mean, squares, count = np.zeros(graph.width), np.zeros(graph.width), 0
        for block in _blocks(graph):
            values = block.data if sp.issparse(block) else block
            nonzero += int(np.count_nonzero(values))
            negative |= bool((values < 0).any())
            _update(extremes, "plain", block)
            _update(extremes, "row", rows_to_one(block))
            # Chan, Golub, LeVeque 1983: means and squares around them, merged block by block.
            here, around = _mean_and_squares(block)
            total, shift = count + block.shape[0], here - mean
            squares += around + shift**2 * (count * block.shape[0] / total)
            mean += shift * (block.shape[0] / total)
            count = total
        return {"nonzero": nonzero, "negative": negative, "mean": mean, "squares": squares, **extremes}

    @property
    def filled(self) -> float:
        """The share of the entries that are not zero."""
        return float(self._sums["nonzero"] / (self.graph.nodes * self.width))

    @property
    def negative(self) -> bool:
        """Whether any entry is."""
        return bool(self._sums["negative"])

    def constant(self, normalise: str) -> bool:
        """Whether the features are the same for every node once they are scaled."""
        highest, lowest = self._sums["row" if normalise == "row" else "plain"]
        return bool((highest <= lowest + (1e-6 if normalise == "row" else 0.0)).all())

    def mean_and_scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and 1/standard deviation per column, 0 for a constant column."""
        sums = self._sums
        highest, lowest = sums["plain"]
        varies = (highest > lowest) & (sums["squares"] > 0)
        deviation = np.sqrt(sums["squares"] / self.graph.nodes)
        return sums["mean"], np.divide(1.0, deviation, out=np.zeros(self.width), where=varies)


def fitted_encoder(graph: StoredGraph, kind: str, normalise: str, degree_cap: int, facts: StreamedFacts) -> Any:
    """Return the feature encoder of a stored graph, fitted without reading all of it into memory."""
    if kind in POSITIONS:
        raise InputError(
            f"features {kind!r} factorise a matrix of the whole graph, which does not fit into the given memory; give "
            "features, use 'degree-one-hot', or more --memory"
        )
    encoder = FeatureEncoder(kind, normalise, degree_cap)
    if kind == "auto" and graph.features is not None:
        kind = "given"
    if kind != "given":
        return encoder.fit(rows_of(graph, slice(0, graph.nodes), features=False))  # type: ignore[arg-type]
    if graph.features is None:
        raise InputError(f"{graph.folder} has no features; give a table of nodes to mvgrl import, or omit --features")
    encoder.kind_, encoder.width, encoder.names_ = "given", graph.width, graph.feature_names
    encoder.columns_ = graph.encoder
    if normalise == "standard":
        encoder.mean_, encoder.scale_ = facts.mean_and_scale()
    return encoder


def _blocks(graph: StoredGraph) -> Iterator[Any]:
    rows = max(1, _NUMBERS // max(graph.width, 1))
    for start in range(0, graph.nodes, rows):
        yield graph.feature_rows(start, min(start + rows, graph.nodes))


def _mean_and_squares(block: Any) -> tuple[np.ndarray, np.ndarray]:
    if not sp.issparse(block):
        mean = block.mean(axis=0, dtype=np.float64)
        return mean, ((block - mean) ** 2).sum(axis=0)
    entries = block.astype(np.float64)
    mean = np.asarray(entries.sum(axis=0)).reshape(-1) / block.shape[0]
    stored = np.bincount(entries.indices, minlength=block.shape[1])
    entries.data = (entries.data - mean[entries.indices]) ** 2
    return mean, np.asarray(entries.sum(axis=0)).reshape(-1) + (block.shape[0] - stored) * mean**2


def _update(extremes: dict[str, Any], name: str, block: Any) -> None:
    """Extend the largest and the smallest value per column by those of a block."""
    highest, lowest = extremes_of(block)
    if name in extremes:
        highest, lowest = np.maximum(highest, extremes[name][0]), np.minimum(lowest, extremes[name][1])
    extremes[name] = (highest, lowest)
