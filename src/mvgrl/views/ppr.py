"""Personalised PageRank: α (I − (1−α) D̂^-1/2 Â D̂^-1/2)^-1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.runtime import compiled
from mvgrl.views.adjacency import with_self_loops
from mvgrl.views.diffusion import Diffusion
from mvgrl.views.push import push_ppr

# The smallest alpha: a walk of 10,000 steps on average. With fewer stops, the view is the same for all nodes of a
# component to four digits, I − (1−α)M is close to singular, and the number of terms and passes is out of bounds.
_SMALLEST_ALPHA = 1e-4
_MOST_PASSES = 10_000  # of push over the graph; the series takes a hundredth of the time


@compiled(parallel=True)
def _mirror(matrix: Any) -> None:
    """Copy the upper triangle onto the lower one, in 64×64 tiles that fit into the CPU cache."""
    nodes, side = matrix.shape[0], 64
    for band in numba.prange((nodes + side - 1) // side):
        for left in range(0, (band + 1) * side, side):
            for i in range(band * side, min((band + 1) * side, nodes)):
                for j in range(left, min(left + side, i)):
                    matrix[i, j] = matrix[j, i]


@dataclass(frozen=True)
class PPR(Diffusion):
    """Personalised PageRank: where a random walk ends that stops with probability α per step; symmetric form.

    Entries are never negative, and S·sqrt(d̂) = sqrt(d̂). With ``top_k`` or ``threshold``, the view is sparse and,
    unless ``method`` is ``"exact"``, approximate: entry (i, j) is within ε·sqrt(d̂_j) of its exact value with push, and
    within ε with the series, where ε is ``epsilon``. The exact method ignores ``epsilon``. With ``scale="columns"``,
    each column is then divided by its largest entry, as the authors' code does for CiteSeer.

    >>> PPR(alpha=0.5)(Graph.from_edges([0], [1]))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    name: ClassVar[str] = "ppr"

    alpha: float = 0.2
    method: str = "auto"
    top_k: int | None = None
    threshold: float | None = None
    epsilon: float = 1e-4
    scale: str = "none"

    def __post_init__(self) -> None:
        self._check_number("alpha", 0.0, 1.0, "a probability strictly between 0 and 1")
        if self.alpha < _SMALLEST_ALPHA:
            raise SettingsError(f"ppr: alpha is {self.alpha:g}, too small to compute; use {_SMALLEST_ALPHA:g} or more")
        self._check_diffusion()
        passes = -math.log(self.epsilon) / self.alpha  # each leaves 1 − α of the residuals
        if self.method == "push" and passes > _MOST_PASSES:
            raise SettingsError(
                f"ppr: with alpha {self.alpha:g} and epsilon {self.epsilon:g}, push needs about {passes:,.0f} passes "
                "over the graph; use method 'series', or a larger alpha"
            )

    @property
    def symmetric(self) -> bool:
        """Whether the matrix equals its transpose exactly.

        True for the exact method, except with ``top_k``: node j may be in the top k of node i, but i not in that of j.
        """
        exact = self.method == "exact" or (self.method == "auto" and self.threshold is None)
        return exact and self.top_k is None and self.scale == "none"

    def _tolerance(self, graph: Graph) -> float:
        return self.epsilon / 2

    def _bound(self, method: str, graph: Graph) -> float:
        if method == "series":
            return self.epsilon
        return self.epsilon * math.sqrt(float(with_self_loops(graph)[1].max()))

    def _coefficients(self, tolerance: float) -> np.ndarray:
        # α / (1 − βx) = (α / root) (1 + 2 Σ q^k T_k(x)), with root = sqrt(1 − β²) and q = β / (1 + root).
        beta = 1.0 - self.alpha
        root = math.sqrt(1.0 - beta**2)
        ratio = beta / (1.0 + root)
        scale = 2.0 * self.alpha / root
        last = math.ceil(math.log(min(0.5, tolerance * (1.0 - ratio) / scale)) / math.log(ratio))
        coefficients = scale * ratio ** np.arange(last)
        coefficients[0] /= 2.0
        return coefficients

    def _push_work(self, mean_degree: float) -> float:
        # Initially, the residuals weighted by sqrt(d̂) sum to sqrt(d̂_i). A push at u follows d̂_u edges and reduces
        # that sum by at least α·ε·d̂_u.
        return math.sqrt(mean_degree) / (self.alpha * self.epsilon)

    def _push(self, graph: Graph, capacity: np.ndarray, threshold: float, dtype: Any) -> sp.csr_array:
        return push_ppr(graph.adjacency, self.alpha, self.epsilon, capacity, threshold, dtype)

    def _row_total(self, degrees: np.ndarray) -> np.ndarray:
        # Σ_j s_ij·sqrt(d̂_j) = sqrt(d̂_i), and d̂_j is at least 1.
        return np.asarray(np.sqrt(degrees))

    def _scales(self, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.ones_like(degrees), np.ones_like(degrees)

    def _solve(self, stack: np.ndarray) -> np.ndarray:
        root = 1.0 / np.sqrt(stack.sum(axis=-1))
        stack *= root[:, :, None]
        stack *= root[:, None, :]
        stack *= -(1.0 - self.alpha)
        diagonal = np.arange(stack.shape[-1])
        stack[:, diagonal, diagonal] += 1.0
        if len(stack) > 1:
            inverse: np.ndarray = np.linalg.inv(stack) * self.alpha
            inverse = (inverse + inverse.mT) / 2
            np.maximum(inverse, 0.0, out=inverse)
            return inverse
        # I − (1−α)M is positive definite: a Cholesky factorisation does half the work of LU, in place. LAPACK is
        # column-major, so its lower triangle is our upper one.
        matrix = stack[0]
        factorise, invert = lapack.get_lapack_funcs(("potrf", "potri"), (matrix,))
        factor, failed = factorise(matrix.T, lower=True, overwrite_a=True)
        inverse, unfinished = invert(factor, lower=True, overwrite_c=True)
        if failed or unfinished:
            raise ArithmeticError(f"LAPACK failed to invert the ppr matrix (potrf {failed}, potri {unfinished})")
        result: np.ndarray = np.ascontiguousarray(inverse.T)
        result *= self.alpha
        _mirror(result)
        return result[None]

    def _finish(self, matrix: np.ndarray, degrees: np.ndarray) -> None:
        np.maximum(matrix, 0.0, out=matrix)
        _mirror(matrix)
