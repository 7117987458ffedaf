"""MVGRL: Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from mvgrl.contrast import MODES, Scale, ViewCodes, ensemble, global_, hybrid, local_global, pairs
from mvgrl.encoders import GCN
from mvgrl.heads import Bilinear, DotProduct, Head
from mvgrl.matrices import Matrix
from mvgrl.mutual_information import BOUNDS, Bound, nt_xent
from mvgrl.readouts import make_readout
from mvgrl.sampling import Batch
from mvgrl.settings import Settings

_WITHOUT_CLUSTERS = (local_global, global_, hybrid, ensemble)


class MVGRL(nn.Module):
    """Encoders, readout, heads and discriminator; called with a batch, it returns the loss.

    ``width`` is the number of features of a node, ``largest`` the number of nodes of the largest graph or sample
    (it sizes DiffPool). The weights are drawn from ``seed`` alone.
    """

    def __init__(self, settings: Settings, width: int, *, largest: int = 4, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        hidden, layers = settings.hidden, settings.layers
        count = 1 if settings.encoder == "shared" else len(settings.views)
        regularisers = dict(norm=settings.norm, dropout=settings.dropout, noise=settings.noise)
        self.settings, self.largest = settings, largest
        self.encoders: Sequence[GCN] = nn.ModuleList(  # type: ignore[assignment]
            GCN(width, hidden, layers, generator=generator, **regularisers)  # type: ignore[arg-type]
            for _ in range(count)
        )
        for encoder in self.encoders:
            encoder.requires_grad_(not settings.frozen_encoder)
        self.readout = make_readout(settings.readout, hidden, layers, largest, generator)  # P
        bilinear = settings.discriminator == "bilinear"
        shortcut = settings.head_shortcut
        self.node_head = nn.Identity() if bilinear else Head(hidden, generator, shortcut=shortcut)  # f_ψ
        self.graph_head = nn.Identity() if bilinear else Head(hidden, generator, shortcut=shortcut)  # f_φ
        self.discriminator = Bilinear(hidden, generator) if bilinear else DotProduct()  # D
        self.mode = MODES[settings.mode] if isinstance(settings.mode, str) else settings.mode
        self.bound = _bound(settings)
        # one's own mode may want clusters too; of the named ones only multi-scale does
        self.contrasts_clusters = settings.readout == "diffpool-2" and self.mode not in _WITHOUT_CLUSTERS

    def forward(self, batch: Batch, generator: torch.Generator | None = None) -> Tensor:
        """The loss of a batch: Algorithm 1's body, both directions of every pair of views."""
        views, loss = self.encode(batch, generator)
        for fine, coarse in self.mode(views):
            anchors, samples, positives, negatives = pairs(fine, coarse, many=self.bound.many)
            scores = self.discriminator(anchors, samples, cosine=self.bound.cosine)
            loss = loss + self.bound.loss(scores, positives, negatives)
        return loss

    def encode(self, batch: Batch, generator: torch.Generator | None = None) -> tuple[list[ViewCodes], Tensor]:
        """Codes of the views to be contrasted, and the readout's auxiliary loss."""
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

    def represent(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Node codes and graph codes: the sum over the views, H = H^α + H^β, h = h^α + h^β, unless set otherwise."""
        found = []
        for index, (z, view) in enumerate(zip(self._project(batch), batch.views, strict=True)):
            layers = self._encoder(index)(_take(z, batch.rows), view)
            found.append(self._codes(layers, view, batch))
        summed = self.settings.join == "sum"
        nodes, graphs = (
            torch.stack(views).sum(0) if summed else torch.cat(views, dim=1) for views in zip(*found, strict=True)
        )
        return (normalize(nodes), normalize(graphs)) if self.settings.unit_length else (nodes, graphs)

    def _codes(self, layers: list[Tensor], view: Matrix, batch: Batch) -> tuple[Tensor, Tensor]:
        """What a view says of nodes and graphs: after the heads, before them, or before the readout too."""
        if self.settings.codes == "layers":
            nodes = torch.cat(layers, dim=1)
            sums = batch.pool(nodes)
            means = "mean" in self.settings.readout
            return nodes, sums / sums.new_tensor(batch.sizes)[:, None] if means else sums
        nodes, graphs = layers[-1], self.readout(layers, view, batch).graphs
        return (nodes, graphs) if self.settings.codes == "encoded" else (self.node_head(nodes), self.graph_head(graphs))

    def _encoder(self, view: int) -> GCN:
        return self.encoders[view % len(self.encoders)]  # one a view, or one for all

    def _project(self, batch: Batch) -> list[Tensor]:
        """X·Θ for each view: once a step and encoder, whatever the samples and negatives."""
        projected = [encoder.project(batch.features) for encoder in self.encoders]
        return [projected[view % len(projected)] for view in range(len(batch.views))]

    def _draw(self, batch: Batch, generator: torch.Generator | None) -> tuple[Sequence[int], Tensor | None]:
        """Which views to encode and, where two are drawn for each sample, which (samples × 2, among those encoded)."""
        count = len(batch.views)
        if not self.settings.draw_two_views:
            return range(count), None
        order = torch.rand(len(batch.sizes), count, generator=generator).argsort(1)[:, :2]
        chosen, drawn = order.unique(return_inverse=True)
        return chosen.tolist(), drawn.to(batch.device)


def _take(projected: Tensor, rows: Tensor | None) -> Tensor:
    return projected if rows is None else projected.index_select(0, rows)


def _mixed(views: list[ViewCodes], drawn: Tensor) -> list[ViewCodes]:
    """Two sets of codes in which each sample's come from the views drawn for it."""

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


def _bound(settings: Settings) -> Bound:
    bound = settings.bound
    if not isinstance(bound, str):
        return bound if isinstance(bound, Bound) else Bound(bound)
    if bound == "nt-xent":
        return BOUNDS[bound]._replace(loss=partial(nt_xent, temperature=settings.temperature))
    return BOUNDS[bound]
