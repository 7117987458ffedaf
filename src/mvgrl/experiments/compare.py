"""Compare methods on a graph: run what is missing from the ledger, and summarise it with a paired test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from mvgrl.errors import MVGRLError
from mvgrl.evaluation.paired import LEVEL, paired_p_value
from mvgrl.evaluation.scores import Score
from mvgrl.experiments.contenders import Contender
from mvgrl.experiments.contest import NAME, Contest
from mvgrl.experiments.contest_process import Result, Todo, results_of, separate_results
from mvgrl.experiments.duration import Expected, as_text, expected
from mvgrl.experiments.ledger import Ledger, Run
from mvgrl.experiments.runner import machine

Results = Callable[[Contest, Todo], Iterator[Result]]


@dataclass(frozen=True)
class Number:
    """A score of a contender over its runs, compared with the best contender."""

    mean: float
    std: float | None  # None for a single run
    best: bool = False
    tied: bool = False  # the paired test finds no difference from the best
    p: float | None = None  # of the difference from the best; None for the best, or if there is no test

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return dict(vars(self))


@dataclass(frozen=True)
class Row:
    """A contender's scores by name, and their cost."""

    contender: Contender
    numbers: dict[str, Number] = field(default_factory=dict)
    runs: int = 0
    seconds: float | None = None  # of one training or computation of vectors
    memory: float | None = None  # peak in MB
    failed: str = ""  # why there are no scores, or why some runs are missing

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the keys of ``mvgrl compare --json``."""
        one = self.contender
        return {
            **{"method": one.id, "label": one.label, "runs": self.runs},
            **{name: number.to_dict() for name, number in self.numbers.items()},
            **{"seconds": self.seconds, "peak_memory_mb": self.memory, "failed": self.failed or None},
            "parameters": dict(one.parameters) or None,
        }


def compare(
    contest: Contest,
    ledger: Ledger,
    *,
    separate: bool = True,
    pool: Callable[[Contest, Sequence[Todo]], Results] | None = None,
    retry_failed: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    busy: Callable[[str], AbstractContextManager[None]] = lambda text: nullcontext(),
) -> list[Row]:
    """Run what is missing from the ledger, and return a row per contender, the best first.

    Each method runs in its own process, unless ``separate`` is false: then its peak memory is not measured, and a
    program that is killed for lack of memory takes everything with it. ``pool`` starts all of them elsewhere, such as
    on a cluster. ``tell`` is called with a line about what will be done and one per contender; ``busy`` with what is
    being done.
    """
    todo = _todo(contest, ledger, retry_failed=retry_failed)
    ledger.check_writable()
    results: Results = separate_results if separate else results_of
    if pool is not None:
        results = pool(contest, todo)
    notes = _run(contest, ledger, todo, tell, busy, results)
    rows = summarise(contest, ledger, notes)
    if all(row.failed and not row.numbers for row in rows):
        raise MVGRLError(f"every method failed; {rows[0].contender.id}: {rows[0].failed}")
    return rows


def _todo(contest: Contest, ledger: Ledger, *, retry_failed: bool) -> list[Todo]:
    """Return what is missing from the ledger, with contenders of one method together."""
    lines = list(ledger)
    groups: dict[tuple[Any, ...], list[tuple[Contender, list[list[int]]]]] = {}
    for contender in contest.contenders:
        mine = [run for run in lines if contest.is_of(run, contender)]
        if any(run.failed for run in mine) and not retry_failed:
            continue
        done = {run.seed for run in mine if not run.failed}
        left = [kept for runs in contest.trainings(contender) if (kept := _left(contest, runs, done))]
        if left:
            key = (contender.method.name, tuple(sorted(contender.method.parameters.items(), key=str)))
            groups.setdefault(key, []).append((contender, left))
    return list(groups.values())


def _left(contest: Contest, runs: Sequence[int], done: set[int]) -> list[int]:
    left = [run for run in runs if run not in done]
    return list(runs) if left and contest.kind == "links" else left


def _run(
    contest: Contest,
    ledger: Ledger,
    todo: Sequence[Todo],
    tell: Callable[[str], None],
    busy: Callable[[str], AbstractContextManager[None]],
    results: Results,
) -> dict[str, str]:
    """Run everything and add it to the ledger; return why contenders failed that may be tried again."""
    ahead = expected(contest, todo, list(ledger))
    count = len(contest.contenders)
    done = count - sum(len(some) for some in todo)
    reused = f", {done} of them already in {ledger.path}" if done else ""
    tell(f"{count} methods{reused}; {_about(ahead)}")
    notes: dict[str, str] = {}
    for some in todo:
        names = " and ".join(contender.label for contender, _ in some)
        started = time.perf_counter()
        with busy(f"{names} ({done + 1} of {count}, {as_text(ahead.left)} left)"):
            for result in results(contest, some):
                _note(contest, ledger, result, notes)
        ahead.finished(time.perf_counter() - started)
        for contender, _ in some:
            done += 1
            left = f", {as_text(ahead.left)} left" if done < count else ""
            (row,) = _rows(contest, list(ledger), notes, [contender])
            tell(f"{contender.label}: {in_words(row, contest.scores[0])} ({done} of {count}{left})")
    return notes


def _about(ahead: Expected) -> str:
    return f"this takes {as_text(ahead.left)} (an estimate)" if ahead.left else "nothing is left to run"


def _note(contest: Contest, ledger: Ledger, result: Result, notes: dict[str, str]) -> None:
    """Add a result to the ledger; a failure that comes at once is only noted, and tried again next time."""
    (contender,) = (one for one in contest.contenders if one.id == result.contender)
    if result.failed and not result.final:
        notes[contender.id] = result.failed
        return
    device, versions = machine(torch.device(contest.device))
    scores = [{} for _ in result.runs[:1]] if result.failed else result.scores
    about = dict(
        epochs=result.epochs,
        seconds=result.seconds,
        device=device,
        recipe=contest.key(contender),
        versions=versions,
        failed=result.failed,
        memory=round(result.memory, 1),
    )
    where = (NAME, contest.dataset.name, contest.protocol, contender.id)
    ledger.add(Run(*where, run, values, **about) for run, values in zip(result.runs, scores, strict=False))  # type: ignore[arg-type]


def in_words(row: Row, score: Score) -> str:
    """Return the result of a contender on one line."""
    if not row.numbers:
        return f"failed: {row.failed}"
    number = row.numbers[score.name]
    memory = f", {row.memory:,.0f} MB" if row.memory else ""
    lost = f"; some runs failed: {row.failed}" if row.failed else ""
    return f"{score.title} {score.text(number.mean, number.std)}, {row.seconds:.1f} s{memory}{lost}"


def summarise(contest: Contest, ledger: Ledger, notes: dict[str, str] | None = None) -> list[Row]:
    """Return a row per contender from the ledger only, the best first and those without scores last."""
    rows = _rows(contest, list(ledger), notes or {}, contest.contenders)
    first = contest.scores[0].name
    return sorted(rows, key=lambda row: -row.numbers[first].mean if row.numbers else np.inf)


def _rows(contest: Contest, lines: Sequence[Run], notes: dict[str, str], contenders: Sequence[Contender]) -> list[Row]:
    mine = {one.id: [run for run in lines if contest.is_of(run, one)] for one in contenders}
    wanted = {one.id: {run for some in contest.trainings(one) for run in some} for one in contenders}
    done = {
        name: {run.seed: run for run in runs if not run.failed and run.seed in wanted[name]}
        for name, runs in mine.items()
    }
    numbers: dict[str, dict[str, Number]] = {one.id: {} for one in contenders}
    for score in contest.scores:
        for name, number in _compared(contest, {name: runs for name, runs in done.items() if runs}, score).items():
            numbers[name][score.name] = number
    rows = []
    for one in contenders:
        runs, lost = list(done[one.id].values()), [run for run in mine[one.id] if run.failed]
        cost = runs or lost
        rows.append(
            Row(
                *(one, numbers[one.id], len(runs)),
                seconds=float(np.mean([run.seconds for run in cost])) if runs else None,
                memory=max((run.memory for run in cost), default=0.0) or None,
                failed=notes.get(one.id) or (lost[0].failed if lost else "" if runs else "not run"),
            )
        )
    return rows


def _compared(contest: Contest, done: dict[str, dict[int, Run]], score: Score) -> dict[str, Number]:
    """Return the score of every contender, compared with the best on the splits that both have."""
    values = {name: {seed: run.scores[score.name] for seed, run in runs.items()} for name, runs in done.items()}
    per_split = {name: _per_split(contest, some) for name, some in values.items()}
    means = {name: float(np.mean(list(some.values()))) for name, some in values.items()}
    best = max(means, key=means.__getitem__, default="")
    found = {}
    for name, some in values.items():
        p = std = None
        if score.name != "stability":  # the splits share their clusterings: there is no spread and no test
            p = None if name == best else _p_value(contest, per_split[name], per_split[best])
            std = float(np.std(list(some.values()))) if len(some) > 1 else None
        found[name] = Number(means[name], std, name == best, p is not None and p > LEVEL, p)
    return found


def _p_value(contest: Contest, mine: dict[int, float], best: dict[int, float]) -> float | None:
    if contest.kind == "public" and min(len(mine), len(best)) == 1:  # not seeded: the same in every training
        seeds = max(mine, best, key=len)
        mine, best = (dict.fromkeys(seeds, one[0]) if len(one) == 1 else one for one in (mine, best))
    both = sorted(set(mine) & set(best))
    return paired_p_value([mine[one] for one in both], [best[one] for one in both], parts=contest.parts)


def _per_split(contest: Contest, values: dict[int, float]) -> dict[int, float]:
    """Return the mean over the training runs of each split; the test compares these means."""
    found: dict[int, list[float]] = {}
    for run, value in values.items():
        found.setdefault(run % contest.stride if contest.stride > 1 else run, []).append(value)
    return {split: float(np.mean(some)) for split, some in found.items()}
