"""Kill commands at every file operation and at random moments: ``python -m tests.attacks.kills --kills 1000``.

After each kill the next run must succeed, end in the same bits as an uninterrupted run, and leave no other file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tests.attacks.forking  # noqa: F401 (before numba and torch)
from tests.attacks.killing import Contents, Ended, Place, Scenario, differences, run
from tests.attacks.scenarios import SCENARIOS

SLOW = 2  # kills of a scenario that starts processes of its own


@dataclass(frozen=True)
class Kill:
    """When to kill: before the n-th file operation, or after a share of the usual time; and again in the next run."""

    scenario: str
    operation: int | None = None
    share: float | None = None
    then: int | None = None  # also kill the next run, before this file operation


@dataclass(frozen=True)
class Reference:
    """What a scenario starts from, and how an uninterrupted run ends."""

    template: Path
    before: Contents
    after: Contents
    ended: Ended


def prepare(scenario: Scenario, root: Path) -> Reference:
    """Make the folder that every case starts from, and run the command once without a kill."""
    template, place = root / "template", Place(root / "reference")
    write_files(template, scenario.files)
    if scenario.link is not None:
        (template / scenario.link[1]).mkdir()
        (template / scenario.link[0]).symlink_to(scenario.link[1])
    if scenario.older:
        place.fill(template)
        assert run(place, scenario.command(scenario.older)).code == 0, place.printed
        shutil.rmtree(template)
        place.work.rename(template)
    place.fill(template)
    before = place.contents()
    ended = run(place, scenario.command(scenario.words))
    assert ended.code == 0, place.printed
    return Reference(template, before, place.contents(), ended)


def warm_up(scenario: Scenario, folder: Path) -> None:
    """Run a command in this process, so that the forked ones find everything imported and compiled."""
    place, here = Place(folder), Path.cwd()
    write_files(place.work, scenario.files)
    os.chdir(place.work)
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        scenario.command(scenario.words)()
    os.chdir(here)
    shutil.rmtree(folder)


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def attempt(kill: Kill, reference: Reference, place: Place) -> dict[str, Any]:
    """Kill a run, run it again, and say what was wrong."""
    scenario = SCENARIOS[kill.scenario]
    place.fill(reference.template)
    after = None if kill.share is None else kill.share * reference.ended.seconds
    first = run(place, scenario.command(scenario.words), operation=kill.operation, after=after)
    kills = [first] if first.killed else []
    left = place.contents()
    wrong = scenario.incomplete(reference.before, reference.after, left) if first.killed else []
    if kill.then is not None and first.killed:
        second = run(place, scenario.again(place), operation=kill.then)
        kills += [second] if second.killed else []
        wrong += scenario.incomplete(reference.before, reference.after, place.contents()) if second.killed else []
        left = place.contents()
    last = run(place, scenario.again(place)) if kills and kills[-1].killed else first
    if last.code != 0:
        wrong.append(f"the next run ended with {last.code}: {place.printed}")
    wrong += differences(reference.after, place.contents(), left, scenario.ledger)
    at = [one.operations[-1].rpartition(" ")[0] if one.operations else "start" for one in kills]
    if kill.share is not None and kills:
        at[0] = "random moment"
    return {**asdict(kill), "kills": at, "wrong": wrong}


def every_operation(references: dict[str, Reference], step: int = 1) -> list[Kill]:
    """Every file operation of every command once, or every n-th and all that rename."""
    return [
        Kill(name, operation=number)
        for name, one in references.items()
        if not SCENARIOS[name].slow
        for number, what in enumerate(one.ended.operations, start=1)
        if number % step == 0 or what.startswith(("os.rename", "exchange"))
    ]


def at_random(references: dict[str, Reference], kills: int, rng: random.Random) -> list[Kill]:
    """Kills at random moments, and double kills."""
    todo: list[Kill] = []
    names = [name for name in references if not SCENARIOS[name].slow]
    while kills > 0 and names:
        name = rng.choice(names)
        count = len(references[name].ended.operations)
        then = rng.randint(1, count) if rng.random() < 0.5 else None
        moment = Kill(name, share=rng.uniform(0, 0.95), then=then)
        todo.append(moment if rng.random() < 0.5 else Kill(name, rng.randint(1, count), then=rng.randint(1, count)))
        kills -= 1 if todo[-1].then is None else 2
    return todo


def run_all(todo: Sequence[Kill], references: dict[str, Reference], root: Path, workers: int) -> list[dict[str, Any]]:
    """Run the cases in forked workers, each with its own folder."""
    processes = []
    for number in range(workers):
        process = os.fork()
        if not process:
            try:
                place, told = Place(root / f"case-{number}"), time.monotonic()
                with (root / f"results-{number}").open("w") as file:
                    for done, kill in enumerate(todo[number::workers]):
                        file.write(json.dumps(attempt(kill, references[kill.scenario], place)) + "\n")
                        if time.monotonic() - told > 20 and not number:
                            told = time.monotonic()
                            print(f"{done * workers} of {len(todo)} cases", file=sys.stderr, flush=True)
                os._exit(0)
            except BaseException as error:
                print(f"worker {number}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
        processes.append(process)
    codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
    assert not any(codes), "a worker failed"
    return [json.loads(line) for number in range(workers) for line in (root / f"results-{number}").open()]


def kill_all(
    kills: int, *, names: Sequence[str] = (), workers: int = 1, step: int = 1, todo: Sequence[Kill] = ()
) -> dict[str, Any]:
    """Kill runs of the scenarios and summarise; by default all of them."""
    started = time.monotonic()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(prefix="mvgrl-kills-", dir=memory) as folder:
        root = Path(folder)
        references = {}
        for number, name in enumerate(names or SCENARIOS):
            if not SCENARIOS[name].slow:
                warm_up(SCENARIOS[name], root / "warm")
            references[name] = prepare(SCENARIOS[name], root / str(number))
        slow = [name for name in references if SCENARIOS[name].slow]
        moments = [Kill(name, share=(number + 0.5) / SLOW) for name in slow for number in range(SLOW)]
        first, rng = todo or [*moments, *every_operation(references, step)], random.Random(0)
        results = run_all(first, references, root, workers)
        while not todo and (missing := kills - sum(len(one["kills"]) for one in results)) > 0:
            results += run_all(at_random(references, missing, rng), references, root, workers)
    return summarise(results, references, time.monotonic() - started)


def summarise(results: list[dict[str, Any]], references: dict[str, Reference], seconds: float) -> dict[str, Any]:
    kinds: dict[str, Counter[str]] = {}
    violations: dict[tuple[str, ...], dict[str, Any]] = {}
    for one in results:
        kinds.setdefault(one["scenario"], Counter()).update(one["kills"])
        for problem in one["wrong"]:
            # Process ids and random names differ between runs of one problem.
            key = (one["scenario"], re.sub(r"\d+|-[a-z0-9_]{8}.*", "#", problem))
            about = {"scenario": one["scenario"], "problem": problem, "count": 0, "again": again(one)}
            found = violations.setdefault(key, about)
            found["count"] += 1
    return {
        "kills": sum(sum(some.values()) for some in kinds.values()),
        "seconds": round(seconds),
        "commands": {name: dict(some.most_common()) for name, some in kinds.items()},
        "operations": {name: len(one.ended.operations) for name, one in references.items()},
        "distinct_kill_points": len({again(one) for one in results if one["kills"]}),
        "violations": list(violations.values()),
    }


def again(one: dict[str, Any]) -> str:
    given = " ".join(f"--{name} {one[name]}" for name in ("operation", "share", "then") if one[name] is not None)
    return f"python -m tests.attacks.kills --scenario '{one['scenario']}' {given}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS))
    parser.add_argument("--operation", type=int, help="kill once, before this file operation")
    parser.add_argument("--share", type=float, help="kill once, after this share of the usual time")
    parser.add_argument("--then", type=int, help="also kill the next run, before this file operation")
    parser.add_argument("--step", type=int, default=1, help="at every n-th file operation only")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    todo = []
    if given.operation is not None or given.share is not None:
        todo = [Kill(given.scenario[0], given.operation, given.share, given.then)]
    values = kill_all(given.kills, names=given.scenario or (), workers=given.workers, step=given.step, todo=todo)
    if given.report is not None:
        given.report.parent.mkdir(parents=True, exist_ok=True)
        given.report.write_text(json.dumps(values, indent=1) + "\n")
    print(json.dumps(values, indent=1))
    return 1 if values["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
