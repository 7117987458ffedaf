"""Local push: computes a diffusion row by row, visiting only the nodes with non-negligible entries.

Every thread has dense work arrays of n numbers and a list of the nodes it has visited, so the cost of computing a row
and of resetting the arrays is proportional to the nodes visited. Rows are computed independently, so the result does
not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from mvgrl.runtime import compiled
from mvgrl.views.sparsify import collect, offer, sort_row, structure


@compiled(parallel=True)
def _push_ppr(
    indptr: Any, neighbours: Any, steps: Any, degrees: Any, pivots: Any, alpha: float, epsilon: float, threshold: float,
    first: int, tasks: int, starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Solve (I − (1−α)M) p = α e_i by Gauss–Seidel steps on the residuals above epsilon.

    All vectors are divided by sqrt(d̂), so the same epsilon applies to every node. Residuals are never negative and
    never decrease while a node is queued, so a node is in the queue exactly while its residual exceeds epsilon.
    """
    nodes = len(degrees)
    for task in numba.prange(tasks):
        found, residual = np.zeros(nodes), np.zeros(nodes)
        queue, pushed = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
        for row in range(task, len(counts), tasks):
            source = first + row
            residual[source] = 1.0 / np.sqrt(degrees[source])
            queue[0], head, waiting, reached = source, 0, 1, 0
            while waiting > 0:
                u = queue[head]
                head = head + 1 if head + 1 < nodes else 0
                waiting -= 1
                if found[u] == 0.0:
                    pushed[reached] = u
                    reached += 1
                moved = residual[u] / pivots[u]
                residual[u] = 0.0
                found[u] += alpha * moved
                for entry in range(indptr[u], indptr[u + 1]):
                    v = neighbours[entry]
                    before = residual[v]
                    after = before + steps[entry] * moved
                    residual[v] = after
                    if before <= epsilon and after > epsilon:
                        tail = head + waiting
                        queue[tail if tail < nodes else tail - nodes] = v
                        waiting += 1
            start, capacity, size = starts[row], starts[row + 1] - starts[row], 0
            for place in range(reached):
                u = pushed[place]
                # The residual at u would add at least this much to u: more accuracy at no cost, and still at most s_iu.
                value = (found[u] + alpha * residual[u] / pivots[u]) * np.sqrt(degrees[u])
                if value >= threshold:
                    size = offer(value, u, values, columns, start, size, capacity)
            sort_row(values, columns, start, size)
            counts[row] = size
            for place in range(reached):
                u = pushed[place]
                found[u] = 0.0
                residual[u] = 0.0
                for entry in range(indptr[u], indptr[u + 1]):
                    residual[neighbours[entry]] = 0.0


def push_ppr(
    adjacency: sp.csr_array, alpha: float, epsilon: float, capacity: np.ndarray, threshold: float, dtype: Any
) -> sp.csr_array:
    """Compute rows of S = α (I − (1−α)M)^-1 by local push, each entry between s_ij − ε·sqrt(d̂_j) and s_ij.

    Proof: let r be the residual of row i. Then s_i − p_i = S r, and push stops when 0 ≤ r ≤ ε·sqrt(d̂) in every entry.
    S has no negative entries and S·sqrt(d̂) = sqrt(d̂), so 0 ≤ S r ≤ ε·sqrt(d̂).

    ``adjacency`` is A, without self-loops; the self-loop of each node is solved for directly.
    """
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1) + 1.0
    steps = (1.0 - alpha) * adjacency.data.astype(np.float64) / degrees[adjacency.indices]
    pivots = 1.0 - (1.0 - alpha) / degrees
    indptr, indices = structure(adjacency)
    tasks = numba.get_num_threads()

    def fill(first: int, last: int, starts: Any, counts: Any, columns: Any, values: Any) -> None:
        _push_ppr(
            indptr, indices, steps, degrees, pivots, alpha, epsilon, threshold,
            first, tasks, starts, counts, columns, values,
        )  # fmt: skip

    return collect(adjacency.shape, capacity, np.dtype(dtype), fill)


@compiled(parallel=True)
def _push_heat(
    indptr: Any, neighbours: Any, steps: Any, weights: Any, cuts: Any, threshold: float,
    first: int, tasks: int, starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Sum weights[k] · e_iᵀ Tᵏ level by level; entries of level k at or below cuts[k] are not followed."""
    nodes = len(indptr) - 1
    for task in numba.prange(tasks):
        total, level, following = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
        touched, here, there = np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32)
        # Marks of the nodes in those lists: a weight or a step may underflow, so a zero does not mean a new node.
        known, now, soon = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
        for row in range(task, len(counts), tasks):
            level[first + row] = 1.0
            here[0], active, reached = first + row, 1, 0
            for k in range(len(weights)):
                fresh = 0
                for place in range(active):
                    u = here[place]
                    mass = level[u]
                    level[u] = 0.0
                    now[u] = False
                    if not known[u]:
                        known[u] = True
                        touched[reached] = u
                        reached += 1
                    total[u] += weights[k] * mass
                    if mass > cuts[k]:
                        for entry in range(indptr[u], indptr[u + 1]):
                            v = neighbours[entry]
                            if not soon[v]:
                                soon[v] = True
                                there[fresh] = v
                                fresh += 1
                            following[v] += steps[entry] * mass
                level, following, here, there, active = following, level, there, here, fresh
                now, soon = soon, now
            start, capacity, size = starts[row], starts[row + 1] - starts[row], 0
            for place in range(reached):
                u = touched[place]
                if total[u] > 0.0 and total[u] >= threshold:
                    size = offer(total[u], u, values, columns, start, size, capacity)
                total[u] = 0.0
                known[u] = False
            sort_row(values, columns, start, size)
            counts[row] = size


def push_heat(
    looped: sp.csr_array, weights: np.ndarray, cuts: np.ndarray, capacity: np.ndarray, threshold: float, dtype: Any
) -> sp.csr_array:
    """Compute rows of Σ weights[k]·Tᵏ, T = Â D̂^-1, without following entries of Tᵏ at or below ``cuts[k]``.

    ``looped`` is Â. The last cut must be infinite, as no level follows the last one.
    """
    degrees = np.asarray(looped.sum(axis=1), dtype=np.float64).reshape(-1)
    steps = looped.data / degrees[looped.indices]
    indptr, indices = structure(looped)
    tasks = numba.get_num_threads()

    def fill(first: int, last: int, starts: Any, counts: Any, columns: Any, values: Any) -> None:
        _push_heat(
            indptr, indices, steps, weights, cuts, threshold,
            first, tasks, starts, counts, columns, values,
        )  # fmt: skip

    return collect(looped.shape, capacity, np.dtype(dtype), fill)
