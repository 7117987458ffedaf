"""The ledger: one JSON line per run, appended atomically by any number of processes."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from mvgrl.errors import InputError, cannot_write
from mvgrl.evaluation.scores import SCORES
from mvgrl.parsing import parse_json
from mvgrl.tables.atomic import check_writable

logger = logging.getLogger(__name__)

_LARGEST_SCORE = 1000  # far beyond percent: sums and charts of larger numbers may overflow
_MOST_SECONDS = 1e10  # 300 years
_MOST_MEMORY = 1e9  # MB
_OPTIONAL = ("failed", "memory")  # written only where there is something to say


def published_runs() -> Path:
    """Return the ledger of the published results: part of the package once it is installed."""
    package = Path(__file__).parents[1]
    inside = package / "results" / "runs.jsonl"
    return inside if inside.exists() else package.parents[1] / "results" / "runs.jsonl"


@dataclass(frozen=True)
class Run:
    """One line: what was run, and its scores."""

    experiment: str  # the name given to reproduce
    dataset: str
    setting: str  # paper, released, best or default
    variant: str  # the row of the experiment
    seed: int
    scores: dict[str, float]
    epochs: int
    seconds: float
    device: str
    recipe: str  # its hash
    versions: dict[str, str] = field(default_factory=dict)
    failed: str = ""  # why there are no scores
    memory: float = 0.0  # peak in MB; 0 where it was not measured

    @property
    def key(self) -> tuple[str, str, str, str, int, str]:
        """What identifies a run: two lines with the same key are duplicates."""
        return self.experiment, self.dataset, self.setting, self.variant, self.seed, self.recipe


class Ledger:
    """A file of runs; truncated and foreign lines are skipped with a warning.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder, "runs.jsonl"))
    ...     ledger.add([Run("node-clustering", "cora", "best", "trained", 0, {"nmi": 0.6}, 200, 1.5, "cpu", "abc")])
    ...     [run.scores for run in ledger]
    [{'nmi': 0.6}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __iter__(self) -> Iterator[Run]:
        """Yield the runs, oldest first; of two with the same key only the first, unless it failed: then the last."""
        runs: dict[tuple[Any, ...], Run] = {}
        for number, line in enumerate(self._lines(), start=1):
            run = _parsed(line)
            if run is None:
                if line.strip():
                    logger.warning("%s, line %d is not a run; skipped", self.path, number)
            elif run.key not in runs or runs[run.key].failed:
                runs[run.key] = run
        yield from runs.values()

    def check_writable(self) -> None:
        """Check that runs can be added, before spending time on them."""
        check_writable(self.path)
        try:
            if self.path.exists():
                self.path.open("ab").close()
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def add(self, runs: Iterable[Run]) -> None:
        """Append runs with one write, flushed to disk."""
        values = ({key: value for key, value in asdict(run).items() if key not in _OPTIONAL or value} for run in runs)
        lines = "".join(json.dumps(one, sort_keys=True) + "\n" for one in values)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_name(f".{self.path.name}.lock")), self.path.open("ab+") as file:
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                    if file.read(1) != b"\n":  # a line truncated by a crash: the next must not be appended to it
                        lines = "\n" + lines
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}") from None


class CollectedRuns(Ledger):
    """Runs that are kept in memory, for a process that does not write to the ledger itself."""

    def __init__(self) -> None:
        super().__init__(os.devnull)
        self.runs: list[Run] = []

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def add(self, runs: Iterable[Run]) -> None:
        """Keep runs."""
        self.runs += runs


def _parsed(line: str) -> Run | None:
    """Return the run of a line, or None if a report or summary could not use it."""
    try:
        values: Any = parse_json(line)
        names = [name for name in Run.__dataclass_fields__ if name not in _OPTIONAL or name in values]
        run = Run(**{name: values[name] for name in names})
    except (ValueError, KeyError, TypeError):
        return None
    words = (run.experiment, run.dataset, run.setting, run.variant, run.device, run.recipe, run.failed)
    if not (isinstance(run.scores, dict) and isinstance(run.versions, dict) and (run.scores or run.failed)):
        return None
    valid = (
        all(map(_is_text, (*words, *run.versions, *run.versions.values())))
        and all(
            name in SCORES and _is_number(score, -_LARGEST_SCORE, _LARGEST_SCORE) for name, score in run.scores.items()
        )
        and _is_number(run.seconds, 0, _MOST_SECONDS)
        and _is_number(run.memory, 0, _MOST_MEMORY)
        and all(type(count) is int and 0 <= count < 2**63 for count in (run.seed, run.epochs))
    )
    return run if valid else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)  # no half characters


def _is_number(value: Any, low: float, high: float) -> bool:
    return type(value) in (int, float) and low <= value <= high
