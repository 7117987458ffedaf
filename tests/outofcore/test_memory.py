"""A job stays within the memory of its plan."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

JOB = """
import sys, threading
from pathlib import Path
import numpy as np
from mvgrl.automatic import resolve
from mvgrl.errors import InputError
from mvgrl.graphs import Graph
from mvgrl.graphs.named import NamedGraph
from mvgrl.graphs.stored import StoredGraph
from mvgrl.outofcore.features import StreamedFacts
from mvgrl.outofcore.job import Job
from mvgrl.outofcore.plan import Plan
from mvgrl.settings import Output

folder = Path(sys.argv[2])
if sys.argv[1] == "write":  # in another process: what the graph takes in memory is not part of the job
    rng, nodes = np.random.default_rng(0), 100_000
    features = rng.standard_normal((nodes, 100), dtype=np.float32)
    graph = Graph.from_edges(*rng.integers(nodes, size=(2, nodes)), nodes=nodes, features=features)
    StoredGraph.write(folder / "graph", NamedGraph(graph, np.arange(nodes)))
    sys.exit()

peak, stopped = [0], threading.Event()
def watch():
    while not stopped.wait(0.01):
        fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
        peak[0] = max(peak[0], sum(1024 * int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")))
threading.Thread(target=watch, daemon=True).start()
graph = StoredGraph.open(folder / "graph")
facts, output = StreamedFacts(graph), Output(dim=8, beside="none").for_task("node")
settings = {"task": "node", "hidden": 32, "epochs": 2, "sampler": "walk", "sample_size": 1000}
views = ["adjacency", "ppr:top_k=4:epsilon=0.01"]
resolved = resolve(graph, settings | {"views": views}, streamed=facts)
try:
    Plan.make(graph, resolved.settings, output, 2**20)
except InputError as error:
    limit = int(str(error).split("--memory ")[2].split("MB")[0]) * 2**20 + 16 * graph.nodes
plan = Plan.make(graph, resolved.settings, output, limit)
job = Job(graph, resolved, output, folder / "job", plan, facts=facts)
job.start()
job.diffuse()
job.write(folder / "vectors.parquet", job.vectors(job.train()))
stopped.set()
print(limit, peak[0], plan.columns)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_planned_memory_is_enough(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", JOB, "write", str(tmp_path)], check=True)
    done = subprocess.run([sys.executable, "-c", JOB, "run", str(tmp_path)], check=True, capture_output=True, text=True)
    limit, peak, columns = map(int, done.stdout.split())
    assert peak <= 1.1 * limit
    assert columns < 32  # of the codes
