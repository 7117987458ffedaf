"""Fuzz every reader and loader: ``python -m tests.attacks.fuzz --cases 100000 --report results/fuzz.json``.

Cases are numbered, and each follows from the seed and its number alone. Forked workers run them, so a crash loses only
the case that caused it. A case passes if it succeeds or raises an error of the package with a short message.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import select
import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tests.attacks.forking  # noqa: F401 (before numba and torch)
from tests.attacks.cases import Cases
from tests.attacks.targets import TARGETS
from tests.attacks.worker import LIMIT_SECONDS, last_frame, work

import mvgrl

BATCH = 2000  # cases per worker process


@dataclass
class Report:
    """What was tried, and what went wrong: one finding per target, kind of error, and place in the package."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    mutations: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    def add(self, number: int, result: dict[str, Any]) -> None:
        self.mutations.update(result["mutations"])
        self.outcomes.setdefault(result["target"], Counter())[result["outcome"]] += 1
        if result["outcome"] == "finding":
            key = (result["target"], result["kind"], result["place"])
            self.findings.setdefault(key, {"count": 0, "number": number, **result})["count"] += 1

    @property
    def cases(self) -> int:
        return sum(sum(some.values()) for some in self.outcomes.values())

    def to_dict(self, seed: int, seconds: float, only: str) -> dict[str, Any]:
        again = f"python -m tests.attacks.fuzz --seed {seed}{only}"
        return {
            "cases": self.cases,
            "seed": seed,
            "seconds": round(seconds),
            "versions": {"mvgrl": mvgrl.__version__, "python": platform.python_version(), **library_versions()},
            "targets": {name: dict(some.most_common()) for name, some in sorted(self.outcomes.items())},
            "mutations": dict(sorted(self.mutations.items())),
            "findings": [
                {"target": target, **{name: one[name] for name in ("kind", "place", "message", "count", "mutations")}}
                | {"again": f"{again} --case {one['number']}"}
                for (target, *_), one in sorted(self.findings.items())
            ],
        }


def library_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "numpy", "scipy", "pyarrow", "networkx", "safetensors", "pandas")}


class Worker:
    """A forked process with a part of the cases; it reports each case as it starts and as it ends."""

    def __init__(self, cases: Cases, numbers: range, scratch: Path) -> None:
        self.numbers, self.scratch = numbers, scratch
        self.current, self.heard, self.text = -1, time.monotonic(), b""
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        self.pipe, theirs = os.pipe()
        self.process = os.fork()
        if not self.process:
            os.close(self.pipe)
            work(cases, numbers, scratch, theirs)
        os.close(theirs)

    def listen(self, report: Report) -> bool:
        """Take in what the worker says; return whether it is still running."""
        said = os.read(self.pipe, 2**16)
        self.heard = time.monotonic()
        *lines, self.text = (self.text + said).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            if word == "start":
                self.current = int(rest)
            else:
                report.add(int(word), json.loads(rest))
                self.current = -1
        return bool(said)

    def end(self, cases: Cases, report: Report) -> range:
        """Record the case that ended the process, if any; return the cases that are left."""
        os.close(self.pipe)
        _, status = os.waitpid(self.process, 0)
        trace = (self.scratch / "trace").read_text(errors="replace") if (self.scratch / "trace").exists() else ""
        if self.current < 0:
            return range(0)
        kind = "timeout" if "Timeout" in trace else f"process ended with {os.waitstatus_to_exitcode(status)}"
        case = cases(self.current)
        made = {"target": case.target, "mutations": case.mutations, "outcome": "finding", "kind": kind}
        report.add(self.current, {**made, "place": last_frame(trace), "message": trace[:300]})
        return range(self.current + 1, self.numbers.stop)


def fuzz(cases: Cases, numbers: range, *, workers: int = 1, progress: bool = False) -> Report:
    """Run the cases in forked workers."""
    report = Report()
    started = told = time.monotonic()
    waiting = [range(at, min(at + BATCH, numbers.stop)) for at in range(numbers.start, numbers.stop, BATCH)][::-1]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(prefix="mvgrl-fuzz-", dir=memory) as folder:
        running: dict[int, Worker] = {}
        places = [Path(folder, str(place)) for place in range(workers)]
        while waiting or running:
            while waiting and len(running) < workers:
                free = next(place for place in places if place not in {one.scratch for one in running.values()})
                worker = Worker(cases, waiting.pop(), free)
                running[worker.pipe] = worker
            ready, _, _ = select.select(list(running), [], [], 1)
            for pipe in ready:
                if not running[pipe].listen(report) and (left := running.pop(pipe).end(cases, report)):
                    waiting.append(left)
            for worker in running.values():
                if time.monotonic() - worker.heard > 5 * LIMIT_SECONDS:  # its own watchdog did not fire
                    os.kill(worker.process, 9)
            if progress and time.monotonic() - told > 10:
                told = time.monotonic()
                rate = f"{report.cases / (told - started):.0f} per second"
                print(f"{report.cases:,} cases, {len(report.findings)} findings, {rate}", file=sys.stderr, flush=True)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--case", type=int, help="run one case and show how it was made")
    parser.add_argument("--keep", type=Path, help="with --case: also write its files to this folder")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    started = time.monotonic()
    cases = Cases(given.seed, given.target)
    numbers = range(given.cases) if given.case is None else range(given.case, given.case + 1)
    if given.case is not None and given.keep is not None:
        for name, content in cases(given.case).seed.files.items():
            (given.keep / name).parent.mkdir(parents=True, exist_ok=True)
            (given.keep / name).write_bytes(content)
    found = fuzz(cases, numbers, workers=given.workers, progress=given.case is None)
    only = "".join(f" --target {name}" for name in given.target or ())
    values = found.to_dict(given.seed, time.monotonic() - started, only)
    if given.report is not None:
        given.report.parent.mkdir(parents=True, exist_ok=True)
        given.report.write_text(json.dumps(values, indent=1) + "\n")
    print(summary(values) if given.case is None else json.dumps(values, indent=1))
    return 1 if values["findings"] else 0


def summary(values: dict[str, Any]) -> str:
    """The report in lines: what each target did, and the findings."""
    lines = [f"{values['cases']:,} cases in {values['seconds']} s"]
    for name, some in values["targets"].items():
        lines.append(f"  {name:<12} " + ", ".join(f"{count} {outcome}" for outcome, count in some.items()))
    lines.append(f"{len(values['findings'])} findings")
    for one in values["findings"]:
        lines.append(
            f"  {one['target']}: {one['kind']} at {one['place']} ({one['count']} times): {one['message'][:200]!r}"
        )
        lines.append(f"    {one['again']}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
