"""What a graph larger than any measured one needs on a cluster, from the rates that benchmarks/scale.py measured.

Bytes come from the plan that mvgrl embed would print. Core-seconds per node come from the record with the same mean
degree, and grow with the exponent between the two sizes of another record. Diffusion and vectors are divided among
the machines; import, training and writing run on one. Every machine reads what it needs from shared storage once. Both
the cores and the network are assumed to be used fully, so the hours are a lower bound.

    python benchmarks/projection.py results/benchmarks/scale-degree-20.json results/benchmarks/scale-3000000.json
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mvgrl.outofcore.plan import Plan
from mvgrl.settings import Output, Settings

WIDTH = 64  # features of benchmarks/scale.py
SHARED = ("diffusion", "vectors")  # stages that all machines work on
ONE_THREAD = ("import", "writing")
PAGE = 4096


@dataclass(frozen=True)
class Cluster:
    """The machines, and how fast each reads from shared storage."""

    machines: int
    cores: int
    bandwidth: float  # bytes per second and machine


def core_seconds(rates: dict[str, Any], growth: dict[str, Any], nodes: int) -> dict[str, float]:
    """The processor time of every stage; that of training does not depend on the size."""
    small, large = (size for size in growth["sizes"])
    found = {}
    for name, stage in rates["sizes"][0]["stages"].items():
        before, after = (size["stages"][name]["cpu_seconds"] for size in (small, large))
        exponent = math.log(after / before) / math.log(large["nodes"] / small["nodes"])
        times = 1.0 if name == "training" else (nodes / rates["sizes"][0]["nodes"]) ** max(1.0, exponent)
        found[name] = stage["cpu_seconds"] * times
    return found


def traffic(name: str, nodes: int, edges: int, plan: Plan, settings: Settings, machines: int) -> float:
    """The bytes that one machine reads and writes in a stage."""
    graph, features, vectors = 8 * nodes + 8 * edges, 4 * WIDTH * nodes, 4 * nodes * settings.hidden
    view, steps = plan.disk["diffusion"], [one.steps for one in settings.views]
    products = (graph * steps[0] + view * steps[1] + features * sum(steps)) / machines
    return {
        "import": 2 * (16 * edges + features) + graph + features,
        "diffusion": graph + view / machines,
        # Every node of a sample has a few pages: its features, its neighbours, and two parts of its row of the view.
        "training": min(5 * PAGE * settings.sample_size * settings.epochs, graph + features + view),
        # All rows of the right factor of every product; a share of the views and the results; and these twice more,
        # for the moments and for the vectors.
        "vectors": features * sum(steps) + products + (4 * len(steps) * features + vectors) / machines,
        "writing": 2 * vectors,
    }[name]


def hours(name: str, seconds: float, read: float, cluster: Cluster) -> float:
    """The hours of a stage: its computation or its traffic, whichever takes longer."""
    cores = 1 if name in ONE_THREAD else cluster.cores * (cluster.machines if name in SHARED else 1)
    return max(seconds / cores, read / cluster.bandwidth) / 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rates", type=Path, help="a record of benchmarks/scale.py with the mean degree of interest")
    parser.add_argument("growth", type=Path, help="a record with two sizes")
    parser.add_argument("--nodes", type=int, default=10**8)
    parser.add_argument("--cores", type=int, default=16, help="of a machine")
    parser.add_argument("--memory", type=int, default=64, help="of a machine, in GB")
    parser.add_argument("--network", type=float, default=10.0, help="of a machine, in gigabits per second")
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 4, 16])
    options = parser.parse_args()
    rates, growth = (json.loads(path.read_text()) for path in (options.rates, options.growth))
    nodes, edges = options.nodes, options.nodes * rates.get("degree", 10) // 2
    settings = Settings(
        task="node", views=("adjacency", "ppr:top_k=64"), hidden=rates["hidden"], epochs=rates["epochs"],
        features="given", sampler="walk", sample_size=20_000,
    )  # fmt: skip
    graph = SimpleNamespace(nodes=nodes, edges=edges, width=WIDTH)
    output = Output(dim=settings.hidden).for_task("node")
    plan = Plan.make(graph, settings, output, options.memory * 10**9, threads=options.cores)  # type: ignore[arg-type]
    seconds = core_seconds(rates, growth, nodes)
    measured = rates["sizes"][0]
    scale = nodes / measured["nodes"]
    disk = {name: stage["bytes"] * scale for name, stage in measured["stages"].items() if name != "training"}
    memory = {"import": 30 * nodes + 400 * 2**20, **plan.memory, "writing": 400 * 2**20}
    print(f"{nodes:,} nodes, {edges:,} edges, {WIDTH} features, vectors of {settings.hidden} numbers")
    print("| stage | on disk | memory per machine | core-hours | traffic per machine, of " + _list(options.machines)
          + " | hours with " + _list(options.machines) + " |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|")
    totals = [0.0] * len(options.machines)
    for name, time in seconds.items():
        clusters = [Cluster(count, options.cores, options.network * 1e9 / 8) for count in options.machines]
        moved = [traffic(name, nodes, edges, plan, settings, one.machines) for one in clusters]
        lasting = [hours(name, time, read, one) for read, one in zip(moved, clusters, strict=True)]
        totals = [total + one for total, one in zip(totals, lasting, strict=True)]
        print(
            f"| {name} | {disk.get(name, 0) / 1e9:,.0f} GB | {memory[name] / 1e9:,.0f} GB | {time / 3600:,.1f} | "
            f"{', '.join(f'{read / 1e9:,.0f}' for read in moved)} GB | {', '.join(f'{one:.2f}' for one in lasting)} |"
        )
    print(f"| all | | | {sum(seconds.values()) / 3600:,.1f} | | {', '.join(f'{one:.2f}' for one in totals)} |")


def _list(counts: list[int]) -> str:
    return ", ".join(map(str, counts)) + " machines"


if __name__ == "__main__":
    main()
