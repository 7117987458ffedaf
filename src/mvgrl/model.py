"""MVGRL: Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from mvgrl.contrast import Scale, ViewCodes, pairs
from mvgrl.encoders import GCN
from mvgrl.heads import Head
from mvgrl.matrices import Matrix
from mvgrl.sampling import Batch
from mvgrl.settings import Settings


class MVGRL(nn.Module):
    """Encoders, readout, heads and discriminator; called with a batch, it returns the loss.

    ``width`` is the number of features per node, ``largest`` the number of nodes of the largest graph or sample
    (it sizes DiffPool). The weights depend on ``seed`` only.
    """

    def __init__(self, settings: Settings, width: int, *, largest: int = 4, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        hidden, layers = settings.hidden, settings.layers
        regularisers = dict(norm=settings.norm.layer, dropout=settings.dropout, noise=settings.noise)
        self.settings, self.largest = settings, largest
        self.encoders: Sequence[GCN] = nn.ModuleList(  # type: ignore[assignment]
            GCN(width, hidden, layers, generator=generator, **regularisers)
            for _ in range(settings.encoder.count(len(settings.views)))
        )
        for encoder in self.encoders:
            encoder.requires_grad_(not settings.frozen_encoder)
        self.readout = settings.readout.build(hidden, layers, largest, generator)  # P
        self.node_head = self._head(generator)  # f_ψ
        self.graph_head = self._head(generator)  # f_φ
        self.discriminator = settings.discriminator.build(hidden, generator)  # D
        self.contrasts_clusters = settings.readout.makes_clusters and settings.mode.uses_clusters

    def forward(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """The loss of a batch: Algorithm 1's body, both directions of every pair of views."""
        views, loss = self.encode(batch, generator)
        bound = self.settings.bound
        for fine, coarse in self.settings.mode(views):
            anchors, samples, positives, negatives = pairs(fine, coarse, across_samples=bound.across_samples)
            scores = self.discriminator(anchors, samples, cosine=bound.cosine)
            loss = loss + bound(scores, positives, negatives)
        return loss

    def encode(self, batch: Batch, generator: torch.Generator | None = None) -> tuple[list[ViewCodes], Tensor]:
        """The codes of the views to contrast, and the auxiliary loss of the readout."""
        chosen, drawn = self._draw(batch, generator)
        projected = self._project(batch)
        auxiliary = projected[0].new_zeros(())
        views = []
        for index in chosen:
            z, view = projected[index], batch.views[index]
            layers = self._encoder(index)(_take(z, batch.rows), view, generator)
            pooled = self.readout(layers, view, batch)
            auxiliary = auxiliary + pooled.loss
            nodes = Scale(self.node_head(layers[-1]), batch.owner)
            graphs = Scale(self.graph_head(pooled.graphs), batch.owners([1] * len(batch.sizes)))
            clusters = None
            if self.contrasts_clusters:
                clusters = Scale(self.node_head(pooled.clusters), batch.owners(pooled.cluster_counts))
            if batch.has_negatives:  # the same X·Θ, other rows of it or another structure
                view = (batch.negative_views or batch.views)[index]
                layers = self._encoder(index)(_take(z, batch.negative_rows), view, generator)
                nodes = nodes._replace(corrupted=self.node_head(layers[-1]))
                if clusters is not None:
                    pooled = self.readout(layers, view, batch)
                    clusters = clusters._replace(corrupted=self.node_head(pooled.clusters))
            views.append(ViewCodes(nodes, graphs, clusters))
        return (views if drawn is None else _mixed(views, drawn)), auxiliary

    def layer_codes(self, batch: Batch) -> Iterator[tuple[list[Tensor], Matrix]]:
        """The node codes of every layer, and the matrix, of each view: what vectors are made from."""
        for index, (z, view) in enumerate(zip(self._project(batch), batch.views, strict=True)):
            yield self._encoder(index)(_take(z, batch.rows), view), view

    def _head(self, generator: torch.Generator) -> nn.Module:
        settings = self.settings
        if not settings.discriminator.heads:
            return nn.Identity()
        return Head(settings.hidden, generator, shortcut=settings.head_shortcut)

    def _encoder(self, view: int) -> GCN:
        return self.encoders[view % len(self.encoders)]  # one per view, or one for all

    def _project(self, batch: Batch) -> list[Tensor]:
        """X·Θ for each view, computed once per step and encoder, regardless of samples and negatives."""
        projected = [encoder.project(batch.features) for encoder in self.encoders]
        return [projected[view % len(projected)] for view in range(len(batch.views))]

    def _draw(self, batch: Batch, generator: torch.Generator | None) -> tuple[Sequence[int], Tensor | None]:
        """The views to encode, and with draw_two_views the two of each sample (samples × 2, indices of those)."""
        count = len(batch.views)
        if not self.settings.draw_two_views:
            return range(count), None
        order = torch.rand(len(batch.sizes), count, generator=generator).argsort(1)[:, :2]
        chosen, drawn = order.unique(return_inverse=True)
        return chosen.tolist(), drawn.to(batch.device)


def _take(projected: Tensor, rows: Tensor | None) -> Tensor:
    return projected if rows is None else projected.index_select(0, rows)


def _mixed(views: list[ViewCodes], drawn: Tensor) -> list[ViewCodes]:
    """Two sets of codes, in which the codes of each sample come from the views drawn for it."""

    def pick(scales: list[Scale], side: int) -> Scale:
        owner = scales[0].owner
        choice, position = drawn[owner, side], torch.arange(len(owner), device=owner.device)
        codes = torch.stack([scale.codes for scale in scales])[choice, position]
        if scales[0].corrupted is None:
            return Scale(codes, owner)
        return Scale(codes, owner, torch.stack([scale.corrupted for scale in scales])[choice, position])  # type: ignore

    mixed = []
    for side in (0, 1):
        clusters = [view.clusters for view in views if view.clusters is not None]
        mixed.append(
            ViewCodes(
                pick([view.nodes for view in views], side),
                pick([view.graphs for view in views], side),
                pick(clusters, side) if clusters else None,
            )
        )
    return mixed
