"""Which codes meet: a contrast mode yields pairs of scales, and a pair becomes anchors, samples and positives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Scale(NamedTuple):
    """The codes of one scale (nodes, clusters or graphs) in one view."""

    codes: Tensor  # codes × hidden
    owner: Tensor  # which graph of the batch each code belongs to
    corrupted: Tensor | None = None  # their counterparts in the corrupted graphs, same owners


class ViewCodes(NamedTuple):
    """What one view's encoder says of a batch."""

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
Mode = Callable[[Sequence[ViewCodes]], ScalePairs]


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


MODES: dict[str, Mode] = {
    "local-global": local_global,
    "global": global_,
    "multi-scale": multi_scale,
    "hybrid": hybrid,
    "ensemble": ensemble,
}


def pairs(fine: Scale, coarse: Scale, *, many: bool) -> Pairs:
    """Lay two scales out as anchors and samples.

    Many graphs: the finer codes are the anchors, and their negatives are the other graphs of the batch.
    One graph: the coarser codes are the anchors, and their negatives are the corrupted graph's finer codes; with
    ``many``, also all finer codes of the other samples in the batch, real and corrupted.
    """
    same = coarse.owner[:, None] == fine.owner[None, :]
    if fine.corrupted is None:
        return Pairs(fine.codes, (coarse.codes,), same.mT, ~same.mT)
    positives = torch.cat([same, torch.zeros_like(same)], dim=1)
    negatives = ~positives if many else torch.cat([torch.zeros_like(same), same], dim=1)
    return Pairs(coarse.codes, (fine.codes, fine.corrupted), positives, negatives)


def _anchored(views: Sequence[ViewCodes]) -> Iterator[tuple[ViewCodes, ViewCodes]]:
    """The first view with each of the others."""
    for other in views[1:]:
        yield views[0], other


def _clusters(view: ViewCodes) -> Scale:
    if view.clusters is None:
        raise ValueError("multi-scale contrast needs a readout with clusters: DiffPool-2")
    return view.clusters
