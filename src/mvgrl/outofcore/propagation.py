"""Propagated features of a stored graph: their leading directions and their components, in tall matrices on disk.

The same as in :mod:`mvgrl.beside.propagated`. A view is used as its own transpose: views are symmetric, or nearly so
where small entries were dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.beside import Propagated
from mvgrl.beside.roots import EARLY, early_views, is_non_negative, sample_of_rows, square_roots, suit, unit_columns
from mvgrl.outofcore.features import StoredFeatures
from mvgrl.outofcore.shards import Ranges, Shards
from mvgrl.outofcore.tall import Done, Rows, StoredMatrix, Tall, chunks, powers
from mvgrl.settings import Settings
from mvgrl.vector_space import fixed_signs, leading_directions

_WIDEST = 1024  # features of which all second moments are computed; more are first reduced to _REDUCED components
_REDUCED, _ITERATIONS = 512, 4
_SAMPLED = 2**22  # entries of the rows that directions of square roots are found from, at a time


@dataclass(frozen=True)
class Propagation:
    """The features of a stored graph, propagated over its views."""

    folder: Path
    features: StoredFeatures
    views: list[StoredMatrix]
    settings: Settings
    ranges: Ranges
    columns: int  # of a matrix that are in memory at a time
    done: Done

    def fit(self) -> Propagated:
        """Find the directions that raw and propagated features are reduced to."""
        nodes, width = self.features.shape
        if width <= Propagated.components:
            return Propagated((None,) * (len(self.views) + 1), nodes=nodes)
        bases = [self._basis("features", self._raw_basis)]
        if self._has_roots():
            early = len(early_views(self.settings))
            bases += [self._root_basis(number, steps) for number, steps in self._propagations(early)]
            return Propagated(tuple(bases), roots=True, early=early, nodes=nodes)
        for number in range(len(self.views)):
            bases.append(self._basis(f"{number}", partial(self._propagated_basis, number)))
        return Propagated(tuple(bases), nodes=nodes)

    def parts(self, beside: Propagated) -> list[Tall]:
        """Write the components of propagated features."""
        found = []
        for (number, steps), basis in zip(self._propagations(beside.early), beside.bases[beside.raw :], strict=True):
            assert basis is not None  # there are more features than components
            found.append(self._roots(number, steps, basis) if beside.roots else self._components(number, basis))
        return found

    def given(self, directions: Tensor | None) -> Rows:
        """Return the features, or their products with some directions, row by row."""

        def rows(start: int, stop: int, columns: slice) -> Tensor:
            block = self.features.block(start, stop)
            return block.dense()[:, columns] if directions is None else block @ directions[:, columns]

        return rows

    def tall(self, name: str, width: int) -> Tall:
        """Return a matrix in a folder of that name, which need not exist yet."""
        return Tall(self.folder / name, self.ranges, width, self.columns)

    def steps(self, name: str, count: int, width: int) -> list[Tall]:
        """Return a matrix for every step of a propagation."""
        return [self.tall(f"{name}-step-{step + 1}", width) for step in range(count)]

    def _propagations(self, early: int) -> list[tuple[int, int]]:
        """Return the number and the steps of every view, then those of ``early`` views that have a part after two."""
        every = [(number, view.steps) for number, view in enumerate(self.settings.views)]
        return every + [(number, EARLY) for number in early_views(self.settings)[:early]]

    def _has_roots(self) -> bool:
        """Whether square roots replace the propagated features, as in memory."""
        nodes, width = self.features.shape
        return suit(self.settings, nodes, width, Propagated.components) and all(
            is_non_negative(self.features.block(*chunk)) for chunk in self._chunks()
        )

    def _basis(self, name: str, find: Callable[[], tuple[Tensor, list[Tall]]]) -> Tensor:
        """Find leading directions; they come with files that are no longer needed once the directions are written."""
        kept = Shards(self.folder / f"basis-{name}", Ranges(1, 1))
        if not kept.has(0):
            basis, used = find()
            kept.write(0, fixed_signs(basis).contiguous().numpy())
            for tall in used:  # only now: a job that is killed before would compute them again
                tall.remove()
        return torch.from_numpy(np.array(kept.read(0)))

    def _raw_basis(self) -> tuple[Tensor, list[Tall]]:
        reduced = self._reduced
        features = self.given(reduced)
        directions = self._directions(lambda start, stop: features(start, stop, slice(None)))
        return directions if reduced is None else reduced @ directions, []

    def _propagated_basis(self, number: int) -> tuple[Tensor, list[Tall]]:
        """Return the directions, and the files that they came from."""
        reduced = self._reduced
        view, count = self.views[number], self.settings.views[number].steps
        width = self.features.shape[1] if reduced is None else reduced.shape[1]
        steps = self.steps(f"wide-{number}", count, width)
        powers(steps, view, self.given(reduced), self.done, keep_first=False)
        if reduced is None:
            return self._directions(steps[-1].rows), steps[-1:]
        # One iteration: the leading directions of the features need not be those of what is left after many steps.
        back = self.steps(f"back-{number}", count, width)
        powers(back, view, steps[-1].some, self.done, keep_first=False)
        values, vectors = torch.linalg.eigh(self._squares(steps[-1].rows))
        large = values > 1e-10 * values[-1]
        spanned = self._onto_features(back[-1].rows) @ (vectors[:, large] * values[large].rsqrt())
        directions = torch.linalg.svd(spanned, full_matrices=False)[0]
        return directions[:, : Propagated.components].float(), [steps[-1], back[-1]]

    def _directions(self, rows: Callable[[int, int], Tensor]) -> Tensor:
        """Return the leading directions of a matrix that is given by its rows."""
        return torch.linalg.eigh(self._squares(rows))[1].flip(1)[:, : Propagated.components].float()

    def _squares(self, rows: Callable[[int, int], Tensor]) -> Tensor:
        """Return RᵀR of a matrix R that is given by its rows."""
        return sum(((some := rows(*chunk)).T @ some).double() for chunk in self._chunks())  # type: ignore[return-value]

    def _onto_features(self, rows: Callable[[int, int], Tensor]) -> Tensor:
        """Return XᵀR of a matrix R that is given by its rows."""
        return sum((self.features.block(*chunk).T @ rows(*chunk)).double() for chunk in self._chunks())  # type: ignore[return-value]

    @cached_property
    def _reduced(self) -> Tensor | None:
        """The leading directions of very many features, by subspace iteration, a pass over them each; else None."""
        width = self.features.shape[1]
        if width <= _WIDEST:
            return None
        rows = max(1, 2**24 // width)
        start = np.random.default_rng(0).standard_normal((width, min(width, _REDUCED)), dtype=np.float32)
        right = torch.linalg.qr(torch.from_numpy(start)).Q
        for _ in range(_ITERATIONS):
            total = torch.zeros_like(right)
            for first in range(0, self.ranges.nodes, rows):
                block = self.features.block(first, min(first + rows, self.ranges.nodes))
                total += block.T @ (block @ right)
            right = torch.linalg.qr(total).Q
        return right

    def _components(self, number: int, basis: Tensor) -> Tall:
        """Write the components of features propagated over a view."""
        steps = self.steps(f"propagated-{number}", self.settings.views[number].steps, basis.shape[1])
        powers(steps, self.views[number], self.given(basis), self.done, keep_first=False)
        return steps[-1]

    def _root_basis(self, number: int, count: int) -> Tensor:
        """Find the leading directions of square roots of features propagated over a view, and write their components.

        The propagated columns stay on disk in between, so that they are propagated once.
        """
        basis = self._basis(f"{number}-after-{count}", lambda: (self._root_directions(number, count), []))
        self._roots(number, count, basis)
        return basis

    def _root_directions(self, number: int, count: int) -> Tensor:
        columns = [self._columns_of(number, count, block) for block in self._blocks]
        nodes, width = sample_of_rows(self.features.shape, Propagated.components), self.features.shape[1]
        rows = max(1, _SAMPLED // width)

        def product(right: Tensor) -> Tensor:  # with RᵀR, for the square roots R of the shares of each row
            total = torch.zeros(width, right.shape[1])
            for start in range(0, len(nodes), rows):
                some = torch.cat([tall.at(nodes[start : start + rows]) for tall in columns], dim=1)
                roots = normalize(square_roots(some))
                total.addmm_(roots.T, roots @ right)
            return total

        return leading_directions(product, (width, width), Propagated.components, torch.device("cpu"), symmetric=True)

    def _roots(self, number: int, count: int, basis: Tensor) -> Tall:
        """Write the components of square roots of features propagated over a view, some columns after the others."""
        blocks = self._blocks
        sums = [self.tall(f"roots-{number}-after-{count}-{block}", basis.shape[1]) for block in range(len(blocks))]
        first = max((block for block, tall in enumerate(sums) if tall.complete), default=-1) + 1
        for block in range(first, len(blocks)):
            propagated = self._columns_of(number, count, blocks[block])

            def add(start: int, stop: int, columns: slice, block: int = block, last: Tall = propagated) -> Tensor:
                found = square_roots(last.rows(start, stop))
                before = sums[block - 1].some(start, stop, columns) if block else 0
                return found @ basis[blocks[block], columns] + before

            sums[block].fill(add)
            for tall in (propagated, *sums[max(0, block - 1) : block]):
                tall.remove()
        return sums[-1]

    @property
    def _blocks(self) -> list[slice]:
        """The columns of the features that are propagated at a time, for square roots."""
        return self.tall("columns", self.features.shape[1]).blocks

    def _columns_of(self, number: int, count: int, block: slice) -> Tall:
        """Write some columns of the features, propagated over a view."""
        chosen = unit_columns(self.features.shape[1], block.start, block.stop)
        steps = self.steps(f"columns-{number}-after-{count}-{block.start}", count, chosen.shape[1])
        powers(steps, self.views[number], self.given(chosen), self.done, keep_first=False)
        return steps[-1]

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for start, stop in self.ranges:
            yield from chunks(start, stop)
