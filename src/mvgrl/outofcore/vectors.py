"""The vectors of a stored graph: codes layer by layer, propagated features, scaling and rotation, all in shards.

The same parts as in :mod:`mvgrl.vectors`. With one layer, V·(X·Θ) is computed as (V·X)·Θ where that has fewer columns;
V·X is also a step of the propagated features. Means, scales and the rotation come from sums over shards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.beside import Propagated
from mvgrl.beside.roots import EARLY, early_views, suit
from mvgrl.model import MVGRL
from mvgrl.outofcore.adjacency import StoredAdjacency
from mvgrl.outofcore.features import StoredFeatures
from mvgrl.outofcore.propagation import Propagation
from mvgrl.outofcore.shards import Ranges, Shards
from mvgrl.outofcore.tall import Rows, StoredMatrix, Tall, chunks, powers
from mvgrl.settings import Output
from mvgrl.vector_space import VectorSpace, weights_by_share
from mvgrl.vectors import Composition, check_finite_vectors, part_weights, surviving_share

logger = logging.getLogger(__name__)

_SKETCHED = 64  # columns of a part that are propagated to see what survives: all, or random combinations of them

Maker = Callable[[int, int], Tensor]  # a range of rows of a part


@dataclass
class VectorStage:
    """Everything that vectors are made of, and where it is written."""

    folder: Path
    model: MVGRL
    features: StoredFeatures
    views: list[StoredMatrix]
    adjacency: StoredAdjacency
    ranges: Ranges
    columns: int  # of a matrix that are in memory at a time
    output: Output  # with everything chosen
    composition: Composition | None = None  # of a trained model
    done: Callable[[], None] = lambda: None
    _beside: Propagated | None = None
    _first: list[Tall] = field(default_factory=list)
    _later: list[list[Tall]] = field(default_factory=list)
    _propagated: list[Tall] = field(default_factory=list)
    _projects: bool = False  # X·Θ is propagated, not X

    def fit(self) -> Composition | None:
        """Propagate what the vectors are made of, and return how they are composed."""
        self.model.eval()
        if self.model.settings.similar:
            logger.warning("nodes of a graph that stays on disk are not joined with similar ones")
        with torch.inference_mode():
            self._beside = self._fitted_beside() if self.output.propagates else None
            self._encode()
            if self.output.composed and self.composition is None:
                self.composition = self._fitted()
        return self.composition

    def run(self) -> Shards:
        """Write the vectors, in shards of rows."""
        shards = Shards(self.folder / "vectors", self.ranges)
        self.fit()
        with torch.inference_mode():
            shards.fill(lambda start, stop: _stacked(self._vectors(start, stop)), self.done)
        return shards

    def count(self) -> int:
        """Return how many shards there are to write, as far as that is known before."""
        settings, (nodes, width) = self.model.settings, self.features.shape
        passes, blocks = 0, -(-width // self.columns)
        for view in settings.views:
            passes += (view.steps if self.output.propagates else 1) * blocks
        if self.output.propagates and suit(settings, nodes, width, Propagated.components):
            passes += len(early_views(settings)) * EARLY * blocks
            passes += len(self.views) * -(-min(width, settings.hidden) // self.columns)
        if self.composition is None and self.output.propagates:
            passes += -(-_SKETCHED * (2 * len(self.views) + 1) // self.columns)
        return (passes + 2) * len(self.ranges)

    # What is propagated ------------------------------------------------------------------------------------------

    def _fitted_beside(self) -> Propagated:
        """Return the directions that features are reduced to before they are propagated."""
        if self.composition is not None:
            assert isinstance(self.composition.beside, Propagated)
            if self.output.has_positions:
                logger.warning("positions are unknown in a graph that stays on disk; vectors come from features alone")
            return self.composition.beside
        return self._propagation.fit()

    def _encode(self) -> None:
        """Propagate what codes and propagated features are made of."""
        settings, width, on_disk = self.model.settings, self.features.shape[1], self._propagation
        shared = self._beside is not None and self._beside.bases[-1] is None
        self._projects = not shared and width > settings.hidden
        for number, view in enumerate(self.views):
            encoder = self.model._encoder(number)
            if shared:
                steps = on_disk.steps(f"features-{number}", settings.views[number].steps, width)
                powers(steps, view, on_disk.given(None), self.done, keep_first=True)
                self._first.append(steps[0])
                self._propagated.append(steps[-1])
            else:
                self._first.append(on_disk.tall(f"first-{number}", settings.hidden if self._projects else width))
                given = on_disk.given(encoder.weights[0] if self._projects else None)
                self._first[-1].propagate(view, given, self.done)
            self._later.append([])
            for layer in range(1, settings.layers):
                tall = on_disk.tall(f"layer-{number}-{layer}", settings.hidden)
                tall.propagate(view, self._projected(number, layer), self.done)
                self._later[-1].append(tall)
        if self._beside is not None and not shared:
            self._propagated = on_disk.parts(self._beside)

    @property
    def _propagation(self) -> Propagation:
        return Propagation(
            self.folder, self.features, self.views, self.model.settings, self.ranges, self.columns, self.done
        )

    def _projected(self, number: int, layer: int) -> Rows:
        """Return the codes of the layer before, multiplied by the weights of a layer, row by row."""
        weight = self.model._encoder(number).weights[layer]
        return lambda start, stop, columns: self._layers(number, start, stop)[-1] @ weight[:, columns]

    # What vectors are made of, for a few rows --------------------------------------------------------------------

    def _layers(self, number: int, start: int, stop: int) -> list[Tensor]:
        """Return the codes of every layer that is propagated by now, in one view."""
        encoder, first = self.model._encoder(number), self._first[number].rows(start, stop)
        if not self._projects:
            first = first @ encoder.weights[0]
        waiting = [first, *(tall.rows(start, stop) for tall in self._later[number])]
        modules = zip(waiting, encoder.norms, encoder.activations, strict=False)
        return [activation(norm(one)) for one, norm, activation in modules]

    def _parts(self, start: int, stop: int) -> list[Tensor]:
        return [self._checked(part, start, stop) for part in self._makers()]

    def _makers(self) -> list[Maker]:
        """Return the functions that make some rows of each part."""
        codes: list[Maker] = [partial(self._codes, number) for number in range(len(self.views))]
        if self.output.join == "sum":
            views = codes
            codes = [lambda start, stop: torch.stack([view(start, stop) for view in views]).sum(0)]
        if self._beside is None:
            return codes
        others: list[Maker] = [tall.rows for tall in self._propagated]
        if self._beside.raw:
            features = self._propagation.given(self._beside.bases[0])
            others.insert(0, lambda start, stop: features(start, stop, slice(None)))
        return codes + [lambda start, stop, rows=rows: normalize(rows(start, stop)) for rows in others]

    def _codes(self, number: int, start: int, stop: int) -> Tensor:
        layers, kind = self._layers(number, start, stop), self.output.codes
        if kind == "layers":
            return torch.cat(layers, dim=1)
        return layers[-1] if kind == "encoded" else self.model.node_head(layers[-1])

    def _checked(self, part: Maker, start: int, stop: int) -> Tensor:
        rows = part(start, stop)
        check_finite_vectors(rows)
        return rows

    def _vectors(self, start: int, stop: int) -> Iterator[Tensor]:
        for first, last in chunks(start, stop):
            parts = self._parts(first, last)
            if self.composition is None:
                found = torch.cat(parts, dim=1)
            else:
                space = self.composition.space
                unknown = [None] * (len(space.widths) - len(parts))  # positions
                found = space.transform([*parts, *unknown], self.output.dim)
            check_finite_vectors(found)
            yield normalize(found) if self.output.unit_length else found

    # Scaling and rotation ----------------------------------------------------------------------------------------

    def _fitted(self) -> Composition:
        beside, first = self._beside, self._parts(0, min(self.ranges[0][1], 2**10))
        widths = [part.shape[1] for part in first]
        shift = torch.cat(first, dim=1).mean(0)
        shards = Shards(self.folder / "moments", self.ranges)
        shards.fill(lambda start, stop: self._moments(start, stop, shift), self.done)
        total = reduce(np.add, map(shards.read, range(len(self.ranges)))) / self.ranges.nodes
        mean = torch.from_numpy(total[0])
        covariance, mean = torch.from_numpy(total[1:]) - mean[:, None] * mean, shift.double() + mean
        weights = part_weights(len(widths), beside)
        if beside is not None and any(beside.by_share):
            variances = [float(part.sum()) for part in covariance.diagonal().split(widths)]
            weights = weights_by_share(weights, self._surviving_shares(mean.float(), widths, variances))
        return Composition(self.output, beside, VectorSpace.from_moments(mean, covariance, widths, weights))

    def _surviving_shares(self, mean: Tensor, widths: list[int], variances: list[float]) -> list[float]:
        """Return the share of each part's variance that survives one step over the edges; an estimate for wide parts.

        The squares of combinations of columns with random signs are, on average, those of all columns.
        """
        rng = np.random.default_rng(0)
        mixed: list[Rows] = []  # the centred columns of a part, or combinations of them
        counts = [min(width, _SKETCHED) for width in widths]
        for part, centre, width in zip(self._makers(), mean.split(widths), widths, strict=True):
            signs = rng.choice([-1.0, 1.0], (width, _SKETCHED)) / _SKETCHED**0.5 if width > _SKETCHED else np.eye(width)
            mixed.append(partial(self._mixed, part, centre, torch.from_numpy(signs.astype(np.float32))))
        sketch = self._propagation.tall("sketch", sum(counts))
        squares = sketch.squares(self.adjacency, partial(_side_by_side, mixed, counts), self.done)
        after = [float(part.sum()) / self.ranges.nodes for part in squares.split(counts)]
        centres = [float(centre.double().square().sum()) for centre in mean.split(widths)]
        sums = zip(variances, after, centres, strict=True)
        return [surviving_share(before, left, before + centre) for before, left, centre in sums]

    def _mixed(self, part: Maker, centre: Tensor, signs: Tensor, start: int, stop: int, columns: slice) -> Tensor:
        return (self._checked(part, start, stop) - centre) @ signs[:, columns]

    def _moments(self, start: int, stop: int, shift: Tensor) -> np.ndarray:
        """Return the sums of the columns and of their products, around the given point, over some rows."""
        total = torch.zeros(len(shift) + 1, len(shift), dtype=torch.float64)
        for first, last in chunks(start, stop):
            rows = torch.cat(self._parts(first, last), dim=1) - shift
            total[0] += rows.sum(0, dtype=torch.float64)
            total[1:] += rows.T @ rows
        return total.numpy()


def _stacked(blocks: Iterator[Tensor]) -> np.ndarray:
    return np.concatenate([block.numpy() for block in blocks])


def _side_by_side(matrices: list[Rows], counts: list[int], start: int, stop: int, columns: slice) -> Tensor:
    """Return some columns of matrices of so many columns each, side by side; only those that have any are computed."""
    found, first = [], 0
    for rows, count in zip(matrices, counts, strict=True):
        inside = slice(max(columns.start - first, 0), min(columns.stop - first, count))
        if inside.start < inside.stop:
            found.append(rows(start, stop, inside))
        first += count
    return torch.cat(found, dim=1)
