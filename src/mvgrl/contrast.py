"""Which codes are contrasted: a mode yields pairs of scales, and each pair becomes anchors, samples and positives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from mvgrl.components import Component, Custom


class Scale(NamedTuple):
    """The codes of one scale (nodes, clusters or graphs) in one view."""

    codes: Tensor  # codes × hidden
    owner: Tensor  # the graph of the batch that each code belongs to
    corrupted: Tensor | None = None  # the same codes in the corrupted graphs, with the same owners


class ViewCodes(NamedTuple):
    """The codes of a batch in one view."""

    nodes: Scale
    graphs: Scale
    clusters: Scale | None = None  # the intermediate codes of DiffPool-2


class Pairs(NamedTuple):
    """What a bound compares: anchors with samples."""

    anchors: Tensor  # rows × hidden
    samples: tuple[Tensor, ...]  # columns × hidden, in parts
    positives: Tensor  # rows × columns
    negatives: Tensor  # rows × columns


ScalePairs = Iterator[tuple[Scale, Scale]]


def local_global(views: Sequence[ViewCodes]) -> ScalePairs:
    """Nodes of each view with the graph of the other."""
    for a, b in _anchored(views):
        yield a.nodes, b.graphs
        yield b.nodes, a.graphs


def global_(views: Sequence[ViewCodes]) -> ScalePairs:
    """The graph of one view with the graph of the other."""
    for a, b in _anchored(views):
        yield a.graphs, b.graphs


def multi_scale(views: Sequence[ViewCodes]) -> ScalePairs:
    """The graph of each view with the clusters of the other, and those clusters with the other's nodes."""
    for a, b in _anchored(views):
        for fine, coarse in ((a, b), (b, a)):
            yield _clusters(fine), coarse.graphs
            yield fine.nodes, _clusters(coarse)


def hybrid(views: Sequence[ViewCodes]) -> ScalePairs:
    """Local-global and global."""
    yield from local_global(views)
    yield from global_(views)


def ensemble(views: Sequence[ViewCodes]) -> ScalePairs:
    """Nodes with the graph of the same view, for every view."""
    for view in views:
        yield view.nodes, view.graphs


@dataclass(frozen=True)
class Mode(Component):
    """A contrast mode as a component: called with the codes of the views, it yields pairs of scales."""

    uses_clusters: ClassVar[bool] = False  # contrasts clusters if the readout makes them
    needs_clusters: ClassVar[bool] = False  # does not work without them
    needs_many_graphs: ClassVar[bool] = False  # contrasts graphs with other graphs
    fewest_views: ClassVar[int] = 2
    across_views: ClassVar[bool] = True  # contrasts views with each other

    def __call__(self, views: Sequence[ViewCodes]) -> ScalePairs:
        """The pairs of scales to contrast, the finer first."""
        raise NotImplementedError


@dataclass(frozen=True)
class LocalGlobal(Mode):
    """See :func:`local_global`."""

    name: ClassVar[str] = "local-global"

    def __call__(self, views: Sequence[ViewCodes]) -> ScalePairs:
        return local_global(views)


@dataclass(frozen=True)
class Global(Mode):
    """See :func:`global_`."""

    name: ClassVar[str] = "global"
    needs_many_graphs: ClassVar[bool] = True

    def __call__(self, views: Sequence[ViewCodes]) -> ScalePairs:
        return global_(views)


@dataclass(frozen=True)
class MultiScale(Mode):
    """See :func:`multi_scale`."""

    name: ClassVar[str] = "multi-scale"
    uses_clusters: ClassVar[bool] = True
    needs_clusters: ClassVar[bool] = True

    def __call__(self, views: Sequence[ViewCodes]) -> ScalePairs:
        return multi_scale(views)


@dataclass(frozen=True)
class Hybrid(Mode):
    """See :func:`hybrid`."""

    name: ClassVar[str] = "hybrid"
    needs_many_graphs: ClassVar[bool] = True

    def __call__(self, views: Sequence[ViewCodes]) -> ScalePairs:
        return hybrid(views)


@dataclass(frozen=True)
class Ensemble(Mode):
    """See :func:`ensemble`."""

    name: ClassVar[str] = "ensemble"
    fewest_views: ClassVar[int] = 1
    across_views: ClassVar[bool] = False

    def __call__(self, views: Sequence[ViewCodes]) -> ScalePairs:
        return ensemble(views)


@dataclass(frozen=True)
class CustomMode(Custom, Mode):
    """A user-defined function from the codes of the views to pairs of scales."""

    uses_clusters: ClassVar[bool] = True


MODES: dict[str, type[Mode]] = {
    "local-global": LocalGlobal,
    "global": Global,
    "multi-scale": MultiScale,
    "hybrid": Hybrid,
    "ensemble": Ensemble,
}


def pairs(fine: Scale, coarse: Scale, *, across_samples: bool) -> Pairs:
    """Arrange two scales as anchors and samples.

    Many graphs: the finer codes are the anchors, and their negatives are the other graphs of the batch.
    One graph: the coarser codes are the anchors, and their negatives are the finer codes of the corrupted graph; with
    ``across_samples``, also all finer codes of the other samples in the batch, real and corrupted.
    """
    same = coarse.owner[:, None] == fine.owner[None, :]
    if fine.corrupted is None:
        return Pairs(fine.codes, (coarse.codes,), same.mT, ~same.mT)
    positives = torch.cat([same, torch.zeros_like(same)], dim=1)
    negatives = ~positives if across_samples else torch.cat([torch.zeros_like(same), same], dim=1)
    return Pairs(coarse.codes, (fine.codes, fine.corrupted), positives, negatives)


def _anchored(views: Sequence[ViewCodes]) -> Iterator[tuple[ViewCodes, ViewCodes]]:
    """The first view with each of the others."""
    for other in views[1:]:
        yield views[0], other


def _clusters(view: ViewCodes) -> Scale:
    if view.clusters is None:
        raise ValueError("multi-scale contrast needs a readout with clusters: DiffPool-2")
    return view.clusters
