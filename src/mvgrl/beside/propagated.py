"""For nodes: their features, raw and propagated over every view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.automatic import LARGE_GRAPH
from mvgrl.beside.basis import check_basis
from mvgrl.beside.roots import EARLY, early_views, is_non_negative, project_roots, root_directions, suit
from mvgrl.inputs import Inputs
from mvgrl.matrices import Matrix
from mvgrl.positions import are_positions
from mvgrl.settings import PROPAGATED, Settings
from mvgrl.vector_space import leading_directions

_ROOTS = "roots"  # the tensor in a file that says that parts are components of square roots


@dataclass(frozen=True)
class Propagated:
    """Features, raw and propagated over every view, at unit length; 256 components where there are more.

    Positions are components already, and all of them are kept. In large graphs, components of propagated features are
    those of square roots if no feature is negative, and views with many steps have a second part, after two (roots.py).
    """

    bases: tuple[Tensor | None, ...]  # per part: features × components; None: the features unchanged
    positions: bool = False  # whether the features are positions in the graph
    raw: bool = True  # whether the first part is the raw features; False only in older files
    roots: bool = False  # whether the propagated parts are components of square roots
    early: int = 0  # how many of the parts, the last ones, are propagated only two steps
    nodes: int = 0  # of the training graph; only needed to fit

    components: ClassVar[int] = PROPAGATED

    @classmethod
    def fit(cls, inputs: Inputs) -> Propagated:
        """Find the leading components of the raw and propagated features of the training graph."""
        shape, device = inputs.features.shape, inputs.device
        products, positions = products_of(inputs), are_positions(inputs.settings.features)
        nodes = inputs.graph.nodes
        if positions or shape[1] <= cls.components:
            return cls(tuple(None for _ in products), positions, nodes=nodes)
        roots = suit(inputs.settings, nodes, shape[1], cls.components) and is_non_negative(inputs.features)
        early = len(early_views(inputs.settings)) if roots else 0
        plain = products[:1] if roots else products
        bases = [leading_directions(product, shape, cls.components, device) for product in plain]
        if roots:
            found = _propagations(inputs, early=True)
            bases += [root_directions(inputs.features, *one, cls.components, device) for one in found]
        return cls(tuple(bases), positions, roots=roots, early=early, nodes=nodes)

    def parts(self, inputs: Inputs) -> list[Tensor | None]:
        """Return the components of every part, nodes × components each; None for a part that is unknown."""
        every = torch.eye(inputs.features.shape[1], device=inputs.device)
        bases = (every if basis is None else basis for basis in self.bases)
        products = products_of(inputs)
        if self.roots:
            products[1:] = [partial(project_roots, inputs.features, *one) for one in _propagations(inputs, early=True)]
        products = products[0 if self.raw else 1 :]
        return [normalize(product(basis)) for product, basis in zip(products, bases, strict=True)]

    def names(self, settings: Settings) -> list[str]:
        """Return the names of the parts."""
        first = [f"raw {'positions' if self.positions else 'features'}"] if self.raw else []
        propagated = "propagated, square roots" if self.roots else "propagated"
        after_two = [f"{propagated}, {EARLY} steps: {settings.views[view]}" for view in early_views(settings)]
        return first + [f"{propagated}: {view}" for view in settings.views] + after_two[: self.early]

    @property
    def weights(self) -> list[float]:
        """The weight of every part: propagated features of all views weigh 0.7 together, and propagated positions 1.

        Parts after two steps, and the raw features, weigh as much as one view.
        """
        return [(1.0 if self.positions else 0.7) * self._views**-0.5] * len(self.bases)

    @property
    def code_weight(self) -> float:
        """The weight of the codes of all views together: 1, or half in a large graph with features.

        There, propagated features are the more informative parts, and codes of full weight displace them.
        """
        return 0.5 if self.nodes > LARGE_GRAPH and not self.positions else 1.0

    @property
    def by_share(self) -> list[bool]:
        """Which parts are weighted by what survives propagation: all, unless they are positions, which are smooth."""
        return [not self.positions] * len(self.bases)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to save in a file."""
        roots = {_ROOTS: torch.ones(1)} if self.roots else {}
        return {f"basis.{part}": basis for part, basis in enumerate(self.bases) if basis is not None} | roots

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], settings: Settings, width: int, count: int) -> Propagated:
        """Rebuild ``count`` parts from a file, for features of ``width`` columns.

        Older files have one part fewer, and 256 components of positions.
        """
        positions, roots = are_positions(settings.features), _ROOTS in tensors
        early = len(early_views(settings)) if roots else 0
        raw = count == len(settings.views) + 1 + early
        if not raw and (roots or count != len(settings.views)):
            raise ValueError(f"there are {count} parts in addition to the codes of {len(settings.views)} views")
        names = [f"basis.{part}" for part in range(count)]
        if width <= cls.components or (positions and names[0] not in tensors):
            return cls((None,) * count, positions, raw)
        for name in names:
            check_basis(name, tensors[name], width)
        return cls(tuple(tensors[name] for name in names), positions, raw, roots, early)

    def widths(self, width: int) -> list[int]:
        """Return the number of columns of every part, for features of ``width`` columns."""
        return [width if basis is None else basis.shape[1] for basis in self.bases]

    @property
    def _views(self) -> int:
        """The number of views."""
        return len(self.bases) - self.raw - self.early

    def to(self, device: torch.device | str) -> Propagated:
        """Return the bases on another device."""
        return replace(self, bases=tuple(basis if basis is None else basis.to(device) for basis in self.bases))


def products_of(inputs: Inputs, features: Matrix | None = None) -> list[Callable[[Tensor], Tensor]]:
    """Return the products of features, raw and propagated over every view, with a matrix of directions.

    The features are those of the inputs unless others are given.
    """
    table = inputs.features if features is None else features
    steps = [(inputs.views[0], 0), *_propagations(inputs)]

    def propagation(view: Matrix, count: int) -> Callable[[Tensor], Tensor]:
        def product(directions: Tensor) -> Tensor:
            rows = table @ directions
            for _ in range(count):
                rows = view @ rows
            return rows

        return product

    return [propagation(view, count) for view, count in steps]


def _propagations(inputs: Inputs, *, early: bool = False) -> list[tuple[Matrix, int]]:
    """Return every view, and the number of steps that features are propagated over it; early: also after two steps."""
    found = [(view, kind.steps) for view, kind in zip(inputs.views, inputs.settings.views, strict=True)]
    return found + [(inputs.views[view], EARLY) for view in early_views(inputs.settings) if early]
