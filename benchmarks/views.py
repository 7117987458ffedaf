"""Sparse views, compared with dense ones and with PyTorch Geometric's push: time, memory and error, as ratios.

Every method runs in a separate process on the same random graph of PubMed's size with heavy-tailed degrees, after a
warm-up on a small graph that excludes compilation. Memory is the peak of the process, minus what it held before the
call. A ratio is theirs / ours: above 1, ours is faster or smaller.

    python benchmarks/views.py
    python benchmarks/views.py --json --nodes 5000 --edges 12000
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from measure import alone, spent
from scipy.sparse.linalg import expm_multiply

from mvgrl.graphs import Graph
from mvgrl.views import PPR, Heat
from mvgrl.views.adjacency import normalised_adjacency, with_self_loops

ALPHA, TIME, TOP_K, EPSILON = 0.2, 5.0, 32, 1e-5
SAMPLED_ROWS = 64


def citation_like(nodes: int, edges: int, seed: int) -> Graph:
    """A random graph with expected degrees that follow a power law, as in citation graphs."""
    rng = np.random.default_rng(seed)
    popularity = (1.0 - rng.random(nodes)) ** (-1 / 1.7)
    popularity = np.minimum(popularity, 40 * popularity.mean())
    popularity /= popularity.sum()
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < edges:
        ends = np.sort(rng.choice(nodes, (2, 2 * edges), p=popularity), axis=0)
        low, high = ends[:, ends[0] != ends[1]]
        keys = np.concatenate([keys, low * nodes + high])
        keys = keys[np.sort(np.unique(keys, return_index=True)[1])]
    return Graph.from_edges(keys[:edges] // nodes, keys[:edges] % nodes, nodes=nodes)


def ours_ppr(graph: Graph) -> sp.csr_array:
    return sp.csr_array(PPR(ALPHA, top_k=TOP_K, epsilon=EPSILON)(graph))


def push_ppr(graph: Graph) -> sp.csr_array:
    return sp.csr_array(PPR(ALPHA, top_k=TOP_K, epsilon=EPSILON, method="push")(graph))


def pyg_ppr(graph: Graph, rows: np.ndarray | None = None) -> tuple[sp.csr_array, float]:
    """PyTorch Geometric's push in symmetric form, for the given rows, and the seconds spent in its own calls.

    It returns Python lists of every entry it visited, which may not fit in memory for all rows together. It is called
    with 1,024 rows at a time, and the largest entries are kept, as in ours.
    """
    import torch
    from torch_geometric.utils import get_ppr

    looped, degrees = with_self_loops(graph)
    edges = torch.from_numpy(np.stack(looped.nonzero())).long()
    rows = np.arange(graph.nodes) if rows is None else rows
    parts, seconds = [], 0.0
    for start in range(0, len(rows), 1024):
        target = torch.from_numpy(rows[start : start + 1024])
        begun = time.perf_counter()
        (found, columns), values = get_ppr(edges, ALPHA, EPSILON, target=target, num_nodes=graph.nodes)
        seconds += time.perf_counter() - begun
        order = torch.argsort(values * torch.rsqrt(torch.from_numpy(degrees)[columns]), descending=True)
        order = order[torch.argsort(found[order], stable=True)]
        counts = torch.bincount(found, minlength=graph.nodes)
        place = torch.arange(len(order)) - (counts.cumsum(0) - counts)[found[order]]
        kept = order[place < TOP_K]
        parts.append(np.stack([found[kept].numpy(), columns[kept].numpy(), values[kept].numpy()]))
    found, columns, values = np.concatenate(parts, axis=1)
    found, columns = found.astype(np.int64), columns.astype(np.int64)
    values *= np.sqrt(degrees[found] / degrees[columns])
    return sp.csr_array((values, (found, columns)), shape=looped.shape), seconds


def dense_ppr(graph: Graph) -> np.ndarray:
    """The inverse by Cholesky factorisation in single precision, in place: the fastest dense method."""
    matrix = normalised_adjacency(graph)[0].astype(np.float32).toarray()
    matrix *= -(1 - ALPHA)
    matrix[np.diag_indices_from(matrix)] += 1
    factor, failed = scipy.linalg.lapack.spotrf(matrix.T, lower=True, overwrite_a=True)
    inverse, unfinished = scipy.linalg.lapack.spotri(factor, lower=True, overwrite_c=True)
    assert not failed
    assert not unfinished
    result = np.asarray(inverse.T)
    result *= ALPHA
    for start in range(0, len(result), 512):  # LAPACK fills only one triangle
        stop = start + 512
        result[stop:, start:stop] = result[start:stop, stop:].T
        square = result[start:stop, start:stop]
        square[:] = np.triu(square) + np.triu(square, 1).T
    return result


def ours_heat(graph: Graph) -> sp.csr_array:
    return sp.csr_array(Heat(TIME, top_k=TOP_K, epsilon=EPSILON)(graph))


def dense_heat(graph: Graph) -> np.ndarray:
    """SciPy's matrix exponential in single precision."""
    looped, degrees = with_self_loops(graph)
    generator = TIME * (looped / degrees[None, :]).toarray().astype(np.float32)
    generator[np.diag_indices_from(generator)] -= TIME
    return np.asarray(scipy.linalg.expm(generator))


def expm_rows(graph: Graph, rows: np.ndarray) -> np.ndarray:
    """Rows of the exact heat view in double precision, computed with SciPy's ``expm_multiply``."""
    looped, degrees = with_self_loops(graph)
    generator = TIME * sp.csr_array(looped / degrees[:, None]) - TIME * sp.eye_array(graph.nodes)  # T transposed
    chosen = np.zeros((graph.nodes, len(rows)))
    chosen[rows, np.arange(len(rows))] = 1.0
    return np.asarray(expm_multiply(sp.csr_array(generator), chosen)).T


def errors(approximate: sp.csr_array, exact: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """The largest error of a kept entry, and of the k-th largest value of a row in any column; ``exact[rows]``."""
    entry, value = 0.0, 0.0
    for i, row in zip(rows, exact, strict=True):
        kept = slice(approximate.indptr[i], approximate.indptr[i + 1])
        columns, values = approximate.indices[kept], approximate.data[kept]
        largest = np.zeros(min(TOP_K, len(row)))
        largest[: len(values)] = -np.sort(-values)[: len(largest)]
        entry = max(entry, float(np.abs(values - row[columns]).max(initial=0.0)))
        value = max(
            value, float(np.abs(largest - -np.sort(np.partition(-row, len(largest) - 1)[: len(largest)])).max())
        )
    return entry, value


def measured(method: Callable[..., Any], graph: Graph, *arguments: Any) -> tuple[Any, dict[str, float]]:
    """The result, seconds and bytes, without compilation."""
    method(citation_like(400, 900, seed=1))  # compiles and starts the threads
    return spent(method, graph, *arguments)


def run_sparse(
    name: str, shape: tuple[int, int, int], rows: np.ndarray | None
) -> tuple[sp.csr_array, dict[str, float]]:
    graph = citation_like(*shape)
    if name == "pyg":
        (matrix, seconds), cost = measured(pyg_ppr, graph, rows)
        return matrix, {**cost, "seconds": seconds}
    return measured({"ppr": ours_ppr, "push": push_ppr, "heat": ours_heat}[name], graph)


def run_dense_ppr(
    shape: tuple[int, int, int], against: dict[str, tuple[sp.csr_array, np.ndarray]]
) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Measure the inverse and compare the sparse views with it in the same process: it is too large to send."""
    exact, cost = measured(dense_ppr, citation_like(*shape))
    return {name: errors(matrix, exact[rows], rows) for name, (matrix, rows) in against.items()}, cost


def run_dense_heat(shape: tuple[int, int, int]) -> dict[str, float]:
    return measured(dense_heat, citation_like(*shape))[1]


def benchmark(nodes: int, edges: int, dense_nodes: int, pyg_rows: int, seed: int) -> dict[str, Any]:
    shape = (nodes, edges, seed)
    every = np.arange(nodes)
    some = np.unique(np.linspace(0, nodes - 1, min(pyg_rows, nodes)).astype(np.int64))
    ppr, ppr_spent = alone(run_sparse, "ppr", shape, None)
    push, push_spent = alone(run_sparse, "push", shape, None)
    pyg, pyg_spent = alone(run_sparse, "pyg", shape, some)
    pyg_seconds = pyg_spent["seconds"] * nodes / len(some)
    found, dense_spent = alone(run_dense_ppr, shape, {"ours": (ppr, every), "push": (push, every), "pyg": (pyg, some)})

    heat, heat_spent = alone(run_sparse, "heat", shape, None)
    sampled = np.unique(np.linspace(0, nodes - 1, min(SAMPLED_ROWS, nodes)).astype(np.int64))
    graph = citation_like(*shape)
    heat_errors = errors(heat, expm_rows(graph, sampled), sampled)
    small = (dense_nodes, dense_nodes * edges // nodes, seed)
    _, small_spent = alone(run_sparse, "heat", small, None)
    expm_spent = alone(run_dense_heat, small)
    return {
        "nodes": nodes,
        "edges": edges,
        "top_k": TOP_K,
        "epsilon": EPSILON,
        "ppr": {
            "method": PPR(ALPHA, top_k=TOP_K, epsilon=EPSILON).chosen_method(graph),
            "max_error": found["ours"][0],
            "max_error_sorted": found["ours"][1],
            "max_error_push": found["push"][0],
            "max_error_pyg": found["pyg"][0],
            "time_ratio_dense": dense_spent["seconds"] / ppr_spent["seconds"],
            "time_ratio_pyg": pyg_seconds / ppr_spent["seconds"],
            "time_ratio_pyg_push": pyg_seconds / push_spent["seconds"],
            "memory_ratio_dense": dense_spent["bytes"] / ppr_spent["bytes"],
            "memory_ratio_push": push_spent["bytes"] / ppr_spent["bytes"],
            "memory_ratio_pyg": pyg_spent["bytes"] / ppr_spent["bytes"],
            "rows_pyg": len(some),
            "seconds": {
                "ours": ppr_spent["seconds"],
                "push": push_spent["seconds"],
                "dense": dense_spent["seconds"],
                "pyg": pyg_seconds,
            },
        },
        "heat": {
            "method": Heat(TIME, top_k=TOP_K, epsilon=EPSILON).chosen_method(graph),
            "max_error": heat_errors[0],
            "max_error_sorted": heat_errors[1],
            "rows_error": len(sampled),
            "nodes_dense": dense_nodes,
            "time_ratio_dense": expm_spent["seconds"] / small_spent["seconds"],
            "memory_ratio_dense": expm_spent["bytes"] / small_spent["bytes"],
            "seconds": {
                "ours": heat_spent["seconds"],
                "ours_at_nodes_dense": small_spent["seconds"],
                "dense_at_nodes_dense": expm_spent["seconds"],
            },
        },
    }


def _line(label: str, *cells: float | str) -> str:
    return f"  {label:<19}" + "".join(f"{cell if isinstance(cell, str) else format(cell, '.2f'):>10}" for cell in cells)


def show(result: dict[str, Any]) -> str:
    ppr, heat = result["ppr"], result["heat"]
    ours, push, dense, pyg = (ppr["seconds"][name] for name in ("ours", "push", "dense", "pyg"))
    small, expm = heat["seconds"]["ours_at_nodes_dense"], heat["seconds"]["dense_at_nodes_dense"]
    head = ("seconds", "slower", "memory", "error")
    return "\n".join(
        [
            f"{result['nodes']:,} nodes, {result['edges']:,} edges, top {TOP_K}, epsilon {EPSILON:g}",
            "",
            _line("ppr", *head),
            _line(f"ours ({ppr['method']})", ours, 1.0, 1.0, f"{ppr['max_error']:.1e}"),
            _line("ours (push)", push, push / ours, ppr["memory_ratio_push"], f"{ppr['max_error_push']:.1e}"),
            _line("dense inverse", dense, ppr["time_ratio_dense"], ppr["memory_ratio_dense"], "reference"),
            _line("PyG get_ppr", pyg, ppr["time_ratio_pyg"], ppr["memory_ratio_pyg"], f"{ppr['max_error_pyg']:.1e}"),
            f"  PyG: its own calls for {ppr['rows_pyg']:,} rows, scaled to all; its memory is that of 1,024 rows.",
            f"  Sorted top values of ours and of the exact view differ by at most {ppr['max_error_sorted']:.1e}.",
            "",
            _line("heat", *head),
            _line(f"ours ({heat['method']})", heat["seconds"]["ours"], "", "", f"{heat['max_error']:.1e}"),
            f"  at {heat['nodes_dense']:,} nodes:",
            _line("ours", small, 1.0, 1.0),
            _line("dense exponential", expm, heat["time_ratio_dense"], heat["memory_ratio_dense"]),
            "  The dense exponential grows with the cube of the nodes, ours at most with their square, so the ratio",
            f"  at {result['nodes']:,} nodes is larger. The error is over {heat['rows_error']} rows of the full one.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=19717, help="nodes of the random graph (default: PubMed's 19717)")
    parser.add_argument("--edges", type=int, default=44324, help="its edges (default: PubMed's 44324)")
    parser.add_argument("--dense-nodes", type=int, default=3000, help="nodes for the dense exponential (default: 3000)")
    parser.add_argument("--pyg-rows", type=int, default=4096, help="rows PyG is timed on (default: 4096)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random graph (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    result = benchmark(options.nodes, options.edges, options.dense_nodes, options.pyg_rows, options.seed)
    sys.stdout.write((json.dumps(result, indent=2) if options.json else show(result)) + "\n")


if __name__ == "__main__":
    main()
