"""Local push: computes a diffusion row by row, visiting only the nodes with non-negligible entries.

Every thread has dense work arrays of n numbers and a list of the nodes it has visited, so the cost of computing a row
and of resetting the arrays is proportional to the nodes visited. Rows are computed independently, so the result does
not depend on the number of threads. Apart from the graph itself, a kernel reads only the degrees: there is no other
array with an entry per edge, and none at all for the weights of an unweighted graph.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from mvgrl.runtime import compiled
from mvgrl.views.prefetch import prefetch
from mvgrl.views.sparsify import collect, offer, sort_row, structure

_NEARLY_ZERO = 1e-300  # of a residual that was pushed: a zero means that the node was never met; it adds nothing


_AHEAD = 64  # neighbours whose residuals are fetched ahead


@compiled(parallel=True)
def _push_ppr(
    indptr: Any, neighbours: Any, weights: Any, degrees: Any, alpha: float, epsilon: float, threshold: float,
    first: int, work: Any, starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Solve (I − (1−α)M) p = α e_i by Gauss–Seidel steps on the residuals above epsilon.

    All vectors are divided by sqrt(d̂), so the same epsilon applies to every node. Residuals are then multiplied by d̂,
    so that following an edge does not need the degree of its end. They are never negative and never decrease while a
    node is queued, so a node is in the queue exactly while its residual exceeds epsilon·d̂.
    """
    nodes, stay, tasks = len(degrees), 1.0 - alpha, len(work)
    for task in numba.prange(tasks):
        found, residual = work[task, 0], work[task, 1]
        queue, pushed, touched = np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes + 1, np.int32)
        for row in range(task, len(counts), tasks):
            source = first + row
            residual[source] = np.sqrt(degrees[source])
            queue[0], head, waiting, reached = source, 0, 1, 0
            touched[0], met = source, 1
            while waiting > 0:
                u = queue[head]
                head = head + 1 if head + 1 < nodes else 0
                waiting -= 1
                if found[u] == 0.0:
                    pushed[reached] = u
                    reached += 1
                moved = residual[u] / (degrees[u] - stay)
                residual[u] = _NEARLY_ZERO
                found[u] += alpha * moved
                flow = stay * moved
                # In a large graph, most of the time is spent waiting for memory. So what the next nodes of the queue
                # need is fetched ahead: first where their neighbours are, then the neighbours, then their residuals.
                if waiting > 2:
                    third = queue[head + 2 if head + 2 < nodes else head + 2 - nodes]
                    prefetch(indptr, third)
                    prefetch(degrees, third)
                    prefetch(found, third)
                    second = queue[head + 1 if head + 1 < nodes else head + 1 - nodes]
                    if indptr[second] < indptr[second + 1]:
                        prefetch(neighbours, indptr[second])
                        prefetch(neighbours, indptr[second + 1] - 1)
                    following = queue[head]
                    for entry in range(indptr[following], min(indptr[following + 1], indptr[following] + _AHEAD)):
                        prefetch(residual, neighbours[entry])
                for entry in range(indptr[u], indptr[u + 1]):
                    v = np.uint64(neighbours[entry])  # unsigned: numba would check for negative indices
                    weight = 1.0 if weights is None else np.float64(weights[entry])
                    before = residual[v]
                    touched[met] = v  # kept only if it is new
                    met += before == 0.0
                    after = before + weight * flow
                    residual[v] = after
                    if after > epsilon * (1.0 + weight):  # d̂_v is at least that: for most nodes it is not looked up
                        limit = epsilon * degrees[v]
                        if before <= limit and after > limit:
                            tail = head + waiting
                            queue[tail if tail < nodes else tail - nodes] = v
                            waiting += 1
            start, capacity, size = starts[row], starts[row + 1] - starts[row], 0
            for place in range(reached):
                u = pushed[place]
                # The residual at u would add at least this much to u: more accuracy at no cost, and still at most s_iu.
                value = (found[u] + alpha * residual[u] / (degrees[u] - stay)) * np.sqrt(degrees[u])
                if value >= threshold:
                    size = offer(value, u, values, columns, start, size, capacity)
            sort_row(values, columns, start, size)
            counts[row] = size
            for place in range(reached):
                found[pushed[place]] = 0.0
            for place in range(met):
                residual[touched[place]] = 0.0


def ppr_rows(
    graph: tuple[Any, Any, Any], degrees: np.ndarray, alpha: float, epsilon: float, threshold: float,
    first: int, starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Fill in rows of personalised PageRank from ``first`` on; ``graph`` is indptr, indices and weights or None."""
    # Allocated by NumPy, which asks for huge pages: random access to memory is then much faster.
    work = np.empty((numba.get_num_threads(), 2, len(degrees)))
    work.fill(0.0)
    _push_ppr(*graph, degrees, alpha, epsilon, threshold, first, work, starts, counts, columns, values)


def push_ppr(
    adjacency: sp.csr_array, alpha: float, epsilon: float, capacity: np.ndarray, threshold: float, dtype: Any
) -> sp.csr_array:
    """Compute rows of S = α (I − (1−α)M)^-1 by local push, each entry between s_ij − ε·sqrt(d̂_j) and s_ij.

    Proof: let r be the residual of row i. Then s_i − p_i = S r, and push stops when 0 ≤ r ≤ ε·sqrt(d̂) in every entry.
    S has no negative entries and S·sqrt(d̂) = sqrt(d̂), so 0 ≤ S r ≤ ε·sqrt(d̂).

    ``adjacency`` is A, without self-loops; the self-loop of each node is solved for directly.
    """
    graph, degrees = with_weights(adjacency)

    def fill(first: int, last: int, *arrays: Any) -> None:
        ppr_rows(graph, degrees, alpha, epsilon, threshold, first, *arrays)

    return collect(adjacency.shape, capacity, np.dtype(dtype), fill)


@compiled(parallel=True)
def _push_heat(
    indptr: Any, neighbours: Any, edges: Any, degrees: Any, weights: Any, cuts: Any, threshold: float,
    first: int, tasks: int, starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Sum weights[k] · e_iᵀ Tᵏ level by level; entries of level k at or below cuts[k] are not followed.

    A level is collected before it is divided by the degrees: once per node, not once per edge.
    """
    nodes = len(degrees)
    for task in numba.prange(tasks):
        total, level, following = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
        touched, here, there = np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32)
        # Marks of the nodes in those lists: a weight or a step may underflow, so a zero does not mean a new node.
        known, now, soon = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
        for row in range(task, len(counts), tasks):
            level[first + row] = degrees[first + row]
            here[0], active, reached = first + row, 1, 0
            for k in range(len(weights)):
                fresh = 0
                for place in range(active):
                    u = here[place]
                    mass = level[u] / degrees[u]
                    level[u] = 0.0
                    now[u] = False
                    if not known[u]:
                        known[u] = True
                        touched[reached] = u
                        reached += 1
                    total[u] += weights[k] * mass
                    if mass > cuts[k]:
                        if not soon[u]:  # the self-loop
                            soon[u] = True
                            there[fresh] = u
                            fresh += 1
                        following[u] += mass
                        for entry in range(indptr[u], indptr[u + 1]):
                            v = neighbours[entry]
                            weight = 1.0 if edges is None else np.float64(edges[entry])
                            if not soon[v]:
                                soon[v] = True
                                there[fresh] = v
                                fresh += 1
                            following[v] += weight * mass
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


def heat_rows(
    graph: tuple[Any, Any, Any], degrees: np.ndarray, weights: np.ndarray, cuts: np.ndarray, threshold: float,
    first: int, starts: Any, counts: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Fill in rows of the heat kernel from ``first`` on; ``graph`` is indptr, indices and weights or None."""
    tasks = numba.get_num_threads()
    _push_heat(*graph, degrees, weights, cuts, threshold, first, tasks, starts, counts, columns, values)


def push_heat(
    adjacency: sp.csr_array, weights: np.ndarray, cuts: np.ndarray, capacity: np.ndarray, threshold: float, dtype: Any
) -> sp.csr_array:
    """Compute rows of Σ weights[k]·Tᵏ, T = Â D̂^-1, without following entries of Tᵏ at or below ``cuts[k]``.

    ``adjacency`` is A, without self-loops. The last cut must be infinite, as no level follows the last one.
    """
    graph, degrees = with_weights(adjacency)

    def fill(first: int, last: int, *arrays: Any) -> None:
        heat_rows(graph, degrees, weights, cuts, threshold, first, *arrays)

    return collect(adjacency.shape, capacity, np.dtype(dtype), fill)


def with_weights(adjacency: sp.csr_array) -> tuple[tuple[Any, Any, Any], np.ndarray]:
    """Return indptr, indices and weights (None if all are 1) of A, and the degrees d̂ of Â = A + I."""
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1) + 1.0
    unweighted = bool((adjacency.data == 1).all())
    return (*structure(adjacency), None if unweighted else adjacency.data.astype(np.float64, copy=False)), degrees
