"""Kill a job out of core at random moments: ``python -m tests.outofcore.kills --kills 100``.

A job is started again and again, and killed (SIGKILL) after a random time, until it ends; then the next one starts.
After every kill, what was finished before must be untouched, and nothing that was finished may be computed again. At
the end, the file of vectors must have the bytes of an uninterrupted run, and nothing else may be left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import tests.attacks.forking  # noqa: F401 (before numba and torch)

from mvgrl.automatic import resolve
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.features import StreamedFacts
from mvgrl.outofcore.job import Job
from mvgrl.outofcore.plan import Plan
from mvgrl.settings import Output
from mvgrl.tables.leftovers import remove_leftovers

NODES, ROWS, COLUMNS = 400, 60, 12
SETTINGS = {
    "task": "node",
    "hidden": 16,
    "layers": 2,
    "epochs": 12,
    "sampler": "walk",
    "sample_size": 100,
    "views": ["adjacency", "ppr:top_k=16", "heat:top_k=8"],
}


def make_graph(folder: Path) -> StoredGraph:
    """Write a small random graph."""
    rng = np.random.default_rng(0)
    ends = rng.integers(NODES, size=(2, 4 * NODES))
    graph = Graph.from_edges(*ends, nodes=NODES, features=rng.standard_normal((NODES, 20)).astype(np.float32))
    return StoredGraph.write(folder, NamedGraph(graph, np.arange(NODES) * 3))


def run_job(graph: StoredGraph, folder: Path, stage: Path) -> None:
    """Start or continue the job; write the name of the stage to a file as it goes."""
    facts = StreamedFacts(graph)
    resolved, output = resolve(graph, SETTINGS, streamed=facts), Output(dim=24).for_task("node")
    plan = replace(Plan.make(graph, resolved.settings, output, 2**31), rows=ROWS, columns=COLUMNS)
    job = Job(graph, resolved, output, folder / "job", plan, facts=facts, checkpoint_every=0)
    stage.write_text("start")
    job.start()
    stage.write_text("diffusion")
    job.diffuse()
    stage.write_text("training")
    trained = job.train()
    stage.write_text("vectors")
    vectors = job.vectors(trained)
    stage.write_text("writing")
    job.write(folder / "vectors.parquet", vectors)
    stage.write_text("removal")
    job.remove()


def forked(graph: StoredGraph, folder: Path, stage: Path, seconds: float | None) -> bool:
    """Run the job in a process that is killed after some seconds; return whether it ended before."""
    child = os.fork()
    if not child:
        try:
            run_job(graph, folder, stage)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    deadline = None if seconds is None else time.perf_counter() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0, "the job failed"
            return True
        if deadline is not None and time.perf_counter() >= deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.0005)


def finished(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the shards under their final names, with what changes if they are written again."""
    found = {}
    for path in (folder / "job").rglob("shard-*.npy"):
        about = path.stat()
        found[str(path.relative_to(folder))] = (about.st_ino, about.st_mtime_ns)
    return found


def attack(kills: int, seed: int, root: Path) -> dict[str, object]:
    """Kill so many times; raise an error where anything was lost, computed again or changed."""
    chance, started = random.Random(seed), time.perf_counter()
    graph, stage = make_graph(root / "graph"), root / "stage"
    run_job(graph, root / "warm", stage)  # so that the forked processes find everything imported and compiled
    begun = time.perf_counter()
    assert forked(graph, root / "reference", stage, None)
    usual = time.perf_counter() - begun
    expected = (root / "reference" / "vectors.parquet").read_bytes()
    stages: Counter[str] = Counter()
    jobs, done, kept = 0, 0, 0
    while done < kills:
        folder = root / f"job-{jobs}"
        known: dict[str, tuple[int, int]] = {}
        gone: set[str] = set()
        while not forked(
            graph, folder, stage, chance.random() ** chance.choice((1, 3)) * usual if done < kills else None
        ):
            done += 1
            stages[stage.read_text()] += 1
            now = finished(folder)
            for name, about in now.items():
                assert known.get(name, about) == about, f"{name} was written again"
                assert name not in gone, f"{name} was computed again"
            if not (folder / "job").exists() and (folder / "vectors.parquet").exists():
                break  # killed while it removed the folder of the job, which is no longer under its name
            gone |= known.keys() - now.keys()  # of a step whose successor is complete
            kept += len(now)
            known |= now
        assert (folder / "vectors.parquet").read_bytes() == expected, "the vectors are different"
        remove_leftovers(folder)  # as the next command does that writes there
        assert {path.name for path in folder.iterdir()} == {"vectors.parquet"}, sorted(folder.iterdir())
        jobs += 1
    return {
        "kills": done,
        "jobs": jobs,
        "seconds": round(time.perf_counter() - started),
        "seconds of an uninterrupted job": round(usual, 2),
        "by stage": dict(stages),
        "finished shards found after a kill, unchanged": kept,
        "vectors": "equal to the bit",
    }


def main() -> None:
    """Run it, and print or write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="file for the record; else it is printed")
    given = parser.parse_args()
    with TemporaryDirectory() as root:
        record = attack(given.kills, given.seed, Path(root))
    text = json.dumps(record, indent=1)
    if given.json is None:
        print(text)
    else:
        given.json.write_text(text + "\n")
    sys.exit(0)


if __name__ == "__main__":
    main()
