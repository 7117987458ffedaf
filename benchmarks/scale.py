"""The whole job at growing sizes: time, peak memory and bytes on disk of every stage, and how good the vectors are.

Graphs are degree-corrected block models with planted communities, degrees that follow a power law and noisy features,
generated a part at a time into Parquet files. Every stage runs in a process of its own. Memory is the peak of the
pages that a process cannot give back (anonymous, shared and changed ones). Vectors and features propagated over the
same views are compared by a linear probe.

    python benchmarks/scale.py --nodes 10000 100000
    python benchmarks/scale.py --nodes 1000000 3000000 --memory 4GB --json
    python benchmarks/scale.py --nodes 10000000 --hidden 64 --memory 8GB --folder /data --keep --json
    python benchmarks/scale.py --nodes 1000000 --degree 20 --json
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

WIDTH, COMMUNITIES = 64, 20
INSIDE, SIGNAL = 0.5, 0.15  # share of edges within a community; length of a community's mean in units of the noise
SLOPE = 0.55  # the popularity of a node is its rank in the community to the power of minus this
PART, ROWS = 2**20, 2**18  # edges and nodes in a file
PROBED = 10_000  # nodes to train and to test the probe on
STAGES = ("import", "diffusion", "training", "vectors", "writing")


# The graphs -------------------------------------------------------------------------------------------------------


def scrambled(places: np.ndarray, nodes: int) -> np.ndarray:
    """The ids of nodes that are numbered by community and rank: scattered, so that ids tell nothing."""
    return (places * _factor(nodes) + 12_345) % nodes


def community(ids: np.ndarray, nodes: int) -> np.ndarray:
    """The community of every node, from its id."""
    places = (ids - 12_345) * pow(_factor(nodes), -1, nodes) % nodes
    return np.minimum(places * COMMUNITIES // nodes, COMMUNITIES - 1)


def _factor(nodes: int) -> int:
    factor = int(nodes * 0.6180339887) | 1
    while math.gcd(factor, nodes) > 1:
        factor += 1
    return factor


def edge_part(nodes: int, degree: int, seed: int, part: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends of a part of the edges: half of them within a community, popular nodes more often."""
    bounds = -(-np.arange(COMMUNITIES + 1) * nodes // COMMUNITIES)
    rng = np.random.default_rng([seed, 1, part])
    count = min(PART, nodes * degree // 2 - part * PART)
    groups = rng.integers(COMMUNITIES, size=(2, count))
    groups[1] = np.where(rng.random(count) < INSIDE, groups[0], groups[1])
    sizes = bounds[groups + 1] - bounds[groups]
    ranks = (sizes * rng.random((2, count)) ** (1 / (1 - SLOPE))).astype(np.int64)
    ends = scrambled(bounds[groups] + np.minimum(ranks, sizes - 1), nodes)
    return ends[0], ends[1]


def feature_part(nodes: int, seed: int, part: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, features and communities of a part of the nodes."""
    centres = np.random.default_rng([seed, 2]).standard_normal((COMMUNITIES, WIDTH)).astype(np.float32)
    rng = np.random.default_rng([seed, 3, part])
    ids = np.arange(part * ROWS, min((part + 1) * ROWS, nodes))
    labels = community(ids, nodes)
    return ids, SIGNAL * centres[labels] + rng.standard_normal((len(ids), WIDTH), dtype=np.float32), labels


def write_edges(folder: Path, nodes: int, degree: int, seed: int, part: int) -> None:
    """Write a part of the edges as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sources, targets = edge_part(nodes, degree, seed, part)
    pq.write_table(pa.table({"source": sources, "target": targets}), folder / f"part-{part:05d}.parquet")


def write_nodes(folder: Path, nodes: int, seed: int, part: int) -> None:
    """Write a part of the nodes as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids, features, labels = feature_part(nodes, seed, part)
    columns = {"id": ids, "label": labels, **{f"f{k}": features[:, k] for k in range(WIDTH)}}
    pq.write_table(pa.table(columns), folder / f"part-{part:05d}.parquet", use_dictionary=["label"])


def generate(folder: Path, nodes: int, degree: int, seed: int) -> None:
    """Write the tables of a graph as folders of Parquet files, a part per core at a time."""
    edges, rows = folder / "edges", folder / "nodes"
    edges.mkdir(parents=True)
    rows.mkdir()
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        written = [
            pool.submit(write_edges, edges, nodes, degree, seed, k) for k in range(-(-nodes * degree // 2 // PART))
        ]
        written += [pool.submit(write_nodes, rows, nodes, seed, k) for k in range(-(-nodes // ROWS))]
        for part in written:
            part.result()


# The stages, each in its own process -------------------------------------------------------------------------------


class Watch:
    """Peak memory of this process while it works: anonymous and shared pages, and changed pages of mapped files."""

    def __init__(self) -> None:
        self.peak, self._stopped = 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _look(self) -> None:
        rounds = 0
        while not self._stopped.wait(0.02):
            fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
            kept = sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem"))
            if rounds % 50 == 0:  # walks all pages, so it is read once a second
                rollup = dict(line.split(":") for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
                kept = max(kept, sum(int(rollup[name].split()[0]) for name in ("Private_Dirty", "Shared_Dirty")))
            self.peak = max(self.peak, 1024 * kept)
            rounds += 1


def make_job(folder: Path, given: dict[str, Any]) -> Any:
    """The job of a graph on disk, as mvgrl embed makes it."""
    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.outofcore.embedding import plan_job

    settings = {"hidden": given["hidden"], "dim": given["hidden"], "epochs": given["epochs"]}
    graph = StoredGraph.open(folder / "graph")
    return plan_job(graph, folder / "job", settings, memory=given["memory"], device=given["device"])


def run_stage(stage: str, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Do one stage; the ones before are done, and only opened."""
    from mvgrl.outofcore.shards import Shards

    if stage == "import":
        from mvgrl.graphs.importing import import_tables
        from mvgrl.tables.budget import parse_size

        found = import_tables(
            folder / "tables" / "edges",
            folder / "graph",
            nodes=folder / "tables" / "nodes",
            memory=parse_size(given["memory"]),
        )
        return {"edges": found.edges, "bytes": size_of(folder / "graph")}
    job = make_job(folder, given)
    job.start()
    planned = {"planned": job.plan.memory.get(stage)}
    if stage == "writing":
        rows, width = job.write(folder / "vectors.parquet", Shards(job.folder / "vectors", job._ranges))
        return {"rows": rows, "width": width, "bytes": (folder / "vectors.parquet").stat().st_size}
    job.diffuse()
    if stage == "diffusion":
        return {"bytes": size_of(folder / "job"), **planned}
    trained = job.train()
    if stage == "training":
        return {"bytes": size_of(folder / "job", "training"), "epochs": len(trained.history.losses), **planned}
    job.vectors(trained)
    rest = sum(size_of(path) for path in job.folder.iterdir() if path.is_dir() and not path.name.startswith("view"))
    return {"bytes": rest, **planned}


def size_of(folder: Path, pattern: str = "*") -> int:
    """The bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def probe(folder: Path, nodes: int, given: dict[str, Any]) -> dict[str, float]:
    """The accuracy of a linear probe on the vectors, and on the features propagated over the same views."""
    from sklearn.linear_model import LogisticRegression
    from torch.nn.functional import normalize

    from mvgrl.outofcore.shards import Shards
    from mvgrl.outofcore.tall import Tall

    job = make_job(folder, given)
    job.start()
    vectors = Shards(job.folder / "vectors", job._ranges)
    rng = np.random.default_rng(0)
    train, test = np.split(rng.permutation(nodes)[: 2 * min(PROBED, nodes // 2)], 2)
    labels = community(np.asarray(job.graph.ids()), nodes)

    def rows_of(read: Callable[[int, int], np.ndarray], chosen: np.ndarray) -> np.ndarray:
        shards, found = chosen // job._ranges.rows, None
        for shard in np.unique(shards):
            start, stop = job._ranges[int(shard)]
            part = np.asarray(read(start, stop))[chosen[shards == shard] - start]
            found = np.empty((len(chosen), part.shape[1]), np.float32) if found is None else found
            found[shards == shard] = part
        assert found is not None
        return found

    steps = [view.steps for view in job.settings.views]
    talls = [
        Tall(job.folder / f"features-{number}-step-{step}", job._ranges, WIDTH, job.plan.columns)
        for number, step in enumerate(steps)
    ]
    readers = {
        "vectors": lambda start, stop: vectors.read(start // job._ranges.rows),
        "propagated": lambda start, stop: np.hstack([normalize(tall.rows(start, stop)).numpy() for tall in talls]),
        "features": lambda start, stop: np.asarray(job.graph.features[start:stop]),
    }
    found = {}
    for name, read in readers.items():
        inside, outside = rows_of(read, train), rows_of(read, test)
        scale = inside.std() * math.sqrt(inside.shape[1]) / 3
        model = LogisticRegression(max_iter=500).fit(inside / scale, labels[train])
        found[name] = round(100 * float(model.score(outside / scale, labels[test])), 2)
    return found


def run_in_memory(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The same settings with everything in memory, and the accuracy of the same probe."""
    from sklearn.linear_model import LogisticRegression

    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.training import fit

    job = make_job(folder, given)
    named = StoredGraph.open(folder / "graph").load()
    vectors = fit(named, job.settings, device=given["device"]).vectors(output=job.output)
    nodes = len(vectors)
    train, test = np.split(np.random.default_rng(0).permutation(nodes)[: 2 * min(PROBED, nodes // 2)], 2)
    labels = community(np.asarray(named.node_ids), nodes)
    scale = vectors[train].std() * math.sqrt(vectors.shape[1]) / 3
    model = LogisticRegression(max_iter=500).fit(vectors[train] / scale, labels[train])
    return {"accuracy": round(100 * float(model.score(vectors[test] / scale, labels[test])), 2)}


def run_push(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Local push against PyTorch Geometric's, with the same epsilon, per row."""
    from measure import spent

    from mvgrl.graphs.stored import StoredGraph
    from mvgrl.outofcore.adjacency import degrees_of
    from mvgrl.outofcore.diffusion import compute_rows
    from mvgrl.views import PPR

    graph, view = StoredGraph.open(folder / "graph"), PPR(top_k=64)
    rows = min(given["pyg"], graph.nodes)
    if given["side"] == "ours":
        degrees = degrees_of(graph)
        compute_rows(view, graph, degrees, 0, 10)  # compiles
        _, cost = spent(compute_rows, view, graph, degrees, 0, rows)
        return {"seconds_per_row": cost["seconds"] / rows, "bytes": cost["bytes"]}
    import torch
    from torch_geometric.utils import get_ppr

    sources = np.repeat(np.arange(graph.nodes), np.diff(graph.indptr))
    loops = np.arange(graph.nodes)
    edges = torch.from_numpy(
        np.stack([np.concatenate([sources, loops]), np.concatenate([graph.indices, loops])]).astype(np.int64)
    )
    order = torch.argsort(edges[0], stable=True)
    edges = edges[:, order]

    def theirs(count: int) -> Any:
        return get_ppr(edges, view.alpha, view.epsilon, target=torch.arange(count), num_nodes=graph.nodes)

    theirs(10)
    _, cost = spent(theirs, rows)
    return {"seconds_per_row": cost["seconds"] / rows, "bytes": cost["bytes"]}


# The report ---------------------------------------------------------------------------------------------------------


def separately(stage: str, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Run a stage in a fresh process; return what it says, with its seconds and peak memory."""
    command = [sys.executable, __file__, "--stage", stage, "--folder", str(folder), "--given", json.dumps(given)]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": round(time.perf_counter() - started, 2)}


def measure(nodes: int, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """All stages at one size."""
    started = time.perf_counter()
    if not (folder / "tables").exists():
        with TemporaryDirectory(dir=folder) as temporary:
            generate(Path(temporary) / "tables", nodes, given["degree"], given["seed"])
            (Path(temporary) / "tables").rename(folder / "tables")
    result: dict[str, Any] = {
        "nodes": nodes,
        "generation_seconds": round(time.perf_counter() - started, 2),
        "stages": {},
    }
    for stage in STAGES:
        if stage == "import" and (folder / "graph").exists():
            continue  # of an earlier run that was kept
        result["stages"][stage] = separately(stage, folder, given)
        print(f"{nodes:,} nodes, {stage}: {result['stages'][stage]}", file=sys.stderr, flush=True)
    stages = result["stages"].values()
    result["seconds"] = round(sum(stage["seconds"] for stage in stages), 2)
    result["peak"] = max(stage["peak"] for stage in stages)
    result["accuracy"] = separately("probe", folder, {**given, "nodes": nodes})["accuracy"]
    if nodes <= given["in_memory_up_to"]:
        result["in_memory"] = separately("in-memory", folder, given)
    if given["pyg"] and nodes <= 10**5:
        ours, theirs = (separately("push", folder, {**given, "side": side}) for side in ("ours", "pyg"))
        names = ("seconds_per_row", "bytes")
        result["push"] = {
            "ours": {name: ours[name] for name in names},
            "pyg": {name: theirs[name] for name in names},
            "time_ratio_pyg": theirs["seconds_per_row"] / ours["seconds_per_row"],
            "memory_ratio_pyg": theirs["bytes"] / ours["bytes"],
        }
    return result


def exponents(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The exponent of growth of the seconds between successive sizes, of every stage and of the whole job."""
    found = []
    for before, after in pairwise(results):
        ratio = math.log(after["nodes"] / before["nodes"])
        pairs = {
            name: (before["stages"][name]["seconds"], after["stages"][name]["seconds"])
            for name in STAGES
            if name in before["stages"] and name in after["stages"]
        }
        pairs["job"] = (before["seconds"], after["seconds"])
        growth = {name: round(math.log(b / a) / ratio, 3) for name, (a, b) in pairs.items()}
        found.append({"from": before["nodes"], "to": after["nodes"], **growth})
    return found


def report(values: dict[str, Any]) -> str:
    """The results as text."""
    lines = []
    for result in values["sizes"]:
        lines.append(f"\n{result['nodes']:,} nodes, {values['hidden']} dimensions: {result['seconds']:,.0f} s")
        lines += [
            f"  {name:<10} {stage['seconds']:>9,.1f} s {stage['peak'] / 2**20:>9,.0f} MB of memory "
            f"{stage['bytes'] / 2**20:>9,.0f} MB on disk"
            for name, stage in result["stages"].items()
        ]
        lines.append("  accuracy: " + ", ".join(f"{name} {value}" for name, value in result["accuracy"].items()))
        if "in_memory" in result:
            inside = result["in_memory"]
            lines.append(
                f"  in memory: {inside['accuracy']}, {inside['seconds']:.0f} s, {inside['peak'] / 2**20:,.0f} MB"
            )
        if "push" in result:
            push = result["push"]
            lines.append(
                f"  push: {1e6 * push['ours']['seconds_per_row']:,.0f} µs per row; PyG's takes "
                f"{push['time_ratio_pyg']:.1f} times as long and {push['memory_ratio_pyg']:.1f} times the memory"
            )
    lines += [f"\nexponents from {one['from']:,} to {one['to']:,}: {one}" for one in values["exponents"]]
    return "\n".join(lines)


def work(stage: str, folder: Path, given: dict[str, Any]) -> None:
    """Run a stage in this process, and print what it took."""
    with Watch() as watch:
        if stage == "probe":
            found: dict[str, Any] = {"accuracy": probe(folder, given["nodes"], given)}
        elif stage == "in-memory":
            found = run_in_memory(folder, given)
        elif stage == "push":
            found = run_push(folder, given)
        else:
            found = run_stage(stage, folder, given)
    print(json.dumps({**found, "peak": watch.peak, "cpu_seconds": round(time.process_time(), 2)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--degree", type=int, default=10, help="mean degree")
    parser.add_argument("--hidden", type=int, default=256, help="dimensions of a code and of the vectors")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pyg", type=int, default=2000, help="rows of the comparison with PyG's push; 0 for none")
    parser.add_argument("--in-memory-up-to", type=int, default=100_000, help="nodes up to which both paths are run")
    parser.add_argument("--folder", type=Path, help="for the graphs and the work; a temporary one by default")
    parser.add_argument("--keep", action="store_true", help="keep the folder, and continue what is in it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--given", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage is not None:
        work(options.stage, options.folder, json.loads(options.given))
        return
    given = {name: getattr(options, name) for name in ("degree", "hidden", "epochs", "memory", "device", "seed", "pyg")}
    given["in_memory_up_to"] = options.in_memory_up_to
    results = []
    with TemporaryDirectory(dir=options.folder) as temporary:
        for nodes in options.nodes:
            folder = (options.folder if options.keep else Path(temporary)) / str(nodes)
            folder.mkdir(parents=True, exist_ok=True)
            results.append(measure(nodes, folder, given))
            if not options.keep:
                shutil.rmtree(folder)
    values = {**given, "sizes": results, "exponents": exponents(results)}
    print(json.dumps(values, indent=1) if options.json else report(values))


if __name__ == "__main__":
    main()
