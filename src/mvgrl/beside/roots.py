"""For nodes of large graphs: square roots of propagated features, for features that are never negative.

After propagation, a node's features are a distribution over columns, such as words; frequent words would dominate
its components. The inner product of square roots of two distributions is their Bhattacharyya coefficient, in which
rare words count as well. Square roots are not linear, so all columns are propagated, a block of them at a time.

After eight steps, a distribution describes the surroundings; after two, the node. Views with more than two steps have
both.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from mvgrl.automatic import LARGE_GRAPH
from mvgrl.matrices import DenseMatrix, Matrix, SparseMatrix
from mvgrl.positions import are_positions
from mvgrl.settings import Settings
from mvgrl.vector_space import leading_directions

# All columns are propagated; beyond these limits, this would take too long.
WIDEST = 2**13  # columns
MOST_ENTRIES = 2**33  # nodes × columns: 858 columns of ten million nodes
EARLY = 2  # views with more steps have another part, after two
_BLOCK = 2**25  # entries of the columns that are propagated at a time
_FEWEST = 16  # of these columns
_SAMPLE = 2**26  # entries of the rows from which directions are found


def suit(settings: Settings, nodes: int, width: int, components: int) -> bool:
    """Whether square roots replace the propagated features, if none is negative: in large graphs, for many features."""
    if are_positions(settings.features) or not components < width <= WIDEST:
        return False
    return LARGE_GRAPH < nodes <= MOST_ENTRIES // width


def is_non_negative(features: Matrix) -> bool:
    """Whether no entry of the features, as encoders see them, is negative."""
    values = {SparseMatrix: "values", DenseMatrix: "blocks"}.get(type(features))
    return values is not None and bool((getattr(features, values) >= 0).all())


def early_views(settings: Settings) -> list[int]:
    """Return the numbers of the views that also have a part after two steps.

    >>> early_views(Settings(views=("ppr", "adjacency")))
    [1]
    """
    return [number for number, view in enumerate(settings.views) if view.steps > EARLY]


def root_directions(table: Matrix, view: Matrix, steps: int, count: int, device: torch.device) -> Tensor:
    """Return the leading directions of square roots of the features after some steps over a view, columns × count.

    They come from a random sample of the rows if the table is large.
    """
    nodes = torch.from_numpy(sample_of_rows(table.shape, count)).to(device)
    last = view.rows(nodes)
    found = torch.cat([last @ columns for columns in _propagated(table, view, steps - 1, device)], dim=1)
    roots = DenseMatrix(normalize(square_roots(found)))  # the square roots of each row's shares
    return leading_directions(lambda right: roots @ right, roots.shape, count, device)


def sample_of_rows(shape: tuple[int, int], count: int) -> np.ndarray:
    """Return the random rows, in ascending order, that ``count`` directions are found from: all of a small table."""
    rows, width = shape
    size = min(rows, max(_SAMPLE // width, count))
    return np.sort(np.random.default_rng(0).choice(rows, size, replace=False))


def project_roots(table: Matrix, view: Matrix, steps: int, basis: Tensor) -> Tensor:
    """Return the components of square roots of the features after some steps over a view, rows × components.

    They are not divided by the root of the row's sum, because parts are scaled to unit length later.

    >>> table = DenseMatrix(torch.tensor([[1.0, 9.0], [0.0, 4.0]]))
    >>> project_roots(table, DenseMatrix(torch.eye(2)), 1, torch.eye(2))
    tensor([[1., 3.],
            [0., 2.]])
    """
    found, start = basis.new_zeros(table.shape[0], basis.shape[1]), 0
    for columns in _propagated(table, view, steps, basis.device):
        stop = start + columns.shape[1]
        found.addmm_(square_roots(columns), basis[start:stop])
        start = stop
    return found


def unit_columns(width: int, start: int, stop: int) -> Tensor:
    """Return some columns of the identity matrix: a product with them has these columns of a table.

    >>> unit_columns(4, 1, 3).T
    tensor([[0., 1., 0., 0.],
            [0., 0., 1., 0.]])
    """
    columns = torch.zeros(width, stop - start)
    columns[start:stop].fill_diagonal_(1)
    return columns


def square_roots(columns: Tensor) -> Tensor:
    """Return square roots, 0 where rounding errors made a number negative; the columns are overwritten.

    >>> square_roots(torch.tensor([4.0, -1e-9]))
    tensor([2., 0.])
    """
    return columns.clamp_(min=0).sqrt_()


def _propagated(table: Matrix, view: Matrix, steps: int, device: torch.device) -> Iterator[Tensor]:
    """Yield the columns of the features after some steps, a block of them at a time."""
    rows, width = table.shape
    size = max(_FEWEST, _BLOCK // rows)
    for start in range(0, width, size):
        columns = table @ unit_columns(width, start, min(start + size, width)).to(device)
        for _ in range(steps):
            columns = view @ columns
        yield columns
