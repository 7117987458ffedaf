"""Training on a graph that is on disk and not in memory: seconds and bytes read per step.

The files of a job that benchmarks/scale.py has kept are dropped from memory before every run, and a few steps are
trained: with the system told that files are read at random, so that it does not read ahead; as a job does, without; and
once more from memory.

    python benchmarks/scale.py --nodes 10000000 --hidden 64 --memory 8GB --folder /data --keep
    python benchmarks/cold_reads.py /data/10000000 --json
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import alone
from scale import make_job

from mvgrl.outofcore.diffusion import StoredView


def drop(folder: Path) -> None:
    """Ask the system to forget the content of all files of a folder."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_read() -> int:
    """The bytes that this process has read from disks."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["read_bytes"])


def mapped(job: Any) -> list[Any]:
    """The arrays on disk that samples are gathered from."""
    views = [part for view in job._views if isinstance(view, StoredView) for part in view.parts]
    return [job.graph.indptr, job.graph.indices, job.graph.features, *views]


def train(folder: Path, given: dict[str, Any], advised: bool, cold: bool) -> dict[str, float]:
    """Train a few steps; opening the graph and compiling is not counted."""
    with TemporaryDirectory(dir=folder) as temporary:
        job = make_job(folder, given)
        views = folder / "job"
        job.folder = Path(temporary) / "job"
        shutil.copytree(views, job.folder, copy_function=os.link, ignore=lambda path, names: {"training", "job.json"})
        job.start()
        job.diffuse()
        if cold:
            drop(folder)
        before, started = bytes_read(), time.perf_counter()
        for array in mapped(job) if advised else ():
            array._mmap.madvise(mmap.MADV_RANDOM)
        job.train()
        steps = given["epochs"]
        return {
            "seconds_per_step": round((time.perf_counter() - started) / steps, 4),
            "bytes_per_step": (bytes_read() - before) // steps,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of one size, kept by benchmarks/scale.py")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--memory", default="8GB")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    given = {"hidden": options.hidden, "epochs": options.steps, "memory": options.memory, "device": "cpu"}
    ways = {"cold, at random": (True, True), "cold, read ahead": (False, True), "in memory": (True, False)}
    found = {name: alone(train, options.folder, given, *way) for name, way in ways.items()}
    if options.json:
        print(json.dumps({**given, "folder": options.folder.name, "runs": found}, indent=1))
        return
    for name, cost in found.items():
        print(f"{name:<18} {cost['seconds_per_step']:.2f} s and {cost['bytes_per_step'] / 2**20:,.0f} MB per step")


if __name__ == "__main__":
    main()
