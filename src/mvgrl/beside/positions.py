"""For nodes with features: positions in the graph, in addition to the features.

Positions, which also replace missing features, encode where in the graph a node is. If the features are informative,
coarse positions with a small weight are enough. Features that are few or noisy distinguish few nodes, and so do codes
trained on them: positions distinguish the rest. They belong to the training graph: in another graph they are unknown,
and its vectors come from the features alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.agreement import FEW_FEATURES, are_unrelated
from mvgrl.beside.propagated import Propagated, products_of
from mvgrl.graphs.features import varying_columns
from mvgrl.inputs import Inputs
from mvgrl.matrices import DenseMatrix
from mvgrl.positions import PositionEncoder
from mvgrl.settings import Settings

_PREFIX = "position."  # of the tensors in a file


@dataclass(frozen=True)
class WithPositions(Propagated):
    """Raw and propagated features, and raw and propagated positions."""

    columns: int = 1  # of the features that vary between nodes; only needed to fit
    encoder: PositionEncoder | None = None  # knows the positions of the training graph; None if features are positions
    unrelated: bool = False  # the features have nothing to do with the edges; only needed to fit

    enough: ClassVar[int] = 128  # columns at which features get their full weight

    @classmethod
    def fit(cls, inputs: Inputs) -> WithPositions:
        """Find the components of the features, and the positions of the nodes of the training graph."""
        features = Propagated.fit(inputs)
        if features.positions:
            return cls(features.bases, features.positions)
        given = inputs.graph.features if inputs.encoder.kind_ == "given" else None
        columns = inputs.features.shape[1] if given is None else varying_columns(given)
        unrelated = are_unrelated(inputs.graph, inputs.features)
        found = cls(**vars(features), columns=columns, unrelated=unrelated)
        return replace(found, encoder=inputs.positions(coarse=not found.say_little))

    def parts(self, inputs: Inputs) -> list[Tensor | None]:
        """Return the components of every part; positions are None in a graph that has nothing to do with them."""
        found = super().parts(inputs)
        if self.encoder is None:
            return found
        positions = self.encoder.positions_if_related(inputs.graph, inputs.ids)
        if positions is None:
            return found + [None] * self._count
        table = DenseMatrix(torch.from_numpy(positions).to(inputs.device))
        every = torch.eye(positions.shape[1], device=inputs.device)
        return found + [normalize(product(every)) for product in products_of(inputs, table)]

    def names(self, settings: Settings) -> list[str]:
        """Return the names of the parts."""
        if self.encoder is None:
            return super().names(settings)
        positions = ["raw positions", *(f"propagated positions: {view}" for view in settings.views)]
        return super().names(settings) + positions

    @property
    def weights(self) -> list[float]:
        """The weight of every part: propagated features of all views together 0.7 or less, positions 0.35 or 0.5.

        Positions have weight 0.5 if the features are uninformative. The fewer columns features have, the smaller is
        their weight. A single column varies in one direction only: with the weight of a wide table, it would dominate
        all distances. Raw features have a larger weight if they are unrelated to the edges: if edges join nodes at
        random, nothing else is useful.
        """
        if self.encoder is None:
            return super().weights
        features, positions = super().weights, (0.5 if self.say_little else 0.35) * (self._count - 1) ** -0.5
        if self.unrelated:
            features[0] = 1.0
        return [weight * self._fullness for weight in features] + [positions] * self._count

    @property
    def say_little(self) -> bool:
        """Whether the features are few or have nothing to do with the edges."""
        return self.unrelated or self.columns < FEW_FEATURES

    @property
    def code_weight(self) -> float:
        """The weight of the codes of all views together: lower if they are trained on few features."""
        return self._fullness if self.encoder is not None and self.say_little else super().code_weight

    @property
    def by_share(self) -> list[bool]:
        """Which parts are weighted by what survives propagation: features, but not positions, which are smooth.

        Uninformative raw features keep their weight, for graphs whose edges join unrelated nodes: there, nothing
        survives.
        """
        if self.encoder is None:
            return super().by_share
        return [not self.say_little] + [True] * (len(self.bases) - 1) + [False] * self._count

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to save in a file."""
        arrays = {} if self.encoder is None else self.encoder.to_arrays()
        return super().tensors() | {_PREFIX + name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], settings: Settings, width: int, count: int) -> WithPositions:
        """Rebuild ``count`` parts from a file, for features of ``width`` columns."""
        arrays = {name.removeprefix(_PREFIX): one for name, one in tensors.items() if name.startswith(_PREFIX)}
        encoder = None
        if arrays:
            encoder = PositionEncoder.from_arrays({name: one.numpy() for name, one in arrays.items()}, kind="position")
            count -= len(settings.views) + 1
        features = Propagated.from_tensors(tensors, settings, width, count)
        if features.positions == (encoder is not None):
            raise ValueError(f"vector/{_PREFIX}positions is {'missing' if encoder is None else 'there twice'}")
        return cls(**vars(features), encoder=encoder)

    def widths(self, width: int) -> list[int]:
        """Return the number of columns of every part, for features of ``width`` columns."""
        return super().widths(width) + ([] if self.encoder is None else [self.encoder.width] * self._count)

    @property
    def _fullness(self) -> float:
        """How much of their full weight features have: less, the fewer columns they have."""
        return min(1.0, self.columns / self.enough) ** 0.5

    @property
    def _count(self) -> int:
        """The number of parts that are positions: raw ones, and those propagated over every view."""
        return self._views + 1
