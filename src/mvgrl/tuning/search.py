"""A search with Optuna: propose settings, score them, here or elsewhere, and keep every trial in a file."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mvgrl.errors import InputError, MVGRLError, SettingsError, cannot_write
from mvgrl.parsing import parse_json
from mvgrl.settings import Settings
from mvgrl.tables.atomic import check_writable
from mvgrl.tuning.problem import Problem
from mvgrl.tuning.space import DEFAULTS, suggest


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and their score in percent; None if they failed."""

    number: int
    tuned: Mapping[str, Any]
    score: float | None
    seconds: float
    failed: str = ""


@dataclass(frozen=True)
class Search:
    """All trials of a problem; the first has the default settings."""

    problem: Problem
    trials: Sequence[Trial]

    @property
    def best(self) -> Trial:
        """The trial with the highest score, of several the first."""
        scored = [trial for trial in self.trials if trial.score is not None]
        if not scored:
            raise MVGRLError(f"every trial failed; the first: {self.trials[0].failed}")
        return max(scored, key=lambda trial: (trial.score, -trial.number))

    @property
    def settings(self) -> Settings:
        """The settings of the best trial."""
        return self.problem.settings(self.best.tuned)


Scored = tuple[float | None, float, str]  # score, seconds, why it failed
Batch = Callable[[Problem, Sequence[Mapping[str, Any]]], list[Scored]]


def score_here(problem: Problem, batch: Sequence[Mapping[str, Any]]) -> list[Scored]:
    """Score settings one after the other in this process."""
    return [scored(problem, tuned) for tuned in batch]


def scored(problem: Problem, tuned: Mapping[str, Any]) -> Scored:
    """Return the score of settings, or why there is none."""
    started = time.perf_counter()
    try:
        return problem.score(tuned), time.perf_counter() - started, ""
    except (InputError, SettingsError):  # of all trials
        raise
    except (MVGRLError, ArithmeticError, RuntimeError) as error:  # diverged, or out of memory: the others go on
        return None, time.perf_counter() - started, str(error).strip().split("\n")[0]


def search(
    problem: Problem,
    trials: int,
    *,
    file: Path | None = None,
    together: int = 1,
    score: Batch = score_here,
    tell: Callable[[str], None] = lambda text: None,
) -> Search:
    """Run trials and return them; those that are in the file already are not repeated.

    ``together`` trials are proposed at once, without knowing each other's scores, and given to ``score``, which may run
    them elsewhere. The trials depend on the seed of the problem and on ``together``, and not on interruptions.
    """
    if trials < 1:
        raise SettingsError(f"trials is {trials}; it must be at least 1")
    kept = _Kept(file, f"{problem.key}-{together}")
    study = _study(problem)
    found: list[Trial] = []
    while len(found) < trials:
        asked = [study.ask() for _ in range(min(together, trials - len(found)))]
        tuned = [suggest(one, problem.task, problem.fixed) for one in asked]
        new = [one for one, values in zip(asked, tuned, strict=True) if kept.get(one.number, values) is None]
        scores = iter(score(problem, [tuned[asked.index(one)] for one in new]) if new else ())
        for one, values in zip(asked, tuned, strict=True):
            trial = kept.get(one.number, values) or kept.add(Trial(one.number, values, *next(scores)))
            _report(study, one, trial)
            found.append(trial)
            best = max((other.score for other in found if other.score is not None), default=math.nan)
            shown = f"{trial.score:.2f}" if trial.score is not None else f"failed: {trial.failed}"
            tell(f"trial {len(found)} of {trials}: {shown} (best {best:.2f}), {trial.seconds:.0f} s")
    return Search(problem, found)


def _study(problem: Problem) -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("a search needs Optuna, which is not installed: pip install 'mvgrl[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=problem.seed, n_startup_trials=8, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(dict(DEFAULTS[problem.task]))
    return study


def _report(study: Any, asked: Any, trial: Trial) -> None:
    from optuna.trial import TrialState

    if trial.score is None:
        study.tell(asked, state=TrialState.FAIL)
    else:
        study.tell(asked, trial.score)


class _Kept:
    """The finished trials of a search in a file of JSON lines; lines of other searches are left alone."""

    def __init__(self, path: Path | None, key: str) -> None:
        self.path, self.key = path, key
        self.trials: dict[int, Trial] = {}
        if path is None:
            return
        check_writable(path)
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}; choose another name") from None
        for number, line in enumerate(lines, start=1):
            self._read(number, line)

    def _read(self, number: int, line: str) -> None:
        try:
            values = parse_json(line)
            if values.pop("search") == self.key:
                trial = Trial(**values)
                self.trials.setdefault(trial.number, trial)
        except (ValueError, KeyError, TypeError, AttributeError):
            logging.getLogger(__name__).warning("%s, line %d is not a trial; skipped", self.path, number)

    def get(self, number: int, tuned: Mapping[str, Any]) -> Trial | None:
        """Return a finished trial with these settings."""
        trial = self.trials.get(number)
        return trial if trial is not None and trial.tuned == tuned else None

    def add(self, trial: Trial) -> Trial:
        """Append a trial, flushed to disk."""
        self.trials[trial.number] = trial
        if self.path is not None:
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"search": self.key, **asdict(trial)}) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise cannot_write(self.path, error) from None
        return trial
