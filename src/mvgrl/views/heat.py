"""The heat kernel: exp(t·Â D̂^-1 − t·I), a matrix exponential."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.special import ive

from mvgrl.errors import SettingsError
from mvgrl.graphs import Graph
from mvgrl.views.adjacency import with_self_loops
from mvgrl.views.diffusion import Diffusion, truncate_series
from mvgrl.views.push import push_heat

_SMALLEST_T = 1e-15  # below, the view is the identity in double precision


@dataclass(frozen=True)
class Heat(Diffusion):
    """The heat kernel: how heat placed on a node has spread after time t. e^-t Σ t^k/k! T^k with T = Â D̂^-1.

    Columns sum to 1. With ``top_k`` or ``threshold``, which act on rows, the view is sparse and, unless ``method`` is
    ``"exact"``, approximate: every entry is within ``epsilon`` of its exact value. The exact method ignores
    ``epsilon``. With ``scale="columns"``, each column is then divided by its largest entry.

    T = D̂^1/2 M D̂^-1/2, so the view is D̂^1/2 exp(t(M − I)) D̂^-1/2, where M is symmetric.

    >>> Heat(t=5.0)(Graph.from_edges([0], [1])).round(4)
    array([[0.5034, 0.4966],
           [0.4966, 0.5034]])
    """

    name: ClassVar[str] = "heat"

    t: float = 5.0
    method: str = "auto"
    top_k: int | None = None
    threshold: float | None = None
    epsilon: float = 1e-4
    scale: str = "none"

    def __post_init__(self) -> None:
        self._check_number("t", 0.0, 1e4, "a time above 0 and below 10,000")
        if self.t < _SMALLEST_T:
            raise SettingsError(f"heat: t is {self.t:g}, so small that nothing spreads; use {_SMALLEST_T:g} or more")
        self._check_diffusion()

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the Taylor weights w_k = e^-t t^k/k! and the cutoffs θ_k: push does not follow entries up to θ_k.

        Let N be a Poisson variable with mean t. The series is truncated at a level K with P(N > K) ≤ ε/2. As
        the entries of T^k are at most 1, that adds an error of at most ε/2. The columns of T sum to 1, so not following
        an entry of T^k that is at most θ_k changes each entry of a later level by at most θ_k, and the sum of all later
        levels by at most θ_k·P(N > k). The cutoffs share the other half of ε, Σ θ_k·P(N > k) = ε/2, and
        θ_k ∝ P(N > k)^-1/2 minimises the work.
        """
        from scipy.stats import poisson  # here: the import takes half a second, and only push needs it

        last = int(poisson.isf(self.epsilon / 2, self.t)) + 1
        k = np.arange(last + 1)
        later = poisson.sf(k[:-1], self.t)
        cuts = self.epsilon / 2 / (np.sqrt(later) * np.sqrt(later).sum())
        return poisson.pmf(k, self.t), np.append(cuts, np.inf)

    def _tolerance(self, graph: Graph) -> float:
        # The scaling multiplies an error by sqrt(d̂_i / d̂_j), and d̂_j is at least 1.
        return self.epsilon / 2 / math.sqrt(float(with_self_loops(graph)[1].max()))

    def _bound(self, method: str, graph: Graph) -> float:
        return self.epsilon

    def _coefficients(self, tolerance: float) -> np.ndarray:
        # exp(t(x − 1)) = e^-t (I_0(t) + 2 Σ I_k(t) T_k(x)), where I_k are the modified Bessel functions; they are
        # negligible (below 1e-30) well before the last k computed here.
        coefficients = 2.0 * ive(np.arange(int(self.t + 12.0 * math.sqrt(self.t)) + 60), self.t)
        coefficients[0] /= 2.0
        return truncate_series(coefficients, tolerance)

    def _push_work(self, mean_degree: float) -> float:
        # Σ_j (T^k)_ij d̂_j = d̂_i, so nodes with entries above θ_k have at most d̂_i / θ_k edges in total.
        return mean_degree * float((1.0 / self.levels()[1]).sum())

    def _push(self, graph: Graph, capacity: np.ndarray, threshold: float, dtype: Any) -> sp.csr_array:
        return push_heat(graph.adjacency, *self.levels(), capacity, threshold, dtype)

    def _row_total(self, degrees: np.ndarray) -> np.ndarray:
        return degrees  # Σ_j S_ij d̂_j = d̂_i, and d̂_j is at least 1

    def _scales(self, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.sqrt(degrees), 1.0 / np.sqrt(degrees)

    def _cheaper_by_series(self, nodes: int, work: int) -> bool:
        # The alternative, an eigendecomposition, costs about ten times a Cholesky factorisation.
        return nodes > 512 and 2 * work < nodes**2

    def _solve(self, stack: np.ndarray) -> np.ndarray:
        degrees = stack.sum(axis=-1)
        root = np.sqrt(degrees)
        reachable = [_components(one) for one in stack] if (stack == 0).any() else None
        values, vectors = np.linalg.eigh(stack / (root[:, :, None] * root[:, None, :]))
        result: np.ndarray = (vectors * np.exp(self.t * (values - 1.0))[:, None, :]) @ vectors.mT
        result *= root[:, :, None]
        result /= root[:, None, :]
        # Rounding leaves small negative entries and, if components share an eigenvalue, small entries between them.
        np.maximum(result, 0.0, out=result)
        for matrix, labels in zip(result, reachable or [], strict=False):
            matrix[labels[:, None] != labels[None, :]] = 0.0
        return result

    def _finish(self, matrix: np.ndarray, degrees: np.ndarray) -> None:
        root = np.sqrt(degrees).astype(matrix.dtype)
        matrix *= root[:, None]
        matrix /= root[None, :]
        np.maximum(matrix, 0.0, out=matrix)


def _components(adjacency: np.ndarray) -> np.ndarray:
    return np.asarray(connected_components(sp.csr_array(adjacency), directed=False)[1])
